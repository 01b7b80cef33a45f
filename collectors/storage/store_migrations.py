"""Make the tables of a store, and lead tables of an older schema to that of today.

A table's description says the version of its schema. A migration is one step from a version to the
next; each may be taken twice, since a kill between the step and the new description repeats it.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError

from collectors.storage.store_commits import Place, retried, write_error
from collectors.storage.store_faults import UnreadableStoreError
from collectors.storage.store_tables import TABLES, StoredTable

Migration = Callable[[DeltaTable, StoredTable], None]


class NewerStoreError(UnreadableStoreError):
    """A store was written by a newer Paceline than this one."""


def _add_columns(table: DeltaTable, wanted: StoredTable) -> None:
    """Add the columns that the table has not; they are null in the rows that are there."""
    empty = wanted.stored_schema.to_frame()
    write_deltalake(table, empty, mode="append", schema_mode="merge")


MIGRATIONS: Final[Mapping[tuple[str, int], Migration]] = {
    ("samples", 1): _add_columns,
    ("steps", 1): _add_columns,
    ("steps", 2): _add_columns,
    ("jobs", 1): _add_columns,
}
"""The step from a version of a table's schema to the next. Samples of version 1 had neither `exact`
nor `wraps_at`, steps no `position`, jobs no `gpus`; steps of version 2 had neither
`forward_seconds` nor `backward_seconds`."""


def make_tables(place: Place) -> None:
    """Make each table that is not there, the last of `TABLES` at the end.

    Raises:
        StoreWriteError: The disk is full, or may not be written to.
    """
    for table in TABLES.values():
        if not place.is_there(table.name):
            _make(place, table)


def _make(place: Place, table: StoredTable) -> None:
    try:
        write_deltalake(
            place.uri(table.name),
            table.stored_schema.to_frame(),
            mode="ignore",
            partition_by=table.partition_by or None,
            description=_description(table.version),
            storage_options=dict(place.options),
        )
    except (DeltaError, OSError) as error:
        # Two that make the same table at once: one of them has made it.
        if not place.is_there(table.name) or not isinstance(error, CommitFailedError):
            raise write_error(place, error) from error


def migrate_tables(place: Place) -> int:
    """Bring each table to the schema of today.

    Returns:
        How many steps were taken.

    Raises:
        NewerStoreError: A table has a schema that this Paceline does not know yet.
        NoStoreError: A table is not there.
        StoreWriteError: The disk is full, or may not be written to.
    """
    return sum(_migrate(place, table) for table in TABLES.values())


def _migrate(place: Place, wanted: StoredTable) -> int:
    steps = 0
    while (version := _version(place.open(wanted.name))) < wanted.version:

        def step(table: DeltaTable, at: int = version) -> int:
            MIGRATIONS[wanted.name, at](table, wanted)
            table.update_incremental()
            table.alter.set_table_description(_description(at + 1))
            return 1

        steps += retried(place, wanted.name, step)
    if version > wanted.version:
        raise NewerStoreError(
            f"table '{wanted.name}' in {place.root} has schema {version}, this Paceline knows "
            f"{wanted.version}; use a newer Paceline"
        )
    return steps


def _description(version: int) -> str:
    return f"schema {version}"


def _version(table: DeltaTable) -> int:
    found = re.search(r"schema (\d+)", table.metadata().description or "")
    return int(found[1]) if found else 1
