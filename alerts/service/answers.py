"""What the API answers, and how the OpenAPI tells of it."""

from datetime import datetime
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, JsonValue

from alerts.lifecycle import State
from alerts.storing.records import IncidentPage, IncidentRecord, VerdictRecord
from detectors.verdicts import Kind, Level
from slo.windows import Severity

EXAMPLE_ID: Final = "c085e86fc3fff907"

_EXAMPLE: Final[dict[str, JsonValue]] = {
    "id": EXAMPLE_ID,
    "number": 17,
    "state": "open",
    "severity": "page",
    "run": "W-TRAIN",
    "title": "W-TRAIN runs slow: gpu 4 (rank 116) on hx8-015 (thermal)",
    "onset": "2026-01-05T01:15:00Z",
    "detected": "2026-01-05T01:19:00Z",
    "paged_at": "2026-01-05T01:27:30Z",
    "acknowledged_at": None,
    "mitigated_at": None,
    "resolved_at": None,
    "resolved_by": None,
    "assignee": None,
    "merged_into": None,
    "reopened_count": 0,
    "maintenance": None,
    "inhibited_by": None,
    "ttd_seconds": 240.0,
    "ttm_seconds": None,
    "ttr_seconds": None,
    "first_seen": "2026-01-05T01:19:02Z",
    "updated": "2026-01-05T01:40:02Z",
    "version": 9,
}

_DETAIL_EXAMPLE: Final[dict[str, JsonValue]] = {**_EXAMPLE, "body": {"id": EXAMPLE_ID}}


class _Answer(BaseModel):
    """An answer that is read off a row."""

    model_config = ConfigDict(from_attributes=True, frozen=True)


class IncidentSummary(_Answer):
    """An incident in a list; see `alerts.storing.records.IncidentRecord` for each field."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    id: str
    number: int
    state: State
    severity: Severity
    run: str | None
    title: str
    onset: datetime | None
    detected: datetime | None
    paged_at: datetime | None
    acknowledged_at: datetime | None
    mitigated_at: datetime | None
    resolved_at: datetime | None
    resolved_by: str | None
    assignee: str | None
    merged_into: str | None
    reopened_count: int
    maintenance: str | None
    inhibited_by: str | None
    ttd_seconds: float | None
    ttm_seconds: float | None
    ttr_seconds: float | None
    first_seen: datetime
    updated: datetime
    version: int


class IncidentDetail(IncidentSummary):
    """An incident with its newest evidence, as `paceline analyze --format json` has it."""

    model_config = ConfigDict(json_schema_extra={"examples": [_DETAIL_EXAMPLE]})

    body: dict[str, Any]


class IncidentList(_Answer):
    """A page of incidents, the newest number first.

    Attributes:
        incidents: The incidents.
        next_before: `before` of the next page; null on the last one.
    """

    incidents: list[IncidentSummary]
    next_before: int | None


class HistoryItem(_Answer):
    """One thing that happened to an incident."""

    id: int
    incident: str
    at: datetime
    actor: str
    kind: str
    body: dict[str, Any]


class History(_Answer):
    """What happened to an incident, in order."""

    entries: list[HistoryItem]


class VerdictItem(_Answer):
    """One finding."""

    id: str
    incident: str
    kind: Kind
    level: Level
    first_seen: datetime
    last_seen: datetime
    cleared: datetime | None
    pinned: bool
    body: dict[str, Any]


class VerdictList(_Answer):
    """Findings.

    Attributes:
        verdicts: The findings.
        next_after: `after` of the next page; null on the last one.
    """

    verdicts: list[VerdictItem]
    next_after: str | None = None


class EvidenceItem(_Answer):
    """One thing that was seen.

    Attributes:
        verdict: Id of the finding that rests on it.
        place: Its place among the evidence of that finding, from 0.
        source: Which input or signal showed it.
        time: When; null if the source has no clock.
        what: In words, with the numbers.
    """

    verdict: str
    place: int
    source: str
    time: datetime | None
    what: str


class EvidenceList(_Answer):
    """What an incident rests on, most telling first."""

    evidence: list[EvidenceItem]


def incident_list(page: IncidentPage) -> IncidentList:
    """Return a page of incidents as the API answers it."""
    found = [IncidentSummary.model_validate(record) for record in page.records]
    return IncidentList(incidents=found, next_before=page.next_before)


def incident_detail(record: IncidentRecord) -> IncidentDetail:
    """Return an incident as the API answers it."""
    return IncidentDetail.model_validate(record)


def verdict_item(record: VerdictRecord) -> VerdictItem:
    """Return a finding as the API answers it."""
    told = {name: record.body[name] for name in ("kind", "level")}
    kept = {
        name: getattr(record, name)
        for name in ("id", "incident", "first_seen", "last_seen", "cleared", "pinned", "body")
    }
    return VerdictItem.model_validate(told | kept)


def evidence_of(record: VerdictRecord) -> list[EvidenceItem]:
    """Return what a finding rests on."""
    return [
        EvidenceItem.model_validate({"verdict": record.id, "place": place, **seen})
        for place, seen in enumerate(record.body["evidence"])
    ]
