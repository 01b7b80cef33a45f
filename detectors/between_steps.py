"""Find jobs that lose time between their steps: what a step timer does not see.

Source: progress reference, section 15.5: where the steps' own times do not add up to the time
between two stamps, the rest was spent between them, on saving, collecting garbage or fetching data.
Newer versions of Megatron leave evaluations and saves out of their step times.
"""

from dataclasses import dataclass, replace
from typing import Final

import polars as pl

from collectors.frames import STEPS, require
from detectors.jobs import JobParams, find_slow_jobs
from detectors.pauses import JOB_PACES
from detectors.verdicts import Evidence, Verdict, verdict_frame, verdicts_of

_LANE: Final = ("run", "attempt", "source")


@dataclass(frozen=True, slots=True, kw_only=True)
class BetweenParams:
    """When time between steps counts.

    Attributes:
        max_told_change: Ratio of the told step times, after over before, up to which it is not the
            steps themselves that are slow.
        max_stamp_share: A stamp's tick of a second is at most this share of an interval.
    """

    max_told_change: float = 1.05
    max_stamp_share: float = 0.1


def find_between_steps(steps: pl.LazyFrame, jobs: JobParams, params: BetweenParams) -> pl.DataFrame:
    """Return the stretches in which more time passed between the steps of a job than before.

    Args:
        steps: `STEPS`, cleaned; reports of whole jobs whose lines have stamps tell.
        jobs: When a stretch counts, as for slow jobs.
        params: When it lies between the steps.

    Returns:
        `VERDICTS` of kind group_slow at level job, cause between_steps. Partition key: run and
        attempt.
    """
    rows = _walls(steps, params).collect()
    paces = rows.lazy().select(
        pl.col(name) if name in rows.columns else pl.lit(None, dtype=kind).alias(name)
        for name, kind in JOB_PACES.items()
    )
    found = verdicts_of(find_slow_jobs(paces, jobs))
    judged = (_between(one, rows, params) for one in found)
    return verdict_frame(one for one in judged if one is not None)


def _walls(steps: pl.LazyFrame, params: BetweenParams) -> pl.LazyFrame:
    """Return the wall seconds of a step, by stamps, beside what the timer told."""
    ordered = (
        steps.pipe(require, STEPS)
        .filter(pl.col("rank").is_null(), pl.col("time_kind") == "interval_mean")
        .drop_nulls(["step", "end_time", "step_seconds"])
        .sort(*_LANE, "step", "end_time")
    )
    gap = pl.col("step").diff().over(_LANE)
    passed = pl.col("end_time").diff().over(_LANE).dt.total_microseconds() / 1e6
    return (
        ordered.with_columns(gap=gap, passed=passed, told="step_seconds")
        .filter(
            pl.col("gap") == pl.col("interval_steps"),
            pl.col("passed") * params.max_stamp_share >= 1.0,
        )
        .with_columns(step_seconds=pl.col("passed") / pl.col("gap"), paused=pl.lit(value=False))
    )


def _between(verdict: Verdict, rows: pl.DataFrame, params: BetweenParams) -> Verdict | None:
    """Return the verdict as one on time between steps; null where the steps themselves are slow."""
    subject, first = verdict.subject, verdict.onset_step
    step, last = pl.col("step"), verdict.cleared_step
    mine = rows.filter(
        pl.col("run").eq_missing(pl.lit(subject.run, dtype=pl.String)),
        pl.col("attempt").eq_missing(pl.lit(subject.attempt, dtype=pl.Int32)),
    )
    inside = (step >= first) & (pl.lit(value=True) if last is None else step < last)
    there, elsewhere = mine.filter(inside), mine.filter(~inside)
    told, usual = there["told"].median(), elsewhere["told"].median()
    wall = there["step_seconds"].median()
    if not (isinstance(told, float) and isinstance(usual, float) and isinstance(wall, float)):
        return None
    if told > params.max_told_change * usual:
        return None
    what = f"{wall:.4g} s pass between two steps by stamps, of which the steps take {told:.4g} s"
    return replace(
        verdict,
        cause="between_steps",
        evidence=(*verdict.evidence, Evidence(source="steps", time=verdict.onset, what=what)),
        action="look at what runs between steps: saving, garbage collection, input, logging",
    )
