"""Turn normal step records into `STEPS`: phases joined, attempts numbered, missing times derived.

Sources: formats of progress streams, sections 0.5 (a time has a kind), 0.6 (attempts), 13.4 (the
long form), and the straggler policy quoted there: where no communication phase is recorded, the
wait for the others is inside the backward pass.
"""

from collections.abc import Iterable
from typing import Final

import polars as pl

from collectors.training.attempts import attempt_number
from collectors.training.step_fields import DURATIONS, PHASES

_KEY: Final = ("run", "attempt", "rank", "step")

_MIN_CLOCK_RECORDS: Final = 3
"""Below this many records a small rising `t` may as well be a duration."""

_AS_THEY_ARE: Final = (
    *_KEY,
    "position",
    "host",
    "data_seconds",
    "optimizer_seconds",
    "checkpoint_seconds",
    "loss",
    "grad_norm",
    "tokens",
    "samples",
)

_MIN_RISING_SHARE: Final = 0.8

_MIN_LOSS_SHARE: Final = 0.5
"""Where half of a rank's records have a loss, the others left theirs out."""

_LOSS_OF_NULL: Final = r"loss\w*\"\s*:\s*null\b"

_MIN_CLOCK_GROWTH: Final = 5.0
"""Largest over smallest value of a clock that started near the file's first record."""

_MAX_STEP_SECONDS: Final = 1000.0
"""A `t` above this is the clock of a machine that was up before, not the time of a step."""

_PHASE_COLUMNS: Final = tuple(name for name in DURATIONS if name != "phase_seconds")


def join_phases(records: pl.DataFrame) -> pl.DataFrame:
    """Return one record a step of a rank from records of one phase each.

    Args:
        records: Normal fields of records with a known `phase` and its `phase_seconds`.

    Returns:
        The same columns; a phase that is not recorded stays null, and without a phase for the
        whole step its time is the sum of the others. `time` is the last one of the step.
    """
    if records.is_empty():
        return records
    column = pl.col("phase").str.to_lowercase().replace_strict(PHASES, return_dtype=pl.String)
    sums = {
        name: pl.when((pl.col("column") == name).any()).then(
            pl.col("phase_seconds").filter(pl.col("column") == name).sum()
        )
        for name in _PHASE_COLUMNS
    }
    others = [name for name in records.columns if name not in {*_KEY, *sums, "time"}]
    total = pl.sum_horizontal(name for name in sums if name != "step_seconds")
    return (
        records.with_columns(column=column)
        .group_by(*_KEY, maintain_order=True)
        .agg(pl.col(others).drop_nulls().first(), time=pl.col("time").max(), **sums)
        .with_columns(pl.col("step_seconds").fill_null(pl.when(_is_whole(sums)).then(total)))
        .select(records.columns)
    )


def _is_whole(names: Iterable[str]) -> pl.Expr:
    """Return whether a rank tells as many phases of a step as the rank that tells most."""
    told = pl.sum_horizontal(pl.col(name).is_not_null().cast(pl.Int32) for name in names)
    return told == told.max().over("run", "step")


def steps_of(records: pl.DataFrame) -> pl.DataFrame:
    """Return `STEPS` without their source, in the order of the records.

    Args:
        records: Normal fields of step records, with `starts`, the start marks up to each.
    """
    ordered = records.sort("position", maintain_order=True)
    value = pl.struct("step_seconds", "loss", "time", "clock_seconds")
    counted = attempt_number(pl.col("step"), value, pl.col("starts")).over("run", "rank")
    numbered = ordered.with_columns(pl.col("attempt").fill_null(counted))
    is_clock = _clock_runs_on(numbered)
    clock = pl.col("clock_seconds")
    own = pl.col("step_seconds") if is_clock else pl.col("step_seconds").fill_null(clock)
    ticks = pl.coalesce(
        "elapsed_seconds", pl.col("time").cast(pl.Int64) / 1e6, pl.when(is_clock).then(clock)
    )
    lane = ("run", "rank", "attempt")
    return (
        numbered.with_columns(step_seconds=own)
        .with_columns(
            gap_steps=pl.col("step").diff().over(*lane), gap_seconds=ticks.diff().over(*lane)
        )
        .select(*_derived(), *_AS_THEY_ARE, *_parts(), end_time="time", loss_state=_loss_state())
    )


def _clock_runs_on(records: pl.DataFrame) -> bool:
    """Return whether small `t` values are a clock and not the seconds of each step.

    A clock rises nearly always (a restart may set it back), and far: a duration that creeps up
    does not grow to a multiple of itself.
    """
    clock = pl.col("clock_seconds")
    rising = (clock.diff().over("run", "rank") > 0).mean().fill_null(0.0) >= _MIN_RISING_SHARE
    far = clock.max() >= _MIN_CLOCK_GROWTH * clock.min()
    late = clock.median() >= _MAX_STEP_SECONDS
    enough = clock.count() >= _MIN_CLOCK_RECORDS
    return bool(records.select((enough & rising & (far | late)).fill_null(value=False)).item())


def _derived() -> list[pl.Expr]:
    """Return the step's time with its kind and interval; one not told is read off the clock."""
    told = pl.col("step_seconds").is_not_null()
    gap = pl.when((pl.col("gap_steps") > 0) & (pl.col("gap_seconds") > 0)).then(
        pl.col("gap_seconds") / pl.col("gap_steps")
    )
    kind = pl.when(told).then(pl.lit("single_step")).when(gap.is_not_null()).then(pl.lit("arrival"))
    steps = pl.when(told | gap.is_null()).then(1).otherwise(pl.col("gap_steps"))
    return [
        pl.col("step_seconds").fill_null(gap),
        kind.alias("time_kind"),
        steps.alias("interval_steps"),
    ]


def _parts() -> list[pl.Expr]:
    """Return compute and communication; without the latter the backward pass holds the wait.

    A backward pass alone is neither, where others tell both passes: it is not their forward pass.
    """
    forward, backward = pl.col("forward_seconds"), pl.col("backward_seconds")
    waits_inside = pl.col("comm_seconds").is_null() & forward.is_not_null() & backward.is_not_null()
    both = pl.when(forward.is_not_null() | backward.is_not_null()).then(
        pl.sum_horizontal(forward, backward)
    )
    is_half = forward.is_null() & waits_inside.any().over("run")
    compute = pl.when(waits_inside).then(forward).when(~is_half).then(both)
    return [
        pl.col("compute_seconds").fill_null(compute),
        forward,
        pl.when(~waits_inside).then(backward).alias("backward_seconds"),
        pl.when(waits_inside)
        .then(backward)
        .otherwise(pl.col("comm_seconds"))
        .alias("comm_seconds"),
    ]


def _loss_state() -> pl.Expr:
    """Return `printed`, `not_printed` where it is named and most others of the rank have one.

    Else null: keys differ from record to record, and what lacks the key was not asked for a loss. A
    null in its place is what writers of JSON make of NaN.
    """
    known = pl.col("loss").is_not_null()
    usual = known.mean().over("run", "rank") >= _MIN_LOSS_SHARE
    left_out = usual & pl.col("text").str.contains(_LOSS_OF_NULL)
    return pl.when(known).then(pl.lit("printed")).when(left_out).then(pl.lit("not_printed"))
