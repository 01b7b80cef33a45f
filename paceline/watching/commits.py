"""Commit what a tick found: incidents, their messages, and the cursor, kept together or not at all.

The cursor of an instance says which rows it took. Committed with the incidents that rest on them,
a kill between the two cannot be: who starts again is either before the tick, or after it.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy.exc import SQLAlchemyError

from alerts.incidents import Incident
from alerts.storing.databases import reading, writing
from alerts.storing.incident_store import IncidentStore
from alerts.storing.notifying import notify
from alerts.storing.records import Change
from alerts.storing.refreshing import take_tick
from paceline.watching.cursors import read_cursor, write_cursor
from paceline.watching.leases import Lease

_LOG: Final = logging.getLogger("paceline")


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """What became of a tick in the database.

    Attributes:
        is_leader: Whether this instance's findings are those that count.
        changes: What they changed; none from an instance that does not lead.
    """

    is_leader: bool
    changes: Sequence[Change] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Committer:
    """Writes the results of one instance.

    Attributes:
        store: The incidents.
        lease: By which instances agree on who leads.
        cursor: Name of this instance's cursor.
    """

    store: IncidentStore
    lease: Lease
    cursor: str

    def read(self) -> Mapping[str, Any] | None:
        """Return what this instance committed last; null if nothing."""
        with reading(self.store.engine) as connection:
            return read_cursor(connection, self.cursor)

    def commit(
        self, incidents: Sequence[Incident], state: Mapping[str, Any], now: datetime
    ) -> Committed:
        """Write the cursor, and with it the incidents if this instance leads."""
        store = self.store
        with writing(store.engine) as connection:
            is_leader = self.lease.take(connection, now)
            changes = list[Change]()
            if is_leader:
                found = take_tick(connection, incidents, store.params, now=now)
                changes = notify(connection, found, store.telling, now=now)
            write_cursor(connection, self.cursor, state)
        return Committed(is_leader=is_leader, changes=changes)

    def keep(self, state: Mapping[str, Any]) -> None:
        """Write the cursor alone: what is found is committed by groups."""
        with writing(self.store.engine) as connection:
            write_cursor(connection, self.cursor, state)

    def give_up(self, now: datetime) -> None:
        """Let another instance lead at once; without an answer the lease runs out by itself."""
        try:
            with writing(self.store.engine) as connection:
                self.lease.give_up(connection, now)
        except SQLAlchemyError:
            _LOG.exception("the lead could not be given up")
