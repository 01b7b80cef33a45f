"""How long each rank, or a job as a whole, wrote at each checkpoint.

Source: progress reference, sections 1.4, 4 and 13.4: phases of ranks tell it, or lines that say how
long a save took, or the stamps of the lines that begin and end one.
"""

from typing import Final

import polars as pl

from collectors.frames import EVENTS, STEPS, TIME, require, schema_of
from collectors.texts.event_labels import label_value
from detectors.placing import ROLES

SAVE_TIMES: Final = schema_of(
    {
        "run": pl.String,
        "attempt": pl.Int32,
        "rank": pl.Int32,
        "host": pl.String,
        "pp": pl.Int32,
        "save": pl.Int64,
        "step": pl.Int64,
        "end_time": TIME,
        "seconds": pl.Float64,
        "source": pl.String,
    }
)
"""One row a save of a rank; `rank` is null where a line speaks for the whole job. `save` is the
step, else its number in the order of the rank's own saves: ranks that share it saved together.
`step` is null where it is not told."""

_LANE: Final = ("source", "rank")


def save_times(steps: pl.LazyFrame, events: pl.LazyFrame, roles: pl.LazyFrame) -> pl.LazyFrame:
    """Return `SAVE_TIMES`, by run, attempt, save and rank.

    Args:
        steps: `STEPS`; a null `checkpoint_seconds`, or one of 0, is no save of that rank.
        events: `EVENTS` of kind checkpoint and checkpoint_start; they count for runs of which no
            step tells a save. The attribute `seconds` wins over stamps. Of kind timers the slowest
            rank's `save-checkpoint` tells the whole job's save.
        roles: `ROLES`, for hosts and stages.

    Raises:
        SchemaError: A frame lacks a column.
    """
    keys = ["run", "attempt", "rank"]
    told = (
        steps.pipe(require, STEPS)
        .filter(pl.col("checkpoint_seconds").is_finite(), pl.col("checkpoint_seconds") > 0)
        .drop_nulls("step")
        .select(
            *keys, "host", "step", "end_time", "source", seconds="checkpoint_seconds", save="step"
        )
    )
    known = events.pipe(require, EVENTS)
    logged = pl.concat([_timed(known), _logged(known)], how="diagonal_relaxed").join(
        told.select("run").unique(), on="run", how="anti", nulls_equal=True
    )
    # Lines of logs tell no attempt: there the last place of a rank is taken.
    placed = roles.pipe(require, ROLES).select(*keys, "host", "pp")
    lasting = placed.sort(keys, nulls_last=False).unique(["run", "rank"], keep="last")
    return (
        pl.concat([told, logged], how="diagonal_relaxed")
        .sort(*keys, "save", "end_time", "seconds", "source", nulls_last=True)
        .unique([*keys, "save"], keep="last", maintain_order=True)
        .join(placed.unique(keys), on=keys, how="left", suffix="_role", nulls_equal=True)
        .join(
            lasting.drop("attempt"),
            on=["run", "rank"],
            how="left",
            suffix="_last",
            nulls_equal=True,
        )
        .with_columns(
            host=pl.coalesce("host", "host_role", "host_last"), pp=pl.coalesce("pp", "pp_last")
        )
        .select(pl.col(name).cast(kind) for name, kind in SAVE_TIMES.items())
        .sort("run", "attempt", "save", "rank", nulls_last=True)
    )


def _timed(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the saves that Megatron's timers tell of the job as a whole."""
    names = ("max save-checkpoint", "save-checkpoint")
    told = [label_value(name).cast(pl.Float64, strict=False) for name in names]
    step = pl.col("code").cast(pl.Int64, strict=False)
    return (
        events.filter(pl.col("kind") == "timers")
        .select(
            "run",
            "source",
            attempt=pl.lit(None, dtype=pl.Int32),
            rank=pl.lit(None, dtype=pl.Int32),
            step=step,
            save=step,
            seconds=pl.coalesce(told),
            end_time="time",
        )
        .filter(pl.col("seconds") > 0)
        .drop_nulls("save")
    )


def _logged(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the saves that lines of logs tell, with their seconds; starts without an end go."""
    is_end = pl.col("kind") == "checkpoint"
    code = pl.col("code").cast(pl.Int64, strict=False)
    step = pl.coalesce(code, label_value("step").cast(pl.Int64, strict=False))
    last_start = pl.when(~is_end).then("time").shift(1).over(_LANE)
    begun_step = pl.when(~is_end).then("told_step").shift(1).over(_LANE)
    same = (
        (begun_step == pl.col("told_step")) | begun_step.is_null() | pl.col("told_step").is_null()
    )
    passed = (pl.col("time") - pl.col("began")).dt.total_microseconds() / 1e6
    return (
        events.filter(pl.col("kind").is_in(["checkpoint", "checkpoint_start"]))
        .sort(*_LANE, "time", "position", nulls_last=True)
        .with_columns(told_step=step)
        .with_columns(began=pl.when(same).then(last_start), begun_step=begun_step)
        .filter(is_end)
        .with_columns(
            seconds=pl.coalesce(label_value("seconds").cast(pl.Float64, strict=False), passed),
            step=pl.coalesce("told_step", "begun_step"),
        )
        .filter(pl.col("seconds") > 0)
        .with_columns(turn=pl.int_range(pl.len()).over(["run", *_LANE]))
        .select(
            "run",
            "rank",
            "host",
            "step",
            "seconds",
            "source",
            attempt=pl.lit(None, dtype=pl.Int32),
            save=pl.coalesce("step", "turn").cast(pl.Int64),
            end_time="time",
        )
    )
