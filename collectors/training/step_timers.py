"""Find told step times that cannot be: faster than any device, or than the stamps of their lines.

Source: formats of progress streams, section 10: dispatch is asynchronous, so a timer that does not
wait for the device ends before its step; where the figures contradict the clock, the clock is
believed.
"""

from typing import Final

import polars as pl

from collectors.texts.event_labels import event_labels

MAX_DEVICE_TERAFLOPS: Final = 3000.0
"""No accelerator of 2026 computes dense 16-bit numbers faster: its timer ends before its step."""

MAX_TIMER_ERROR: Final = 1.2
"""Stamps this many times the told seconds apart prove the timer wrong."""

TIMED_LINES: Final = 10
"""Over so many lines: a stamp of whole seconds says little of one step, a pause much too much."""

_LANE: Final = "lane"


def is_timer_wrong() -> pl.Expr:
    """Return whether a told step time is wrong, for rows in the order of their log.

    Rows need `lane` (who printed them), `told_seconds` and `wall_seconds` of a step, `teraflops` of
    one device. Over ten lines both sums and medians must disagree: one pause moves only the sum,
    stamps of whole seconds only the median. Each row of such a window is wrong.
    """
    told = pl.when(pl.col("wall_seconds").is_not_null()).then("told_seconds")
    wall = pl.when(told.is_not_null()).then("wall_seconds")
    sums = _contradict(*(one.rolling_sum(TIMED_LINES) for one in (wall, told)))
    medians = _contradict(*(one.rolling_median(TIMED_LINES) for one in (wall, told)))
    ends = (sums & medians).fill_null(value=False).cast(pl.Int8)
    inside = ends.reverse().rolling_max(TIMED_LINES, min_samples=1).reverse() == 1
    is_absurd = (pl.col("teraflops") > MAX_DEVICE_TERAFLOPS) & pl.col("teraflops").is_finite()
    is_clocked = pl.col("tick_seconds").is_not_null() & pl.col("told_seconds").is_not_null()
    wrong = inside.over(_LANE) | (is_absurd & is_clocked)
    is_first = pl.col("wall_seconds").is_null() & wrong.shift(-1).over(_LANE)
    return (wrong | is_first).fill_null(value=False)


def _contradict(wall: pl.Expr, told: pl.Expr) -> pl.Expr:
    return (wall > MAX_TIMER_ERROR * told) | (told > MAX_TIMER_ERROR * wall)


def timer_events(rows: pl.DataFrame) -> pl.DataFrame:
    """Return one event where a printer's times begin to be wrong.

    Args:
        rows: Rows of `is_timer_wrong` with it as `is_wrong`, and `line`, `position`, `host`,
            `end_time`, `text`.

    Returns:
        `EVENTS` of kind warning, code `step_timer`, with `line`; its attributes are the seconds
        told and those by the stamps.
    """
    begins = pl.col("is_wrong") & ~pl.col("is_wrong").shift(1, fill_value=False).over(_LANE)
    pairs = {"told_seconds": pl.col("told_seconds"), "stamp_seconds": pl.col("wall_seconds")}
    wall = pl.col("wall_seconds").fill_null(pl.col("wall_seconds").shift(-1).over(_LANE))
    return (
        rows.with_columns(wall_seconds=wall)
        .filter(begins)
        .select(
            "line",
            "position",
            "host",
            time="end_time",
            kind=pl.lit("warning"),
            code=pl.lit("step_timer"),
            severity=pl.lit("warning"),
            count=pl.lit(1),
            message="text",
            attributes=event_labels(pairs),
        )
    )
