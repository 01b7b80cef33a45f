"""Read DeepSpeed's communication logger: each operation as it ends, and the summary table.

Source: formats of NCCL and PyTorch-distributed logs, section 11 (deepspeed/utils/comms_logging.py
and timer.py, 0.7 to 0.17). Bandwidths are in Gbit/s, sizes in powers of 1024. A time holds the wait
for the others, except in the table that sets it apart.
"""

from typing import Final

import polars as pl

from collectors.line_reading import LineReading, printer
from collectors.readings import reading_of
from collectors.sniffing import ReadOptions
from collectors.texts.stamps import iso_time

COMMS_HINT: Final = r"comm op: |Comm\. Op  |straggler effect"

_NUMBER: Final = r"[\d.]+(?:e[+-]?\d+)?"

_SIZE: Final = rf"(?P<size>{_NUMBER}) ?(?P<unit>[KMGTPE]?B)"

_OPERATION: Final = (
    rf"comm op: (?P<operation>\w+) \| time \(ms\): (?P<milliseconds>{_NUMBER}) +\| "
    rf"msg size: {_SIZE} +\| algbw \(Gbps\): (?P<algorithm>{_NUMBER}) +\| "
    rf"busbw \(Gbps\): (?P<bus>{_NUMBER})"
)

_RANK: Final = r"\[Rank (\d+)\]"

_HEADING: Final = r"Comm\. Op +Message Size +Count "

_WAITS: Final = "straggler(ms)"

_NAME: Final = r"^([a-z]\w*)$"

_ROW: Final = (
    rf"^\s*{_SIZE} +(?P<count>\d+) +(?P<total>{_NUMBER}) +(?P<second>{_NUMBER}) +"
    rf"(?P<third>{_NUMBER}) +(?P<fourth>{_NUMBER})\s*$"
)

_RULE: Final = r"^\s*(?:_{8,}|-{8,}|Breakdown with straggler effect)\s*$"

_UNITS: Final = {unit: 1024.0**power for power, unit in enumerate(["B", "KB", "MB", "GB", "TB"])}

_GIGABITS: Final = 1e9 / 8


def read_deepspeed_comms(lines: pl.DataFrame, options: ReadOptions) -> LineReading:
    """Return the timed operations that DeepSpeed logs.

    Args:
        lines: `LINES`.
        options: The zone of DeepSpeed's stamps, which carry none.

    Returns:
        `TRANSFERS` by line, timed on the wall. `variant` is null for a single operation, `mean`
        for a row of the table, `mean_transfer` and `mean_wait` for one that tells apart how long
        the operation took and how long the rank waited in it for the slowest.
    """
    single = _matched(lines, _OPERATION).with_columns(
        time=iso_time(pl.col("text"), options.time_zone).fill_null(pl.col("time")),
        rank=pl.col("text")
        .str.extract(_RANK)
        .cast(pl.Int32, strict=False)
        .fill_null(pl.col("rank")),
        seconds=_value("milliseconds") / 1000,
        algorithm_bytes_per_second=_value("algorithm") * _GIGABITS,
        bus_bytes_per_second=_value("bus") * _GIGABITS,
    )
    table, parts = _table(lines)
    rows = pl.concat([single, table], how="diagonal").with_columns(
        bytes=(_value("size") * _unit()).round().cast(pl.Int64, strict=False),
        timing=pl.lit("wall"),
    )
    return LineReading(
        reading=reading_of(transfers=rows.sort("line", maintain_order=True)),
        claimed=pl.concat([single["line"], parts]).unique(),
    )


def _matched(lines: pl.DataFrame, pattern: str) -> pl.DataFrame:
    hits = lines.filter(pl.col("text").str.contains(pattern))
    return hits.hstack(hits["text"].str.extract_groups(pattern).struct.unnest())


def _value(name: str) -> pl.Expr:
    return pl.col(name).cast(pl.Float64, strict=False)


def _unit() -> pl.Expr:
    return pl.col("unit").replace_strict(_UNITS, default=None, return_dtype=pl.Float64)


def _table(lines: pl.DataFrame) -> tuple[pl.DataFrame, pl.Series]:
    """Return the rows of summary tables, each under its operation's name, and the table's lines.

    A row belongs to the last heading and name of its printer; a table's lines follow each other.
    """
    text = pl.col("text")
    shape = (
        pl.when(text.str.contains(_HEADING))
        .then(pl.lit("heading"))
        .when(text.str.contains(_ROW))
        .then(pl.lit("row"))
        .when(text.str.contains(_NAME))
        .then(pl.lit("name"))
        .when(text.str.contains(_RULE))
        .then(pl.lit("rule"))
        .otherwise(pl.lit("other"))
    )
    marked = lines.with_columns(printer=printer(), shape=shape)
    heading = pl.when(pl.col("shape") == "heading").then("text")
    block = pl.col("shape").is_in(["heading", "other"]).cum_sum().over("printer")
    inside = (
        marked.with_columns(block=block)
        .with_columns(heading=heading.forward_fill().over("printer", "block"))
        .with_columns(operation=text.str.extract(_NAME).forward_fill().over("printer", "block"))
    )
    ours = inside.filter(pl.col("heading").is_not_null())
    rows = _matched(ours.filter(pl.col("shape") == "row").drop_nulls("operation"), _ROW)
    return _means(rows), ours["line"]


def _means(rows: pl.DataFrame) -> pl.DataFrame:
    """Return one row a mean: of the plain table with bandwidths, of the other one two."""
    waits = pl.col("heading").str.contains(_WAITS, literal=True)
    plain = rows.filter(~waits).with_columns(
        seconds=_value("second") / 1000,
        algorithm_bytes_per_second=_value("third") * _GIGABITS,
        bus_bytes_per_second=_value("fourth") * _GIGABITS,
        variant=pl.lit("mean"),
    )
    apart = rows.filter(waits)
    parts = [
        apart.with_columns(seconds=_value(column) / 1000, variant=pl.lit(variant))
        for column, variant in (("third", "mean_transfer"), ("fourth", "mean_wait"))
    ]
    return pl.concat([plain, *parts], how="diagonal")
