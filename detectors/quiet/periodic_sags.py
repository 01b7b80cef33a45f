"""Find pauses that come again and again: their period, whose they are, and what they cost the job.

A collector of garbage, a cron job or a flush of the page cache stops a host for a moment. In a
synchronous job all wait for it, so hosts that pause each at its own time cost the job the sum of
their pauses, and hosts that pause together cost it one. Source: field reference (Imbue: garbage
collection of each host on its own shows as periodic sags with no fault on any node); methods
reference, sections 5 and 8 (a random rank each step is no device; checkpoints recur every so many
steps and are masked).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import polars as pl

from detectors.pauses import JOB_PACES
from detectors.quiet.pause_moments import (
    JOB,
    MomentParams,
    host_moments,
    job_moments_of_pace,
)
from detectors.quiet.rhythms import Rhythm, RhythmParams, find_rhythm
from detectors.verdicts import Evidence, Subject, Verdict, verdict_frame

CAUSE: Final = "unsynchronised_pauses"

LONE_CAUSE: Final = "periodic_pauses"

MAX_QUOTED: Final = 4

MIN_TIMES: Final = 1.5
"""Pauses in a period from which on several things pause in turns."""

MIN_SEEN: Final = 6
"""Comings after which it is told, as `RhythmParams.min_hits` has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SagParams:
    """When pauses that recur are a finding.

    Attributes:
        moments: When a step holds a pause.
        rhythm: When pauses recur.
        min_loss: Share of the job's time that is lost to them.
        max_locked_share: Of the comings that are the same number of steps later, above which the
            pauses of a whole job are planned: checkpoints and evaluations count steps.
        max_together_share: Of the hosts that pause in one step, at the median pause, above which
            hosts pause together.
        min_thing_hits: Comings of one host from which on it is one that pauses.
        min_hosts: Hosts of a job of which one alone can be named.
    """

    moments: MomentParams = field(default_factory=MomentParams)
    rhythm: RhythmParams = field(default_factory=RhythmParams)
    min_loss: float = 0.005
    max_locked_share: float = 0.95
    max_together_share: float = 0.5
    min_thing_hits: int = 2
    min_hosts: int = 4


def find_periodic_sags(
    paces: pl.LazyFrame, jobs: pl.LazyFrame, events: pl.LazyFrame, params: SagParams
) -> pl.DataFrame:
    """Return the pauses that recur in a job.

    Args:
        paces: `PACES`; what hosts do by themselves.
        jobs: `JOB_PACES`; the pace of jobs whose hosts tell nothing.
        events: `EVENTS`; planned pauses are left out.
        params: The thresholds.

    Returns:
        `VERDICTS` of kind imbalance at level job: cause unsynchronised_pauses where hosts pause
        each at its own time, periodic_pauses where a job is only known to pause; or of kind
        flapping at level host, cause periodic_pauses, where one host alone does. One row a run and
        attempt; `slowdown` is the mean step over what it were without. Partition key: run and
        attempt.

    Raises:
        SchemaError: A frame lacks a column.
    """
    whole = jobs.select(JOB_PACES.names()).collect()
    apart = host_moments(paces, params.moments).collect()
    hosts = paces.select(*JOB, "host").unique().collect()
    found = [_of_hosts(part, hosts, whole, params) for part in _parts(apart)]
    done = {key for key, verdict in found if verdict is not None}
    alone = job_moments_of_pace(jobs, events, params.moments).collect()
    rest = [_of_job(part, whole, params) for part in _parts(alone)]
    told = [*found, *((key, one) for key, one in rest if key not in done)]
    return verdict_frame(verdict for _, verdict in told if verdict is not None)


Key = tuple[str | None, int | None]


def without_repeated_pauses(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the findings without pauses that another finding tells better.

    Of a job's pauses that of their period in its steps is best, then that in its devices, then one
    without a period. A host that pauses because a part of it flaps is told by the part.
    """
    pauses = [one for one in verdicts if one.cause == CAUSE]
    best: dict[str | None, int] = {}
    for one in pauses:
        run = one.subject.run
        best[run] = min(best.get(run, len(_BETTER)), _worth(one))
    kept = [one for one in verdicts if one.cause != CAUSE or _worth(one) == best[one.subject.run]]
    sick = [one for one in kept if one.kind in _SICK and one.cause != LONE_CAUSE]
    return [one for one in kept if not any(_is_told_by(other, one) for other in sick)]


def _is_told_by(other: Verdict, one: Verdict) -> bool:
    """Return whether the pauses of one host or rank are those of something sick in it."""
    mine, theirs = one.subject, other.subject
    is_lone = one.cause == LONE_CAUSE and one.level in {"host", "rank"}
    is_place = mine.host == theirs.host if mine.host else mine.rank == theirs.rank
    is_run = theirs.run is None or theirs.run == mine.run
    is_part = (theirs.host or theirs.rank) is not None and is_place and is_run
    return is_lone and is_part and _overlap(one, other)


def _overlap(one: Verdict, other: Verdict) -> bool:
    """Return whether two findings were true at once; one without a clock may have been."""
    return all(
        late.onset is None or early.cleared is None or late.onset < early.cleared
        for late, early in ((one, other), (other, one))
    )


def _worth(verdict: Verdict) -> int:
    """Return which of the findings on pauses it is; 0 is the best."""
    return _BETTER.index(verdict.peers) if verdict.peers in _BETTER else len(_BETTER)


_PEERS: Final = "hosts of the job, by the period of their pauses"

DEVICE_PEERS: Final = "hosts of the job, by the activity of their devices"
"""What `detectors.quiet.activity_sags` compares."""

_BETTER: Final = (_PEERS, DEVICE_PEERS)

_SICK: Final = frozenset({"slow", "degrading", "flapping", "config_drift"})
"""Kinds of findings on a device, a rank or a host that make it late again and again."""


def _parts(moments: pl.DataFrame) -> Iterator[pl.DataFrame]:
    yield from moments.partition_by(*JOB, maintain_order=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sags:
    """The pauses of one job that recur, and the time that the job took."""

    rows: pl.DataFrame
    rhythm: Rhythm
    loss: float
    locked: float


def _sags_of(part: pl.DataFrame, whole: pl.DataFrame, params: SagParams) -> _Sags | None:
    """Return the pauses that recur; null where none do, or where they cost nothing."""
    job = whole.filter(*(pl.col(name).eq_missing(pl.lit(part[name][0])) for name in JOB))
    clock = job.drop_nulls("end_time").sort("step")
    if clock.is_empty():
        return None
    ends = clock["end_time"].dt.epoch("us").to_numpy() / 1e6
    start, last = float(ends.min()), float(ends.max())
    ordered = part.with_columns(thing=pl.struct("host", "rank").rank("dense").cast(pl.Int64) - 1)
    ordered = ordered.sort("thing", "end_time", "step")
    things = ordered["thing"].to_numpy()
    moments = ordered["end_time"].dt.epoch("us").to_numpy() / 1e6 - start
    step = float(np.median(clock["step_seconds"].to_numpy()))
    gap = float(np.median(np.diff(np.unique(ends)))) if clock.height > 1 else step
    rhythm = find_rhythm(things, moments, last - start, 1.1 * max(step, gap), params.rhythm)
    if rhythm is None:
        return None
    kept = ordered.head(rhythm.is_part.size)
    steps = kept["step"].to_numpy()
    lags = steps[rhythm.pairs[:, 1]] - steps[rhythm.pairs[:, 0]]
    locked = float(np.max(np.unique(lags, return_counts=True)[1]) / lags.size)
    rows = kept.filter(pl.Series(rhythm.is_part)).sort("end_time", "step", "thing")
    lost = float(rows.group_by("step").agg(pl.col("lost_seconds").max())["lost_seconds"].sum())
    total = float(clock["step_seconds"].sum())
    loss = lost / max(total - lost, lost)
    if loss < params.min_loss:
        return None
    return _Sags(rows=rows, rhythm=rhythm, loss=loss, locked=locked)


def _of_hosts(
    part: pl.DataFrame, hosts: pl.DataFrame, whole: pl.DataFrame, params: SagParams
) -> tuple[Key, Verdict | None]:
    """Return what the pauses of a job's hosts come to."""
    key: Key = (part["run"][0], part["attempt"][0])
    sags = _sags_of(part, whole, params)
    if sags is None:
        return key, None
    counts = sags.rows.group_by("host", "rank").agg(
        pl.len().alias("count"), pl.col("end_time", "step").first(), pl.col("lost_seconds").median()
    )
    pausing = counts.filter(pl.col("count") > params.min_thing_hits).sort("host", "rank")
    together = sags.rows.group_by("step").len()
    by_step = sags.rows.join(together, on="step")["len"].to_numpy()
    if pausing.height > 1:
        usual = float(np.median(by_step)) / pausing.height
        is_apart = usual <= max(params.max_together_share, 1.0 / pausing.height)
        return key, _unsynchronised(sags, pausing) if is_apart else None
    known = hosts.filter(*(pl.col(name).eq_missing(pl.lit(part[name][0])) for name in JOB))
    is_alone = known["host"].n_unique() >= params.min_hosts
    if pausing.is_empty() or not is_alone or sags.locked >= params.max_locked_share:
        return key, None
    return key, _lone(sags, pausing.row(0, named=True))


def _of_job(
    part: pl.DataFrame, whole: pl.DataFrame, params: SagParams
) -> tuple[Key, Verdict | None]:
    """Return what the pauses of a job as a whole come to: planned ones count steps."""
    key: Key = (part["run"][0], part["attempt"][0])
    sags = _sags_of(part, whole, params)
    if sags is None or sags.locked >= params.max_locked_share:
        return key, None
    return key, _of_whole(sags)


def _shared(sags: _Sags) -> dict[str, Any]:
    first = sags.rows.row(0, named=True)
    return {
        "onset": first["end_time"],
        "detected": sags.rows["end_time"][min(MIN_SEEN, sags.rows.height - 1)],
        "onset_step": first["step"],
        "slowdown": 1.0 + sags.loss,
        "peers": _PEERS,
    }


def _period_words(sags: _Sags) -> str:
    size = float(np.median(sags.rows["lost_seconds"].to_numpy()))
    ends = sags.rows["end_time"].dt.epoch("us").to_numpy() / 1e6
    span = float(ends[-1] - ends[0])
    times = sags.rows.height * sags.rhythm.seconds / (span + sags.rhythm.seconds)
    often = f", {times:.0f} in each period" if times >= MIN_TIMES else ""
    return (
        f"{sags.rows.height} pauses of {size:.2g} s come again every {sags.rhythm.seconds:.4g} s"
        f"{often} ({sags.rhythm.share:.0%} of them do); the job loses {sags.loss:.1%} of its time"
    )


def _unsynchronised(sags: _Sags, pausing: pl.DataFrame) -> Verdict:
    """Return the verdict on hosts that pause each at its own time."""
    run, attempt = sags.rows["run"][0], sags.rows["attempt"][0]
    period = sags.rhythm.seconds
    origin = sags.rows["end_time"][0]
    phases = pausing.with_columns(
        phase=((pl.col("end_time") - origin).dt.total_microseconds() / 1e6) % period
    ).sort("phase", "host", "rank")
    shown = ", ".join(
        f"{_name(row)} at {row['phase']:.3g} s"
        for row in phases.head(MAX_QUOTED).iter_rows(named=True)
    )
    spread = f"{pausing.height} hosts or ranks pause, each at its own phase: {shown}"
    saved = sags.loss * (1.0 - 1.0 / pausing.height)
    return Verdict(
        kind="imbalance",
        level="job",
        subject=Subject(run=run, attempt=attempt),
        cause=CAUSE,
        confidence="high",
        peer_count=pausing.height,
        evidence=(
            Evidence(source="steps", time=origin, what=_period_words(sags)),
            Evidence(source="steps", time=origin, what=spread),
        ),
        action="no device to drain: let all hosts pause at the same step (collect garbage every so "
        "many steps, move cron jobs and flushes to one time); pausing together would give back "
        f"about {saved:.1%} of the job's time",
        **_shared(sags),
    )


def _name(row: dict[str, Any]) -> str:
    return str(row["host"]) if row["host"] is not None else f"rank {row['rank']}"


def _lone(sags: _Sags, row: dict[str, Any]) -> Verdict:
    """Return the verdict on the one host that pauses."""
    return Verdict(
        kind="flapping",
        level="rank" if row["host"] is None else "host",
        subject=Subject(
            run=sags.rows["run"][0],
            attempt=sags.rows["attempt"][0],
            host=row["host"],
            rank=row["rank"],
        ),
        cause=LONE_CAUSE,
        confidence="medium",
        peer_count=1,
        evidence=(Evidence(source="steps", time=row["end_time"], what=_period_words(sags)),),
        action="look at what runs on this host with that period: cron, an agent, flushes of the "
        "page cache; no GPU to drain",
        **_shared(sags),
    )


def _of_whole(sags: _Sags) -> Verdict:
    """Return the verdict on a job of which only the whole is told."""
    return Verdict(
        kind="imbalance",
        level="job",
        subject=Subject(run=sags.rows["run"][0], attempt=sags.rows["attempt"][0]),
        cause=LONE_CAUSE,
        confidence="medium",
        peer_count=0,
        evidence=(
            Evidence(source="steps", time=sags.rows["end_time"][0], what=_period_words(sags)),
        ),
        action="look at what runs with that period on any of its hosts: garbage collection, cron, "
        "an agent, flushes of the page cache; let all hosts pause at the same step",
        needed="time of each rank's own work tells whether hosts pause together or in turns",
        **_shared(sags),
    )
