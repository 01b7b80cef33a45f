"""Which tables a store has: for each frame its schema, its clock, its identity and its version.

A table keeps its frame's columns and, where the frame has a clock, the UTC `day` of it, which is
the partition: a read of two days opens no file of a third. Delta tables have no unsigned integers,
so those are kept as decimals of 20 digits. Source: Delta transaction log protocol, sections on
partition values and on data types.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import polars as pl

from collectors.frames import TIME, conform, schema_of
from collectors.peer_frames import PEER_RATIOS, PEER_STATISTICS
from collectors.readings import FRAMES

DAY: Final = "day"
"""The partition of every table with a clock; null where the clock is."""

_UNSIGNED: Final = pl.Decimal(20, 0)

_CLOCKS: Final = {
    "samples": "time",
    "steps": "end_time",
    "collectives": "time",
    "transfers": "time",
    "events": "time",
    "links": "time",
    "aliases": "time",
    "coverage": "start",
}
"""The time column of a frame. Jobs are few, last for days and are wanted for years: no clock."""

_IDENTITIES: Final[Mapping[str, tuple[str, ...]]] = {
    "samples": ("time", "host", "device_kind", "device", "signal", "source"),
    "events": (
        *("time", "host", "device_kind", "device", "rank", "run"),
        *("kind", "code", "peer", "message", "source"),
    ),
    "coverage": ("entity", "signal", "start", "source"),
    "rejects": ("source", "text", "reason"),
}
"""Columns that tell whether two rows say the same; of other frames, all their columns but lists do.
How often an event was counted and where in an answer it stood changes with the span that was read.
"""

_STATEMENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "aliases": ("host", "device_kind", "alias_kind", "alias", "source"),
}
"""Frames whose rows say something that holds until the next row about the same: whose name it is.
Such a row is worth keeping when it says something else than the last, or once a day."""

_VERSIONS: Final = {"samples": 2, "steps": 3, "jobs": 2}
"""Schema versions above 1; `collectors.storage.store_migrations` leads from each to the next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTable:
    """One table of a store.

    Attributes:
        name: Its folder's name.
        schema: The frame's columns.
        clock: The time column whose day is the partition; null for a table without partitions.
        identity: Columns in which two rows that say the same agree.
        subject: Columns that name what a statement is about; empty if rows are no statements.
        version: Version of the schema, from 1.
    """

    name: str
    schema: pl.Schema
    clock: str | None = None
    identity: tuple[str, ...]
    subject: tuple[str, ...] = ()
    version: int = 1

    @property
    def stored_schema(self) -> pl.Schema:
        """The columns as they are kept."""
        kept = {n: _UNSIGNED if t == pl.UInt64 else t for n, t in self.schema.items()}
        return schema_of(kept | ({DAY: pl.Date()} if self.clock else {}))

    @property
    def partition_by(self) -> list[str]:
        """The partition's columns."""
        return [DAY] if self.clock else []

    def to_stored(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return rows of the frame as they are kept."""
        days = {DAY: pl.col(self.clock).dt.date()} if self.clock else {}
        return conform(rows.lazy().with_columns(**days), self.stored_schema).collect()

    def from_stored(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """Return kept rows as the frame."""
        return conform(rows, self.schema)


def _said(schema: pl.Schema) -> tuple[str, ...]:
    """Return the columns of what a row says, and not of where it stood."""
    return tuple(n for n, t in schema.items() if not t.is_nested() and n != "position")


def _frame_table(name: str) -> StoredTable:
    schema = FRAMES[name]
    return StoredTable(
        name=name,
        schema=schema,
        clock=_CLOCKS.get(name),
        identity=_IDENTITIES.get(name, _said(schema)),
        subject=_STATEMENTS.get(name, ()),
        version=_VERSIONS.get(name, 1),
    )


WINDOWS: Final = StoredTable(
    name="windows",
    schema=schema_of(
        {
            "source": pl.String,
            "selector": pl.String,
            "start": TIME,
            "end": TIME,
            "looked": TIME,
            "added": pl.Int64,
        }
    ),
    identity=("source", "selector", "start", "end", "looked"),
)
"""The ledger of pulls: [start, end) of a source's series was looked at, and `added` rows were new.
A row stands for data that is stored: it is written after them."""

FILES: Final = StoredTable(
    name="files",
    schema=schema_of(
        {
            "origin": pl.String,
            "source": pl.String,
            "root": pl.String,
            "folder": pl.String,
            "stem": pl.String,
            "role": pl.String,
            "path": pl.String,
            "node": pl.String,
            "size": pl.Int64,
            "digest": pl.String,
            "lines": pl.Int64,
            "state": pl.String,
        }
    ),
    identity=("origin", "state"),
)
"""The ledger of files: the first `size` bytes, whose digest is given and which have `lines` line
ends, go under `source` from when they are `claimed`; all of them are stored when they are `stored`.
`root`, `folder` and `stem` say where the file lay, `path` and `node` (device and inode) where it is
found again when it grew, `role` what its name says of the rank, the host and the time."""

METRICS: Final = StoredTable(
    name="metrics",
    schema=schema_of(
        {"source": pl.String, "metric": pl.String, "first_seen": TIME, "last_seen": TIME}
    ),
    identity=("source", "metric"),
)
"""When a source had samples of a metric: one that vanished is not one that was never there."""

PEER_GROUPS: Final = StoredTable(
    name="peer_statistics",
    schema=PEER_STATISTICS,
    clock="time",
    identity=("time", "step_seconds", "device_kind", "model", "run", "peer_host", "signal"),
)
PEER_DEVICES: Final = StoredTable(
    name="peer_ratios",
    schema=PEER_RATIOS,
    clock="time",
    identity=("time", "step_seconds", "host", "device_kind", "device", "model", "run", "signal"),
)
"""The middle tier: what stays of a day's samples. A day of it is written as a whole."""

TIERS: Final = StoredTable(
    name="tiers",
    schema=schema_of(
        {"tier": pl.String, "covers": TIME, "step_seconds": pl.Int32, "sample_count": pl.Int64}
    ),
    identity=("tier", "covers", "sample_count"),
)
"""The ledger of tiers: the day that begins at `covers` is kept as `peers` (of so many samples), has
been `judged`, or is `gone` from the middle tier too. Written after what it says, and before the
samples go."""

KEPT_INCIDENTS: Final = StoredTable(
    name="kept_incidents",
    schema=schema_of(
        {
            "id": pl.String,
            "onset": TIME,
            "cleared": TIME,
            "run": pl.String,
            "title": pl.String,
            "judged_until": TIME,
            "document": pl.String,
        }
    ),
    identity=("id", "judged_until"),
)
"""Incidents with their verdicts, as the JSON contract has them: the tier that stays for ever."""

TABLES: Final[Mapping[str, StoredTable]] = {
    **{name: _frame_table(name) for name in FRAMES},
    PEER_GROUPS.name: PEER_GROUPS,
    PEER_DEVICES.name: PEER_DEVICES,
    TIERS.name: TIERS,
    KEPT_INCIDENTS.name: KEPT_INCIDENTS,
    METRICS.name: METRICS,
    FILES.name: FILES,
    WINDOWS.name: WINDOWS,
}
"""Every table by name. The last one is made last: a store that has it is whole."""
