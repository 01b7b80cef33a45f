"""Incidents as they are kept: what the ticks find, what people do, and what is to be sent of it.

Each write is one transaction: the incident, its history and the messages about it are kept together
or not at all.
"""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Engine

from alerts.incidents import Incident
from alerts.lifecycle import Action
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


class IncidentStore:
    """The incidents of one database; `policy` decides what each write sends.

    Everything that waits for the lock of writers waits at most `databases.BUSY_SECONDS`.
    """

    def __init__(self, engine: Engine) -> None:
        """Keep incidents in an engine of `alerts.storing.databases.open_database`."""
        self.engine = engine

    def refresh(self, incidents: Sequence[Incident], *, now: datetime) -> list[Change]:
        """Take what a tick found; the same tick again changes nothing.

        Args:
            incidents: What `join_incidents` gave, in any order.
            now: When the tick ran.

        Returns:
            What changed, by number.
        """
        raise NotImplementedError

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
        raise NotImplementedError

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
        raise NotImplementedError

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
        raise NotImplementedError

    def get(self, incident_id: str) -> IncidentRecord:
        """Return the incident with this id or alias, as it stands, merged or not.

        Raises:
            UnknownIncidentError: There is no such incident.
        """
        raise NotImplementedError

    def find(self, filters: IncidentFilters, page: PageRequest) -> IncidentPage:
        """Return a page of the incidents that are wanted, newest number first."""
        raise NotImplementedError

    def history(self, incident_id: str) -> list[HistoryEntry]:
        """Return what happened to an incident and to those merged into it, in order.

        Raises:
            UnknownIncidentError: There is no such incident.
        """
        raise NotImplementedError

    def verdicts(self, incident_id: str) -> list[VerdictRecord]:
        """Return the findings of an incident, those that are still told first.

        Raises:
            UnknownIncidentError: There is no such incident.
        """
        raise NotImplementedError

    def similar(self, incident_id: str) -> list[IncidentRecord]:
        """Return earlier incidents of the same kind and subject, newest first: "seen before".

        Raises:
            UnknownIncidentError: There is no such incident.
        """
        raise NotImplementedError

    def put_maintenance(self, window: MaintenanceWindow) -> None:
        """Keep a window of maintenance; one with its id is replaced."""
        raise NotImplementedError

    def maintenance(self, *, after: datetime) -> list[MaintenanceWindow]:
        """Return the windows that end after a time, by start."""
        raise NotImplementedError
