"""Commit rows to one Delta table: whole or not at all, and once.

Two rules of Delta make it so. A commit is one new file in the log, which only one writer can make.
And a commit that names an application transaction fails when another one with the same application
was made since the writer last looked; it then looks again. Source: Delta transaction log protocol,
"Transaction Identifiers"; delta-rs 1.6 checks conflicts that way for transactions, and refuses
nothing when the number is merely old, so the number is compared here.
"""

import errno
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import polars as pl
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

MAX_TRIES: Final = 40
"""How often a commit that lost against another writer is tried again."""

MAX_WAIT_SECONDS: Final = 1.0
FIRST_WAIT_SECONDS: Final = 0.01

_FULL: Final = ("No space left on device", "os error 28", "Quota exceeded", "os error 122")


class StoreWriteError(OSError):
    """The store could not be written: its disk is full, or it may not be written to."""


class StoreBusyError(TimeoutError):
    """Other writers of the same rows won every time."""


class NoStoreError(FileNotFoundError):
    """There is no store where one was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where tables are.

    Attributes:
        root: A folder, or the address of one in an object storage.
        options: What the storage wants to know, as deltalake takes it.
    """

    root: str
    options: Mapping[str, str] = field(default_factory=dict[str, str])

    def uri(self, name: str) -> str:
        """Return the address of a table."""
        return f"{self.root.rstrip('/')}/{name}"

    def open(self, name: str) -> DeltaTable:
        """Return a table as it is now.

        Raises:
            NoStoreError: It does not exist.
        """
        try:
            return DeltaTable(self.uri(name), storage_options=dict(self.options))
        except TableNotFoundError as error:
            raise NoStoreError(
                f"no table '{name}' in {self.root}; `paceline collect --store` makes a store"
            ) from error

    def is_there(self, name: str) -> bool:
        """Return whether a table exists."""
        uri = self.uri(name)
        if "://" not in uri and not Path(uri).is_dir():
            return False
        return DeltaTable.is_deltatable(uri, storage_options=dict(self.options))


Rows = Callable[[DeltaTable], pl.DataFrame]
"""What to append, given the table as it is: everything, or only what is not there yet."""


def commit_part(place: Place, name: str, rows: pl.DataFrame, origin: str, sequence: int) -> int:
    """Append rows unless this or a later part of their origin is there already.

    Args:
        place: Where the table is.
        name: The table.
        rows: As they are kept.
        origin: The application: what the rows come from.
        sequence: The number of the part, from 1; parts come in order.

    Returns:
        How many rows were appended: all or none.

    Raises:
        StoreWriteError: The disk is full, or cannot be written.
        StoreBusyError: Others won every time.
    """

    def attempt(table: DeltaTable) -> int:
        taken = table.transaction_version(origin)
        if taken is not None and taken >= sequence:
            return 0
        return _append(table, rows, origin, sequence)

    return retried(place, name, attempt)


def commit_new(place: Place, name: str, new_rows: Rows, origin: str) -> int:
    """Append the rows that are new, as nobody else of the same origin appends meanwhile.

    Args:
        place: Where the table is.
        name: The table.
        new_rows: Returns the rows that are not in the table that it is given.
        origin: The application: all writers of the same rows share it.

    Returns:
        How many rows were appended.

    Raises:
        StoreWriteError: The disk is full, or cannot be written.
        StoreBusyError: Others won every time.
    """

    def attempt(table: DeltaTable) -> int:
        rows = new_rows(table)
        if rows.is_empty():
            return 0
        return _append(table, rows, origin, (table.transaction_version(origin) or 0) + 1)

    return retried(place, name, attempt)


def _append(table: DeltaTable, rows: pl.DataFrame, origin: str, sequence: int) -> int:
    transaction = CommitProperties(app_transactions=[Transaction(origin, sequence)])
    write_deltalake(table, rows, mode="append", commit_properties=transaction)
    return rows.height


def retried(place: Place, name: str, attempt: Callable[[DeltaTable], int]) -> int:
    """Return what an attempt returns, repeated on a fresh table while others commit first.

    Raises:
        StoreWriteError: The disk is full, or cannot be written.
        StoreBusyError: Others won every time.
    """
    wait_seconds = FIRST_WAIT_SECONDS
    for _ in range(MAX_TRIES):
        try:
            return attempt(place.open(name))
        except CommitFailedError:
            time.sleep(wait_seconds)
            wait_seconds = min(2 * wait_seconds, MAX_WAIT_SECONDS)
        except NoStoreError:
            raise
        except (DeltaError, OSError) as error:
            raise write_error(place, error) from error
    raise StoreBusyError(
        f"table '{name}' in {place.root} was changed by others {MAX_TRIES} times in a row; "
        "let one collector write to a store, or a few"
    )


def write_error(place: Place, error: Exception) -> StoreWriteError:
    """Return the named error for what the storage said."""
    words = str(error)
    is_full = any(word in words for word in _FULL)
    why = "its disk is full; free some space, the rows are taken up again" if is_full else words
    number = errno.ENOSPC if is_full else errno.EIO
    return StoreWriteError(number, f"cannot write to the store {place.root}: {why}")
