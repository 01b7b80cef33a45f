"""Who evaluates: of several instances over one database the one that holds the lease `leader`.

A lease is held until a time; its holder renews it at each tick, and anybody may take one that has
run out. Times are those of the ticks: instances must agree on the clock to within a tick.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection, insert, select, update

from alerts.storing.tables import LEASES

LEADER: Final = "leader"

HELD_TICKS: Final = 2
"""A lease runs out after so many ticks without its holder: then another takes over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A lease as one instance asks for it.

    Attributes:
        name: Which lease.
        holder: Who asks.
        length: For how long it is held.
    """

    name: str
    holder: str
    length: timedelta

    def take(self, connection: Connection, now: datetime) -> bool:
        """Take or renew the lease if it is ours, free or run out, and return whether it is ours.

        Args:
            connection: Within a transaction that no other writer passes.
            now: The tick's time.
        """
        row = connection.execute(
            select(LEASES.c.holder, LEASES.c.until).where(LEASES.c.name == self.name)
        ).one_or_none()
        until = now + self.length
        if row is None:
            connection.execute(
                insert(LEASES).values(name=self.name, holder=self.holder, until=until)
            )
            return True
        if row.holder != self.holder and row.until > now:
            return False
        connection.execute(
            update(LEASES).where(LEASES.c.name == self.name).values(holder=self.holder, until=until)
        )
        return True

    def give_up(self, connection: Connection, now: datetime) -> None:
        """Let another take the lease at once."""
        connection.execute(
            update(LEASES)
            .where(LEASES.c.name == self.name, LEASES.c.holder == self.holder)
            .values(until=now)
        )
