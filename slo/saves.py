"""Marks of checkpoints and evaluations on a run's clock, and how long they held training up.

Source: progress reference, sections 1.2 and 1.4: only the line of success proves a save, and an
asynchronous one ends after more steps and holds nobody up.
"""

from typing import Final

import polars as pl

from collectors.frames import EVENTS, STEPS, TIME, require, schema_of

MARKS: Final = schema_of(
    {
        "run": pl.String,
        "time": TIME,
        "kind": pl.String,
        "step": pl.Int64,
        "is_async": pl.Boolean,
    }
)
"""One mark with a time. `kind`: evaluation, checkpoint (saved), checkpoint_start, checkpoint_load
(loaded), checkpoint_load_start. `step` is null where the mark tells none."""

PAUSES: Final = schema_of({"run": pl.String, "start": TIME, "end": TIME})
"""One time in which a run stood for a save or a load."""

_KINDS: Final = (
    *("evaluation", "checkpoint", "checkpoint_start"),
    *("checkpoint_load", "checkpoint_load_start"),
)

_JUST_BEFORE: Final = pl.duration(microseconds=1)


def dated_marks(events: pl.LazyFrame, steps: pl.LazyFrame) -> pl.LazyFrame:
    """Return the marks of pauses.

    Args:
        events: `EVENTS`; one without a time lies just before the next report of its file, and is
            left out where none follows.
        steps: `STEPS`; reports with a line and a time.

    Returns:
        `MARKS`, each once.
    """
    told = events.pipe(require, EVENTS).filter(pl.col("kind").is_in(_KINDS))
    lines = (
        steps.pipe(require, STEPS)
        .drop_nulls(["source", "position", "end_time"])
        .select("source", "position", next_end="end_time")
        .sort("position")
    )
    return (
        told.sort("position", nulls_last=False)
        .join_asof(lines, on="position", by="source", strategy="forward", check_sortedness=False)
        .with_columns(
            time=pl.coalesce("time", pl.col("next_end") - _JUST_BEFORE),
            step=pl.col("code").cast(pl.Int64, strict=False),
            is_async=pl.col("message").str.contains("(?i)async").fill_null(value=False),
        )
        .drop_nulls("time")
        .select(MARKS.names())
        .unique()
    )


def pauses_of(marks: pl.LazyFrame, reports: pl.LazyFrame, kind: str) -> pl.LazyFrame:
    """Return how long each save, or each load, held its run up.

    Args:
        marks: `MARKS` with a run that is not null.
        reports: `run` and `end_time` of reports; a save in which a step ends holds nobody up.
        kind: checkpoint or checkpoint_load.

    Returns:
        `PAUSES`: from each start to the first end after it.
    """
    starts = marks.filter(pl.col("kind") == f"{kind}_start").select("run", "is_async", start="time")
    ends = marks.filter(pl.col("kind") == kind).select("run", end="time")
    steps = reports.select("run", step_end="end_time").sort("step_end")
    return (
        starts.sort("start")
        .join_asof(
            ends.sort("end"),
            left_on="start",
            right_on="end",
            by="run",
            strategy="forward",
            check_sortedness=False,
        )
        .join_asof(
            steps,
            left_on="start",
            right_on="step_end",
            by="run",
            strategy="forward",
            allow_exact_matches=False,
            check_sortedness=False,
        )
        .drop_nulls("end")
        .group_by("run", "end")
        .agg(pl.col("start", "is_async", "step_end").sort_by("start").last())
        .filter(~pl.col("is_async"), ~(pl.col("step_end") < pl.col("end")).fill_null(value=False))
        .select(PAUSES.names())
    )


def bare_marks(marks: pl.LazyFrame) -> pl.LazyFrame:
    """Return the marks that say that a run paused, and not how long.

    Args:
        marks: `MARKS`; saves are bare in a run that tells no start of any.

    Returns:
        `run`, `time`, and `kind`: evaluation or save.
    """
    starts = (pl.col("kind") == "checkpoint_start").any().over("run")
    is_save = (pl.col("kind") == "checkpoint") & ~starts
    return marks.filter((pl.col("kind") == "evaluation") | is_save).select(
        "run", "time", kind=pl.when(is_save).then(pl.lit("save")).otherwise("kind")
    )
