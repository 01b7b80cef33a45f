"""The store: every frame as a Delta table, in a local folder or an object storage.

What was appended is there once, whatever is killed, repeated or run twice at a time. A reading goes
into several tables, each by a commit of its own; the ledger of what was taken is written after
them, so that whoever starts again either finds it or repeats commits that have no effect.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Self

import polars as pl
from deltalake import DeltaTable

from collectors.readings import FRAMES, Reading
from collectors.storage.addresses import address_of, is_address
from collectors.storage.store_commits import NoStoreError, Place, commit_new, commit_part
from collectors.storage.store_faults import reading_store
from collectors.storage.store_migrations import make_tables, migrate_tables
from collectors.storage.store_rows import changed_statements, unknown_rows
from collectors.storage.store_tables import TABLES, WINDOWS, StoredTable
from collectors.storage.store_upkeep import compact_tables, drop_unread_files, forget_days


def is_store(root: Path) -> bool:
    """Return whether a path is a store: a folder that is one, or an address (`s3://...`)."""
    if is_address(str(root)):
        return True
    return root.is_dir() and Place(root=str(root)).is_there(WINDOWS.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which rows to read; a null condition is none.

    Attributes:
        since: First time of the frame's clock; rows without a time are left out then.
        until: First time no longer wanted.
        hosts: Hosts that a row may be of.
        sources: Sources that a row may come from.
        signals: Signals that a sample may be of.
        runs: Runs that a row may be of; rows of a source that names none are wanted too.
    """

    since: datetime | None = None
    until: datetime | None = None
    hosts: Sequence[str] | None = None
    sources: Sequence[str] | None = None
    signals: Sequence[str] | None = None
    runs: Sequence[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """A store that exists and has today's schemas; made by `open_at`.

    Attributes:
        place: Where its tables are.
    """

    place: Place

    @classmethod
    def open_at(
        cls, root: str, options: Mapping[str, str] | None = None, *, create: bool = False
    ) -> Self:
        """Return the store at `root`.

        Args:
            root: A folder, or the address of one in an object storage (`s3://bucket/folder`).
            options: What the storage wants to know, as deltalake takes it.
            create: Make what is not there.

        Raises:
            NoStoreError: There is none, and none is to be made.
            UnreadableStoreError: A newer Paceline wrote it, or its tables cannot be opened.
            StoreWriteError: Its disk is full, or it may not be written to.
        """
        root = address_of(root)
        place = Place(root=root, options=dict(options or {}))
        if not create and not place.is_there(WINDOWS.name):
            raise NoStoreError(f"no store at {root}; `paceline collect --store {root}` makes one")
        with reading_store(root):
            try:
                migrate_tables(place)
            except NoStoreError:
                make_tables(place)
                migrate_tables(place)
        return cls(place=place)

    def append(self, reading: Reading, origin: str, sequence: int) -> dict[str, int]:
        """Append a part of what an origin says, unless it is there.

        Args:
            reading: The part.
            origin: What it comes from, by content: the same for the same bytes.
            sequence: Its number from 1; the same for the same part, in order.

        Returns:
            How many rows each frame got; frames that got none are left out.

        Raises:
            StoreBusyError: Other writers of this origin won every time.
            StoreWriteError: The disk is full; nothing of the frame in question is stored.
        """
        added = {
            name: commit_part(self.place, name, self._stored(reading, name), origin, sequence)
            for name in FRAMES
            if reading.frame(name).height
        }
        return {name: count for name, count in added.items() if count}

    def append_new(self, reading: Reading, origin: str) -> dict[str, int]:
        """Append the rows that are not there yet, told by their table's identity.

        Args:
            reading: Rows of which some may be stored; of two that say the same the first stays.
            origin: Shared by all who write these rows: one of them at a time gets through.

        Returns:
            How many rows each frame got; frames that got none are left out.

        Raises:
            StoreBusyError: Other writers of this origin won every time.
            StoreWriteError: The disk is full; nothing of the frame in question is stored.
        """
        added = {name: self.add_rows(name, reading.frame(name), origin) for name in FRAMES}
        return {name: count for name, count in added.items() if count}

    def add_rows(self, name: str, rows: pl.DataFrame, origin: str) -> int:
        """Append those rows of one table that are not there yet; see `append_new`."""
        if rows.is_empty():
            return 0
        table = TABLES[name]
        offered = table.to_stored(rows).unique(table.identity, keep="first", maintain_order=True)

        def new_rows(found: DeltaTable) -> pl.DataFrame:
            fresh = unknown_rows(offered, pl.scan_delta(found), table)
            return changed_statements(fresh, pl.scan_delta(found), table)

        return commit_new(self.place, name, new_rows, origin)

    def read(self, name: str, wanted: Wanted | None = None) -> pl.LazyFrame:
        """Return the rows of a table; only files that may hold a wanted one are opened.

        Args:
            name: One of `TABLES`.
            wanted: Which rows; null is all.

        Returns:
            The frame's schema, in no order.
        """
        table = TABLES[name]
        kept = pl.scan_delta(self.place.open(name))
        return table.from_stored(kept.filter(*_conditions(table, wanted or Wanted())))

    def read_all(
        self, wanted: Wanted | None = None, frames: Collection[str] = tuple(FRAMES)
    ) -> Reading:
        """Return frames of the store, in memory; see `read`.

        Args:
            wanted: Which rows; null is all.
            frames: Names of those to read; the others stay empty.

        Raises:
            UnreadableStoreError: Files of it are torn or gone.
        """
        with reading_store(self.place.root):
            found: dict[str, Any] = {
                name: self.read(name, wanted).collect() for name in FRAMES if name in frames
            }
        return replace(Reading(), **found)

    def compact(self) -> Mapping[str, int]:
        """Join small files; see `collectors.storage.store_upkeep.compact_tables`."""
        return compact_tables(self.place)

    def forget_before(self, moment: datetime) -> Mapping[str, int]:
        """Drop whole days before a moment; see `collectors.storage.store_upkeep.forget_days`."""
        fewer = forget_days(self.place, moment)
        drop_unread_files(self.place)
        return fewer

    def _stored(self, reading: Reading, name: str) -> pl.DataFrame:
        return TABLES[name].to_stored(reading.frame(name))


def _conditions(table: StoredTable, wanted: Wanted) -> list[pl.Expr]:
    """Return what a row must fulfil, of conditions on columns that the table has."""
    conditions: list[pl.Expr] = []
    if table.clock and wanted.since is not None:
        conditions.append(pl.col(table.clock) >= wanted.since)
    if table.clock and wanted.until is not None:
        conditions.append(pl.col(table.clock) < wanted.until)
    lists = {"host": wanted.hosts, "source": wanted.sources, "signal": wanted.signals}
    conditions += [
        pl.col(column).is_in(list(values))
        for column, values in lists.items()
        if values is not None and column in table.schema
    ]
    if wanted.runs is not None and "run" in table.schema:
        run = pl.col("run")
        conditions.append(run.is_null() | run.is_in(list(wanted.runs)))
    return conditions
