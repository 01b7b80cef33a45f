"""Keep a store small and quick: join small files, forget old days, drop files that no table names.

Each is one commit that appends may run beside; of two that touch the same files one is repeated.
Source: Delta transaction log protocol (a rewrite that changes no data conflicts with no append).
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from collectors.readings import FRAMES
from collectors.storage.store_commits import Place, retried, write_error
from collectors.storage.store_tables import DAY, TABLES

MAX_UNREAD_HOURS: Final = 24
"""Files that no table names any more stay so long: somebody may still be reading them, or writing a
file that is not committed yet."""


FILE_BYTES: Final = 8 * 2**20
"""Files are joined up to about this length: `benchmarks/store_layout.py` has the figures."""


def compact_tables(place: Place, file_bytes: int = FILE_BYTES) -> Mapping[str, int]:
    """Join the small files of each day of each table.

    Args:
        place: Where the tables are.
        file_bytes: Files of this length or longer are left as they are.

    Returns:
        How many files each table has fewer; tables without a change are left out.

    Raises:
        StoreBusyError: Others changed the same files every time.
        StoreWriteError: The disk is full, or may not be written to.
    """

    def compact(table: DeltaTable) -> int:
        metrics = table.optimize.compact(target_size=file_bytes)
        return int(metrics["numFilesRemoved"]) - int(metrics["numFilesAdded"])

    fewer = {name: retried(place, name, compact) for name in TABLES}
    return {name: count for name, count in fewer.items() if count}


def forget_days(place: Place, moment: datetime) -> Mapping[str, int]:
    """Drop the whole days before a moment from all frames with a clock.

    Args:
        place: Where the tables are.
        moment: With a zone; the day it lies in is kept. Rows of which no time is known stay, and
            so do jobs and the ledgers: what was forgotten is not taken again.

    Returns:
        How many rows each table has fewer; tables without a change are left out.

    Raises:
        ValueError: `moment` has no zone.
        StoreBusyError: Others changed the same files every time.
        StoreWriteError: The disk is full, or may not be written to.
    """
    if moment.utcoffset() is None:
        raise ValueError(f"moment must have a zone, got {moment}")
    predicate = f"{DAY} < '{moment.astimezone(UTC).date().isoformat()}'"

    def forget(table: DeltaTable) -> int:
        return int(table.delete(predicate).get("num_deleted_rows", 0))

    dated = (name for name in FRAMES if TABLES[name].clock)
    fewer = {name: retried(place, name, forget) for name in dated}
    return {name: count for name, count in fewer.items() if count}


def drop_unread_files(place: Place, max_hours: int = MAX_UNREAD_HOURS) -> int:
    """Delete files that no table has named for some hours; also what killed writers left.

    Args:
        place: Where the tables are.
        max_hours: Longest time that somebody may read or write a file.

    Returns:
        How many files went.

    Raises:
        StoreWriteError: A file may not be deleted.
    """
    return sum(_vacuum(place, name, max_hours) for name in TABLES)


def _vacuum(place: Place, name: str, max_hours: int) -> int:
    try:
        gone = place.open(name).vacuum(
            max_hours, dry_run=False, enforce_retention_duration=False, full=True
        )
    except DeltaError as error:
        raise write_error(place, error) from error
    return len(gone)
