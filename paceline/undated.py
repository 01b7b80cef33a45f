"""Whether a file is worth reading again once a year is known for its stamps.

A log of NCCL has thousands of rows without a time, and no year would give them one: their lines
have no stamp. Only rows whose line shows a stamp without a year are dated by it.
"""

from pathlib import Path
from typing import Final

import polars as pl

from collectors.readings import Reading
from collectors.texts.packed_files import open_unpacked
from collectors.texts.text_blocks import line_blocks

_STAMP: Final = (
    r"\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d{1,2} +\d\d:\d\d:\d\d"
    r"|[DEFIVW]\d{3,4} \d\d:\d\d:\d\d"
)
"""Stamps without a year: those of syslog, and those of C++ and Python programs after glog's."""

_BLOCK_BYTES: Final = 16 * 1024 * 1024


def would_be_dated(path: Path, reading: Reading) -> bool:
    """Return whether a year would give a time to rows that have none.

    Args:
        path: The file, plain or packed.
        reading: What it says, read without a year; of rows without a place in it any line may
            hold the stamp.

    Raises:
        OSError: The file cannot be read.
    """
    lines = pl.concat(
        reading.frame(name).filter(pl.col("time").is_null())["position"]
        for name in ("collectives", "events")
    )
    return lines.len() > 0 and _show_stamp(path, None if lines.null_count() else lines)


def _show_stamp(path: Path, positions: pl.Series | None) -> bool:
    """Return whether some lines of a file, all if null, show a stamp without a year."""
    before = 0
    with open_unpacked(path) as stream:
        for block in line_blocks(stream, _BLOCK_BYTES):
            shown = block if positions is None else _lines_at(block, positions - before)
            text = pl.Series([shown.decode("utf-8", errors="replace")])
            if text.str.contains(_STAMP).any():
                return True
            before += block.count(b"\n")
    return False


def _lines_at(block: bytes, positions: pl.Series) -> bytes:
    """Return the lines of a block at those positions, from 1, that lie in it."""
    lines = block.split(b"\n")
    places: list[int] = positions.filter(positions.is_between(1, len(lines))).to_list()
    return b"\n".join(lines[at - 1] for at in places)
