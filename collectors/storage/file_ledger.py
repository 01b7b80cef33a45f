"""Which files are in the store, and up to which byte: kept in the store's ledger."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from collectors.frames import conform
from collectors.sniffing import ReadOptions
from collectors.storage.file_contents import Content, role_of
from collectors.storage.store import Store
from collectors.storage.store_tables import FILES

CLAIMED: Final = "claimed"
STORED: Final = "stored"


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectedFile:
    """A file to collect, and what naming its run will need later.

    Attributes:
        path: Where it is.
        source: What evidence calls it.
        root: The path given by the user that it was found below.
        folder: Its folder as text.
        stem: Its file name without the last ending.
    """

    path: Path
    source: str
    root: str
    folder: str
    stem: str

    @property
    def node(self) -> str:
        """Device and inode: they stay when a log is renamed."""
        stat = self.path.stat()
        return f"{stat.st_dev}:{stat.st_ino}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A line of the ledger: the start of a file that is stored, or claimed to be.

    Attributes:
        origin: What the store knows its parts by.
        source: What evidence calls it.
        path: Where it lay.
        node: Device and inode it had.
        role: What its name says to its reader.
        content: The start.
        is_stored: Whether all of it is stored.
    """

    origin: str
    source: str
    path: str
    node: str
    role: str
    content: Content
    is_stored: bool

    def may_be_start_of(self, file: CollectedFile, role: str) -> bool:
        """Return whether a file may be this one, grown: the same place, or put aside.

        Logs are put aside as `x.log.1` or `x.log-20260105`. The content decides in the end.
        """
        path = str(file.path.resolve())
        aside = (f"{self.path}.", f"{self.path}-")
        return self.role == role and (
            self.path == path or self.node == file.node or path.startswith(aside)
        )


def origin_of(content: Content, role: str) -> str:
    """Return the name that the store knows a file's parts by."""
    return f"file {content.size} {content.digest} {role}"


def read_entries(store: Store) -> list[Entry]:
    """Return the ledger: one entry a start of a file, by origin."""
    rows = store.read(FILES.name).sort("origin", "state").collect()
    entries = {
        row["origin"]: Entry(
            origin=row["origin"],
            source=row["source"],
            path=row["path"],
            node=row["node"],
            role=row["role"],
            content=Content(size=row["size"], digest=row["digest"], lines=row["lines"]),
            is_stored=row["state"] == STORED,
        )
        for row in rows.iter_rows(named=True)
    }
    return list(entries.values())


def write_entry(
    store: Store, file: CollectedFile, content: Content, options: ReadOptions, state: str
) -> None:
    """Note that the start of a file is claimed, or stored."""
    role = role_of(file.source, options)
    origin = origin_of(content, role)
    row = {
        "origin": origin,
        "source": file.source,
        "root": file.root,
        "folder": file.folder,
        "stem": file.stem,
        "role": role,
        "path": str(file.path.resolve()),
        "node": file.node,
        "size": content.size,
        "digest": content.digest,
        "lines": content.lines,
        "state": state,
    }
    store.add_rows(FILES.name, conform(pl.LazyFrame(row), FILES.schema).collect(), origin)


def longest_start(entries: Iterable[Entry], contents: Sequence[Content]) -> Entry | None:
    """Return the longest entry whose content is one of a file's starts; null if there is none."""
    starts = {(one.size, one.digest) for one in contents}
    fitting = [one for one in entries if (one.content.size, one.content.digest) in starts]
    return max(fitting, key=lambda one: (one.content.size, one.is_stored), default=None)
