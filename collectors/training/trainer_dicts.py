"""Read the dicts that Hugging Face's trainer prints, and the progress bars that date them.

Source: formats of progress streams, section 5 (transformers 4 and 5). The dict has no step number:
the bar before it does. Values may be texts, and nan is a bare word.
"""

from typing import Final

import polars as pl

from collectors.line_reading import LineReading
from collectors.readings import reading_of
from collectors.sniffing import ReadOptions

DICT_START: Final = r"\{'(?:loss|train_runtime|eval_loss|train_loss|grad_norm)': "

_BAR: Final = r"\b(\d+)/(\d+) \[(?:(\d+):)?(\d+):(\d\d)<"

_BAR_LINE: Final = r"\d+%\|.*\| *\d+/\d+ \[|^\s*\d+it \["

_NUMBER: Final = r"'?(-?[0-9.,]+(?:e[-+]?\d+)?|-?nan|-?inf)"


def _field(name: str) -> pl.Expr:
    text = pl.col("text").str.extract(rf"'{name}': {_NUMBER}")
    return text.str.replace_all(",", "").cast(pl.Float64, strict=False)


def read_trainer_dicts(lines: pl.DataFrame, _options: ReadOptions) -> LineReading:
    """Return the steps and events in a trainer's dicts.

    Args:
        lines: `LINES`.

    Returns:
        `STEPS`, the step taken from the last training bar, else null; its time is the bar's
        seconds since the dict before, `interval_mean`. `EVENTS` of kind evaluation and
        run_summary (a trainer's last words, one a process).
    """
    dicts = lines.filter(pl.col("text").str.contains(rf"^\s*{DICT_START}.*\}}"))
    bars = _bars_of(lines)
    placed = dicts.sort("line").join_asof(
        bars, on="line", strategy="backward", check_sortedness=False
    )
    is_step = pl.col("text").str.contains(r"'loss': ")
    bar_lines = lines.filter(pl.col("text").str.contains(_BAR_LINE))["line"]
    return LineReading(
        reading=reading_of(
            steps=_steps_of(placed.filter(is_step)), events=_events_of(placed.filter(~is_step))
        ),
        claimed=pl.concat([dicts["line"], bar_lines]),
    )


def _bars_of(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the bars of the training loop, which is the one seen most often: step and seconds."""
    hours, minutes, seconds = (
        pl.col("text").str.extract(_BAR, group).cast(pl.Int64, strict=False) for group in (3, 4, 5)
    )
    bars = lines.select(
        "line",
        bar_step=pl.col("text").str.extract(_BAR, 1).cast(pl.Int64, strict=False),
        total=pl.col("text").str.extract(_BAR, 2).cast(pl.Int64, strict=False),
        bar_seconds=hours.fill_null(0) * 3600 + minutes * 60 + seconds,
    ).drop_nulls()
    return bars.filter(pl.col("total") == pl.col("total").mode().max()).drop("total")


def _steps_of(dicts: pl.DataFrame) -> pl.DataFrame:
    told = pl.col("text").str.extract(r"'global_step/max_steps': '(\d+)/").cast(pl.Int64)
    gap = pl.col("step").diff()
    seconds = pl.col("bar_seconds").diff() / gap
    return (
        dicts.with_columns(step=told.fill_null(pl.col("bar_step")))
        .with_columns(
            interval_steps=pl.when(gap > 0).then(gap),
            step_seconds=pl.when((gap > 0) & (seconds > 0)).then(seconds),
            end_time="time",
            loss=_field("loss"),
            grad_norm=_field("grad_norm"),
            loss_state=pl.lit("printed"),
        )
        .with_columns(
            rank=pl.lit(None),
            time_kind=pl.when(pl.col("step_seconds").is_not_null()).then(pl.lit("interval_mean")),
        )
    )


def _events_of(dicts: pl.DataFrame) -> pl.DataFrame:
    is_summary = pl.col("text").str.contains("'train_runtime'")
    kind = pl.when(is_summary).then(pl.lit("run_summary")).otherwise(pl.lit("evaluation"))
    return dicts.with_columns(
        kind=kind,
        code=pl.col("bar_step").cast(pl.String),
        severity=pl.lit("info"),
        count=pl.lit(1),
        message="text",
    )
