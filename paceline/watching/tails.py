"""Follow files that are written to: whole new lines, once, through rotation and truncation.

A file is known by its device and inode, and by its first bytes: a name may be given to another
file, and an inode too. What a renamed file was still given is read before the new one of its name.
Bytes after the last line end wait, unless the file was put aside and its writer is gone.
"""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

HEAD_BYTES: Final = 256
"""First bytes by which a file is told from another that got its inode."""

MAX_READ_BYTES: Final = 16 * 2**20
"""Taken from one file in one tick; the rest is taken in the next ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """How far a file was read.

    Attributes:
        device: Of its file system.
        inode: Its number there.
        offset: Bytes that were taken, up to a line end.
        lines: Line ends in them.
        head_size: How many first bytes `head` is of.
        head: Digest of them.
        marks: Lines that say for those after them whose they are, such as a run's start.
    """

    device: int
    inode: int
    offset: int = 0
    lines: int = 0
    head_size: int = 0
    head: str = ""
    marks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NewLines:
    """Whole lines that were not taken before.

    Attributes:
        path: The file they are in now.
        tail: How far it was read before them.
        after: How far it is read with them.
        data: The bytes.
        left_bytes: What is there and was not taken: more than a tick takes, or half a line.
    """

    path: Path
    tail: Tail
    after: Tail
    data: bytes
    left_bytes: int


@dataclass(slots=True, kw_only=True)
class TailedFiles:
    """The files of one source and how far each was read.

    Attributes:
        tails: By path.
    """

    tails: dict[str, Tail] = field(default_factory=dict[str, Tail])

    def new_lines(self, path: Path) -> Iterator[NewLines]:
        """Yield what is new below a name: of a file that was put aside, then of the one there.

        The caller sets `tails[str(path)]` to the last `after` when it has taken the lines.

        Raises:
            OSError: The file cannot be read.
        """
        known, here = self.tails.get(str(path)), _begun(path)
        if here is None:
            return
        if known is not None and _is_same(known, path, here):
            here = known
        elif known is not None:
            yield from _rest_of(known, path)
        found = _lines_of(path, here, is_closed=False)
        if found is not None:
            yield found

    def forget(self, paths: frozenset[str]) -> None:
        """Forget files that are neither among some paths nor on disk."""
        gone = [name for name in self.tails if name not in paths and not Path(name).exists()]
        for name in gone:
            del self.tails[name]


def _begun(path: Path) -> Tail | None:
    """Return the tail of a file of which nothing was read; null if there is none."""
    try:
        stat = path.stat()
    except FileNotFoundError:
        return None
    return Tail(device=stat.st_dev, inode=stat.st_ino)


def _is_same(known: Tail, path: Path, here: Tail) -> bool:
    """Return whether the file at a path is the one that was read, and not cut short since."""
    if (known.device, known.inode) != (here.device, here.inode):
        return False
    return path.stat().st_size >= known.offset and _head_of(path, known.head_size) == known.head


def _rest_of(known: Tail, path: Path) -> Iterator[NewLines]:
    """Yield what was still written to a file before another got its name.

    It is renamed (same inode), or copied and then cut (same start, and longer than was read).
    """
    for other in sorted(path.parent.glob(f"{_escaped(path.name)}?*")):
        stat = other.stat()
        is_moved = (stat.st_dev, stat.st_ino) == (known.device, known.inode)
        is_long = stat.st_size >= known.offset > 0
        if is_long and _head_of(other, known.head_size) == known.head:
            found = _lines_of(other, known, is_closed=True)
            if found is not None:
                yield found
            if is_moved or found is not None:
                return


def _escaped(name: str) -> str:
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in name)


def _lines_of(path: Path, tail: Tail, *, is_closed: bool) -> NewLines | None:
    """Return the lines after what was read; null when there is no whole one."""
    size = path.stat().st_size
    if size <= tail.offset:
        return None
    with path.open("rb") as stream:
        stream.seek(tail.offset)
        data = stream.read(MAX_READ_BYTES)
    is_all = tail.offset + len(data) >= size
    end = len(data) if is_closed and is_all else data.rfind(b"\n") + 1
    if end == 0 and len(data) == MAX_READ_BYTES:
        # A line longer than all that is taken at once is cut: it must not stop the file.
        end = len(data)
    if end == 0:
        return None
    data = data[:end]
    after = replace(tail, offset=tail.offset + end, lines=tail.lines + data.count(b"\n"))
    if tail.head_size < HEAD_BYTES:
        length = min(HEAD_BYTES, after.offset)
        after = replace(after, head_size=length, head=_head_of(path, length))
    return NewLines(path=path, tail=tail, after=after, data=data, left_bytes=size - after.offset)


def _head_of(path: Path, size: int) -> str:
    with path.open("rb") as stream:
        return hashlib.blake2b(stream.read(size), digest_size=8).hexdigest()


def last_bytes(path: Path, end: int, count: int) -> bytes:
    """Return the whole lines in the last bytes before a place in a file."""
    start = max(0, end - count)
    with path.open("rb") as stream:
        stream.seek(start)
        data = stream.read(end - start)
    return data if start == 0 else data[data.find(b"\n") + 1 :]


def first_line(path: Path, end: int) -> bytes:
    """Return the first line of a file, at most up to a place in it."""
    with path.open("rb") as stream:
        return stream.readline(min(end, 2**16))


def size_and_time(path: Path) -> tuple[int, int]:
    """Return a file's size and when it was last written to, to see whether it changed."""
    stat = os.stat(path)  # noqa: PTH116 -- one call a file and tick
    return stat.st_size, stat.st_mtime_ns
