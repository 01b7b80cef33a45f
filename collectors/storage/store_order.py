"""Lay the rows of days that are over in order, so that a question about a run opens its files only.

A day is a partition; within it files are told apart by the least and the greatest run and host that
the table's log has of each. Rows come in order of time, so each file holds all runs, until a day is
written again by run and host. That is one commit: the rows that were read, in other files; rows
that come meanwhile stay in files of their own. `benchmarks/store_layout.py` has the figures behind
the choice. Delta's own z-order tells texts apart by their first 16 bytes only, which names of runs
share.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

import polars as pl
from deltalake import DeltaTable, write_deltalake

from collectors.storage.store_commits import Place, retried
from collectors.storage.store_tables import DAY, TABLES, StoredTable
from collectors.storage.store_upkeep import FILE_BYTES

_KEYS: Final = ("run", "host", "rank", "signal", "device", "step", "time", "end_time")
"""Columns that rows are laid in order of, those that a table has."""

_EMPTY: Final = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderParams:
    """How days are laid in order.

    Attributes:
        file_bytes: Length of a file, about: see `benchmarks/store_layout.py`.
        max_rows: A day of more rows is only joined: all of it is in memory while it is ordered.
    """

    file_bytes: int = FILE_BYTES
    max_rows: int = 30_000_000


def order_days(place: Place, before: date, params: OrderParams) -> Mapping[str, int]:
    """Lay each day before a date in order, of the tables that have runs or hosts.

    Args:
        place: Where the tables are.
        before: The first day that is left as it is: rows of it still come.
        params: How.

    Returns:
        How many days of each table were written again; tables without one are left out.

    Raises:
        StoreBusyError: Others changed the same files every time.
        StoreWriteError: The disk is full, or may not be written to.
    """
    done = {
        name: sum(_order(place, table, day, params) for day in _mixed(place, name, before, params))
        for name, table in TABLES.items()
        if table.clock and {"run", "host"} & set(table.schema)
    }
    return {name: count for name, count in done.items() if count}


def _mixed(place: Place, name: str, before: date, params: OrderParams) -> list[date]:
    """Return the days whose files overlap in what they hold, by date."""
    files = files_of(place.open(name))
    days = files.filter(pl.col(DAY) < before).partition_by(DAY, as_dict=True, maintain_order=False)
    return sorted(
        day
        for (day,), some in days.items()
        if some["num_records"].sum() <= params.max_rows and not _is_ordered(some)
    )


def files_of(table: DeltaTable) -> pl.DataFrame:
    """Return the files of a table: its day, path, length, rows, and ends of run and host."""
    told: Any = table.get_add_actions(flatten=True)
    files = pl.DataFrame(told).rename({f"partition.{DAY}": DAY}, strict=False)
    ends = [f"{end}.{key}" for key in ("run", "host") for end in ("min", "max")]
    given = [
        (pl.col(one) if one in files.columns else pl.lit(None)).cast(pl.String).alias(one)
        for one in ends
    ]
    return files.select(DAY, "path", "size_bytes", "num_records", *given)


def _is_ordered(files: pl.DataFrame) -> bool:
    """Return whether each file of a day begins where the one before it ends, by run or by host."""
    key = "run" if files["min.run"].drop_nulls().len() else "host"
    low, high = pl.col(f"min.{key}").fill_null(_EMPTY), pl.col(f"max.{key}").fill_null(_EMPTY)
    overlaps = files.sort(low, high).select((low < high.shift(1)).any())
    return files.height == 1 or not overlaps.item()


def _order(place: Place, table: StoredTable, day: date, params: OrderParams) -> int:
    """Write one day again, and return 1."""
    keys = [key for key in _KEYS if key in table.schema]

    def write(found: DeltaTable) -> int:
        rows = pl.scan_delta(found).filter(pl.col(DAY) == day).sort(keys, maintain_order=True)
        replace_day(found, rows.collect(), day, file_bytes=params.file_bytes)
        return 1

    return retried(place, table.name, write)


def replace_day(
    table: DeltaTable, rows: pl.DataFrame, day: date, *, file_bytes: int | None = None
) -> None:
    """Put rows in the place of a day's rows that the table has, in one commit."""
    write_deltalake(
        table,
        rows,
        mode="overwrite",
        predicate=f"{DAY} = '{day.isoformat()}'",
        target_file_size=file_bytes,
    )
