"""Read the console and file logs of Composer and llm-foundry.

Source: formats of progress streams, section 8 (mosaicml/composer). Rates are means over a window
and absent until it is full; times are in hours, printed too coarsely for one step.
"""

from typing import Final

import polars as pl

from collectors.line_reading import LineReading
from collectors.readings import reading_of
from collectors.sniffing import ReadOptions
from collectors.training.own_times import with_own_times
from collectors.training.printed_numbers import NUMBER, printed_number
from collectors.training.record_blocks import first_sound, named, read_blocks

COMPOSER_HINT: Final = r"\[batch=|\[ba=| Train [a-z]|\tTrain [a-z]"

_HEADER: Final = (
    r"(?:^|\s)(?:\[epoch=[0-9/]+\])?\[(?:batch|ba)=([0-9]+)(?:/[0-9]+)?\](?:\[[^\]]*\])*:\s*$"
)

_VALUE: Final = rf"^\s+Train ([A-Za-z0-9_/.+-]+): +{NUMBER}\s*$"

_ANY_VALUE: Final = r"^\s+Train [A-Za-z0-9_/.+-]+: "

_METRIC: Final = rf"^\s*\[metric\]\[(?:batch|ba)=(?P<step>\d+)\]: (?P<name>\S+): {NUMBER}"

_SECONDS_PER_HOUR: Final = 3600.0


def read_composer(lines: pl.DataFrame, options: ReadOptions) -> LineReading:
    """Return the steps in Composer's logs.

    Args:
        lines: `LINES`.
        options: The zone and year of stamps that carry none.

    Returns:
        `STEPS` of the whole job. The time is that of the window's rate (`window_mean`), else that
        between the stamps (`arrival`), else that of the hours so far (`interval_mean`); null where
        nothing tells. `tokens` and `samples` are per batch.
    """
    blocks = read_blocks(lines, _HEADER, _VALUE)
    parts = pl.concat([blocks, _metrics(lines)], how="diagonal")
    rows = _records(parts.sort("line", maintain_order=True))
    others = lines.filter(pl.col("text").str.contains(_ANY_VALUE))["line"]
    if rows.is_empty():
        return LineReading(claimed=others if len(parts) else others.clear())
    steps = _steps_of(with_own_times(rows, lines, options))
    claimed = pl.concat([parts["line"], others]).unique(maintain_order=True)
    return LineReading(reading=reading_of(steps=steps), claimed=claimed)


def _metrics(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the values of the file logger; those in a row of one batch are one record."""
    hits = lines.filter(pl.col("text").str.contains("[metric][", literal=True))
    groups = hits.select(pl.col("text").str.extract_groups(_METRIC)).unnest("text")
    if hits.is_empty():
        return hits
    told = groups.select(
        pl.col("step").cast(pl.Int64, strict=False), "name", value=printed_number(pl.col("3"))
    )
    rows = hits.hstack(told).drop_nulls("step")
    fresh = (pl.col("step").diff() != 0).fill_null(value=True)
    return rows.with_columns(record=-fresh.cum_sum().cast(pl.Int64))


def _records(parts: pl.DataFrame) -> pl.DataFrame:
    """Return one row a record that tells of training."""
    if parts.is_empty():
        return parts
    rows = parts.group_by("record", maintain_order=True).agg(
        pl.col("line", "position", "time", "host", "text", "step").first(),
        loss=named("loss/train/total", "metrics/train/LanguageCrossEntropy"),
        grad_norm=named("l2_norm/grad/global"),
        batch_rate=named("throughput/batches_per_sec"),
        sample_rate=named("throughput/samples_per_sec"),
        token_rate=named("throughput/tokens_per_sec"),
        hours=named("time/train"),
    )
    told = pl.any_horizontal(pl.col("loss", "batch_rate", "hours").is_not_null())
    return rows.filter(told & pl.col("step").is_not_null())


def _steps_of(rows: pl.DataFrame) -> pl.DataFrame:
    gap = pl.col("step").diff()
    steps = pl.when(gap > 0).then(gap)
    rate = pl.when(pl.col("batch_rate") > 0).then("batch_rate")
    by_clock = pl.col("tick_seconds").diff() / steps
    by_hours = pl.col("hours").diff() * _SECONDS_PER_HOUR / steps
    told = {"window_mean": 1 / rate, "arrival": by_clock, "interval_mean": by_hours}
    seconds, time_kind = first_sound(told)
    return rows.with_columns(
        interval_steps=steps.fill_null(1),
        step_seconds=seconds,
        time_kind=time_kind,
        loss_state=pl.when(pl.col("loss").is_not_null()).then(pl.lit("printed")),
        tokens=pl.col("token_rate") / rate,
        samples=pl.col("sample_rate") / rate,
        rank=pl.lit(None),
    )
