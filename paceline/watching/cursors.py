"""Where the watch goes on after a restart: one row of the database for each instance."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, insert, select, update

from alerts.storing.tables import CURSORS


def read_cursor(connection: Connection, name: str) -> Mapping[str, Any] | None:
    """Return what was written under a name; null if nothing was."""
    body: Mapping[str, Any] | None = connection.execute(
        select(CURSORS.c.body).where(CURSORS.c.name == name)
    ).scalar_one_or_none()
    return body


def write_cursor(connection: Connection, name: str, body: Mapping[str, Any]) -> None:
    """Write under a name, over what was there."""
    written = connection.execute(
        update(CURSORS).where(CURSORS.c.name == name).values(body=dict(body))
    )
    if written.rowcount == 0:
        connection.execute(insert(CURSORS).values(name=name, body=dict(body)))
