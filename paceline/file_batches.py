"""Read small files a batch at a time: a job leaves thousands of logs, one of each rank.

Logs that follow each other are read at once (see `collectors.log_batches`), all other files one by
one. What is found is the same, in the files' order.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Final

from collectors.communication.call_folds import FoldedCalls, fold_calls, only_sources
from collectors.dialects import DIALECTS, read_file
from collectors.lines import LINE_DIALECTS
from collectors.log_batches import SmallLog, read_log_batch
from collectors.log_blocks import log_name
from collectors.log_shapes import KnownHeads
from collectors.sniffing import HEAD_BYTES, Dialect, Head, ReadOptions
from collectors.texts.packed_files import is_packed_start
from paceline.naming import Origin
from paceline.undated import undated_sources

MAX_SMALL_BYTES: Final = 4 * 1024 * 1024
"""A larger file is read by itself: it is quick enough, and in bounded memory."""

BATCH_BYTES: Final = 32 * 1024 * 1024
"""About how much is read at once; memory is a few times this and what the rows of it take."""

_GOES_ON: Final = re.compile(rb"^\S+ (?:stdout|stderr) P(?::\S*)? ")
"""A line whose end was not written yet."""

_VIEWED: Final = re.compile(rb"[A-Z][a-z]{2} \d{1,2}, \d{4} @ \d\d:\d\d:\d\d\.\d{3}")
"""A viewer's stamp, whose zone all lines of a file tell together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """One file to read.

    Attributes:
        path: Where it is.
        name: What evidence calls it.
        origin: Where it lies, for naming its run.
    """

    path: Path
    name: str
    origin: Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadFiles:
    """Some files that were read.

    Attributes:
        files: In order.
        fold: What they say, their calls folded at once: those of all files are too many.
        lines_used: How many lines of each ended as rows or as parts of rows.
    """

    files: Sequence[SourceFile]
    fold: FoldedCalls
    lines_used: Sequence[int]


def batches_of(files: Sequence[SourceFile]) -> list[list[SourceFile]]:
    """Return the files in order, small ones that follow each other together."""
    batches, room = list[list[SourceFile]](), -1
    for file in files:
        size = _size(file.path)
        is_small = size <= MAX_SMALL_BYTES
        # Files of two folders that are called alike are told apart by nothing but their order.
        if size > room or not is_small or batches[-1][-1].name == file.name:
            batches.append([])
            room = BATCH_BYTES if is_small else -1
        room -= size
        batches[-1].append(file)
    return batches


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return BATCH_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchReader:
    """Reads batches of files, in any number of threads.

    Attributes:
        options: What the files cannot say of themselves.
        heads: Which formats were found.
    """

    options: ReadOptions
    heads: KnownHeads

    def read(self, files: Sequence[SourceFile]) -> list[ReadFiles]:
        """Return what some files say, in their order."""
        opened = map(self._opened if len(files) > 1 else _Opened, files)
        parts = list[ReadFiles]()
        for is_alone, run in groupby(opened, key=lambda one: one.data is None):
            some = list(run)
            parts += map(self._alone, some) if is_alone else [self._together(some)]
        return parts

    def read_dated(self, part: ReadFiles) -> list[ReadFiles]:
        """Return what was read, and what is read of it anew that a year gives a time."""
        paths = {one.name: one.path for one in part.files}
        undated = undated_sources(paths, part.fold.reading)
        if not undated:
            return [part]
        parts = list[ReadFiles]()
        for is_undated, run in groupby(part.files, key=lambda one: one.name in undated):
            files = list(run)
            parts += self.read(files) if is_undated else [_only(part, files)]
        return parts

    def _opened(self, file: SourceFile) -> "_Opened":
        """Return a file with its bytes if it is a log that can be read with others, or nothing."""
        try:
            data = file.path.read_bytes()
        except OSError:
            return _Opened(file)
        if is_packed_start(data):
            return _Opened(file)
        if not data:
            return _Opened(file, data=data)
        dialect = self.heads.choose(Head(name=file.path.name, data=data[:HEAD_BYTES]))
        if dialect is not self.heads.log:
            return _Opened(file, dialects=() if dialect is None else (dialect,))
        return _Opened(file, data=None if _looks_around(data) else data)

    def _together(self, run: Sequence["_Opened"]) -> ReadFiles:
        logs = [
            SmallLog(name=log_name(one.file.path.name, one.file.name), data=one.data or b"")
            for one in run
        ]
        reading, used = read_log_batch(logs, self.options, LINE_DIALECTS)
        files = [one.file for one in run]
        return ReadFiles(files=files, fold=fold_calls(reading), lines_used=used.to_list())

    def _alone(self, one: "_Opened") -> ReadFiles:
        reading = read_file(one.file.path, one.file.name, self.options, one.dialects)
        fold, used = fold_calls(reading), reading.lines_used
        return ReadFiles(files=[one.file], fold=fold, lines_used=[used])


@dataclass(frozen=True, slots=True)
class _Opened:
    """A file that was looked at.

    Attributes:
        file: Which one.
        data: The bytes of a log that is read with others; null: it is read alone.
        dialects: Who may read it alone.
    """

    file: SourceFile
    data: bytes | None = None
    dialects: tuple[Dialect, ...] = DIALECTS


def _looks_around(data: bytes) -> bool:
    """Return whether something in a log is told by all of it, or by what is still to come."""
    last = data[data.rfind(b"\n", 0, len(data.rstrip())) + 1 :]
    # A look for one byte is quicker than any other.
    may_be_viewed = b"@" in data and b" @ " in data
    return _GOES_ON.match(last) is not None or (may_be_viewed and bool(_VIEWED.search(data)))


def _only(part: ReadFiles, files: Sequence[SourceFile]) -> ReadFiles:
    """Return what some of the files say that were read."""
    used = {one.name: count for one, count in zip(part.files, part.lines_used, strict=True)}
    counts = [used[one.name] for one in files]
    fold = only_sources(part.fold, [one.name for one in files], sum(counts))
    return ReadFiles(files=files, fold=fold, lines_used=counts)
