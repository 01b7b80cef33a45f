"""GPU-hours that a run lost in a span: what its steps took beyond their healthy pace, times ranks.

Source: in a lockstep job all ranks wait for the slowest, so lost GPU time is the sum over ranks of
what each could have done with the excess: `sum(step - baseline) * ranks / 3600`. A run that makes
no step at all (a hang, a crash) loses the whole time since its last one. Steps that are not judged
(warm-up, checkpoints, evaluations) are planned and lose nothing, so the figure is a lower bound.
"""

from typing import Final

import polars as pl

from collectors.frames import JOBS, PLACEMENTS, STEPS, TIME, require, schema_of
from slo.training import STEP_EVENTS

SECONDS_PER_HOUR: Final = 3600.0

RUN_SIZES: Final = schema_of(
    {
        "run": pl.String,
        "ranks": pl.Int64,
        "hosts": pl.List(pl.String),
        "host_count": pl.Int64,
        "gpus": pl.Int64,
    }
)
"""How large a run is. `ranks` is null when no source tells; `hosts` are those that are named, and
`host_count` is null when none is. `gpus` are those that it holds: what the scheduler gave it, else
one a rank."""

SPANS: Final = schema_of(
    {"span": pl.String, "run": pl.String, "start": TIME, "end": TIME, "stopped": pl.Boolean}
)
"""What to count over: `span` is any name, `stopped` says that the run made no step to the end."""

LOSSES: Final = schema_of(
    {
        "span": pl.String,
        "run": pl.String,
        "step_count": pl.Int64,
        "lost_seconds": pl.Float64,
        "ranks": pl.Int64,
        "gpu_hours_lost": pl.Float64,
    }
)
"""`step_count` are the judged steps it rests on. `lost_seconds` is the job's excess, never below 0;
null when no step could be judged. `gpu_hours_lost` is null when that or its GPUs are not known."""


def run_sizes(steps: pl.LazyFrame, placements: pl.LazyFrame, jobs: pl.LazyFrame) -> pl.LazyFrame:
    """Return how many ranks and which hosts each run has.

    Args:
        steps: `STEPS`; a null rank speaks for the whole job and counts for none.
        placements: `PLACEMENTS`.
        jobs: `JOBS`; a null `world` or `gpus` is not told.

    Returns:
        `RUN_SIZES`, by run. What the launcher says of the world is believed; else the distinct
        ranks that were placed or have reported are counted, and where the run holds more GPUs than
        those, some are missing: there is one for each.
    """
    placed, reported, launched = (
        frame.pipe(require, schema)
        for frame, schema in ((placements, PLACEMENTS), (steps, STEPS), (jobs, JOBS))
    )
    empty = pl.lit(None, dtype=pl.Int64)
    told = [
        reported.select("run", "rank", "host", world=empty, gpus=empty),
        placed.select("run", "rank", "host", world=empty, gpus=empty),
        launched.select("run", empty.cast(pl.Int32).alias("rank"), "world", "gpus", host="hosts")
        .explode("host", empty_as_null=True, keep_nulls=True)
        .with_columns(pl.col("world", "gpus").cast(pl.Int64))
        .select("run", "rank", "host", "world", "gpus"),
    ]
    counted = pl.col("rank").drop_nulls().n_unique().cast(pl.Int64)
    hosts = pl.col("host").drop_nulls()
    return (
        pl.concat(told)
        .drop_nulls("run")
        .group_by("run")
        .agg(
            pl.col("world", "gpus").max(),
            pl.when(counted > 0).then(counted).alias("counted"),
            hosts.unique().sort().alias("hosts"),
            pl.when(hosts.len() > 0).then(hosts.n_unique().cast(pl.Int64)).alias("host_count"),
        )
        .with_columns(ranks=pl.coalesce("world", pl.max_horizontal("counted", "gpus")))
        .with_columns(pl.coalesce("gpus", "ranks").alias("gpus"))
        .select(RUN_SIZES.names())
        .sort("run")
    )


def lost_gpu_hours(spans: pl.LazyFrame, events: pl.LazyFrame, sizes: pl.LazyFrame) -> pl.LazyFrame:
    """Return what each span cost its run.

    Args:
        spans: `SPANS`.
        events: `STEP_EVENTS`; steps without a time are in no span.
        sizes: `RUN_SIZES`.

    Returns:
        `LOSSES`, one row a span, by span and run. Both ends of a span count, so that no slow step
        is lost; a healthy one beside it adds next to nothing.
    """
    end = pl.col("end_time")
    inside = end.is_between("start", "end")
    excess = pl.col("_excess").filter(inside)
    counted = excess.count()
    last = end.filter(end <= pl.col("end")).max()
    held = pl.coalesce("gpus", "ranks")
    return (
        spans.pipe(require, SPANS)
        .join(events.pipe(_excesses), on="run", how="left", nulls_equal=True)
        .group_by(SPANS.names())
        .agg(
            counted.cast(pl.Int64).alias("step_count"),
            pl.when(counted > 0).then(excess.sum()).alias("_slow"),
            last.alias("_last"),
        )
        .with_columns(lost_seconds=_lost_seconds())
        .join(sizes.pipe(require, RUN_SIZES), on="run", how="left", nulls_equal=True)
        .with_columns(gpu_hours_lost=pl.col("lost_seconds") * held / SECONDS_PER_HOUR)
        .select(LOSSES.names())
        .sort("span", "run")
    )


def _excesses(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return what each judged step took beyond its baseline; null where it was not judged."""
    excess = (pl.col("step_seconds") - pl.col("baseline_seconds")) * pl.col("interval_steps")
    return (
        events.pipe(require, STEP_EVENTS)
        .drop_nulls("end_time")
        .select("run", "end_time", _excess=pl.when(pl.col("reason").is_null()).then(excess))
    )


def _lost_seconds() -> pl.Expr:
    """Return the excess of the steps that were made, and the time without any at the end."""
    idle_from = pl.max_horizontal("start", "_last")
    idle = (pl.col("end") - idle_from).dt.total_microseconds() / 1e6
    stopped = pl.when(pl.col("stopped").fill_null(value=False)).then(idle)
    slow = pl.col("_slow").clip(lower_bound=0.0)
    known = slow.is_not_null() | stopped.is_not_null()
    return pl.when(known).then(slow.fill_null(0.0) + stopped.fill_null(0.0))
