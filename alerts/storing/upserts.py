"""Insert or update, as SQLite and PostgreSQL both know it and spell alike."""

from sqlalchemy import Table
from sqlalchemy.dialects import postgresql, sqlite


def upsert(dialect: str, table: Table) -> sqlite.Insert | postgresql.Insert:
    """Return an insert that can be told what to do `on_conflict`, for a dialect by name."""
    return sqlite.insert(table) if dialect == "sqlite" else postgresql.insert(table)
