"""Which groups this member holds, each with a fence: a number that every new holder raises.

A commit for a group compares the fence within its own transaction. Whoever held the group before,
and was thought dead while it only was slow, finds another number there and commits nothing.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, Row, delete, insert, select, update

from alerts.storing.tables import CURSORS, LEASES
from paceline.watching.groups import FLEET
from paceline.watching.rendezvous import owner_of

PREFIX: Final = "group/"
"""Of the names of leases and cursors that belong to groups."""

NOBODY: Final = ""
"""Holder of a lease that was given up."""


@dataclass(slots=True, kw_only=True)
class Fences:
    """The groups of one member.

    Attributes:
        name: The member.
        every: Distance of ticks.
        held: Fence of each group that it holds.
        holders: Who holds each group, as seen at the last tick; nobody is no entry.
    """

    name: str
    every: timedelta
    held: dict[str, int] = field(default_factory=dict[str, int])
    holders: dict[str, str] = field(default_factory=dict[str, str])

    def claim(
        self,
        connection: Connection,
        groups: Collection[str],
        members: Mapping[str, datetime],
        cursors: Mapping[str, datetime],
        now: datetime,
    ) -> None:
        """Take the groups that are ours, and give up those that are another's or over.

        Args:
            connection: Within a transaction that no other writer passes.
            groups: All that there are.
            members: Who is there, and since when each has seen every tick.
            cursors: Up to when each group is committed; none is not at all.
            now: The tick's time.
        """
        rows = {row.name.removeprefix(PREFIX): row for row in _rows(connection)}
        before, self.held = self.held, {}
        for group in sorted({*groups, *rows}):
            row = rows.get(group)
            able = self._able(members, cursors.get(group))
            if group not in groups:
                if row is not None and row.holder == self.name and _is_over(group, cursors):
                    _forget(connection, group)
            elif owner_of(group, able) == self.name:
                self._take(connection, group, row, before.get(group), able, now)
            elif row is not None and row.holder == self.name:
                _give_up(connection, group)
        self.holders = {
            row.name.removeprefix(PREFIX): row.holder for row in _rows(connection) if row.holder
        }

    def holds(self, connection: Connection, group: str) -> bool:
        """Return whether a group is still ours, within the transaction that commits for it."""
        fence = connection.execute(
            select(LEASES.c.fence).where(
                LEASES.c.name == PREFIX + group, LEASES.c.holder == self.name
            )
        ).scalar_one_or_none()
        return fence is not None and fence == self.held.get(group)

    def shares(self) -> dict[str, int]:
        """Return how many groups each member held at the last tick."""
        return dict(sorted(Counter(self.holders.values()).items()))

    def leave(self, connection: Connection) -> None:
        """Give up all groups."""
        connection.execute(
            update(LEASES)
            .where(LEASES.c.holder == self.name, LEASES.c.name.startswith(PREFIX))
            .values(holder=NOBODY)
        )
        self.held = {}

    def _able(self, members: Mapping[str, datetime], done: datetime | None) -> list[str]:
        """Return who has seen every tick that a group still needs; all, if nobody has."""
        able = [
            name for name, since in members.items() if done is None or since <= done + self.every
        ]
        return sorted(able or members)

    def _take(  # noqa: PLR0913, PLR0917 -- what is known of one lease, used once
        self,
        connection: Connection,
        group: str,
        row: Row[Any, Any, Any] | None,
        fence: int | None,
        able: list[str],
        now: datetime,
    ) -> None:
        """Take or keep a group; one that another who is able still holds is waited for."""
        until = now + 2 * self.every
        if row is None:
            values = {"name": PREFIX + group, "holder": self.name, "until": until, "fence": 1}
            connection.execute(insert(LEASES).values(**values))
            self.held[group] = 1
            return
        if row.holder not in {self.name, NOBODY} and row.holder in able:
            return
        is_kept = row.holder == self.name and row.fence == fence
        self.held[group] = row.fence if is_kept else row.fence + 1
        connection.execute(
            update(LEASES)
            .where(LEASES.c.name == row.name)
            .values(holder=self.name, until=until, fence=self.held[group])
        )


def _rows(connection: Connection) -> list[Row[Any, Any, Any]]:
    query = select(LEASES.c.name, LEASES.c.holder, LEASES.c.fence)
    return list(connection.execute(query.where(LEASES.c.name.startswith(PREFIX))))


def _is_over(group: str, cursors: Mapping[str, datetime]) -> bool:
    """Return whether the fleet is committed as far as a group that is not there any more."""
    done, joined = cursors.get(group), cursors.get(FLEET)
    return done is None or (joined is not None and done <= joined)


def _give_up(connection: Connection, group: str) -> None:
    connection.execute(update(LEASES).where(LEASES.c.name == PREFIX + group).values(holder=NOBODY))


def _forget(connection: Connection, group: str) -> None:
    """Remove what is kept of a group that is over."""
    connection.execute(delete(LEASES).where(LEASES.c.name == PREFIX + group))
    connection.execute(delete(CURSORS).where(CURSORS.c.name == PREFIX + group))
