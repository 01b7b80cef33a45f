"""Leave out steps that hold an evaluation or a checkpoint: work that was planned is no slowness.

Source: progress reference, sections 1.2 and 15.5. Older versions of Megatron count evaluations and
saves in the time of the interval that they fall in, newer ones do not; only the marks between two
lines of a log tell.
"""

from typing import Final

import polars as pl

from collectors.frames import EVENTS, STEPS, require

_PAUSES: Final = ("evaluation", "checkpoint", "checkpoint_start")

MAX_PAUSED_SHARE: Final = 0.5
"""A job that pauses in more of its intervals than this would not be judged at all: keep them."""

_LOG: Final = ("source", "run", "attempt")


def without_planned_pauses(steps: pl.LazyFrame, events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the steps without those of a whole job in whose interval its log shows a pause.

    Args:
        steps: `STEPS`; rows of a rank, and rows without a line, are kept.
        events: `EVENTS`; those without a line tell nothing here.

    Returns:
        `STEPS`. Where most intervals of an attempt have a pause, all are kept.
    """
    marks = (
        events.pipe(require, EVENTS)
        .filter(pl.col("kind").is_in(_PAUSES), pl.col("position").is_not_null())
        .select("source", "position", mark="position")
        .unique()
        .sort("position")
    )
    lines = steps.pipe(require, STEPS).sort("position", nulls_last=False)
    marked = lines.join_asof(
        marks, on="position", by="source", strategy="backward", check_sortedness=False
    )
    whole_job = pl.col("rank").is_null() & pl.col("position").is_not_null()
    before = pl.col("position").shift(1).over("source", "rank")
    paused = (whole_job & (pl.col("mark") > before)).fill_null(value=False)
    share = paused.mean().over(*_LOG)
    return (
        marked.with_columns(paused=paused, share=share)
        .filter(~pl.col("paused") | (pl.col("share") > MAX_PAUSED_SHARE))
        .select(STEPS.names())
    )
