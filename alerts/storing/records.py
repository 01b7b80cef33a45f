"""Rows of the incident database as the rest of the house sees them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal

from alerts.lifecycle import State
from detectors.verdicts import Kind
from slo.windows import Severity

MAX_PAGE: Final = 500
"""Incidents on one page of a list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentRecord:
    """An incident as it is kept: what the data say of it, and what people did.

    Attributes:
        id: The first id that its evidence had; it stays when the onset moves.
        number: What people call it, from 1.
        state: Where it stands in its life.
        severity: `page` once anything about it was worth waking someone.
        run: Training run; null when none is known or several are hurt.
        title: What is hurt and where, without numbers that change.
        onset: When the fault began; null when no source with a clock says.
        detected: When it was first found.
        paged_at: When someone was first woken; null for a ticket.
        acknowledged_at: When somebody took it; null while nobody has.
        mitigated_at: When it stopped hurting; null while it hurts.
        resolved_at: When it was over; null while it is not.
        resolved_by: `data`, or who said so; null while it is not resolved.
        assignee: Who works on it; null when nobody.
        merged_into: The incident that it is part of; null when it stands alone.
        reopened_count: How often it came back.
        reopened_at: When somebody last said that it is not over; null when nobody did since it was.
        likeness: Same kind and subject, whatever the run.
        maintenance: Id of the window of maintenance that keeps it quiet; null when none does.
        inhibited_by: Id of the incident that explains it and keeps it quiet; null when none does.
        body: `alerts.incidents.incident_json` of the newest evidence.
        first_seen: When it was first written.
        updated: When it was last written.
        version: Counts the writes.
    """

    id: str
    number: int
    state: State
    severity: Severity
    run: str | None
    title: str
    onset: datetime | None
    detected: datetime | None
    paged_at: datetime | None
    acknowledged_at: datetime | None = None
    mitigated_at: datetime | None = None
    resolved_at: datetime | None = None
    resolved_by: str | None = None
    assignee: str | None = None
    merged_into: str | None = None
    reopened_count: int = 0
    reopened_at: datetime | None = None
    likeness: str = ""
    maintenance: str | None = None
    inhibited_by: str | None = None
    body: Mapping[str, Any] = field(default_factory=dict[str, Any])
    first_seen: datetime
    updated: datetime
    version: int

    @property
    def ttd_seconds(self) -> float | None:
        """From the onset until it was found; null when either is not known."""
        return _since(self.onset, self.detected)

    @property
    def ttm_seconds(self) -> float | None:
        """From the onset until it stopped hurting; null when either is not known."""
        return _since(self.onset, self.mitigated_at)

    @property
    def ttr_seconds(self) -> float | None:
        """From the onset until it was over; null when either is not known."""
        return _since(self.onset, self.resolved_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """One thing that happened to an incident.

    Attributes:
        id: Its place in the history of all incidents.
        incident: Whose it is.
        at: When.
        actor: Who did it: `data`, `policy`, or a person's name.
        kind: What it was, such as `opened`, `acknowledged`, `note`, `merged`.
        body: What belongs to it, such as the `text` of a note.
    """

    id: int
    incident: str
    at: datetime
    actor: str
    kind: str
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictRecord:
    """One finding of an incident.

    Attributes:
        id: What a split names it by.
        incident: Whose it is.
        body: `detectors.verdicts.verdict_json` as it was last told.
        first_seen: When it was first told.
        last_seen: When it was last told; earlier than the incident's newest: no longer told.
        cleared: When it ended; null while it lasts or when no clock says.
        pinned: Whether somebody put it here by hand.
    """

    id: str
    incident: str
    body: Mapping[str, Any]
    first_seen: datetime
    last_seen: datetime
    cleared: datetime | None
    pinned: bool


ChangeKind = Literal[
    "opened", "updated", "escalated", "reopened", "resolved", "merged", "acted", "standing"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What one write did to one incident.

    Attributes:
        kind: The most telling of what happened; `standing` is nothing at all.
        before: The incident before it; null when it is new.
        after: The incident after it.
    """

    kind: ChangeKind
    before: IncidentRecord | None
    after: IncidentRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentFilters:
    """Which incidents are wanted; what is null or empty asks for nothing.

    Attributes:
        states: Any of these states.
        severity: This severity.
        run: Those that touch this run.
        host: Those with a finding on this host.
        kind: Those with a finding of this kind.
        since: Those that began, or were first seen, at this time or later.
        merged: Also those that are part of another.
    """

    states: Sequence[State] = ()
    severity: Severity | None = None
    run: str | None = None
    host: str | None = None
    kind: Kind | None = None
    since: datetime | None = None
    merged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """Which part of a long list is wanted: newest first.

    Attributes:
        limit: How many at most, from 1 to 500.
        before: Number of the last incident of the page before; null for the first page.
    """

    limit: int = 50
    before: int | None = None

    def __post_init__(self) -> None:
        """Refuse a page that is empty or endless."""
        if not 1 <= self.limit <= MAX_PAGE:
            raise ValueError(f"a page holds 1 to {MAX_PAGE} incidents, found limit {self.limit}")


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentPage:
    """A part of a list of incidents.

    Attributes:
        records: The incidents, newest number first.
        next_before: What `PageRequest.before` the next page has; null when this is the last.
    """

    records: tuple[IncidentRecord, ...]
    next_before: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceWindow:
    """A stretch in which somebody works on something, and nobody is told of it.

    Attributes:
        id: Its name.
        matchers: `run`, `host` or `rack`, and the value that an incident must have for each.
        starts: When it begins.
        ends: When it ends; itself outside.
        who: Who answers for it.
        why: What for.
    """

    id: str
    matchers: Mapping[str, str]
    starts: datetime
    ends: datetime
    who: str
    why: str


def _since(onset: datetime | None, moment: datetime | None) -> float | None:
    """Return the time since the onset, at least 0: an onset may be estimated late by a tick."""
    if onset is None or moment is None:
        return None
    return max(0.0, (moment - onset).total_seconds())
