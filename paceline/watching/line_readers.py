"""Read new lines of a file that grows, as the dialect of the whole file reads them.

A reader takes a file, so new lines are given to it as one, with what they need in front: the lines
that say whose they are, or the last ones before. Only what the new lines say is told.
"""

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from enum import Enum, auto
from pathlib import Path
from typing import Any, Final

import polars as pl

from collectors.dialects import DIALECTS, read_file, read_parts
from collectors.readings import FRAMES, Reading, join_readings
from collectors.sniffing import Dialect, Head, ReadOptions, choose, read_head
from collectors.storage.file_parts import BYTES_BEFORE, LOGS, TABLES_OF_LINES
from paceline.watching.tails import NewLines, first_line, last_bytes

RECORDS: Final = "step records"
"""The dialect whose steps do not say their run: a line at its start does."""

MAX_MARKS: Final = 64
"""Marks of a file that are kept: its first, and the last ones."""

_MARK: Final = b'"event"'
_PLACED: Final = tuple(name for name, kind in FRAMES.items() if "position" in kind)


class Shape(Enum):
    """How a file is followed."""

    LINES = auto()
    """Each line is read once."""
    WHOLE = auto()
    """Read again as a whole when it changed: what it said before is void."""


def shape_of(path: Path) -> tuple[Shape, Dialect | None]:
    """Return how a file is followed, and who reads it; nobody yet where it is empty.

    Raises:
        OSError: It cannot be read.
    """
    head = read_head(path)
    dialect = choose(head, DIALECTS)
    if dialect is None:
        return Shape.LINES, None
    is_table = dialect.name in TABLES_OF_LINES and not _is_records(dialect, head)
    is_lines = dialect.name in LOGS or dialect.resume is not None or _is_records(dialect, head)
    return (Shape.LINES if is_lines and not is_table else Shape.WHOLE), dialect


def _is_records(dialect: Dialect, head: Head) -> bool:
    return dialect.name == RECORDS and head.text.lstrip().startswith("{")


def read_lines(lines: NewLines, dialect: Dialect, source: str, options: ReadOptions) -> Reading:
    """Return what new lines say; positions count from the first line of the file.

    Args:
        lines: The new lines.
        dialect: Who reads the file.
        source: The name to quote.
        options: What the file cannot say of itself.
    """
    before = _lines_before(lines, dialect)
    seen = before.count(b"\n")
    with tempfile.TemporaryDirectory(prefix="paceline-") as folder:
        copy = Path(folder) / lines.path.name
        copy.write_bytes(before + lines.data)
        parts = join_readings(_parts(dialect, copy, source, options, seen))
    told = _after(parts, seen) if dialect.name == RECORDS else parts
    return _moved(told, lines.tail.lines - seen)


def marks_after(lines: NewLines, dialect: Dialect | None) -> tuple[str, ...]:
    """Return the marks of a file when its new lines are taken."""
    if dialect is None or dialect.name != RECORDS or _MARK not in lines.data:
        return lines.tail.marks
    new = [one.decode("utf-8", "replace") for one in lines.data.split(b"\n") if _MARK in one]
    marks = (*lines.tail.marks, *new)
    return marks if len(marks) <= MAX_MARKS else (marks[0], *marks[1 - MAX_MARKS :])


def read_whole(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return what a file says that is read again as a whole."""
    return read_file(path, source, options)


def _lines_before(lines: NewLines, dialect: Dialect) -> bytes:
    """Return the lines that the new ones need in front."""
    if dialect.name == RECORDS:
        return "".join(f"{mark}\n" for mark in lines.tail.marks).encode()
    if dialect.resume is None or lines.tail.offset == 0:
        return b""
    near = last_bytes(lines.path, lines.tail.offset, BYTES_BEFORE)
    is_all = len(near) >= lines.tail.offset
    return near if is_all else first_line(lines.path, lines.tail.offset) + near


def _parts(
    dialect: Dialect, path: Path, source: str, options: ReadOptions, seen: int
) -> Iterator[Reading]:
    if dialect.resume is not None:
        yield from dialect.resume(path, source, options, seen)
    else:
        yield from read_parts(dialect, path, source, options)


def _after(reading: Reading, seen: int) -> Reading:
    """Return a reading without the rows of the first lines, which were told before."""
    frames: dict[str, Any] = {
        name: reading.frame(name).filter(pl.col("position").is_null() | (pl.col("position") > seen))
        for name in _PLACED
    }
    return replace(reading, **frames)


def _moved(reading: Reading, lines: int) -> Reading:
    """Return a reading whose positions count from some lines before its first."""
    if lines == 0:
        return reading
    frames: dict[str, Any] = {
        name: reading.frame(name).with_columns(pl.col("position") + lines) for name in _PLACED
    }
    return replace(reading, **frames)
