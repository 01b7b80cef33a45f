"""What is counted of each run: steps, slow steps, time, checkpoints, attempts, resumes.

Counts are of all that is held, under the keys of `paceline.watching.totals`; a run of which nothing
tells has no key, so that no series stands for "not told".
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

import polars as pl

from collectors.frames import STEPS, conform
from collectors.readings import Reading
from paceline.watching.totals import Key
from slo.lives import LIVES, budget_lives
from slo.metrics import (
    ATTEMPT_FAILURES_TOTAL,
    ATTEMPTS_TOTAL,
    CHECKPOINT_FAILURES_TOTAL,
    CHECKPOINT_SECONDS,
    CHECKPOINTS_TOTAL,
    JOB_START_SECONDS,
    METRICS,
    PRODUCTIVE_SECONDS_TOTAL,
    RESUME_SECONDS,
    RUN_LABELS,
    SLOW_STEPS_TOTAL,
    STEPS_TOTAL,
    WALL_SECONDS_TOTAL,
    Metric,
)

FAILURES: Final = ("failure", "infra")
"""Who ended an attempt that failed; nobody else."""

BUCKETS: Final[Mapping[str, tuple[float, ...]]] = {
    CHECKPOINT_SECONDS.name: (1.0, 5.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0),
    RESUME_SECONDS.name: (30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0, 7200.0),
    JOB_START_SECONDS.name: (30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0),
}
"""Upper bounds of the histograms' buckets, in seconds, without the one that holds all."""


RUN_METRICS: Final = frozenset(
    one.name for one in METRICS if one.labels == RUN_LABELS and one.kind != "gauge"
)
"""Counters and histograms whose last label names a run."""

LINGERING: Final = timedelta(minutes=10)
"""How long the series of a run that is over stay: some scrapes."""

SILENT: Final = timedelta(hours=12)
"""A run without a step for so long is over, whoever did not tell."""


def live_runs(events: pl.DataFrame, jobs: pl.DataFrame, now: datetime) -> frozenset[str]:
    """Return the runs that are not over, or only just.

    Args:
        events: `STEP_EVENTS`.
        jobs: `JOBS`; a run is over when its last attempt has ended and none of its steps is later.
        now: The tick's time.
    """
    stepped = (
        events.drop_nulls(["run", "end_time"]).group_by("run").agg(last=pl.col("end_time").max())
    )
    ended = (
        jobs.drop_nulls("run")
        .sort("attempt", "start", nulls_last=False)
        .group_by("run", maintain_order=True)
        .agg(pl.col("end").last())
    )
    is_over = (pl.col("end") >= pl.col("last")) & (pl.col("end") < now - LINGERING)
    is_gone = pl.col("last") < now - SILENT
    left = stepped.join(ended, on="run", how="left").filter(
        ~is_over.fill_null(value=False), ~is_gone
    )
    return frozenset(left["run"])


def count_runs(
    events: pl.DataFrame, steps: pl.DataFrame, reading: Reading, cluster: str, now: datetime
) -> dict[Key, float]:
    """Return what is counted of each run now.

    Args:
        events: `STEP_EVENTS` of the whole period.
        steps: `STEP_COLUMNS` of the same.
        reading: The window, with the jobs of weeks.
        cluster: The label of that name.
        now: Up to when runs that go on held their allocation.
    """
    whole = replace(reading, steps=conform(steps.lazy(), STEPS).collect())
    lives = budget_lives(whole).drop_nulls("run")
    counts = dict[Key, float]()
    for metric, frame in (
        *_steps(events),
        *_checkpoints(steps),
        *_attempts(lives, now),
    ):
        counts |= {
            (metric.name, (cluster, run)): float(value)
            for run, value in frame.drop_nulls().iter_rows()
        }
    for metric, frame in (_saves(steps), _resumes(lives, steps), _starts(reading.jobs, steps)):
        counts |= _histogram(metric, frame.drop_nulls(), cluster)
    return counts


def _steps(events: pl.DataFrame) -> Iterator[tuple[Metric, pl.DataFrame]]:
    """Yield judged steps, slow ones, and the seconds of kept steps at the healthy pace, by run."""
    judged = events.filter(pl.col("reason").is_null(), pl.col("run").is_not_null())
    weight = pl.col("interval_steps")
    yield STEPS_TOTAL, judged.group_by("run").agg(weight.sum())
    yield SLOW_STEPS_TOTAL, judged.group_by("run").agg((weight * pl.col("slow")).sum())
    kept = events.drop_nulls(["run", "step"]).sort("attempt").unique(["run", "step"], keep="last")
    pace = pl.min_horizontal("step_seconds", "baseline_seconds") * weight
    paced = kept.drop_nulls("baseline_seconds").group_by("run")
    yield PRODUCTIVE_SECONDS_TOTAL, paced.agg(pace.sum())


def _checkpoints(steps: pl.DataFrame) -> Iterator[tuple[Metric, pl.DataFrame]]:
    """Yield checkpoints by run; a step's record tells of those that ended, and of no other."""
    saved = _saved(steps).group_by("run").agg(pl.len())
    yield CHECKPOINTS_TOTAL, saved
    yield CHECKPOINT_FAILURES_TOTAL, saved.with_columns(len=0)


def _saved(steps: pl.DataFrame) -> pl.DataFrame:
    """Return one row a checkpoint that a step's record tells of, with its seconds."""
    return (
        steps.drop_nulls("run")
        .filter(pl.col("checkpoint_seconds") > 0)
        .group_by("run", "attempt", "step")
        .agg(seconds=pl.col("checkpoint_seconds").max())
    )


def _saves(steps: pl.DataFrame) -> tuple[Metric, pl.DataFrame]:
    return CHECKPOINT_SECONDS, _saved(steps).select("run", "seconds")


def _attempts(lives: pl.DataFrame, now: datetime) -> Iterator[tuple[Metric, pl.DataFrame]]:
    """Yield wall time, ended attempts and failed ones, by run."""
    end = pl.when("is_over").then("end").otherwise(pl.lit(now, LIVES["end"]))
    lasted = (end - pl.col("start")).dt.total_microseconds().clip(0) / 1e6
    yield WALL_SECONDS_TOTAL, lives.drop_nulls("start").group_by("run").agg(lasted.sum())
    ended = lives.filter("is_over", pl.col("ended_by").is_not_null()).group_by("run")
    yield ATTEMPTS_TOTAL, ended.agg(pl.len())
    yield ATTEMPT_FAILURES_TOTAL, ended.agg(pl.col("ended_by").is_in(FAILURES).sum())


def _first_steps(steps: pl.DataFrame) -> pl.DataFrame:
    """Return when the first step of each attempt ended."""
    return (
        steps.drop_nulls(["run", "end_time"])
        .group_by("run", "attempt")
        .agg(first=pl.col("end_time").min())
    )


def _resumes(lives: pl.DataFrame, steps: pl.DataFrame) -> tuple[Metric, pl.DataFrame]:
    """Return the seconds from each failed attempt's end to the next one's first step."""
    failed = pl.col("ended_by").is_in(FAILURES).shift(1).over("run")
    waited = pl.col("first") - pl.col("end").shift(1).over("run")
    followed = lives.sort("run", "start").join(
        _first_steps(steps), on=["run", "attempt"], how="left"
    )
    seconds = waited.dt.total_microseconds() / 1e6
    told = followed.select("run", seconds=pl.when(failed & (seconds >= 0)).then(seconds))
    return RESUME_SECONDS, told


def _starts(jobs: pl.DataFrame, steps: pl.DataFrame) -> tuple[Metric, pl.DataFrame]:
    """Return the seconds from each job's start on its hosts to its first step, of no run's own."""
    began = jobs.drop_nulls(["run", "start"]).group_by("run", "attempt").agg(pl.col("start").min())
    both = began.join(_first_steps(steps), on=["run", "attempt"])
    seconds = (pl.col("first") - pl.col("start")).dt.total_microseconds() / 1e6
    told = both.select(run=pl.lit(""), seconds=pl.when(seconds >= 0).then(seconds))
    return JOB_START_SECONDS, told


def _histogram(metric: Metric, rows: pl.DataFrame, cluster: str) -> dict[Key, float]:
    """Return the buckets, the count and the sum of a histogram, by run if it has that label."""
    bounds = BUCKETS[metric.name]
    seconds = pl.col("seconds")
    sums = rows.group_by("run").agg(
        *((seconds <= bound).sum().alias(f"{bound:g}") for bound in bounds),
        pl.len().alias("+Inf"),
        seconds.sum().alias("sum"),
    )
    return {
        (f"{metric.name} {part}", (cluster, run) if "run" in metric.labels else (cluster,)): float(
            value
        )
        for row in sums.iter_rows(named=True)
        for run in [row.pop("run")]
        for part, value in row.items()
    }
