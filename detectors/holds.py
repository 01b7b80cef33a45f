"""Say of a crash how long its job still held its nodes: dead but allocated.

Source: progress reference, section 14; PyTorch issue 76287 (a rank died, srun did not end). The
failure is when the first process died, not when the scheduler ended the job.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

import polars as pl

from collectors.frames import EVENTS, JOBS, STEPS, require
from detectors.verdicts import Evidence, Verdict

_GRACE: Final = timedelta(seconds=60)
"""What is printed so soon after a crash is still of the attempt that it ended; ours."""

_SECONDS_PER_HOUR: Final = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldParams:
    """When nodes are held for nothing.

    Attributes:
        min_held_seconds: A job that ends later after its crash held them.
    """

    min_held_seconds: float = 600.0


def add_holds(
    verdicts: Sequence[Verdict],
    jobs: pl.DataFrame,
    events: pl.DataFrame,
    steps: pl.DataFrame,
    params: HoldParams,
) -> list[Verdict]:
    """Return the findings, each crash whose job held its nodes on with how long that was.

    Args:
        verdicts: Findings of all detectors.
        jobs: `JOBS`; ends of attempts that had begun before the crash, and the size of the run.
        events: `EVENTS`; cancelled jobs.
        steps: `STEPS`; a run that steps on before its end was not dead.
        params: The thresholds.

    Returns:
        The same findings in their order.
    """
    told = require(jobs.lazy(), JOBS).collect()
    ends = _ends(told, require(events.lazy(), EVENTS).collect())
    done = require(steps.lazy(), STEPS).select("run", "end_time").drop_nulls().collect()
    sizes = dict(
        told.drop_nulls(["run", "world"]).group_by("run").agg(pl.col("world").max()).rows()
    )
    return [_held(one, ends, done, sizes, params) for one in verdicts]


def _ends(jobs: pl.DataFrame, events: pl.DataFrame) -> pl.DataFrame:
    """Return when jobs ended: `run`, `begin` (null is not known), `end`, `source`."""
    told = jobs.select("run", begin="start", end="end", source="source")
    cancelled = events.filter(pl.col("kind") == "job_cancelled").select(
        "run", begin=pl.lit(None, JOBS["start"]), end="time", source="source"
    )
    return pl.concat([told, cancelled]).drop_nulls(["run", "end"]).sort("end", "source")


def _held(
    verdict: Verdict,
    ends: pl.DataFrame,
    done: pl.DataFrame,
    sizes: dict[str, int],
    params: HoldParams,
) -> Verdict:
    """Return a finding with the time for which its job was dead but allocated, if it is long."""
    run, onset = verdict.subject.run, verdict.onset
    if verdict.kind != "crash" or run is None or onset is None:
        return verdict
    began = pl.col("begin").is_null() | (pl.col("begin") <= onset)
    later = ends.filter(pl.col("run") == run, pl.col("end") > onset, began)
    if later.is_empty():
        return verdict
    end = later.row(0, named=True)
    went_on = done.filter(
        pl.col("run") == run, pl.col("end_time").is_between(onset + _GRACE, end["end"])
    )
    seconds = (end["end"] - onset).total_seconds()
    if went_on.height or seconds < params.min_held_seconds:
        return verdict
    seen = _words(end, seconds, sizes.get(run), onset)
    return replace(verdict, evidence=(*verdict.evidence, seen))


def _words(end: dict[str, Any], seconds: float, world: int | None, onset: datetime) -> Evidence:
    lost = f", {seconds * world / _SECONDS_PER_HOUR:.1f} GPU-hours" if world else ""
    what = f"dead but allocated for {seconds:.0f} s since {onset:%H:%M:%S} UTC{lost}"
    return Evidence(source=end["source"] or "jobs", time=end["end"], what=what)
