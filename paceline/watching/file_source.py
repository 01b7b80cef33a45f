"""Files of the settings as a source: logs line by line, documents when they are whole."""

import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

from collectors.readings import Reading, join_readings, with_own_memory
from collectors.sniffing import Dialect, ReadOptions
from paceline.file_batches import SourceFile
from paceline.naming import Origin
from paceline.watching.line_readers import (
    RECORDS,
    Shape,
    marks_after,
    read_lines,
    read_whole,
    shape_of,
)
from paceline.watching.patterns import matched_files
from paceline.watching.record_batches import RankLines, batched, read_batch
from paceline.watching.sources import Polled, State
from paceline.watching.tails import NewLines, Tail, TailedFiles, size_and_time

WORKERS: Final = 2
"""Files read at once: parsing runs outside of the interpreter's lock."""

MAX_TICK_BYTES: Final = 128 * 2**20
"""Taken from all files in one tick; a backlog is worked off in the next ones."""

FALLBACK: Final = "log"
"""The dialect of any text: a file that has more lines by the next look may be another one's."""

_LOG: Final = logging.getLogger("paceline")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """New lines of a file."""

    file: SourceFile
    dialect: Dialect | None
    lines: NewLines

    @property
    def is_records(self) -> bool:
        """Whether they are step records, which may be read with those of other ranks."""
        return self.dialect is not None and self.dialect.name == RECORDS

    @property
    def rank_lines(self) -> RankLines:
        """The lines as those of a rank."""
        return RankLines(source=self.file.name, folder=self.file.origin.folder, lines=self.lines)

    def read(self, options: ReadOptions) -> Reading:
        """Return what they say."""
        if self.dialect is None:
            return Reading()
        return read_lines(self.lines, self.dialect, self.file.name, options)


@dataclass(slots=True, kw_only=True)
class FileSource:
    """Files that patterns name, followed.

    Attributes:
        name: What people call the source.
        patterns: Files, folders and globs.
        options: What the files cannot say of themselves.
        max_age: How old the newest row may be.
    """

    name: str
    patterns: Sequence[str]
    options: ReadOptions
    max_age: timedelta
    _files: TailedFiles = field(default_factory=TailedFiles)
    _shapes: dict[tuple[int, int], tuple[Shape, Dialect | None]] = field(
        default_factory=dict[tuple[int, int], tuple[Shape, "Dialect | None"]]
    )
    _documents: dict[str, Reading] = field(default_factory=dict[str, Reading])
    _changed: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    _read: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    _origins: dict[str, Origin] = field(default_factory=dict[str, Origin])
    _paths: dict[str, Path] = field(default_factory=dict[str, Path])

    def poll(self, now: datetime, patience_seconds: float) -> Polled:
        """Return what is new in the files; see `WatchedSource.poll`."""
        del now, patience_seconds
        files = matched_files(self.patterns)
        self._origins |= {one.name: one.origin for one in files}
        self._paths |= {one.name: one.path for one in files}
        found, problems = list[_Found](), list[str]()
        room = MAX_TICK_BYTES
        for file in files:
            if room <= 0:
                break
            try:
                new = self._look(file)
                found += new
                room -= sum(len(one.lines.data) for one in new)
            except OSError as error:
                problems.append(f"{file.name}: {error.strerror or error}")
        readings, failures = self._read_all(found)
        for one in found:
            after = replace(one.lines.after, marks=marks_after(one.lines, one.dialect))
            self._files.tails[str(one.file.path)] = after
        self._files.forget(frozenset(str(one.path) for one in files))
        return Polled(
            reading=join_readings(readings),
            problems=(*problems, *failures),
            left_bytes=sum(one.lines.left_bytes for one in found),
        )

    def standing(self) -> Reading:
        """Return what the documents say."""
        return join_readings(self._documents.values())

    def origins(self) -> Mapping[str, Origin]:
        """Return where each file lies."""
        return self._origins

    def path_of(self, source: str) -> Path | None:
        """Return the file that evidence calls so; null when it is none of these."""
        return self._paths.get(source)

    def state(self) -> State:
        """Return how far each file was read."""
        tails = {path: asdict(tail) for path, tail in sorted(self._files.tails.items())}
        origins = {name: asdict(one) for name, one in sorted(self._origins.items())}
        return {"tails": tails, "origins": origins}

    def restore(self, state: State) -> None:
        """Go on behind what was read."""
        tails: Mapping[str, dict[str, Any]] = state["tails"]
        self._files.tails = {
            path: replace(Tail(**told), marks=tuple(told["marks"])) for path, told in tails.items()
        }
        self._origins = {name: Origin(**told) for name, told in state["origins"].items()}

    def remember(self, reading: Reading) -> None:
        """Know nothing: where each file was left says what was told."""

    def close(self) -> None:
        """Let go of nothing: files are open while they are read."""

    def _look(self, file: SourceFile) -> list[_Found]:
        """Return the new lines of a file; a document is read here if it is due."""
        shape, dialect = self._shape(file.path)
        if shape is Shape.WHOLE:
            self._take_document(file)
            return []
        return [
            _Found(file=file, dialect=dialect, lines=lines)
            for lines in self._files.new_lines(file.path)
        ]

    def _shape(self, path: Path) -> tuple[Shape, Dialect | None]:
        stat = path.stat()
        place = (stat.st_dev, stat.st_ino)
        known = self._shapes.get(place)
        if known is None or known[1] is None or known[1].name == FALLBACK:
            known = self._shapes[place] = shape_of(path)
        return known

    def _read_all(self, found: Sequence[_Found]) -> tuple[list[Reading], list[str]]:
        """Return what new lines say, and why some of them could not be read."""
        records = [one.rank_lines for one in found if one.is_records]
        others = [one for one in found if one.dialect is not None and not one.is_records]
        groups, alone = batched(records)
        by_lines = {id(one.lines): one for one in found}
        others += [by_lines[id(one.lines)] for one in alone]
        jobs = [partial(read_batch, group, self.options) for group in groups]
        jobs += [partial(one.read, self.options) for one in others]
        with ThreadPoolExecutor(WORKERS) as pool:
            told = list(pool.map(_tried, jobs))
        return (
            [one for one in told if isinstance(one, Reading)],
            [one for one in told if isinstance(one, str)],
        )

    def _take_document(self, file: SourceFile) -> None:
        """Read a document that stood still since the last look, and was not read so."""
        key, here = str(file.path), size_and_time(file.path)
        is_still = self._changed.get(key) == here
        self._changed[key] = here
        if is_still and self._read.get(key) != here:
            told = read_whole(file.path, file.name, self.options)
            self._documents[file.name] = with_own_memory(told)
            self._read[key] = here


def _tried(job: Callable[[], Reading]) -> Reading | str:
    """Return what was read, or why it was not: one file keeps out no other."""
    try:
        return job()
    except Exception as error:  # noqa: BLE001 -- one file must not keep out the others
        _LOG.exception("new lines could not be read")
        return f"{type(error).__name__}: {error}"
