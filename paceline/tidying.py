"""Keep a store small and quick: judge days that are over, fold old ones, join and order files."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

import orjson
import polars as pl

from alerts.incidents import Incident, incident_json
from collectors.frames import conform
from collectors.storage.store import Store, Wanted
from collectors.storage.store_order import OrderParams, order_days
from collectors.storage.store_tables import KEPT_INCIDENTS
from collectors.storage.store_tiers import (
    TierDay,
    drop_raw,
    forget_peers,
    judged_days,
    keep_incidents,
    keep_peers,
    raw_days,
    start_of,
    tier_days,
)
from collectors.storage.store_upkeep import compact_tables, drop_unread_files
from detectors.peer_summaries import SummaryParams, fold_devices, fold_groups
from paceline.analysis import AnalysisParams, analyze
from paceline.progress import Say
from paceline.stored_sources import StoredSpan, read_store

ONE_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class TidyParams:
    """How long each tier is kept.

    Attributes:
        raw: Samples of days that began longer ago become peer statistics.
        peers: Peer statistics of days that began longer ago are forgotten; null keeps all.
        is_judging: Whether days that are over are analysed and their incidents kept.
        summary: How finely samples are folded.
        order: How files are laid.
    """

    raw: timedelta = timedelta(days=7)
    peers: timedelta | None = timedelta(days=180)
    is_judging: bool = True
    summary: SummaryParams = field(default_factory=SummaryParams)
    order: OrderParams = field(default_factory=OrderParams)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tidied:
    """What a tidying did.

    Attributes:
        judged: Days whose incidents are kept from now on.
        incidents: How many incidents that were.
        folded: Days that became peer statistics.
        dropped: Samples that went.
        late: Samples that came after their day was folded: they stay as they are.
        forgotten: Days of peer statistics that went.
        ordered: Days that were laid in order, by table.
        joined: Files fewer, by table.
        unread: Files deleted that no table named any more.
    """

    judged: int
    incidents: int
    folded: int
    dropped: int
    late: int
    forgotten: int
    ordered: Mapping[str, int]
    joined: Mapping[str, int]
    unread: int


def tidy(store: Store, params: TidyParams, now: datetime, say: Say) -> Tidied:
    """Bring a store into the shape that its tiers ask for; again does what is left to do.

    Args:
        store: The store.
        params: How long each tier is kept.
        now: The time, with a zone: the day of it is not over.
        say: Told before each day: what, how many are done, how many there are.

    Raises:
        StoreBusyError: Others changed the same files every time.
        StoreWriteError: The disk is full, or may not be written to.
    """
    today = now.date()
    judged, incidents = _judge(store, today, say) if params.is_judging else (0, 0)
    folded, dropped, late = _fold(store, (now - params.raw).date(), params.summary, say)
    return Tidied(
        judged=judged,
        incidents=incidents,
        folded=folded,
        dropped=dropped,
        late=late,
        forgotten=forget_peers(store, (now - params.peers).date()) if params.peers else 0,
        ordered=order_days(store.place, today, params.order),
        joined=compact_tables(store.place, params.order.file_bytes),
        unread=drop_unread_files(store.place),
    )


def _judge(store: Store, today: date, say: Say) -> tuple[int, int]:
    """Keep the incidents of days that are over; return how many days and incidents."""
    done = judged_days(store)
    due = [day for day in raw_days(store.place) if day < today and day not in done]
    kept = 0
    for at, day in enumerate(due):
        say(f"judging {day}", at, len(due))
        kept += keep_incidents(store, _incident_rows(store, day), _as_tier(day))
    return len(due), kept


def _incident_rows(store: Store, day: date) -> pl.DataFrame:
    """Return the incidents of a day, as they are kept."""
    start = start_of(day)
    span = StoredSpan(start=start, end=start + ONE_DAY - timedelta(microseconds=1))
    reading = read_store(store.place.root, span, store.place.options)
    analysis = analyze(reading, AnalysisParams(), lambda _name, _done, _all: None)
    rows = [_incident_row(one, start + ONE_DAY) for one in analysis.incidents]
    schema = KEPT_INCIDENTS.schema
    return conform(pl.LazyFrame(rows, schema=schema), schema).collect()


def _incident_row(incident: Incident, judged_until: datetime) -> dict[str, object]:
    return {
        "id": incident.id,
        "onset": incident.onset,
        "cleared": incident.cleared,
        "run": incident.run,
        "title": incident.title,
        "judged_until": judged_until,
        "document": orjson.dumps(incident_json(incident)).decode(),
    }


def _as_tier(day: date) -> TierDay:
    return TierDay(day=day, step_seconds=int(ONE_DAY.total_seconds()), sample_count=0)


def _fold(store: Store, before: date, params: SummaryParams, say: Say) -> tuple[int, int, int]:
    """Fold the days before a date; return folded days, dropped samples and late ones."""
    known = {one.day: one for one in tier_days(store)}
    due = {day: count for day, count in raw_days(store.place).items() if day < before}
    folded = dropped = late = 0
    for at, (day, count) in enumerate(due.items()):
        say(f"folding {day}", at, len(due))
        tier = known.get(day)
        if tier is not None and count < tier.sample_count:
            late += count
            continue
        if tier is None or count != tier.sample_count:
            tier = _fold_day(store, day, count, params)
            folded += 1
        dropped += drop_raw(store, tier)
    return folded, dropped, late


def _fold_day(store: Store, day: date, count: int, params: SummaryParams) -> TierDay:
    """Put a day into the middle tier, a signal at a time, and return what it is of."""
    start = start_of(day)
    wanted = Wanted(since=start, until=start + ONE_DAY)
    signals = store.read("samples", wanted).select(pl.col("signal").unique()).collect()
    groups, devices = list[pl.DataFrame](), list[pl.DataFrame]()
    for signal in signals["signal"].drop_nulls().sort():
        one = Wanted(since=start, until=start + ONE_DAY, signals=[signal])
        groups.append(fold_groups(store.read("samples", one), params))
        devices.append(fold_devices(store.read("samples", one), params))
    tier = TierDay(day=day, step_seconds=int(params.group_step.total_seconds()), sample_count=count)
    if groups:
        keep_peers(store, tier, pl.concat(groups), pl.concat(devices))
    return tier
