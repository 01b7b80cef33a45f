"""The tiers of a store: samples for days, statistics of peers for months, incidents for ever.

A day of samples becomes a day of the middle tier in this order, each step whole or not at all: its
statistics take the place of those that were there (a kill leaves the old or the new), the ledger
says of how many samples they are, and only then are the samples dropped, if there are still as
many. Whoever starts again after a kill finds which of these are done.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

import polars as pl
from deltalake import DeltaTable

from collectors.frames import COVERAGE, conform
from collectors.storage.store import Store
from collectors.storage.store_commits import Place, retried
from collectors.storage.store_order import files_of, replace_day
from collectors.storage.store_tables import (
    DAY,
    KEPT_INCIDENTS,
    PEER_DEVICES,
    PEER_GROUPS,
    TIERS,
)

PEERS: Final = "peers"
JUDGED: Final = "judged"
GONE: Final = "gone"

RAW_TABLES: Final = ("samples", "collectives", "transfers", "coverage")
"""What is dropped of a day that the middle tier has. Steps, events, jobs, names and cables stay."""

RAW_SIGNAL: Final = "raw samples"
"""What coverage calls the samples that are no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TierDay:
    """A day of the middle tier.

    Attributes:
        day: The day, of UTC.
        step_seconds: Width of a step of the groups' statistics.
        sample_count: Of how many samples they are.
    """

    day: date
    step_seconds: int
    sample_count: int


def start_of(day: date) -> datetime:
    """Return the first moment of a day, in UTC."""
    return datetime.combine(day, time(tzinfo=UTC))


def raw_days(place: Place) -> Mapping[date, int]:
    """Return how many samples the store holds of each day, by day."""
    files = files_of(place.open("samples")).drop_nulls(DAY)
    counts = files.group_by(DAY).agg(pl.col("num_records").sum()).sort(DAY)
    return {day: count for day, count in counts.rows() if count}


def tier_days(store: Store) -> list[TierDay]:
    """Return the days that the middle tier has, by day."""
    told = store.read(TIERS.name).collect()
    gone = told.filter(pl.col("tier") == GONE).select("covers")
    rows = (
        told.filter(pl.col("tier") == PEERS)
        .join(gone, on="covers", how="anti")
        .sort("covers", "sample_count")
        .unique("covers", keep="last", maintain_order=True)
    )
    return [
        TierDay(
            day=row["covers"].date(),
            step_seconds=row["step_seconds"],
            sample_count=row["sample_count"],
        )
        for row in rows.iter_rows(named=True)
    ]


def judged_days(store: Store) -> set[date]:
    """Return the days whose incidents are kept."""
    told = store.read(TIERS.name).filter(pl.col("tier") == JUDGED).collect()
    return {covers.date() for covers in told["covers"]}


def note_day(store: Store, tier: str, day: TierDay) -> None:
    """Write a day into the ledger, once."""
    row = {
        "tier": tier,
        "covers": start_of(day.day),
        "step_seconds": day.step_seconds,
        "sample_count": day.sample_count,
    }
    store.add_rows(TIERS.name, conform(pl.LazyFrame(row), TIERS.schema).collect(), f"tier {tier}")


def keep_peers(store: Store, day: TierDay, groups: pl.DataFrame, devices: pl.DataFrame) -> None:
    """Put a day of the middle tier in the place of what was there of it, and note it.

    Args:
        store: Where.
        day: Which, at which step, of how many samples.
        groups: `PEER_STATISTICS`.
        devices: `PEER_RATIOS`.
    """
    for table, rows in ((PEER_GROUPS, groups), (PEER_DEVICES, devices)):
        kept = table.to_stored(rows)

        def replace(found: DeltaTable, kept: pl.DataFrame = kept) -> int:
            replace_day(found, kept, day.day)
            return kept.height

        retried(store.place, table.name, replace)
    note_day(store, PEERS, day)


def drop_raw(store: Store, day: TierDay) -> int:
    """Drop the samples of a day that the middle tier has, and what only explains them.

    Returns:
        How many samples went; none if others than those that the tier is of are there now.
    """
    if raw_days(store.place).get(day.day) != day.sample_count:
        return 0
    for name in RAW_TABLES[1:]:
        _drop(store.place, name, day.day)
    return _drop(store.place, RAW_TABLES[0], day.day, day.sample_count)


def forget_peers(store: Store, before: date) -> int:
    """Drop days of the middle tier, and return how many."""
    old = [one for one in tier_days(store) if one.day < before]
    for one in old:
        note_day(store, GONE, one)
        for name in (PEER_GROUPS.name, PEER_DEVICES.name):
            _drop(store.place, name, one.day)
    return len(old)


def _drop(place: Place, name: str, day: date, only_of: int | None = None) -> int:
    """Drop a day of a table, if it has so many rows where that is said."""

    def drop(found: DeltaTable) -> int:
        files = files_of(found).filter(pl.col(DAY) == day)
        rows = int(files["num_records"].sum())
        if not rows or only_of not in {None, rows}:
            return 0
        found.delete(f"{DAY} = '{day.isoformat()}'")
        return rows

    return retried(place, name, drop)


def tier_coverage(store: Store, since: datetime | None, until: datetime | None) -> pl.DataFrame:
    """Return of which days the samples are gone, as coverage.

    Args:
        store: The store.
        since: First moment that is asked for; null for the first there is.
        until: First moment that is not; null for no end.

    Returns:
        `COVERAGE`, one row a day that the middle tier answers: of so many samples none is there.
    """
    there = raw_days(store.place)
    rows = [
        {
            "entity": f"store, peer statistics of {one.step_seconds} s",
            "signal": RAW_SIGNAL,
            "start": start_of(one.day),
            "end": start_of(one.day) + timedelta(days=1),
            "seen": 0,
            "expected": one.sample_count,
        }
        for one in tier_days(store)
        if one.day not in there
        and (until is None or start_of(one.day) < until)
        and (since is None or start_of(one.day) + timedelta(days=1) > since)
    ]
    found = pl.LazyFrame(rows, schema=COVERAGE) if rows else COVERAGE.to_frame().lazy()
    return conform(found, COVERAGE).collect()


def keep_incidents(store: Store, rows: pl.DataFrame, day: TierDay) -> int:
    """Keep the incidents of a day, once, and note that it was judged; return how many were new."""
    kept = store.add_rows(KEPT_INCIDENTS.name, rows, "incidents")
    note_day(store, JUDGED, day)
    return kept
