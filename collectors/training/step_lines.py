"""Read the step lines of smaller trainers: torchtitan, nanoGPT, llm.c, MaxText, XTuner.

Source: formats of progress streams, sections 4, 7, 10 and 11. Each prints a line a step or an
interval; what stands for "no value" (`N/A`, -100 %, `nanms`) is null.
"""

from typing import Final

import polars as pl

from collectors.line_reading import LineReading, printer
from collectors.readings import reading_of
from collectors.sniffing import ReadOptions
from collectors.texts.file_places import file_number
from collectors.training.own_times import with_own_times
from collectors.training.printed_numbers import printed_number
from collectors.training.rank_samples import read_rank_samples
from collectors.training.rates import seconds_by_rate
from collectors.training.step_line_table import (
    OTHER_LOOPS,
    OTHER_STEP_LINE,
    STEP_LINES,
    StepLine,
)
from collectors.training.step_timers import is_timer_wrong, timer_events

_COLUMNS: Final = (
    "loss",
    "grad_norm",
    "seconds",
    "milliseconds",
    "total_milliseconds",
    "data_seconds",
    "tokens",
    "rate",
    "teraflops",
    "flops_percent",
    "memory_gibibytes",
    "memory_percent",
)

_OWN_RANK: Final = r"\[RANK (\d+)\]"

_NOT_OWNED: Final = -1.0
"""What a pipeline stage without the loss prints in its place."""


def read_step_lines(lines: pl.DataFrame, options: ReadOptions) -> LineReading:
    """Return the steps in the lines of smaller trainers.

    Args:
        lines: `LINES`.
        options: The zone and year of stamps that carry none.

    Returns:
        `STEPS`: of the whole job, or of each rank where several print the lines of their own.
        Where a trainer tells only a rate, the time is that of a step by the log's stamps, else the
        seconds of one token (`tokens` is 1: only ratios count). A told time that the stamps or the
        hardware contradict is replaced by the stamps' (`arrival`), with an event of kind warning,
        code `step_timer`. `loss_state` is `printed`, or `not_owned` for the -1 of a stage that has
        no loss. `SAMPLES` of the memory, tokens and flops of torchtitan's ranks.
    """
    found = [(hits, kind) for kind in STEP_LINES if len(hits := _hits_of(lines, kind))]
    return _reading_of(found, lines, options)


def read_other_step_lines(lines: pl.DataFrame, options: ReadOptions) -> LineReading:
    """Return the steps in the lines of trainers that nobody knows, if they tell step and loss.

    Args:
        lines: `LINES`.
        options: The zone and year of stamps that carry none.

    Returns:
        `STEPS`, as `read_step_lines` has them; without a told time that between the stamps.
    """
    hits = _hits_of(lines, OTHER_STEP_LINE)
    ours = hits.filter(~pl.col("text").str.contains(OTHER_LOOPS))
    return _reading_of([(ours, OTHER_STEP_LINE)] if len(ours) else [], lines, options)


def _reading_of(
    found: list[tuple[pl.DataFrame, StepLine]], lines: pl.DataFrame, options: ReadOptions
) -> LineReading:
    if not found:
        return LineReading()
    parts = [_rows_of(hits, lines, kind, options) for hits, kind in found]
    rows = pl.concat(parts, how="diagonal").sort("line")
    return LineReading(
        reading=reading_of(
            steps=_steps_of(rows), events=timer_events(rows), samples=read_rank_samples(rows)
        ),
        claimed=pl.concat([hits["line"] for hits, _ in found]).unique(maintain_order=True),
    )


def _hits_of(lines: pl.DataFrame, kind: StepLine) -> pl.DataFrame:
    """Return the lines of one trainer."""
    text = pl.col("text")
    near = lines.filter(text.str.contains(kind.literal, literal=True))
    return near.filter(text.str.contains(kind.pattern)) if len(near) else near


def _rows_of(
    hits: pl.DataFrame, lines: pl.DataFrame, kind: StepLine, options: ReadOptions
) -> pl.DataFrame:
    """Return the lines of one trainer with their fields and times."""
    fields = {name: _number(kind.fields.get(name)) for name in _COLUMNS}
    found = hits.with_columns(step=_number(kind.step), **fields)
    return _timed(with_own_times(_laned(found, kind), lines, options), kind)


def _number(pattern: str | None) -> pl.Expr:
    if pattern is None:
        return pl.lit(None, dtype=pl.Float64)
    return printed_number(pl.col("text").str.extract(pattern))


def _laned(rows: pl.DataFrame, kind: StepLine) -> pl.DataFrame:
    """Return the rows with `lane` and the rank they speak for.

    The rank of a prefix is the printer's: with one printer the line is about the job. Printers that
    are no ranks print the same, so one of them is enough.
    """
    inside = pl.col("text").str.extract(_OWN_RANK).cast(pl.Int32, strict=False)
    rank = pl.coalesce(inside, "rank", "task")
    own = rows.with_columns(rank=rank).with_columns(lane=printer())
    if kind.is_per_rank:
        return own
    told = own.with_columns(file_number(), is_alone=_is_alone())
    first = pl.col("lane").min().over("file")
    return (
        told.filter(~pl.col("is_alone") | (pl.col("lane") == first))
        .with_columns(
            rank=pl.when(~pl.col("is_alone")).then("rank"),
            printer=pl.when("is_alone").then("rank"),
        )
        .drop("file", "is_alone")
    )


def _is_alone() -> pl.Expr:
    """Return whether no second rank prints in the file of a line."""
    return (pl.col("rank").n_unique() == 1).over(file_number())


def _timed(rows: pl.DataFrame, kind: StepLine) -> pl.DataFrame:
    """Return the rows with the seconds of a step as told, by the stamps, and as believed."""
    clocked = rows.with_columns(wall_seconds=pl.col("tick_seconds").diff().over("lane"))
    rated = seconds_by_rate(clocked, "lane")
    gap = pl.col("gap")
    after_loading = pl.col("seconds") + pl.col("data_seconds").fill_null(0.0)
    total = pl.col("total_milliseconds").diff().over("lane") / 1000
    told = pl.coalesce(after_loading, pl.col("milliseconds") / 1000, total / gap)
    is_single = kind.time_kind == "single_step"
    return (
        rated.with_columns(told_seconds=told, wall_seconds=pl.col("wall_seconds") / gap)
        .with_columns(is_wrong=is_timer_wrong())
        .with_columns(
            interval_steps=pl.lit(1.0) if is_single else gap.fill_null(1.0),
            time_kind=pl.when("is_wrong").then(pl.lit("arrival")).otherwise(pl.lit(kind.time_kind)),
        )
    )


def _steps_of(rows: pl.DataFrame) -> pl.DataFrame:
    told = pl.coalesce("told_seconds", "rate_seconds")
    by_clock = pl.col("is_wrong") | (told.is_null() & pl.col("rate").is_null())
    seconds = pl.when(by_clock).then("wall_seconds").otherwise(told)
    is_owned = (pl.col("loss") != _NOT_OWNED).fill_null(value=True)
    state = pl.when(pl.col("loss").is_not_null()).then(pl.lit("printed"))
    return rows.with_columns(
        step_seconds=pl.when(seconds.is_finite() & (seconds > 0)).then(seconds),
        loss=pl.when(is_owned).then("loss"),
        loss_state=pl.when(is_owned).then(state).otherwise(pl.lit("not_owned")),
        tokens=pl.coalesce("tokens", pl.when(pl.col("rate").is_not_null()).then("work")),
        time_kind=pl.when(by_clock).then(pl.lit("arrival")).otherwise("time_kind"),
        interval_steps=pl.when(by_clock)
        .then(pl.col("gap").fill_null(1.0))
        .otherwise("interval_steps"),
    ).with_columns(time_kind=pl.when(pl.col("step_seconds").is_not_null()).then("time_kind"))
