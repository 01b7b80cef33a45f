"""Read the step lines of smaller trainers: torchtitan, nanoGPT and its speed runs, MaxText.

Source: formats of progress streams, sections 4, 7 and 10. Each prints a line a step or an interval;
what stands for "no value" (`N/A`, -100 %, `nanms`) is null.
"""

from dataclasses import dataclass
from typing import Final

import polars as pl

from collectors.communication.c10_lines import short_time, year_of
from collectors.line_reading import LineReading
from collectors.readings import reading_of
from collectors.sniffing import ReadOptions
from collectors.texts.stamps import iso_time
from collectors.training.rates import seconds_by_rate

_NUMBER: Final = r"-?[\d,]*\.?\d+(?:e[-+]?\d+)?|-?nan|-?inf"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLine:
    """The step line of one trainer.

    Attributes:
        pattern: Groups named `step`, `loss`, `grad_norm`, `seconds`, `milliseconds`, `rate`
            (tokens a second of one device), `tflops` (of one device) and `total` (milliseconds
            since the start).
        time_kind: What its time stands for.
    """

    pattern: str
    time_kind: str


_STEP_LINES: Final = (
    StepLine(
        pattern=rf"\bstep: +(?P<step>[\d,]+)  +loss: +(?P<loss>{_NUMBER})"
        rf"(?:  +grad_norm: +(?P<grad_norm>{_NUMBER}))?(?:.*? (?:tps|wps): +(?P<rate>{_NUMBER}))?",
        time_kind="arrival",
    ),
    StepLine(
        pattern=rf"^iter (?P<step>\d+): loss (?P<loss>{_NUMBER}), "
        rf"time (?P<milliseconds>{_NUMBER})ms",
        time_kind="single_step",
    ),
    StepLine(
        pattern=rf"^step:(?P<step>\d+)/\d+ train_loss:(?P<loss>{_NUMBER}) "
        rf"train_time:(?P<total>{_NUMBER})ms",
        time_kind="interval_mean",
    ),
    StepLine(
        pattern=rf"completed step: (?P<step>\d+), seconds: (?P<seconds>{_NUMBER})"
        rf"(?:.*?TFLOP/s/device: (?P<tflops>{_NUMBER}))?(?:.*?\bloss: (?P<loss>{_NUMBER}))?",
        time_kind="single_step",
    ),
)
"""What is printed, by trainer; `arrival` is the time between lines."""

STEP_LINE_HINT: Final = (
    r"\bstep: +[\d,]+  +loss:|^iter \d+: loss|^step:\d+/\d+ |completed step: \d+,"
)

MAX_DEVICE_TFLOPS: Final = 3000.0
"""No accelerator of 2026 computes dense 16-bit numbers faster: its timer ends before its step."""

MAX_TIMER_ERROR: Final = 1.2
"""Stamps this many times the told seconds apart, over ten lines, prove the timer wrong."""

_MIN_TIMED_LINES: Final = 10

_SHORT_STAMP: Final = (
    r"^[IWEF](?P<month>\d\d)(?P<day>\d\d) (?P<clock>\d\d:\d\d:\d\d)\.(?P<fraction>\d+) "
)

_COLUMNS: Final = (
    "step",
    "loss",
    "grad_norm",
    "seconds",
    "milliseconds",
    "rate",
    "tflops",
    "total",
)


def read_step_lines(lines: pl.DataFrame, options: ReadOptions) -> LineReading:
    """Return the steps in the lines of smaller trainers.

    Args:
        lines: `LINES`.
        options: The zone and year of stamps that carry none.

    Returns:
        `STEPS` of the whole job. Where a trainer tells only a rate, the time is that of a step by
        the log's stamps, else the seconds of one token (`tokens` is 1: only ratios count). A told
        time that the stamps or the hardware contradict is replaced by the stamps' (`arrival`), with
        an event of kind warning, code `step_timer`.
    """
    readings = [_read_one(lines, one, options) for one in _STEP_LINES]
    found = [one for one in readings if one is not None]
    if not found:
        return LineReading()
    steps = pl.concat([steps for steps, _ in found], how="diagonal").sort("line")
    events = pl.concat([events for _, events in found], how="diagonal")
    return LineReading(reading=reading_of(steps=steps, events=events), claimed=steps["line"])


def _read_one(
    lines: pl.DataFrame, kind: StepLine, options: ReadOptions
) -> tuple[pl.DataFrame, pl.DataFrame] | None:
    hits = lines.filter(pl.col("text").str.contains(kind.pattern))
    if hits.is_empty():
        return None
    groups = hits.select(pl.col("text").str.extract_groups(kind.pattern)).unnest("text")
    have = [name for name in _COLUMNS if name in groups.columns]
    numbers = groups.select(
        pl.col(name).str.replace_all(",", "").cast(pl.Float64, strict=False) for name in have
    ).with_columns(pl.lit(None, dtype=pl.Float64).alias(n) for n in _COLUMNS if n not in have)
    timed = _with_clock(hits.hstack(numbers), options)
    return _finished(timed, kind)


def _with_clock(lines: pl.DataFrame, options: ReadOptions) -> pl.DataFrame:
    """Return the lines with their time and the wall seconds since the line before.

    A stamp without a year gives no time, but seconds between lines all the same.
    """
    stamps = lines.select(pl.col("text").str.extract_groups(_SHORT_STAMP)).unnest("text")
    year = year_of(lines, options)
    full = pl.col("time").fill_null(iso_time(pl.col("text"), options.time_zone))
    any_year = short_time(options.time_zone, year or 2000)
    return lines.hstack(stamps).with_columns(
        end_time=full.fill_null(short_time(options.time_zone, year)),
        wall_seconds=full.fill_null(any_year).diff().dt.total_microseconds() / 1e6,
    )


def _finished(lines: pl.DataFrame, kind: StepLine) -> tuple[pl.DataFrame, pl.DataFrame]:
    rated = seconds_by_rate(lines)
    told = pl.coalesce(
        "seconds",
        pl.col("milliseconds") / 1000,
        pl.col("total").diff() / 1000 / pl.col("gap"),
        "rate_seconds",
    )
    wall = pl.col("wall_seconds") / pl.col("gap")
    is_wrong = _timer_is_wrong(rated.with_columns(told=told, by_wall=wall))
    seconds = wall if is_wrong else told
    time_kind = "arrival" if is_wrong else kind.time_kind
    steps = rated.with_columns(
        interval_steps=pl.col("gap").fill_null(1.0)
        if kind.time_kind != "single_step"
        else pl.lit(1.0),
        step_seconds=pl.when(seconds.is_finite() & (seconds >= 0)).then(seconds),
        time_kind=pl.when(seconds.is_not_null()).then(pl.lit(time_kind)),
        loss_state=pl.when(pl.col("loss").is_not_null()).then(pl.lit("printed")),
        tokens=pl.when(pl.col("rate").is_not_null()).then("work"),
        rank=pl.lit(None, dtype=pl.Int32),
    )
    return steps, _timer_event(lines) if is_wrong else lines.clear()


def _timer_is_wrong(lines: pl.DataFrame) -> bool:
    """Return whether the told seconds cannot be: too fast for any device, or for the stamps."""
    apart = (
        pl.col("by_wall").sum()
        > MAX_TIMER_ERROR * pl.col("told").filter(pl.col("by_wall").is_not_null()).sum()
    )
    enough = pl.col("by_wall").count() >= _MIN_TIMED_LINES
    absurd = pl.col("tflops").median() > MAX_DEVICE_TFLOPS
    has_clock = pl.col("by_wall").count() > 0
    wrong = has_clock & pl.col("seconds").is_not_null().any() & ((enough & apart) | absurd)
    return bool(lines.select(wrong.fill_null(value=False)).item())


def _timer_event(lines: pl.DataFrame) -> pl.DataFrame:
    return lines.head(1).select(
        "line",
        "position",
        "host",
        time="end_time",
        kind=pl.lit("warning"),
        code=pl.lit("step_timer"),
        severity=pl.lit("warning"),
        count=pl.lit(1),
        message="text",
    )
