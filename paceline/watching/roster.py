"""Who is there: each member moves its own number, and each judges the others by that alone.

No clock is compared with another, so that one which steps back, or is ahead, neither kills nor
keeps anybody: a member is gone when its number did not move over `HELD_TICKS` ticks of whoever
looks. One that was only slow is a member again as soon as it moves it; what it held meanwhile has
a new fence.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy import Connection, delete, insert, select, update

from alerts.storing.tables import MEMBERS
from paceline.watching.leases import HELD_TICKS


@dataclass(slots=True, kw_only=True)
class Roster:
    """The members as one of them sees them.

    Attributes:
        name: Its own name; no two that live have the same.
        every: Distance of ticks.
        since: From which tick on it has seen every one; null before the first.
    """

    name: str
    every: timedelta
    since: datetime | None = None
    _last: datetime | None = None
    _silent: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])

    def look(self, connection: Connection, now: datetime) -> Mapping[str, datetime]:
        """Return who is there at a tick, with since when each has seen every tick.

        Args:
            connection: Within a transaction that no other writer passes.
            now: The tick's time, only to know whether one was left out.
        """
        is_next = self._last is not None and now - self._last <= self.every
        since = self.since if self.since is not None and is_next else now
        self.since, self._last = since, now
        self._beat(connection, since)
        rows = connection.execute(select(MEMBERS.c.name, MEMBERS.c.beat, MEMBERS.c.since)).all()
        self._silent = {row.name: (row.beat, self._silence(row.name, row.beat)) for row in rows}
        gone = [name for name, (_, ticks) in self._silent.items() if ticks >= HELD_TICKS]
        if gone:
            connection.execute(delete(MEMBERS).where(MEMBERS.c.name.in_(gone)))
        return {row.name: row.since for row in rows if row.name not in gone}

    def leave(self, connection: Connection) -> None:
        """Be gone at once."""
        connection.execute(delete(MEMBERS).where(MEMBERS.c.name == self.name))

    def _silence(self, name: str, beat: int) -> int:
        """Return over how many of our ticks a number did not move."""
        known, ticks = self._silent.get(name, (None, 0))
        return ticks + 1 if known == beat and name != self.name else 0

    def _beat(self, connection: Connection, since: datetime) -> None:
        moved = connection.execute(
            update(MEMBERS)
            .where(MEMBERS.c.name == self.name)
            .values(beat=MEMBERS.c.beat + 1, since=since)
        )
        if moved.rowcount == 0:
            connection.execute(insert(MEMBERS).values(name=self.name, beat=1, since=since))
