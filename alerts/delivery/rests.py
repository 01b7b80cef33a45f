"""Rests: times in which a receiver is left alone, because it asked or takes one letter a second.

A rest stands in the database, so that two instances keep it together. It holds its beginning too:
when the clock is set back before that, the rest is over.
"""

from datetime import datetime, timedelta

from sqlalchemy import Connection, select

from alerts.storing.tables import LEASES
from alerts.storing.upserts import upsert
from alerts.zoned_times import parse_zoned_time
from detectors.verdicts import rfc3339


def is_resting(
    connection: Connection, receiver: str, *, now: datetime, locks: bool = False
) -> bool:
    """Return whether a receiver is to be left alone now.

    Args:
        connection: Within a transaction.
        receiver: Its name.
        now: The time.
        locks: Whether others that ask so wait for this transaction, which may begin the next rest.
    """
    query = select(LEASES.c.holder, LEASES.c.until).where(LEASES.c.name == _name(receiver))
    row = connection.execute(query.with_for_update() if locks else query).first()
    return row is not None and parse_zoned_time(row.holder) <= now < row.until


def begin_rest(connection: Connection, receiver: str, seconds: float, *, now: datetime) -> None:
    """Leave a receiver alone from now on for a while."""
    values = {"holder": rfc3339(now), "until": now + timedelta(seconds=seconds)}
    query = upsert(connection.dialect.name, LEASES).values(name=_name(receiver), **values)
    connection.execute(query.on_conflict_do_update(index_elements=["name"], set_=values))


def _name(receiver: str) -> str:
    return f"rest of receiver {receiver}"
