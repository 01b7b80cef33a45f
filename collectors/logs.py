"""Read a log: lines of many producers in one file, shared out among the line dialects.

Each line that is not empty ends as a row, as part of one, or as a reject. A text in which nobody
finds anything is no log of ours, and one reject.
"""

import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import polars as pl

from collectors.identity import file_rank
from collectors.line_reading import LineDialect
from collectors.lines import LINE_DIALECTS
from collectors.readings import (
    FRAMES,
    MAX_REJECT_CHARACTERS,
    Reading,
    join_readings,
    reading_of,
    reject_file,
)
from collectors.sniffing import Head, ReadOptions
from collectors.taken import taken_on
from collectors.texts.envelope import read_lines
from collectors.texts.text_blocks import GZIP_MAGIC
from collectors.texts.torn_records import split_records
from collectors.training.attempts import attempt_number

MAX_UNPACKED_BYTES: Final = 2**31
"""A compressed log is read up to here; more would be a bomb."""


_MIN_HOST_DIGITS: Final = 3
"""Logs are called `exp12.log` after their run as well."""


def wants_logs(head: Head) -> float:
    """Return how sure it is that a head is a log: any text may be one, so barely."""
    packed = head.data.startswith(GZIP_MAGIC)
    return 0.05 if packed or not head.is_binary else 0.0


def read_logs(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return what all line dialects find in a log.

    Args:
        path: The file, plain or gzip; of a torn gzip what can be unpacked.
        source: The name to quote.
        options: Zone and year of stamps that carry none.

    Returns:
        The frames of all dialects. `rank` and `host` that no line says are taken from a file name
        that is a rank's or a host's; ranks whose host is told are placements.

    Raises:
        OSError: The file cannot be read.
    """
    return read_log_lines(_unpacked(path.read_bytes()), path.name, source, options)


def read_log_lines(data: bytes, name: str, source: str, options: ReadOptions) -> Reading:
    """Return what all line dialects find in the bytes of a log; see `read_logs`."""
    starts = [dialect.start for dialect in LINE_DIALECTS if dialect.start]
    lines = split_records(read_lines(data, options.time_zone), starts)
    placed = _placed(lines, name)
    reading, rest = _shared_out(placed, LINE_DIALECTS, options)
    if rest.height == placed.height:
        first, count = str(placed["text"].first() or ""), placed["position"].n_unique()
        return reject_file(source, "no known format", first, count)
    rejects = rest.select(
        "position",
        pl.col("text").str.slice(0, MAX_REJECT_CHARACTERS),
        reason=pl.lit("unrecognised line"),
    )
    told = placed.filter(pl.col("rank").is_not_null() & pl.col("host").is_not_null())
    placements = told.group_by("rank", "host", maintain_order=True).agg(
        index=pl.col("local_rank").drop_nulls().first()
    )
    whole = join_readings([reading, reading_of(rejects=rejects, placements=placements)])
    sourced: dict[str, Any] = {
        frame: whole.frame(frame).with_columns(source=pl.lit(source)) for frame in _SOURCED
    }
    used = placed.join(rest, on="line", how="anti")["position"].n_unique()
    return replace(whole, **sourced | {"steps": _numbered(sourced["steps"])}, lines_used=used)


def _numbered(steps: pl.DataFrame) -> pl.DataFrame:
    """Return the steps with an attempt where their dialect has not numbered it."""
    value = pl.struct("step_seconds", "loss", "end_time")
    counted = attempt_number(pl.col("step"), value, pl.col("starts")).over("rank")
    marked = steps.with_columns(starts=pl.lit(0))
    return marked.with_columns(pl.col("attempt").fill_null(counted)).drop("starts")


_SOURCED: Final = tuple(name for name, schema in FRAMES.items() if "source" in schema)


def _shared_out(
    lines: pl.DataFrame, dialects: Sequence[LineDialect], options: ReadOptions
) -> tuple[Reading, pl.DataFrame]:
    """Return what the dialects made of the lines, one after the other, and the lines left over."""
    readings: list[Reading] = []
    seen = lines.select(
        pl.col("text").str.contains(dialect.hint).any().alias(dialect.name) for dialect in dialects
    ).row(0, named=True)
    for dialect in (dialect for dialect in dialects if seen[dialect.name]):
        part = dialect.read(lines, options)
        readings.append(part.reading)
        if len(part.claimed):
            lines = lines.filter(~pl.col("line").is_in(part.claimed.implode()))
    return join_readings(readings), lines


def _placed(lines: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return the lines with the rank or the host of the file's name where they say none."""
    rank = pl.lit(file_rank(name), dtype=pl.Int32)
    host = pl.lit(taken_on(name, ReadOptions(), _MIN_HOST_DIGITS), dtype=pl.String)
    return lines.with_columns(pl.col("rank").fill_null(rank), pl.col("host").fill_null(host))


def _unpacked(data: bytes) -> bytes:
    if not data.startswith(GZIP_MAGIC):
        return data
    stream = zlib.decompressobj(wbits=31)
    try:
        return stream.decompress(data, MAX_UNPACKED_BYTES)
    except zlib.error:
        return b""
