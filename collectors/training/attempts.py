"""Number the attempts of a run: a step number that goes back is a restart, not an error.

Source: formats of progress streams, section 0.6 (step regressions are data).
"""

from typing import Final

import polars as pl

from collectors.frames import TIME, schema_of
from collectors.texts.file_places import file_number

STARTED: Final = schema_of(
    {
        "rank": pl.Int32,
        "step": pl.Int64,
        "value": pl.Struct({"seconds": pl.Float64, "loss": pl.Float64, "time": TIME}),
        "starts": pl.Int64,
        "attempt": pl.Int32,
    }
)
"""Where the attempts of each rank stand: its last step, what that said, and how many starts the log
had marked up to it."""

_MARKS: Final = ("run_start", "checkpoint_load", "checkpoint_load_start")
"""Kinds of the events that mark the start of an attempt: who loads a checkpoint begins anew, even
where its steps go on with the next number."""


def attempt_number(step: pl.Expr, value: pl.Expr, starts: pl.Expr) -> pl.Expr:
    """Return how many restarts lie before each row of one rank, in the order of its log.

    Args:
        step: Step numbers in log order.
        value: What tells a replay from a line printed twice: the same step with another value
            is a replay; with an equal one it is the same line again.
        starts: How many start marks the log shows up to the row; each mark after the first
            begins an attempt, and no step that goes back right after it counts twice.

    Returns:
        Int32 from 0; use it `.over` the run and rank.
    """
    back = step < step.shift(1)
    again = (step == step.shift(1)) & value.ne_missing(value.shift(1))
    unmarked = (back | again) & (starts == starts.shift(1))
    base = starts.first().clip(upper_bound=1)
    return (starts - base + unmarked.fill_null(value=False).cum_sum()).cast(pl.Int32)


def number_attempts(
    steps: pl.DataFrame, events: pl.DataFrame, started: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the steps of a part of a log with their attempts, and where those stand after it.

    Args:
        steps: `STEPS` of one log, or of several read at once; an attempt that is told stays.
        events: `EVENTS` of the same part; those of kind run_start, and loads of a checkpoint,
            mark the start of an attempt. Marks with no step between them are one start.
        started: `STARTED` of what came before.

    Returns:
        The steps in their order, and `STARTED` for the next part.
    """
    if steps.is_empty():
        return steps, started
    marks = (
        events.filter(pl.col("kind").is_in(_MARKS)).select("position").drop_nulls().sort("position")
    )
    starts = pl.col("start").fill_null(0) + (started["starts"].max() or 0)
    rows = (
        steps.with_row_index("order")
        .with_columns(pl.col("position").fill_null(0), value=_value())
        .sort("position", maintain_order=True)
        .join_asof(marks.with_row_index("start", offset=1), on="position")
        .with_columns(starts=starts.cast(pl.Int64))
    )
    told = rows.select("order", file_number(), *STARTED.names())
    # Who reads on is in a log of its own: its number is 0.
    both = pl.concat([started.with_columns(file=pl.lit(0, pl.Int64)), told], how="diagonal")
    step, value = pl.col("step"), pl.col("value")
    again = (step == step.shift(1)) & value.ne_missing(value.shift(1))
    anew = (step < step.shift(1)) | again | (pl.col("starts") > pl.col("starts").shift(1))
    base = pl.col("attempt").first().fill_null(0) if started.height else pl.lit(0)
    lane = ["file", "rank"]
    counted = (base + anew.fill_null(value=False).cum_sum()).over(lane)
    numbered = both.with_columns(number=counted.cast(pl.Int32))
    ended = numbered.with_columns(attempt="number")
    last = ended.unique(lane, keep="last", maintain_order=True)
    numbers = numbered.drop_nulls("order").sort("order")["number"]
    return (
        steps.with_columns(pl.col("attempt").fill_null(numbers)),
        last.select(STARTED.names()).cast(STARTED),
    )


def mend_attempts(steps: pl.DataFrame, events: pl.DataFrame) -> pl.DataFrame:
    """Return the steps of logs that were taken in parts, their attempts numbered over all parts.

    A part counts its attempts from 0. So where they fall along a log, or a step goes back and they
    do not rise, the log's attempts are counted anew; all others stay as they were told.

    Args:
        steps: `STEPS` with positions; rows without one stay as they are.
        events: `EVENTS` of the same logs.
    """
    lane = ("source", "rank")
    placed = steps.with_row_index("place").sort("source", "position", maintain_order=True)
    attempt, step = pl.col("attempt"), pl.col("step")
    falls = (attempt < attempt.shift(1)) | ((step < step.shift(1)) & (attempt <= attempt.shift(1)))
    is_wrong = (falls.any() & pl.col("position").is_not_null().all()).over(lane)
    wrong = placed.filter(is_wrong.fill_null(value=False))
    mended = [
        number_attempts(
            part.with_columns(attempt=pl.lit(None, dtype=pl.Int32)),
            events.filter(pl.col("source") == part["source"][0]),
            STARTED.to_frame(),
        )[0]
        for part in wrong.partition_by("source", maintain_order=True)
    ]
    whole = pl.concat([placed.filter(~is_wrong.fill_null(value=False)), *mended])
    return whole.sort("place").drop("place")


def _value() -> pl.Expr:
    """Return what a step that is printed twice says again; its time only where that is all."""
    is_full = pl.col("step_seconds").is_not_null() & pl.col("loss").is_not_null()
    return pl.struct(seconds="step_seconds", loss="loss", time=pl.when(~is_full).then("end_time"))
