"""Whole lines of a large file, a block at a time, in memory that does not grow with the file."""

import io
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from collectors.texts.packed_files import TORN

BLOCK_BYTES: Final = 32 * 1024 * 1024
"""Read at once; memory is a few times this and what the rows of a block take."""

MAX_LINE_BYTES: Final = 4 * BLOCK_BYTES
"""A longer line is cut into lines of this length: no record is as long, and memory is bounded."""


def line_blocks(stream: io.BufferedIOBase, block_bytes: int = BLOCK_BYTES) -> Iterator[bytes]:
    """Yield the stream in blocks of whole lines.

    Args:
        stream: Bytes of a text; a torn packed file ends where it can no longer be unpacked.
        block_bytes: About how long a block is.

    Yields:
        Blocks that end in a line feed, but for the last one and before a cut in a line that is
        longer than `MAX_LINE_BYTES`.
    """
    while block := _read(stream, block_bytes):
        if not block.endswith(b"\n"):
            with suppress(*TORN):
                block += stream.readline(MAX_LINE_BYTES)
        yield block


def _read(stream: io.BufferedIOBase, wanted_bytes: int) -> bytes:
    """Return the next bytes; fewer than wanted where the stream ends or is torn."""
    parts, missing = list[bytes](), wanted_bytes
    with suppress(*TORN):
        while missing > 0 and (part := stream.read1(missing)):
            parts.append(part)
            missing -= len(part)
    return b"".join(parts)
