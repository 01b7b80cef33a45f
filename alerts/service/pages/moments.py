"""The life of an incident as a line of moments, each with its distance from the onset."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from alerts.incidents import Incident
from alerts.storing.records import IncidentRecord

Place = Literal["onset", "reached", "ahead"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One moment.

    Attributes:
        name: What it is.
        time: When; null when it has not come or is not known.
        words: What stands there instead of a time; empty with a time.
        since_seconds: From the onset; null when either is not known, and at the onset itself.
        place: Whether it is the onset, has come, or is still ahead.
    """

    name: str
    time: datetime | None
    words: str
    since_seconds: float | None
    place: Place


def moments(record: IncidentRecord, incident: Incident) -> list[Moment]:
    """Return onset, detection, page, acknowledgement, mitigation and end, in this order."""
    is_over = record.state == "resolved"
    paged = "nobody: a ticket" if record.severity == "ticket" else "not yet"
    rows = (
        ("Onset", record.onset, _onset_words(incident)),
        ("Detected", record.detected, "not known"),
        ("Paged", record.paged_at, paged),
        ("Acknowledged", record.acknowledged_at, "by nobody" if is_over else "not yet"),
        ("Mitigated", record.mitigated_at, "not told" if is_over else "not yet"),
        ("Resolved", record.resolved_at, "not known" if is_over else "not yet"),
    )
    return [_moment(name, time, words, record.onset) for name, time, words in rows]


def _onset_words(incident: Incident) -> str:
    """Return what is known of an onset without a time."""
    steps = [one.onset_step for one in incident.suspects if one.onset_step is not None]
    if steps:
        return f"step {min(steps)} (no clock)"
    return "before the data began" if incident.onset_before_data else "not known"


def _moment(name: str, time: datetime | None, words: str, onset: datetime | None) -> Moment:
    is_onset = name == "Onset"
    since = None
    if time is not None and onset is not None and not is_onset:
        since = max(0.0, (time - onset).total_seconds())
    place: Place = "onset" if is_onset else "ahead" if time is None else "reached"
    shown = "" if time is not None else words
    return Moment(name=name, time=time, words=shown, since_seconds=since, place=place)
