"""Whether a file is worth reading again once a year is known for its stamps.

A log of NCCL has thousands of rows without a time, and no year would give them one: their lines
have no stamp. Only rows whose line shows a stamp without a year are dated by it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collectors.readings import Reading
from collectors.texts.packed_files import open_unpacked
from collectors.texts.text_blocks import line_blocks

_STAMP: Final = (
    r"\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d{1,2} +\d\d:\d\d:\d\d"
    r"|[DEFIVW]\d{3,4} \d\d:\d\d:\d\d"
)
"""Stamps without a year: those of syslog, and those of C++ and Python programs after glog's."""

_BLOCK_BYTES: Final = 16 * 1024 * 1024

_LINE_FEED: Final = 10


def undated_sources(paths: Mapping[str, Path], reading: Reading) -> frozenset[str]:
    """Return the sources of which a year would give a time to rows that have none.

    Args:
        paths: The file of each source, plain or packed.
        reading: What they say, read without a year; of rows without a place in their file any
            line may hold the stamp.

    Raises:
        OSError: A file cannot be read.
    """
    undated = pl.concat(
        reading.frame(name).filter(pl.col("time").is_null()).select("source", "position")
        for name in ("collectives", "events")
    )
    lines = undated.group_by("source").agg("position").drop_nulls("source")
    return frozenset(
        source
        for source, positions in zip(lines["source"], lines["position"], strict=True)
        if _show_stamp(paths[source], None if positions.null_count() else positions)
    )


def _show_stamp(path: Path, positions: pl.Series | None) -> bool:
    """Return whether some lines of a file, all if null, show a stamp without a year."""
    before = 0
    with open_unpacked(path) as stream:
        for block in line_blocks(stream, _BLOCK_BYTES):
            # Where lines end is found in a fraction of the time that it takes to cut them all.
            ends = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == _LINE_FEED)
            shown = block if positions is None else _lines_at(block, ends, positions - before)
            text = pl.Series([shown.decode("utf-8", errors="replace")])
            if text.str.contains(_STAMP).any():
                return True
            before += ends.size
    return False


def _lines_at(block: bytes, ends: NDArray[np.intp], positions: pl.Series) -> bytes:
    """Return the lines of a block at those positions, from 1, that lie in it."""
    places: list[int] = positions.filter(positions.is_between(1, ends.size + 1)).to_list()
    bounds = np.concatenate([[-1], ends, [len(block)]])
    return b"\n".join(block[bounds[at - 1] + 1 : bounds[at]] for at in places)
