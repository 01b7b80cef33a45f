"""Take files into the store, each once: part by part, in bounded memory, and what is added later.

A file is claimed before its first part is stored, so that who starts again after a kill finishes
exactly those bytes first. A log that grew gives its new lines only; other files that grew are read
again as a whole, and the rows that are not there are appended.
"""

import tempfile
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum, auto
from pathlib import Path
from typing import Any, Final

import polars as pl

from collectors.dialects import DIALECTS, read_parts, stream_file
from collectors.readings import FRAMES, Reading, reading_of
from collectors.sniffing import ReadOptions, choose, read_head
from collectors.storage.file_contents import Content, read_bytes, read_contents, role_of
from collectors.storage.file_ledger import (
    CLAIMED,
    STORED,
    CollectedFile,
    Entry,
    longest_start,
    origin_of,
    write_entry,
)
from collectors.storage.store import Store

LOGS: Final = frozenset({"log", "kernel log", "fabric manager log"})
"""Dialects whose lines can be read without those before them."""

TABLES_OF_LINES: Final = frozenset({"step records", "exposition page", "nvidia-smi", "dcgmi dmon"})
"""Dialects of lines that need those before them, such as the names of columns: while such a file is
written to it can be read up to its last line end. Any other is a document, whole or nothing."""

QUIET: Final = timedelta(seconds=30)
"""A document that nobody wrote to for so long is taken to be whole."""

BYTES_BEFORE: Final = 2**17
"""Of a log that grew, about so much is seen again: longer than any record."""

SETTLED: Final = timedelta(minutes=10)
"""A file that nobody wrote to for so long is read where it is, else a copy of its start."""


class Shape(Enum):
    """How a file grows."""

    LOG = auto()
    LINES = auto()
    DOCUMENT = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReader:
    """Takes files into a store.

    Attributes:
        store: Where to.
        options: What the files cannot say of themselves.
        clock: Says what time it is, with a zone.
        is_following: Whether logs may still be written to: then a last line without an end waits.
    """

    store: Store
    options: ReadOptions
    clock: Callable[[], datetime]
    is_following: bool = False

    def collect(self, file: CollectedFile, entries: Sequence[Entry]) -> Iterator[dict[str, int]]:
        """Store what is new in a file, yielding the rows of each frame after each part.

        Args:
            file: The file.
            entries: The ledger.

        Raises:
            OSError: It cannot be read; or the store cannot be written, as a `StoreWriteError`.
            StoreBusyError: Other writers of the same file won every time.
        """
        role = role_of(file.source, self.options)
        shape = _shape(file.path)
        if self.is_following and shape is Shape.DOCUMENT and self.age(file.path) < QUIET:
            return
        related = [one for one in entries if one.may_be_start_of(file, role)]
        contents = read_contents(
            file.path,
            [one.content.size for one in related],
            whole_lines=self.is_following and shape is not Shape.DOCUMENT,
        )
        if not contents or origin_of(contents[-1], role) in _stored(entries):
            return
        base = longest_start([one for one in related if one.is_stored], contents)
        claimed = longest_start([one for one in related if not one.is_stored], contents)
        sizes = {contents[-1].size, claimed.content.size if claimed else 0}
        start = base.content if base else None
        for content in contents:
            if content.size in sizes and (start is None or content.size > start.size):
                steps = _Steps(file=file, start=start, content=content, shape=shape)
                yield from self._store(steps, is_last=content == contents[-1])
                start = content

    def _store(self, steps: "_Steps", *, is_last: bool) -> Iterator[dict[str, int]]:
        """Store the bytes of a file between two of its starts."""
        write_entry(self.store, steps.file, steps.content, self.options, CLAIMED)
        origin = origin_of(steps.content, role_of(steps.file.source, self.options))
        with self._readable(steps, is_last=is_last) as path:
            for number, part in enumerate(steps.parts(path, self.options), start=1):
                if steps.is_again:
                    yield self.store.append_new(part, origin)
                else:
                    yield self.store.append(part, origin, number)
        write_entry(self.store, steps.file, steps.content, self.options, STORED)

    @contextmanager
    def _readable(self, steps: "_Steps", *, is_last: bool) -> Generator[Path, None, None]:
        """Give a file that holds the wanted bytes and no others, and is not written to."""
        path, begin = steps.file.path, steps.begin
        is_still = is_last and not self.is_following and self.age(path) >= SETTLED
        if steps.shape is Shape.DOCUMENT or (begin == 0 and is_still):
            yield path
            return
        with tempfile.TemporaryDirectory(prefix="paceline-") as folder:
            copy = Path(folder) / path.name
            with copy.open("wb") as stream:
                stream.write(steps.lines_before())
                stream.writelines(read_bytes(path, begin, steps.content.size))
            yield copy

    def age(self, path: Path) -> timedelta:
        """Return how long ago a file was written to."""
        changed = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        return self.clock() - changed


@dataclass(frozen=True, slots=True, kw_only=True)
class _Steps:
    """What to store of a file: the bytes from one of its starts to the end of another.

    Attributes:
        file: The file.
        start: What is stored of it; null if nothing is.
        content: What is to be stored.
        shape: How the file grows.
    """

    file: CollectedFile
    start: Content | None
    content: Content
    shape: Shape

    @property
    def begin(self) -> int:
        """The first byte to read."""
        return self.start.size if self.start and self.shape is Shape.LOG else 0

    @property
    def is_again(self) -> bool:
        """Whether rows that are stored are read once more."""
        return self.start is not None and self.shape is not Shape.LOG

    def lines_before(self) -> bytes:
        """Return the last lines that are stored, if the reader of those after them wants some."""
        dialect = choose(read_head(self.file.path), DIALECTS)
        if self.begin == 0 or dialect is None or dialect.resume is None:
            return b""
        start = max(0, self.begin - BYTES_BEFORE)
        lines = b"".join(read_bytes(self.file.path, start, self.begin))
        return lines if start == 0 else lines[lines.find(b"\n") + 1 :]

    def parts(self, path: Path, options: ReadOptions) -> Iterator[Reading]:
        """Yield what the bytes say; a log's lines are counted from its first."""
        source = self.file.source
        if self.start is None or self.shape is not Shape.LOG:
            yield from stream_file(path, source, options)
            return
        seen = self.lines_before().count(b"\n")
        for part in _tail_parts(self.file.path, path, source, options, seen):
            yield _moved(part, self.start.lines - seen)


def _tail_parts(
    whole: Path, tail: Path, source: str, options: ReadOptions, seen: int
) -> Iterator[Reading]:
    """Yield what the end of a file says to the dialect that wants its start."""
    dialect = choose(read_head(whole), DIALECTS)
    if dialect is not None and dialect.resume is not None:
        yield from dialect.resume(tail, source, options, seen)
    elif dialect is not None:
        yield from read_parts(dialect, tail, source, options)


def _moved(reading: Reading, lines: int) -> Reading:
    """Return a reading whose positions count from some lines before its first."""
    frames: dict[str, Any] = {
        name: reading.frame(name).with_columns(pl.col("position") + lines)
        if "position" in FRAMES[name]
        else reading.frame(name)
        for name in FRAMES
    }
    return reading_of(**frames)


def _shape(path: Path) -> Shape:
    """Return how a file grows, told by who reads it."""
    head = read_head(path)
    dialect = choose(head, DIALECTS)
    name = dialect.name if dialect else ""
    if name in LOGS or (name == "step records" and head.text.lstrip().startswith("{")):
        return Shape.LOG
    return Shape.LINES if name in TABLES_OF_LINES else Shape.DOCUMENT


def _stored(entries: Sequence[Entry]) -> set[str]:
    return {one.origin for one in entries if one.is_stored}
