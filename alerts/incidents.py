"""An incident: one fault with its suspects, its burns, its clock, and what it costs.

Source: The Site Reliability Workbook, chapter 5, and the reference on page text: time to detect, to
page and to resolve count from the onset of the condition, never from the first alert.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Final, Literal, cast

from alerts.blast_radii import STOPPING_KINDS, BlastRadius, RunFacts, blast_radii
from alerts.faults import NAMELESS_KINDS, SYMPTOM_KINDS, Fault, JoinParams, group_faults
from alerts.firings import Firing
from alerts.titles import incident_id, incident_title
from detectors.verdicts import Confidence, Level, Verdict, rfc3339, verdict_json
from slo.windows import Severity

_LEVELS: Final[tuple[Level, ...]] = (
    "link",
    "nic",
    "gpu",
    "rank",
    "host",
    "rack",
    "group",
    "job",
)
_CONFIDENCES: Final[tuple[Confidence, ...]] = ("high", "medium", "low")
_NEEDED: Final = (
    "step records of each rank with compute and communication times, and device signals of the "
    "run's hosts over the same time"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """One fault, as people talk about it.

    Attributes:
        id: Hash of run, onset, kind and subject: the same inputs give the same id.
        title: What is hurt and where, without numbers that change.
        run: Training run; null when none is known or several are hurt.
        severity: `page` when users feel it, `ticket` when it can wait for the morning.
        state: `open` until every finding has cleared.
        as_of: End of the data that it rests on; null when nothing has a clock.
        onset: When the fault began; null when no source with a clock says.
        onset_before_data: It was so already when the data began.
        detected: First finding or first firing, whichever came first.
        paged_at: When someone was first woken; null for a ticket.
        cleared: When the fault ended; null while it lasts or where no source with a clock says.
        ttd_seconds: From the onset to `detected`.
        ttp_seconds: From the onset to `paged_at`.
        ttr_seconds: From the onset to `cleared`.
        suspects: Who is accused, surest and smallest domain first; empty is unknown.
        context: Findings that a suspect explains, or that name nobody.
        burns: Firings of burn-rate alerts, by time.
        blast_radius: Who and what it hurts.
        needed: With no suspect: the input that would decide.
    """

    id: str
    title: str
    run: str | None
    severity: Severity
    state: Literal["open", "resolved"]
    as_of: datetime | None
    onset: datetime | None
    onset_before_data: bool
    detected: datetime | None
    paged_at: datetime | None
    cleared: datetime | None
    ttd_seconds: float | None
    ttp_seconds: float | None
    ttr_seconds: float | None
    suspects: tuple[Verdict, ...]
    context: tuple[Verdict, ...]
    burns: tuple[Firing, ...]
    blast_radius: BlastRadius
    needed: str | None


def join_incidents(
    verdicts: Sequence[Verdict],
    firings: Sequence[Firing],
    facts: RunFacts,
    params: JoinParams,
    *,
    now: datetime | None,
) -> list[Incident]:
    """Return one incident a fault: pages first, open ones first, then by onset.

    A burn of the page tier makes a page, and so does a finding of a kind that stops a run. Any
    other finding without a burn is a ticket; an unknown one never pages by itself. A burn without
    a finding is an incident whose suspect is unknown.

    Args:
        verdicts: All findings, in any order.
        firings: All firings of burn-rate alerts, in any order.
        facts: Sizes and steps of the runs.
        params: When symptoms are one fault.
        now: End of the data: what still lasts is counted up to here; null when nothing has a clock.
    """
    faults = group_faults(verdicts, firings, facts.hosts, params)
    radii = blast_radii(faults, facts, now=now)
    incidents = [
        incident_of(fault, radius, params, now) for fault, radius in zip(faults, radii, strict=True)
    ]
    return sorted(incidents, key=_reading_order)


def incident_of(
    fault: Fault, radius: BlastRadius, params: JoinParams, now: datetime | None
) -> Incident:
    """Return the incident of one fault.

    Args:
        fault: What belongs together.
        radius: Whom it hurts.
        params: Which findings wake someone.
        now: End of the data that it rests on; null when nothing has a clock.
    """
    suspects, context = _parts(fault)
    onset, detected, paged_at = fault.onset, _detected(fault), _paged_at(fault, params)
    lead = next(iter((*suspects, *context)), None)
    return Incident(
        id=incident_id(fault.runs, onset, lead, [one.objective for one in fault.firings]),
        title=incident_title(fault.runs, suspects, context),
        run=fault.runs[0] if len(fault.runs) == 1 else None,
        severity="page" if _pages(fault, params) else "ticket",
        state="resolved" if fault.has_ended else "open",
        as_of=now,
        onset=onset,
        onset_before_data=any(one.onset_before_data for one in fault.verdicts),
        detected=detected,
        paged_at=paged_at,
        cleared=fault.cleared,
        ttd_seconds=_seconds(onset, detected),
        ttp_seconds=_seconds(onset, paged_at),
        ttr_seconds=_seconds(onset, fault.cleared),
        suspects=suspects,
        context=context,
        burns=fault.firings,
        blast_radius=radius,
        needed=_needed(suspects, context),
    )


def incident_json(incident: Incident) -> dict[str, object]:
    """Return an incident as the JSON contract has it: times as RFC 3339 in UTC, unset null."""
    return {item.name: _plain(getattr(incident, item.name)) for item in fields(Incident)}


def _plain(value: object) -> object:
    """Return a field's value as JSON has it."""
    if isinstance(value, datetime):
        return rfc3339(value)
    if isinstance(value, Verdict):
        return verdict_json(value)
    if isinstance(value, Firing | BlastRadius):
        return {item.name: _plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, tuple):
        return [_plain(one) for one in cast("tuple[object, ...]", value)]
    return value


def _reading_order(incident: Incident) -> tuple[bool, bool, str, str]:
    onset = rfc3339(incident.onset) if incident.onset else ""
    return incident.severity != "page", incident.state != "open", onset, incident.id


def _parts(fault: Fault) -> tuple[tuple[Verdict, ...], tuple[Verdict, ...]]:
    """Return who is accused and what is explained.

    A job that is slow as a whole is explained by a part of it or by what its ranks share; a
    symptom with a name stands in for a cause.
    """
    able = [one for one in fault.verdicts if not _is_slow_job(one)]
    causes = [one for one in able if one.kind not in SYMPTOM_KINDS]
    parts = [one for one in causes if one.level != "job" or one.kind in STOPPING_KINDS]
    named = [one for one in able if one.kind not in NAMELESS_KINDS]
    whole = [one for one in fault.verdicts if _is_slow_job(one)]
    suspects = sorted(parts or causes or named or whole, key=_suspicion)
    return tuple(suspects), tuple(one for one in fault.verdicts if one not in suspects)


def _is_slow_job(verdict: Verdict) -> bool:
    """Return whether a finding only says that a job as a whole is slow: the harm, not its cause."""
    return verdict.kind == "slow" and verdict.level == "job"


def _suspicion(verdict: Verdict) -> tuple[bool, int, int, float]:
    """Return the order of suspects: what stops a run, then the surest, smallest and slowest."""
    return (
        verdict.kind not in STOPPING_KINDS,
        _CONFIDENCES.index(verdict.confidence),
        _LEVELS.index(verdict.level),
        -(verdict.slowdown or 1.0),
    )


def _pages(fault: Fault, params: JoinParams) -> bool:
    """Return whether someone is woken, whether or not a clock says when."""
    return any(one.severity == "page" for one in fault.firings) or any(
        _stops_unasked(one, params) for one in fault.verdicts
    )


def _stops_unasked(verdict: Verdict, params: JoinParams) -> bool:
    """Return whether a finding stopped a run that nobody asked to stop."""
    return verdict.kind in params.paging_kinds and verdict.cause not in params.planned_causes


def _detected(fault: Fault) -> datetime | None:
    found = [one.detected for one in fault.verdicts if one.detected]
    return min([*found, *(one.fired_at for one in fault.firings)], default=None)


def _paged_at(fault: Fault, params: JoinParams) -> datetime | None:
    stops = [one.detected for one in fault.verdicts if _stops_unasked(one, params)]
    fired = [one.fired_at for one in fault.firings if one.severity == "page"]
    return min([*fired, *(time for time in stops if time)], default=None)


def _seconds(onset: datetime | None, moment: datetime | None) -> float | None:
    """Return the time since the onset; one tick of error must not make it negative."""
    if onset is None or moment is None:
        return None
    return max(0.0, (moment - onset).total_seconds())


def _needed(suspects: Sequence[Verdict], context: Sequence[Verdict]) -> str | None:
    """Return what would decide where nobody is accused."""
    if suspects:
        return None
    return next((one.needed for one in context if one.needed), _NEEDED)
