"""The steps of each run's whole period, one row a step: what burn rates and budgets rest on.

A window of hours holds the reports of each rank; of older steps only what judging needs is kept.
Folding is idempotent: a step that is folded in again, or whose last rank reports late, counts once.
"""

from datetime import datetime
from typing import Final

import polars as pl

from collectors.frames import STEPS, conform
from slo.training import STEP_COLUMNS

MEANS: Final = ("running_mean_since_start", "cumulative")
"""Kinds of time that speak for more than the steps they stand beside; they win in a fold."""

_KEY: Final = ("run", "attempt", "step", "rank")


def fold_steps(memory: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
    """Return the steps known so far and some more, one row a step and kind of reporter.

    `judge_steps` says of the result what it says of all reports: of ranks it takes the slowest, and
    a job's own report before that.

    Args:
        memory: `STEP_COLUMNS`, as this function gave them.
        steps: `STEP_COLUMNS` or more; a rank is null where the job itself reports.

    Returns:
        `STEP_COLUMNS` by run, attempt and step; the rank is 0 or null.
    """
    both = pl.concat([memory, steps.select(STEP_COLUMNS.names())]).lazy()
    seconds, tokens = pl.col("step_seconds"), pl.col("tokens")
    kind = pl.col("time_kind")
    by_rank = pl.when(pl.col("rank").is_not_null()).then(pl.lit(0, dtype=pl.Int32))
    return (
        both.with_columns(rank=by_rank)
        .group_by(_KEY)
        .agg(
            pl.col("interval_steps").max(),
            pl.col("end_time").max(),
            pl.when(seconds.is_finite() & (seconds > 0)).then(seconds).max(),
            pl.coalesce(kind.filter(kind.is_in(MEANS)).min(), kind.min()),
            pl.col("checkpoint_seconds").fill_nan(None).max(),
            pl.when(tokens.is_finite() & (tokens > 0)).then(tokens).max(),
        )
        .select(STEP_COLUMNS.names())
        .sort(_KEY)
        .collect()
    )


def forget_steps(memory: pl.DataFrame, before: datetime) -> pl.DataFrame:
    """Return the steps without those that ended before a time."""
    return memory.filter(pl.col("end_time").is_null() | (pl.col("end_time") >= before))


def empty_steps() -> pl.DataFrame:
    """Return that no step is known."""
    return conform(pl.LazyFrame(schema=STEPS), STEP_COLUMNS).collect()
