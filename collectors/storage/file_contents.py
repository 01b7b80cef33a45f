"""What a file is, told by its content: how far it is whole, its digest, and those of its starts.

The same bytes under another name are the same file, unless the name says something that a reader
would take from it: a rank, a host, a time. A packed file is told by what is packed in it, since
logs are packed when they are put aside.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import BinaryIO, Final

from collectors.identity import file_rank
from collectors.sniffing import ReadOptions
from collectors.taken import taken_at, taken_on
from collectors.texts.packed_files import TORN, is_packed, open_unpacked

BLOCK_BYTES: Final = 2**20

_DIGEST_BYTES: Final = 20
_MIN_HOST_DIGITS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """The start of a file up to some byte.

    Attributes:
        size: Its length in bytes, unpacked.
        digest: Of these bytes, in hexadecimal digits.
        lines: How many line ends are in them.
    """

    size: int
    digest: str
    lines: int


def role_of(source: str, options: ReadOptions) -> str:
    """Return what a file's name says to its reader: rank, host and time, each if any."""
    name = Path(source).name
    parts = (
        file_rank(name),
        taken_on(source, options, _MIN_HOST_DIGITS),
        taken_at(source, options),
    )
    return " ".join("-" if part is None else str(part) for part in parts)


def read_contents(path: Path, sizes: Iterable[int], *, whole_lines: bool) -> list[Content]:
    """Return the content of a file, and of its starts of the given sizes.

    Args:
        path: The file, plain or packed.
        sizes: Lengths of starts to tell as well; longer ones than the file are left out.
        whole_lines: Leave out what follows the last line end.

    Returns:
        The starts by size; the last one is the whole. None at all if nothing is in the file.

    Raises:
        OSError: It cannot be read.
    """
    hashed, size, lines = hashlib.blake2b(digest_size=_DIGEST_BYTES), 0, 0
    end = _length(path, whole_lines=whole_lines)
    found: list[Content] = []
    for stop in sorted({one for one in sizes if 0 < one < end} | ({end} if end else set())):
        for block in read_bytes(path, size, stop):
            hashed.update(block)
            lines += block.count(b"\n")
            size += len(block)
        found.append(Content(size=size, digest=hashed.hexdigest(), lines=lines))
    return found


def _length(path: Path, *, whole_lines: bool) -> int:
    """Return how many bytes a file has, unpacked, up to its last line end if that is wanted."""
    if not is_packed(path):
        with path.open("rb") as raw:
            size = raw.seek(0, os.SEEK_END)
            return _last_line_end(raw, size) if whole_lines else size
    blocks = [(len(block), block.rfind(b"\n")) for block in read_bytes(path, 0, None)]
    starts = list(accumulate((length for length, _ in blocks), initial=0))
    ends = [start + at + 1 for start, (_, at) in zip(starts, blocks, strict=False) if at >= 0]
    return max(ends, default=0) if whole_lines else starts[-1]


def _last_line_end(raw: BinaryIO, size: int) -> int:
    """Return where the last line end is, looked for from the end of a plain file."""
    while size > 0:
        start = max(size - BLOCK_BYTES, 0)
        raw.seek(start)
        at = raw.read(size - start).rfind(b"\n")
        if at >= 0:
            return start + at + 1
        size = start
    return 0


def read_bytes(path: Path, start: int, stop: int | None) -> Iterator[bytes]:
    """Yield the bytes of a file from `start` up to `stop`, unpacked, in blocks.

    A torn packed file ends where it is torn.

    Raises:
        OSError: It cannot be read.
    """
    with open_unpacked(path) as stream:
        left = None if stop is None else stop - start
        with suppress(*TORN):
            stream.seek(start)
            while block := stream.read(BLOCK_BYTES if left is None else min(BLOCK_BYTES, left)):
                left = None if left is None else left - len(block)
                yield block
