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
    if _is_plain_file(stream):
        yield from _blocks_of_file(stream, block_bytes)
        return
    while block := _read(stream, block_bytes):
        if not block.endswith(b"\n"):
            with suppress(*TORN):
                block += stream.readline(MAX_LINE_BYTES)
        yield block


def _is_plain_file(stream: io.BufferedIOBase) -> bool:
    """Return whether a stream is a file as it is read, in which going back costs nothing."""
    return isinstance(stream, io.BufferedReader) and stream.seekable()


def _blocks_of_file(file: io.BufferedIOBase, block_bytes: int) -> Iterator[bytes]:
    """Yield the blocks of a plain file: where each ends is looked up, and none is copied."""
    start = file.tell()
    while True:
        file.seek(start + block_bytes - 1)
        end = start + block_bytes - 1 + len(file.readline(MAX_LINE_BYTES + 1))
        file.seek(start)
        block = file.read(max(end - start, block_bytes))
        if not block:
            return
        yield block
        start += len(block)


def _read(stream: io.BufferedIOBase, wanted_bytes: int) -> bytes:
    """Return the next bytes; fewer than wanted where the stream ends or is torn."""
    parts, missing = list[bytes](), wanted_bytes
    with suppress(*TORN):
        while missing > 0 and (part := stream.read1(missing)):
            parts.append(part)
            missing -= len(part)
    return b"".join(parts)
