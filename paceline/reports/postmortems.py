"""What a postmortem rests on: the impact in numbers, the moments in order, and what is not known.

Source: Site Reliability Engineering, chapter 15 and its example postmortem: summary, impact,
causes, trigger, detection, resolution, lessons, action items, a timeline in UTC. People write the
lessons; what stands here is what the data says, and where it says nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import polars as pl

from alerts.firings import Firing
from alerts.incidents import Incident
from alerts.wording import clock_text, count_text, percent_text, rate_text
from collectors.frames import TIME
from detectors.verdicts import Verdict
from paceline.analysis import Analysis, reject_reasons
from slo.budgets import MIN_JUDGED_COVERAGE_RATIO

LEAD: Final = timedelta(minutes=30)
"""How long before the onset something may have set the fault off."""

MAX_EVENTS: Final = 20
"""Kinds of events in the timeline; more would hide the story."""

MAX_GAPS: Final = 5

_GRAVE: Final = ("critical", "error", "fatal")

_CHANGES: Final = ("restart", "run_start", "setting", "node_state", "boot", "checkpoint_load")
"""Kinds of events that change something: a fault that follows one may have been set off by it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One line of the timeline.

    Attributes:
        time: When.
        what: What happened, in words.
        source: Which input or rule tells it.
    """

    time: datetime
    what: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepImpact:
    """What the steps of the runs say of the time between onset and end.

    Attributes:
        judged: Steps that could be judged.
        slow: Those that were slow.
        median_seconds: Median time of the judged steps.
        baseline_seconds: Median of what they would have taken at the run's healthy pace.
    """

    judged: int
    slow: int
    median_seconds: float
    baseline_seconds: float

    @property
    def slow_ratio(self) -> float:
        """Share (0-1) of the judged steps that were slow."""
        return self.slow / self.judged

    @property
    def slowdown(self) -> float:
        """How many times as long a step took."""
        return self.median_seconds / self.baseline_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Postmortem:
    """What the data gives for a postmortem.

    Attributes:
        incident: The incident.
        steps: What the steps say; null without a judged step between onset and end.
        moments: The timeline, by time.
        changes: What changed on the suspects' hosts, or in their runs, shortly before the onset.
        unknown: What is not known, one sentence each.
    """

    incident: Incident
    steps: StepImpact | None
    moments: tuple[Moment, ...]
    changes: tuple[Moment, ...]
    unknown: tuple[str, ...]


def postmortem_of(analysis: Analysis, incident: Incident) -> Postmortem:
    """Return what an analysis gives for the postmortem of one of its incidents."""
    events = _events_near(analysis, incident)
    is_before = pl.col("time") < pl.lit(incident.onset, TIME)
    changes = events.filter(pl.col("kind").is_in(_CHANGES) & is_before)
    grave = events.filter(pl.col("severity").is_in(_GRAVE))
    moments = [*_own_moments(incident), *_told(grave)]
    return Postmortem(
        incident=incident,
        steps=_step_impact(analysis, incident),
        moments=tuple(sorted(moments, key=lambda one: (one.time, one.what, one.source))),
        changes=tuple(_told(changes)),
        unknown=(*_unknown(analysis, incident), *_unread(analysis)),
    )


def _step_impact(analysis: Analysis, incident: Incident) -> StepImpact | None:
    """Return what the judged steps of the hurt runs say of the incident's time."""
    end = incident.cleared or analysis.as_of
    if incident.onset is None or end is None:
        return None
    judged = analysis.replay.events.filter(
        pl.col("run").is_in(incident.blast_radius.jobs),
        pl.col("reason").is_null(),
        pl.col("end_time").is_between(incident.onset, end, closed="right"),
    )
    if judged.is_empty():
        return None
    median, baseline = (judged[name].median() for name in ("step_seconds", "baseline_seconds"))
    return StepImpact(
        judged=judged.height,
        slow=int(judged["slow"].sum()),
        median_seconds=float(str(median)),
        baseline_seconds=float(str(baseline)),
    )


def _own_moments(incident: Incident) -> Iterator[Moment]:
    """Yield what the incident itself tells."""
    for one in (*incident.suspects, *incident.context):
        yield from _of_verdict(one)
    for burn in incident.burns:
        yield from _of_burn(burn)


def _of_verdict(verdict: Verdict) -> Iterator[Moment]:
    who, source = verdict.subject.phrase(), f"{verdict.kind} at {verdict.level} level"
    told = (
        (verdict.onset, f"onset: {who}"),
        (verdict.detected, f"detected: {who}"),
        (verdict.cleared, f"ended: {who}"),
    )
    yield from (Moment(time=time, what=what, source=source) for time, what in told if time)


def _of_burn(burn: Firing) -> Iterator[Moment]:
    counts = f"{count_text(burn.long_bad)} of {count_text(burn.long_total)} events bad"
    fired = f"{burn.severity} {burn.pair} fired at {rate_text(burn.long_burn_rate)}: {counts}"
    told = (
        (burn.active_at, f"burn above {rate_text(burn.factor)} in both windows of {burn.pair}"),
        (burn.fired_at, fired),
        (burn.resolved_at, f"{burn.severity} {burn.pair} let go"),
    )
    yield from (Moment(time=time, what=what, source=burn.objective) for time, what in told if time)


def _events_near(analysis: Analysis, incident: Incident) -> pl.DataFrame:
    """Return the `EVENTS` of the suspects' hosts and of the hurt runs, from shortly before on."""
    end = incident.cleared or analysis.as_of
    if incident.onset is None or end is None:
        return analysis.reading.events.clear()
    hosts = {one.subject.host for one in incident.suspects} - {None}
    mine = pl.col("host").is_in(sorted(str(host) for host in hosts)) | (
        pl.col("host").is_null() & pl.col("run").is_in(incident.blast_radius.jobs)
    )
    near = pl.col("time").is_between(incident.onset - LEAD, end)
    return analysis.reading.events.filter(mine & near)


def _told(events: pl.DataFrame) -> list[Moment]:
    """Return the first event of each kind, with how many there are and where the first stands."""
    firsts = (
        events.sort("time", "source", "position", "message")
        .group_by("host", "kind", "code", maintain_order=True)
        .agg(pl.col("time", "message", "source", "position").first(), pl.len().alias("count"))
        .sort("time", "kind", "code", "host")
        .head(MAX_EVENTS)
    )
    return [_moment(**row) for row in firsts.iter_rows(named=True)]


def _moment(  # noqa: PLR0913 -- one argument a column
    *,
    host: str | None,
    kind: str,
    code: str | None,
    time: datetime,
    message: str | None,
    source: str,
    position: int | None,
    count: int,
) -> Moment:
    name = f"{kind} {code}" if code else kind
    where = f" on {host}" if host else ""
    times = f" ({count} times)" if count > 1 else ""
    said = f": {message}" if message else ""
    return Moment(
        time=time,
        what=f"{name}{where}{times}{said}",
        source=source if position is None else f"{source}:{position}",
    )


def _unknown(analysis: Analysis, incident: Incident) -> Iterator[str]:
    """Yield what the data does not say."""
    if not incident.suspects:
        yield f"The culprit. It would be decided by: {incident.needed}."
    if incident.onset is None:
        yield "When it began: no source with a clock says so."
    elif incident.onset_before_data:
        yield f"When it began: it was so already when the data began, {clock_text(incident.onset)}."
    if incident.cleared is None:
        yield f"When it ended: it still lasts at the end of the data, {clock_text(analysis.as_of)}."
    if incident.blast_radius.gpu_hours_lost is None:
        yield "What it cost in GPU-hours: judged steps and the size of each run would tell."
    coverages = [one.budget_coverage_ratio for one in incident.burns]
    thin = [one for one in coverages if one is not None and one < MIN_JUDGED_COVERAGE_RATIO]
    if thin:
        yield f"The budget's state: there is data for {percent_text(max(thin))} of its period."


def _unread(analysis: Analysis) -> Iterator[str]:
    """Yield what did not arrive, and what was not understood."""
    gaps = (
        analysis.reading.coverage.group_by("signal")
        .agg(pl.col("seen", "expected").sum())
        .filter(pl.col("seen") < pl.col("expected"))
        .sort(pl.col("seen") / pl.col("expected"), "signal")
    )
    for signal, seen, expected in gaps.head(MAX_GAPS).iter_rows():
        yield f"Part of {signal}: {seen:,} of {expected:,} samples arrived."
    for reason in reject_reasons(analysis.reading.rejects)[:MAX_GAPS]:
        yield f"What {reason.count:,} rejected lines say: {reason.reason}, e.g. {reason.example}."
