"""Read what NCCL's Inspector plugin writes: one timed operation a line, as one process saw it.

Source: formats of NCCL logs, section 6.1 (NVIDIA/nccl `plugins/profiler/inspector`, 2.28 to 2.30,
output v4.0 to v4.2). Only completed operations are written, a ring drops others, and a hang leaves
nothing: a gap is no evidence. The time of an operation holds the wait for the slowest.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import polars as pl

from collectors.communication.inspector_records import (
    RECORDS,
    dropped,
    loose_records,
    plain_records,
    transfers,
)
from collectors.frames import REJECTS
from collectors.readings import (
    MAX_REJECT_CHARACTERS,
    Reading,
    count_lines,
    fold_rejects,
    join_readings,
    reading_of,
)
from collectors.sniffing import Head, ReadOptions
from collectors.texts.packed_files import open_unpacked
from collectors.texts.plain_lines import decoded
from collectors.texts.text_blocks import line_blocks

_KEYS: Final = ('"coll_perf"', '"p2p_perf"', '"inspector_output_format_version"', '"dump_stats"')


def wants_inspector(head: Head) -> float:
    """Return how sure it is that a head is Inspector's: an object, and its keys."""
    is_object = head.text.lstrip().startswith("{")
    return 0.97 if is_object and any(key in head.text for key in _KEYS) else 0.0


def read_inspector(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return the timed operations in a file of the Inspector.

    Args:
        path: The file, plain or gzip; lines or pretty-printed.
        source: The name to quote.
        options: Not used.

    Returns:
        `TRANSFERS`, one an operation. `group` is the communicator's id and `rank` counts inside it;
        `sequence` counts by operation and communicator. `time` is when the operation stopped, or
        when the file was written where that is not told. A header holds for what follows until the
        next. `EVENTS` of kind `records_dropped` where the plugin says that its ring overflowed. A
        record that was cut is a reject.

    Raises:
        OSError: The file cannot be read.
    """
    return join_readings(stream_inspector(path, source, options))


def stream_inspector(path: Path, source: str, _options: ReadOptions) -> Iterator[Reading]:
    """Yield the reading of a file a part at a time; see `read_inspector`."""
    before, position = RECORDS.to_frame(), 0
    with open_unpacked(path) as stream:
        for block in line_blocks(stream):
            text = decoded(block)
            records, lost = _records_of(text, position)
            carried = pl.concat([before, records]).with_columns(
                pl.col("header", "metadata").forward_fill()
            )
            before = carried.tail(1)
            yield _reading(carried.tail(records.height), lost, source)
            position += text.count("\n")


def _records_of(text: str, offset: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return `RECORDS` of a block, and its lines that are no part of any."""
    lines = (
        pl.DataFrame({"text": text.split("\n")}, schema={"text": pl.String})
        .with_row_index("position", offset=offset + 1)
        .select(pl.col("position").cast(pl.Int64), pl.col("text").str.strip_chars())
        .filter(pl.col("text") != "")
    )
    is_whole = pl.col("text").str.starts_with("{") & pl.col("text").str.ends_with("}")
    whole = lines.filter(is_whole)
    records = plain_records(whole) if whole.height >= max(1, lines.height - 1) else None
    if records is not None:
        return records, lines.filter(~is_whole)
    return loose_records(text, offset)


def _reading(records: pl.DataFrame, lost: pl.DataFrame, source: str) -> Reading:
    """Return the reading of records and of lines that are none."""
    named = pl.lit(source)
    rejects = lost.select(
        "position",
        pl.col("text").str.head(MAX_REJECT_CHARACTERS),
        source=named,
        reason=pl.lit("cut or no record"),
        count=pl.col("count") if "count" in lost.columns else pl.lit(1, pl.Int64),
    )
    folded = (
        fold_rejects(reading_of(rejects=rejects).rejects) if lost.height else REJECTS.to_frame()
    )
    reading = reading_of(
        transfers=transfers(records).with_columns(source=named),
        events=dropped(records).with_columns(source=named),
        rejects=folded,
    )
    return count_lines(reading, int(records["lines"].sum()))
