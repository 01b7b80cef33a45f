"""What a store's coarser tiers answer where its samples are gone, and how that is said."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl

from collectors.storage.store import Store, Wanted, is_store
from collectors.storage.store_tables import PEER_DEVICES
from collectors.storage.store_tiers import RAW_SIGNAL, raw_days, start_of, tier_days
from detectors.coarse_departures import CoarseParams, find_coarse_departures
from detectors.device_values import SPEED_SIGNALS
from detectors.verdicts import Verdict, verdicts_of
from paceline.stored_sources import StoredSpan


def coarse_verdicts(paths: Sequence[Path], span: StoredSpan) -> list[Verdict]:
    """Return what the peer statistics of stores say of days whose samples are gone.

    Args:
        paths: Where to look; what is no store is left out.
        span: When.
    """
    return [
        verdict
        for path in paths
        if is_store(path)
        for verdict in _of_store(Store.open_at(str(path)), span)
    ]


def _of_store(store: Store, span: StoredSpan) -> list[Verdict]:
    there = raw_days(store.place)
    gone = [one.day for one in tier_days(store) if one.day not in there]
    if not gone:
        return []
    until = start_of(max(gone)) + timedelta(days=1)
    wanted = Wanted(
        since=span.start,
        until=until if span.end is None else min(until, span.end + timedelta(microseconds=1)),
        signals=list(SPEED_SIGNALS),
    )
    ratios = store.read(PEER_DEVICES.name, wanted).filter(pl.col("time").dt.date().is_in(gone))
    return verdicts_of(find_coarse_departures(ratios, CoarseParams()))


def tier_lines(coverage: pl.DataFrame) -> list[str]:
    """Return which tier answered, in words, one line a tier.

    Args:
        coverage: `COVERAGE`, as `paceline.stored_sources.read_store` gives it.
    """
    gone = (
        coverage.filter(pl.col("signal") == RAW_SIGNAL)
        .group_by("entity")
        .agg(pl.col("end").max(), pl.col("start").min(), pl.col("expected").sum())
        .sort("entity")
    )
    return [_line(*row) for row in gone.select("entity", "start", "end", "expected").iter_rows()]


def _line(entity: str, start: datetime, end: datetime, count: int) -> str:
    tier = entity.removeprefix("store, ")
    return (
        f"From {tier} since {start:%Y-%m-%d}: raw is gone before {end:%Y-%m-%d} "
        f"({count:,} samples). What only raw decides is unknown there."
    )
