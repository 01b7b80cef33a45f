"""Read torchrun's table of failed processes: one event each, the first observed one marked.

Source: formats of NCCL and PyTorch-distributed logs, section 8.5, and of progress streams, section
14.2. "First observed" is first for one agent; the others' clocks decide.
"""

from typing import Final

import polars as pl

from collectors.line_reading import printer
from collectors.texts.stamps import iso_time

_FIELD: Final = r"^\s*(time|host|rank|exitcode|error_file|traceback)\s*: ?(.*)$"

_ENTRY: Final = r"^\s*\[\d+\]:\s*$"

_ROOT: Final = r"^\s*Root Cause \(first observed failure\):"

_OTHERS: Final = r"^\s*(?:Other )?Failures:"

_FRAME: Final = r"^\s*(?:={10,}|-{10,}|\S+ FAILED|<NO_OTHER_FAILURES>)\s*$"

_PART: Final = "|".join(f"(?:{one})" for one in (_FIELD, _ENTRY, _ROOT, _OTHERS, _FRAME))


def read_failure_tables(lines: pl.DataFrame, time_zone: str) -> tuple[pl.DataFrame, pl.Series]:
    """Return the failures in the tables of a log and the lines of the tables.

    Args:
        lines: `LINES`.
        time_zone: IANA zone of the tables' times.

    Returns:
        `EVENTS` of kind process_exit with `line`: code is the exit code, minus a signal's number;
        severity is critical for what an agent saw first, else error; `device` is the local rank.
        The second is empty without a table.
    """
    if not lines["text"].str.contains(_ROOT).any():
        return pl.DataFrame(), lines["line"].clear()
    marked = _marked(lines)
    fields = {
        name: pl.col("value").filter(pl.col("name") == name).first()
        for name in ("time", "host", "rank", "exitcode", "traceback")
    }
    entries = (
        marked.filter(pl.col("name").is_not_null())
        .group_by("printer", "entry", maintain_order=True)
        .agg(pl.col("line", "position", "is_root").first(), **fields)
        .drop_nulls("exitcode")
    )
    return entries.select(*_event(time_zone)), marked["line"]


def _marked(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the lines of tables with `name` and `value`, `printer`, `entry` and `is_root`."""
    text = pl.col("text")
    parts = lines.filter(text.str.contains(_PART))
    return parts.with_columns(
        name=text.str.extract(_FIELD, 1),
        value=text.str.extract(_FIELD, 2),
        printer=printer(),
        heading=text.str.extract(r"^\s*(Root Cause|(?:Other )?Failures)"),
    ).with_columns(
        entry=text.str.contains(_ENTRY).cum_sum().over("printer"),
        is_root=pl.col("heading").forward_fill().over("printer") == "Root Cause",
    )


def _event(time_zone: str) -> list[pl.Expr]:
    severity = pl.when("is_root").then(pl.lit("critical")).otherwise(pl.lit("error"))
    return [
        pl.col("line"),
        pl.col("position"),
        iso_time(pl.col("time"), time_zone).alias("time"),
        pl.col("host").str.strip_chars().str.to_lowercase(),
        pl.col("rank").str.extract(r"(\d+)").cast(pl.Int32, strict=False).alias("rank"),
        pl.lit("gpu").alias("device_kind"),
        pl.col("rank").str.extract(r"local_rank: (\d+)").alias("device"),
        pl.lit("process_exit").alias("kind"),
        pl.lit(1).alias("count"),
        pl.col("exitcode").str.extract(r"(-?\d+)").alias("code"),
        severity.alias("severity"),
        pl.col("traceback").alias("message"),
    ]
