"""Read the logs of OLMo and OLMo-core: a header with the step, and a value a line below it.

Source: formats of progress streams, section 9. Numbers from 1000 have thousands' commas; OLMo's
rates are means over a window that a checkpoint resets.
"""

from typing import Final

import polars as pl

from collectors.identity import canonical_host
from collectors.line_reading import LineReading
from collectors.readings import reading_of
from collectors.sniffing import ReadOptions
from collectors.training.own_times import with_own_times
from collectors.training.printed_numbers import NUMBER
from collectors.training.record_blocks import first_sound, named, read_blocks

OLMO_HINT: Final = r"\[step=[\d,]+/"

_HEADER: Final = r"\[step=([0-9,]+)/[0-9,?]+(?:,[^\]]*)?\]:?\s*$"

_VALUE: Final = rf"^\s+(\S[^=]*?)={NUMBER}\s*$"

_HOST: Final = r"\d\d:\d\d:\d\d(?:[.,]\d+)?\s+([A-Za-z][\w.-]*):\d+\s"


def read_olmo(lines: pl.DataFrame, options: ReadOptions) -> LineReading:
    """Return the steps and evaluations in OLMo's logs.

    Args:
        lines: `LINES`.
        options: The zone and year of stamps that carry none.

    Returns:
        `STEPS` of the whole job; the time is that of OLMo's windowed rate (`window_mean`) or of
        OLMo-core's rate of the step (`single_step`), else that between stamps (`arrival`). `tokens`
        are those of a step, by the count of all so far. `EVENTS` of kind evaluation, of records
        that hold nothing else.
    """
    parts = read_blocks(lines, _HEADER, _VALUE)
    if parts.is_empty():
        return LineReading()
    rows = with_own_times(_records(parts), lines, options).with_columns(
        canonical_host(pl.coalesce(pl.col("text").str.extract(_HOST), "host").alias("host"))
    )
    is_evaluation = pl.col("only_evaluated").fill_null(value=False)
    return LineReading(
        reading=reading_of(
            steps=_steps_of(rows.filter(~is_evaluation)),
            events=_events_of(rows.filter(is_evaluation)),
        ),
        claimed=parts["line"],
    )


def _records(parts: pl.DataFrame) -> pl.DataFrame:
    is_evaluation = pl.col("name").str.contains(r"^(?i:eval|valid)")
    device = "throughput/device/"
    return parts.group_by("record", maintain_order=True).agg(
        pl.col("line", "position", "time", "host", "text", "step").first(),
        loss=named("train/CrossEntropyLoss", "train/CE loss", "train/loss"),
        grad_norm=named("optim/total_grad_norm", "optim/total grad norm", "optim/grad_norm"),
        window_rate=named(f"{device}batches_per_second"),
        step_rate=named(f"{device}BPS"),
        all_tokens=named("throughput/total_tokens", "throughput/total tokens"),
        data_seconds=named(f"{device}data loading (s)"),
        only_evaluated=is_evaluation.drop_nulls().all() & (pl.col("name").count() > 0),
    )


def _steps_of(rows: pl.DataFrame) -> pl.DataFrame:
    gap = pl.col("step").diff()
    steps = pl.when(gap > 0).then(gap)
    told = {
        "window_mean": 1 / pl.col("window_rate"),
        "single_step": 1 / pl.col("step_rate"),
        "arrival": pl.col("tick_seconds").diff() / steps,
    }
    seconds, time_kind = first_sound(told)
    tokens = pl.col("all_tokens").diff() / steps
    return rows.with_columns(
        interval_steps=steps.fill_null(1),
        step_seconds=seconds,
        time_kind=time_kind,
        loss_state=pl.when(pl.col("loss").is_not_null()).then(pl.lit("printed")),
        tokens=pl.when(tokens > 0).then(tokens),
        rank=pl.lit(None),
    )


def _events_of(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(
        time="end_time",
        kind=pl.lit("evaluation"),
        code=pl.col("step").cast(pl.String),
        severity=pl.lit("info"),
        count=pl.lit(1),
        message="text",
    )
