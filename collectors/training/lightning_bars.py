"""Read the progress bars of Lightning: an epoch, a batch in it, and what the model logs beside.

Source: formats of progress streams, section 6 (Lightning 1.x and 2.x, NeMo's bars): the batch
counts within the epoch, totals can change when a validation is added, the bar is drawn many times.
"""

from typing import Final

import polars as pl

from collectors.line_reading import LineReading
from collectors.readings import reading_of
from collectors.sniffing import ReadOptions
from collectors.training.own_times import with_own_times
from collectors.training.progress_bars import bar_columns, bar_paces

LIGHTNING_HINT: Final = (
    r"Epoch \d+:[\s:]*(?:\d+%\||\d+it \[)|(?:Validation|Sanity Checking|Testing)\b[^|]*\d+%\|"
)

_BAR: Final = r"\bEpoch (\d+):[\s:]*(?:\d+%\||\d+it \[)"

_OTHER: Final = r"^\s*(?:Validation|Sanity Checking|Testing)\b[^|]*\d+%\|"
"""A bar of another loop than training."""

_NUMBER: Final = r"([-+0-9.eEnNaAiIfF]+)"

_LOSS: Final = rf"[ ,\[](?:reduced_)?(?:train[_/])?loss(?:_step)?={_NUMBER}"

_STEP: Final = rf"[ ,\[]global_step={_NUMBER}"

_SECONDS: Final = rf"[ ,\[]train_step_timing in s={_NUMBER}"


def read_lightning_bars(lines: pl.DataFrame, options: ReadOptions) -> LineReading:
    """Return the steps in the bars of Lightning.

    Args:
        lines: `LINES`.
        options: The zone and year of stamps that carry none.

    Returns:
        `STEPS`, one a batch: a bar drawn again for the same batch is none. The step is the logged
        global one, else the epoch times its batches and the batch in it. The time is what the model
        logs, else the mean since a bar that is five seconds older. Loss is null if not shown.
        `EVENTS` of kind evaluation, one a validation.
    """
    others = lines.filter(pl.col("text").str.contains(_OTHER))
    events = _events_of(with_own_times(others.with_columns(**bar_columns()), lines, options))
    steps, claimed = _read_steps(lines, options)
    return LineReading(
        reading=reading_of(steps=steps, events=events),
        claimed=pl.concat([claimed, others["line"]]),
    )


def _read_steps(lines: pl.DataFrame, options: ReadOptions) -> tuple[pl.DataFrame, pl.Series]:
    """Return the steps of training bars, and the lines of these bars.

    Older versions count the batches of a validation on, in the same bar: those are no steps.
    """
    bars = lines.filter(pl.col("text").str.contains(_BAR))
    if bars.is_empty():
        return bars, bars["line"]
    epoch = pl.col("text").str.extract(_BAR).cast(pl.Int64, strict=False)
    rows = bars.with_columns(epoch=epoch, **bar_columns()).with_columns(batches=_batches())
    numbered = rows.with_columns(step=_step())
    validates = (pl.col("bar_step") > pl.col("batches")).fill_null(value=False)
    drawn = numbered.filter(pl.col("bar_step") > 0, pl.col("step") > 0, ~validates)
    fresh = drawn.filter((pl.col("step") != pl.col("step").shift(1)).fill_null(value=True))
    timed = bar_paces(with_own_times(_looped(fresh), lines, options))
    return _steps_of(timed), bars["line"]


def _events_of(bars: pl.DataFrame) -> pl.DataFrame:
    """Return one event a loop: its first bar, since its number goes back where another begins."""
    begins = (pl.col("bar_step") < pl.col("bar_step").shift(1)) | (pl.col("line").diff() > 1)
    return bars.filter(begins.fill_null(value=True)).with_columns(
        time="end_time",
        kind=pl.lit("evaluation"),
        severity=pl.lit("info"),
        count=pl.lit(1),
        message="text",
    )


def _logged(pattern: str) -> pl.Expr:
    return pl.col("text").str.extract(pattern).cast(pl.Float64, strict=False)


def _batches() -> pl.Expr:
    """Return how many batches of training an epoch has: what a validation adds comes late in it."""
    epoch, step = pl.col("epoch"), pl.col("bar_step")
    begins = (epoch != epoch.shift(1)) | (step < step.shift(1))
    return pl.col("bar_total").min().over(begins.fill_null(value=False).cum_sum())


def _step() -> pl.Expr:
    """Return the step; after the first epoch only a known total tells where a batch is."""
    by_epoch = pl.col("epoch") * pl.col("batches") + pl.col("bar_step")
    told = _logged(_STEP).cast(pl.Int64, strict=False) + 1
    return pl.coalesce(told, by_epoch, pl.when(pl.col("epoch") == 0).then("bar_step"))


def _looped(rows: pl.DataFrame) -> pl.DataFrame:
    begins = (pl.col("epoch").diff() != 0) | (pl.col("bar_seconds").diff() < 0)
    return rows.with_columns(loop=begins.fill_null(value=False).cum_sum())


def _steps_of(rows: pl.DataFrame) -> pl.DataFrame:
    gap = pl.col("step").diff()
    told = _logged(_SECONDS)
    seconds = pl.coalesce(told, "bar_pace")
    sound = pl.when(seconds > 0, seconds.is_finite()).then(seconds)
    kind = pl.when(told.is_not_null()).then(pl.lit("single_step")).otherwise(pl.lit("window_mean"))
    loss = _logged(_LOSS)
    return rows.with_columns(
        interval_steps=pl.when(gap > 0).then(gap),
        step_seconds=sound,
        time_kind=pl.when(sound.is_not_null()).then(kind),
        loss=loss,
        loss_state=pl.when(loss.is_not_null()).then(pl.lit("printed")),
        rank=pl.lit(None),
    )
