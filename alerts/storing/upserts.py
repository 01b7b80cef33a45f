"""Insert or update, as SQLite and PostgreSQL both know it and spell alike."""

from sqlalchemy import Dialect, Table
from sqlalchemy.dialects import postgresql, sqlite


def upsert(dialect: Dialect, table: Table) -> sqlite.Insert | postgresql.Insert:
    """Return an insert that can be told what to do `on_conflict`."""
    return sqlite.insert(table) if dialect.name == "sqlite" else postgresql.insert(table)
