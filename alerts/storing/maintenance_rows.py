"""Windows of maintenance that people declare, as rows."""

from datetime import datetime

from sqlalchemy import Connection, delete, insert, select

from alerts.storing.records import MaintenanceWindow
from alerts.storing.tables import MAINTENANCE


class MaintenanceError(ValueError):
    """A window of maintenance is about nothing, ends before it begins, or has nobody behind it."""


def put_maintenance(connection: Connection, window: MaintenanceWindow) -> None:
    """Keep a window; one with its id is replaced.

    Raises:
        MaintenanceError: It names nothing, ends before it begins, or nobody signs it.
    """
    _refuse(window)
    connection.execute(delete(MAINTENANCE).where(MAINTENANCE.c.id == window.id))
    connection.execute(
        insert(MAINTENANCE).values(
            id=window.id,
            matchers=dict(window.matchers),
            starts=window.starts,
            ends=window.ends,
            who=window.who,
            why=window.why,
        )
    )


def maintenance_after(connection: Connection, after: datetime) -> list[MaintenanceWindow]:
    """Return the windows that end after a time, by start and id."""
    query = select(MAINTENANCE).where(MAINTENANCE.c.ends > after)
    rows = connection.execute(query.order_by(MAINTENANCE.c.starts, MAINTENANCE.c.id)).mappings()
    return [
        MaintenanceWindow(
            id=row["id"],
            matchers=row["matchers"],
            starts=row["starts"],
            ends=row["ends"],
            who=row["who"],
            why=row["why"],
        )
        for row in rows
    ]


def _refuse(window: MaintenanceWindow) -> None:
    known = {"run", "host", "rack"}
    if not window.matchers or window.matchers.keys() - known or not all(window.matchers.values()):
        raise MaintenanceError(
            f"wanted some of run, host and rack, each named, found {dict(window.matchers)!r}; "
            "a window over everything would hide every fault"
        )
    if window.ends <= window.starts:
        raise MaintenanceError("wanted an end after the start; swap them")
    if not window.who.strip() or not window.why.strip():
        raise MaintenanceError("wanted who answers for it and why; somebody is asked at 3 a.m.")
