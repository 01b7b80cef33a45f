"""Blocks of a kernel log: records kept whole, lines with their numbers, years counted ahead.

A record's indented lines stay in the block of its first line. The year of a stamp without one is
that of the log's end, so the New Years of a log of several blocks are counted before it is read.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import polars as pl

from collectors.texts.envelope import raw_lines
from collectors.texts.packed_files import open_unpacked
from collectors.texts.text_blocks import line_blocks
from collectors.texts.yearless_stamps import YEARLESS_STAMP, YearWalk, walk_years

MAX_LINE_BYTES: Final = 65_536
"""A longer line is cut there; no record is as long."""

MAX_RECORD_BYTES: Final = 1_048_576
"""A record that goes on for longer is cut."""

_SAMPLE_BYTES: Final = 16_384
"""Stamps this far apart are enough to count New Years: no log needs a year to write as much."""

_STAMP_BYTES: Final = 48
"""A stamp without a year stands among the first bytes of a line."""


def record_blocks(path: Path, block_bytes: int) -> Iterator[bytes]:
    """Yield a file in blocks that begin with a line that is not indented, if there is one near.

    Args:
        path: Plain or packed; a torn one ends where it can no longer be unpacked.
        block_bytes: About how long a block is.

    Raises:
        OSError: The file cannot be read.
    """
    held = b""
    with open_unpacked(path) as stream:
        for block in line_blocks(stream, block_bytes):
            cut = _last_record(held) if len(held) < MAX_RECORD_BYTES + block_bytes else len(held)
            if cut > 0:
                yield held[:cut]
            held = held[cut:] + block
    if held:
        yield held


def _last_record(data: bytes) -> int:
    """Return where the last line begins that is not indented; 0 if none after the first is."""
    at = data.rfind(b"\n", 0, max(0, len(data) - 1))
    while at >= 0 and data[at + 1 : at + 2] in b" \t":
        at = data.rfind(b"\n", 0, at)
    return at + 1


def text_lines(data: bytes, position: int) -> pl.DataFrame:
    """Return the lines of a block that are not blank.

    Args:
        data: The block; what is not UTF-8 becomes replacement characters, NULs go.
        position: How many lines were before it.

    Returns:
        `position` (the line of the file, from 1) and `text`.
    """
    lines = raw_lines(data, position)
    return lines.select("position", pl.col("text").str.head(MAX_LINE_BYTES))


def count_years(path: Path, block_bytes: int) -> YearWalk:
    """Return where the stamps without a year of a file stand at its end; see `YearWalk`."""
    walk = YearWalk()
    with open_unpacked(path) as stream:
        for block in line_blocks(stream, block_bytes):
            walk = walk_years(_sampled(block), walk)
    return walk


def _sampled(block: bytes) -> pl.Series:
    """Return the beginnings of lines of a block, some bytes apart, and of its last one."""
    ahead = range(_SAMPLE_BYTES, len(block), _SAMPLE_BYTES)
    last = block.rfind(b"\n", 0, max(0, len(block) - 1)) + 1
    starts = [0, *(block.find(b"\n", at) + 1 for at in ahead), last]
    texts = [block[at : at + _STAMP_BYTES].decode("latin-1") for at in starts]
    heads = pl.Series([text.split("\n")[0] for text in texts], dtype=pl.String)
    return heads.set(heads.str.contains(YEARLESS_STAMP).not_(), None)
