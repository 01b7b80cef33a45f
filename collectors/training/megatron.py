"""Read the iteration lines of Megatron-LM and its relatives, and what stands between them.

Source: formats of progress streams, sections 1.1 to 1.4 and 2.1 (NVIDIA/Megatron-LM
training.py, v1.0 to core 0.19; Megatron-DeepSpeed). A field's name holds its unit; a loss that is
not positive is left out of the line; the elapsed time is the mean since the last line.
"""

from typing import Final

import polars as pl

from collectors.line_reading import LineReading
from collectors.readings import reading_of
from collectors.sniffing import ReadOptions
from collectors.texts.stamps import iso_time
from collectors.training.attempts import attempt_number
from collectors.training.megatron_events import EVENT_LINES, read_megatron_events

ITERATION_START: Final = (
    r"(?:\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?\] +)?\biteration +\d+/ *\d+ *\|"
)
"""How a record begins, wherever it stands."""

MEGATRON_HINT: Final = r"iteration|checkpoint|datetime|time \(ms\)|valid|exiting program|metadata"

MAX_WRAPPED_LINES: Final = 3
"""A record that is cut before its last bar goes on within so many lines."""

_NUMBER: Final = r"(-?[0-9][0-9.,]*(?:E[-+]?[0-9]+)?|-?nan|-?inf)"

_FIELDS: Final = {
    "elapsed_ms": rf"\|elapsedtimeperiteration\(ms\):{_NUMBER}",
    "elapsed_s": rf"\|elapsedtimeperiteration\(s\):{_NUMBER}",
    "samples": rf"\|globalbatchsize:{_NUMBER}",
    "consumed_tokens": rf"\|consumedtokens:{_NUMBER}",
    "lm_loss": rf"\|lm-?loss:{_NUMBER}",
    "other_loss": rf"\|[^|:]*loss:{_NUMBER}",
    "loss_scale": rf"\|lossscale:{_NUMBER}",
    "grad_norm": rf"\|gradnorm:{_NUMBER}",
    "skipped": rf"\|numberofskippediterations:{_NUMBER}",
}
"""Patterns over a record without any blanks: a wrap may fall inside a name."""


def read_megatron(lines: pl.DataFrame, options: ReadOptions) -> LineReading:
    """Return the steps and events that Megatron's lines tell.

    Args:
        lines: `LINES`.
        options: The zone of Megatron's stamps, which carry none.

    Returns:
        `STEPS` of the whole job, rank null, `interval_mean` over the steps since the last line.
        `loss_state` is `printed`, `all_skipped` (each step of the interval was, a harmless start
        of mixed precision) or `not_printed` (the loss was NaN or not positive). `EVENTS` of
        evaluations, checkpoints, starts and ends.
    """
    parts = _record_lines(lines)
    events, event_lines = read_megatron_events(lines, options.time_zone)
    if parts.is_empty() and events.is_empty():
        return LineReading()
    records = _records_of(parts, options.time_zone)
    marks = events.filter(pl.col("kind") == "run_start").select("line", is_mark=pl.lit(1))
    steps = _steps_of(_with_attempts(records, marks))
    return LineReading(
        reading=reading_of(steps=steps, events=events),
        claimed=pl.concat([parts["line"], event_lines]),
    )


def _record_lines(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the lines of iteration records, numbered by record: wrapped ones have several."""
    text = pl.col("text")
    starts = text.str.contains(ITERATION_START)
    other = text.str.contains(EVENT_LINES) | ~text.str.contains("|", literal=True)
    marked = lines.with_columns(starts=starts, record=starts.cum_sum(), other=other)
    kept = marked.filter((pl.col("record") > 0) & (pl.col("starts") | ~pl.col("other")))
    closed = text.str.ends_with("|").cum_sum().shift(1, fill_value=0).over("record")
    near = pl.col("line") - pl.col("line").first().over("record") <= MAX_WRAPPED_LINES
    return kept.filter((closed == 0) & near)


def _records_of(parts: pl.DataFrame, time_zone: str) -> pl.DataFrame:
    """Return one row a record with its numbers; a field that is not there is null."""
    joined = parts.group_by("record", maintain_order=True).agg(
        pl.col("line", "position", "time", "host").first(), pl.col("text").str.join("")
    )
    bare = pl.col("bare")
    fields = {
        name: bare.str.extract(pattern).str.replace_all(",", "").cast(pl.Float64, strict=False)
        for name, pattern in _FIELDS.items()
    }
    return joined.with_columns(
        pl.col("text").str.extract(r"iteration +(\d+)/").cast(pl.Int64, strict=False).alias("step"),
        end_time=pl.col("time").fill_null(_own_time(time_zone)),
        bare=pl.col("text").str.replace_all(r"\s+", ""),
    ).with_columns(**fields)


def _own_time(time_zone: str) -> pl.Expr:
    return iso_time(pl.col("text").str.extract(r"^(.*?)iteration +\d"), time_zone)


def _with_attempts(records: pl.DataFrame, marks: pl.DataFrame) -> pl.DataFrame:
    """Return the records with their attempt; start marks in a row are one start."""
    both = pl.concat([records, marks], how="diagonal").sort("line", maintain_order=True)
    is_mark = pl.col("is_mark").is_not_null()
    begins = is_mark & ~is_mark.shift(1, fill_value=False)
    counted = both.with_columns(starts=begins.cum_sum().cast(pl.Int64)).drop_nulls("record")
    value = pl.struct("elapsed_ms", "elapsed_s", "lm_loss")
    return counted.with_columns(attempt=attempt_number(pl.col("step"), value, pl.col("starts")))


def _steps_of(records: pl.DataFrame) -> pl.DataFrame:
    gap = pl.col("step").diff().over("attempt")
    usual = pl.min_horizontal(gap.mode().min().fill_null(1), "step").clip(lower_bound=1)
    tokens = pl.col("consumed_tokens").diff().over("attempt") / gap
    loss = pl.col("lm_loss").fill_null(pl.col("other_loss"))
    return records.with_columns(
        interval_steps=pl.when(gap > 0).then(gap).otherwise(usual),
        step_seconds=(pl.col("elapsed_ms") / 1000).fill_null(pl.col("elapsed_s")),
        time_kind=pl.lit("interval_mean"),
        loss=loss,
        tokens=pl.when(tokens > 0).then(tokens),
        skipped_steps="skipped",
    ).with_columns(loss_state=_loss_state())


def _loss_state() -> pl.Expr:
    """Return why a loss is there or not; a record cut before its place tells nothing."""
    whole = pl.col("loss_scale").is_not_null() | pl.col("skipped").is_not_null()
    return (
        pl.when(pl.col("loss").is_not_null())
        .then(pl.lit("printed"))
        .when(pl.col("skipped") >= pl.col("interval_steps"))
        .then(pl.lit("all_skipped"))
        .when(whole)
        .then(pl.lit("not_printed"))
    )
