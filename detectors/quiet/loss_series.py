"""Loss and gradient norm of each job, one value a report, and what is usual for them.

Source: progress reference, sections 0.5 and 1.2: one report may stand for many steps, and what is
no number is left to `detectors.numerical`.
"""

from typing import Final

import numpy as np
import polars as pl

from collectors.frames import STEPS, TIME, require, schema_of
from detectors.panels import Floats
from detectors.peers import known_median

LOSSES: Final = schema_of(
    {
        "run": pl.String,
        "attempt": pl.Int32,
        "step": pl.Int64,
        "end_time": TIME,
        "source": pl.String,
        "loss": pl.Float64,
        "grad_norm": pl.Float64,
        "is_number": pl.Boolean,
    }
)
"""One row a reported step of a job; null is not told, or no number. `is_number` says that nothing
that was told is NaN or infinite."""


def job_losses(steps: pl.LazyFrame) -> pl.LazyFrame:
    """Return `LOSSES`, by run, attempt and step.

    Args:
        steps: `STEPS`; where lines speak for the whole job those count, else the median rank's
            does: a spike of one replica's batch is not the job's.

    Raises:
        SchemaError: `steps` is not a `STEPS`.
    """
    names = ("loss", "grad_norm")
    job = ["run", "attempt"]
    numbers = [pl.when(pl.col(name).is_finite()).then(name).alias(name) for name in names]
    is_number = pl.all_horizontal(pl.col(names).is_finite().fill_null(value=True))
    is_whole = pl.col("rank").is_null()
    return (
        steps.pipe(require, STEPS)
        .drop_nulls("step")
        .with_columns(*numbers, is_number=is_number)
        .filter(pl.any_horizontal(pl.col(names).is_not_null()))
        .filter(is_whole | ~is_whole.any().over(job))
        .group_by(*job, "step")
        .agg(
            pl.col("end_time").max(),
            pl.col("source").min(),
            pl.col(names).median(),
            pl.col("is_number").all(),
        )
        .select(LOSSES.names())
        .sort(*job, "step")
    )


def trailing_median(values: Floats, window: int, least: int) -> Floats:
    """Return the median of what came before each value.

    Args:
        values: In order, all known; shape (reports,).
        window: Values before it that count.
        least: So many there must be.

    Returns:
        Same shape; NaN where fewer came before.
    """
    padded = np.concatenate([np.full(window, np.nan), values])
    if values.size == 0:
        return values
    views = np.lib.stride_tricks.sliding_window_view(padded, window)[: values.size]
    medians = known_median(views, 1)
    return np.where(np.arange(values.size) >= least, medians, np.nan)


def smoothed(values: Floats, window: int) -> Floats:
    """Return the running median of each value and those around it; shorter windows at the ends.

    Args:
        values: In order, all known; shape (reports,).
        window: An odd number of values.
    """
    half = window // 2
    padded = np.concatenate([np.full(half, np.nan), values, np.full(half, np.nan)])
    return known_median(np.lib.stride_tricks.sliding_window_view(padded, window), 1)
