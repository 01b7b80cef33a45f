"""Incidents as they are kept: what the ticks find, what people do, and what is to be sent of it.

Each write is one transaction: the incident, its history and the messages about it are kept together
or not at all.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from sqlalchemy import Engine

from alerts.incidents import Incident
from alerts.known_incidents import MatchParams
from alerts.lifecycle import Action, Asked
from alerts.storing import acting, finding, maintenance_rows, splitting
from alerts.storing.acting import Request
from alerts.storing.databases import reading, writing
from alerts.storing.evidence_rows import verdict_record, verdict_rows
from alerts.storing.history_rows import history_of
from alerts.storing.incident_rows import known_record, parts_of
from alerts.storing.notifying import Telling, notify
from alerts.storing.records import (
    Change,
    HistoryEntry,
    IncidentFilters,
    IncidentPage,
    IncidentRecord,
    MaintenanceWindow,
    PageRequest,
    VerdictRecord,
)
from alerts.storing.refreshing import take_tick

_SILENT: Final = Telling()
_USUAL: Final = MatchParams()


class IncidentStore:
    """The incidents of one database.

    Attributes:
        engine: Of `alerts.storing.databases.open_database`.
        telling: Who is told of what; each write sends what it says.
        params: When evidence belongs to an incident that is known.
    """

    def __init__(
        self, engine: Engine, *, telling: Telling = _SILENT, params: MatchParams = _USUAL
    ) -> None:
        """Keep incidents in a database; unless told otherwise, nobody is told of them."""
        self.engine = engine
        self.telling = telling
        self.params = params

    def refresh(self, incidents: Sequence[Incident], *, now: datetime) -> list[Change]:
        """Take what a tick found; the same tick again changes nothing.

        Args:
            incidents: What `join_incidents` gave, in any order.
            now: When the tick ran.

        Returns:
            What changed, by number.
        """
        with writing(self.engine) as connection:
            changes = take_tick(connection, incidents, self.params, now=now)
            return notify(connection, changes, self.telling, now=now)

    def act(  # noqa: PLR0913 -- one action of a person, each part told by name
        self,
        incident_id: str,
        action: Action,
        *,
        actor: str,
        at: datetime,
        key: str,
        note: str | None = None,
        assignee: str | None = None,
        version: int | None = None,
    ) -> IncidentRecord:
        """Do what a person asks, once for each key, and return the incident after it.

        Args:
            incident_id: Its id, an alias of it, or the id of one that was merged into it.
            action: What is asked.
            actor: Who asks.
            at: When.
            key: Names this request: asked again with the same key, it is not done again.
            note: Text, for `note`; else a remark.
            assignee: Who works on it, for `assign`; null is nobody.
            version: Version that the person saw; null does not care.

        Raises:
            UnknownIncidentError: There is no such incident.
            StaleVersionError: It has changed since.
            RefusedActionError: Its state does not allow it.
            ReusedKeyError: The key was used for something else.
        """
        asked = Asked(actor=actor, at=at, note=note, assignee=assignee)
        request = Request(actor=actor, at=at, key=key, version=version)
        with writing(self.engine) as connection:
            changes = acting.act(connection, incident_id, action, asked, request)
            return notify(connection, changes, self.telling, now=at)[-1].after

    def merge(  # noqa: PLR0913 -- see act
        self,
        into: str,
        other: str,
        *,
        actor: str,
        at: datetime,
        key: str,
        version: int | None = None,
    ) -> IncidentRecord:
        """Make an incident part of another, for all ticks to come, and return that other.

        Raises:
            UnknownIncidentError: There is no such incident.
            StaleVersionError: `into` has changed since.
            RefusedMergeError: The two are one already.
        """
        request = Request(actor=actor, at=at, key=key, version=version)
        with writing(self.engine) as connection:
            changes = acting.merge(connection, into, other, request)
            return notify(connection, changes, self.telling, now=at)[-1].after

    def split(  # noqa: PLR0913 -- see act
        self,
        incident_id: str,
        verdict_ids: Sequence[str],
        *,
        actor: str,
        at: datetime,
        key: str,
        version: int | None = None,
    ) -> IncidentRecord:
        """Make an incident of its own of some findings, for all ticks to come, and return it.

        Raises:
            UnknownIncidentError: There is no such incident.
            StaleVersionError: It has changed since.
            RefusedSplitError: A finding is not its own, or nothing would be left.
        """
        request = Request(actor=actor, at=at, key=key, version=version)
        with writing(self.engine) as connection:
            changes = splitting.split(
                connection, incident_id, verdict_ids, request, self.params.joining
            )
            return notify(connection, changes, self.telling, now=at)[0].after

    def get(self, incident_id: str) -> IncidentRecord:
        """Return the incident with this id or alias, as it stands, merged or not.

        Raises:
            UnknownIncidentError: There is no such incident.
        """
        with reading(self.engine) as connection:
            return known_record(connection, incident_id)

    def find(self, filters: IncidentFilters, page: PageRequest) -> IncidentPage:
        """Return a page of the incidents that are wanted, newest number first."""
        with reading(self.engine) as connection:
            return finding.find(connection, filters, page)

    def history(self, incident_id: str) -> list[HistoryEntry]:
        """Return what happened to an incident and to those merged into it, in order.

        Raises:
            UnknownIncidentError: There is no such incident.
        """
        with reading(self.engine) as connection:
            record = known_record(connection, incident_id)
            return history_of(connection, parts_of(connection, record.id))

    def verdicts(self, incident_id: str) -> list[VerdictRecord]:
        """Return the findings of an incident, those that are still told first.

        Raises:
            UnknownIncidentError: There is no such incident.
        """
        with reading(self.engine) as connection:
            record = known_record(connection, incident_id)
            rows = verdict_rows(connection, record.id)
        newest = max((row["last_seen"] for row in rows), default=None)
        told = sorted(rows, key=lambda row: row["last_seen"] != newest)
        return [verdict_record(row) for row in told]

    def similar(self, incident_id: str) -> list[IncidentRecord]:
        """Return earlier incidents of the same kind and subject, newest first: "seen before".

        Raises:
            UnknownIncidentError: There is no such incident.
        """
        with reading(self.engine) as connection:
            return finding.similar(connection, known_record(connection, incident_id))

    def put_maintenance(self, window: MaintenanceWindow) -> None:
        """Keep a window of maintenance; one with its id is replaced.

        Raises:
            MaintenanceError: It names nothing, ends before it begins, or nobody signs it.
        """
        with writing(self.engine) as connection:
            maintenance_rows.put_maintenance(connection, window)

    def maintenance(self, *, after: datetime) -> list[MaintenanceWindow]:
        """Return the windows that end after a time, by start."""
        with reading(self.engine) as connection:
            return maintenance_rows.maintenance_after(connection, after)
