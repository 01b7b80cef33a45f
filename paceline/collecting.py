"""Collect into a store, once or for ever: files as they grow, a Prometheus window by window."""

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

from collectors.metrics.prometheus import RefusedQueryError, UnreachablePrometheusError
from collectors.storage.file_ledger import CollectedFile, Entry, read_entries
from collectors.storage.file_parts import SETTLED, FileReader
from collectors.storage.file_turns import turn_for_files
from collectors.storage.pull_windows import Puller
from collectors.storage.store import Store
from collectors.storage.store_commits import StoreBusyError, StoreWriteError
from paceline.file_batches import SourceFile
from paceline.progress import Say
from paceline.sources import NoSuchPathError, find_files
from paceline.stopping import Stop

_LOG: Final = logging.getLogger("paceline")

PASSING: Final = (
    UnreachablePrometheusError,
    RefusedQueryError,
    StoreWriteError,
    StoreBusyError,
    NoSuchPathError,
)
"""What ends one round, and may be gone by the next."""


@dataclass(slots=True, kw_only=True)
class Collected:
    """What one run stored so far.

    Attributes:
        added: Rows by frame.
        files: Files that gave something.
        windows: Windows of a Prometheus that were looked at.
        problems: Files that could not be read, and why, each once.
    """

    added: Counter[str] = field(default_factory=Counter[str])
    files: int = 0
    windows: int = 0
    problems: dict[str, None] = field(default_factory=dict[str, None])


@dataclass(frozen=True, slots=True, kw_only=True)
class Collector:
    """Collects into a store.

    Attributes:
        store: Where to.
        paths: Files and folders to take.
        reader: Takes one file.
        puller: Takes the windows of a Prometheus; null for none.
        bounds: From when and until when to pull; see `Puller.pull`.
        stop: Says when to end.
        collected: Counts what was stored so far.
    """

    store: Store
    paths: Sequence[Path]
    reader: FileReader
    puller: Puller | None
    bounds: tuple[datetime | None, datetime | None]
    stop: Stop
    collected: Collected = field(default_factory=Collected)
    _unchanged: dict[Path, tuple[int, int, int]] = field(
        default_factory=dict[Path, tuple[int, int, int]]
    )

    def collect(self, say: Say, *, is_first: bool) -> None:
        """Take what is new, once.

        Args:
            say: Told after each file and window.
            is_first: Whether this run has taken nothing before.

        Raises:
            StoppedError: A signal came; what was counted is stored.
            Exception: One of `PASSING`; what was counted is stored.
        """
        if self.paths:
            with turn_for_files(self.store, self.stop.wait):
                self._take_files(say)
        if self.puller is None:
            return
        for pulled in self.puller.pull(*self.bounds, is_first=is_first):
            self.collected.added.update(pulled.added)
            self.collected.windows += 1
            say(f"{pulled.span.start:%Y-%m-%d %H:%M}", pulled.done, pulled.due)
            self.stop.check()

    def _take_files(self, say: Say) -> None:
        entries = read_entries(self.store)
        files = find_files(self.paths)
        mine = Path(self.store.place.root.removeprefix("file://")).resolve()
        files = [one for one in files if mine not in one.path.resolve().parents]
        for done, file in enumerate(files, start=1):
            try:
                if self._take_file(file, entries):
                    entries = read_entries(self.store)
            except PASSING:
                raise
            except OSError as error:
                self.collected.problems[f"{file.name}: {error.strerror or error}"] = None
            except Exception as error:  # noqa: BLE001 -- one file must not keep out the others
                _LOG.warning("cannot read %s: %r", file.path, error)
                self.collected.problems[f"{file.name}: {type(error).__name__}: {error}"] = None
            say(file.name, done, len(files))

    def _take_file(self, file: SourceFile, entries: Sequence[Entry]) -> bool:
        """Take one file, and return whether it gave anything."""
        stat = file.path.stat()
        state = (stat.st_size, stat.st_mtime_ns, stat.st_ino)
        if self._unchanged.get(file.path) == state:
            return False
        parts = 0
        for added in self.reader.collect(_collected_file(file), entries):
            self.collected.added.update(added)
            parts += 1
            self.stop.check()
        if parts or self.reader.age(file.path) >= SETTLED:
            self._unchanged[file.path] = state
        self.collected.files += parts > 0
        return parts > 0


def _collected_file(file: SourceFile) -> CollectedFile:
    return CollectedFile(
        path=file.path,
        source=file.name,
        root=file.origin.root,
        folder=file.origin.folder,
        stem=file.origin.stem,
    )
