"""The partitions of a store: which parts of it are judged by themselves.

They are found by looking at a few columns, and read by whoever judges them: only files that may
hold a row of the partition are opened. Devices are compared with those of the same kind, run and
model; objectives count each run by itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

import polars as pl

from collectors.names.aliases import resolve_devices
from collectors.readings import reading_of
from collectors.storage.store import Store
from collectors.storage.store_tables import DAY, TABLES
from detectors.device_values import SPEED_SIGNALS
from detectors.device_words import EVIDENCE
from detectors.telemetry import NOISY_SIGNALS

_KEY: Final = ("device_kind", "run", "model")

_BESIDE: Final = tuple(sorted({*EVIDENCE, *NOISY_SIGNALS, "gpu_busy_ratio"}))
"""What is asked about a device beside its speed: whether it works, lives, and why it is slow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StorePlace:
    """Where a store is, and which part of it is wanted.

    Attributes:
        root: A folder, or the address of one in an object storage that every worker reaches.
        options: What the storage wants to know, as deltalake takes it.
        since: First moment; null for the first there is.
        until: First moment no longer wanted; null for none.
    """

    root: str
    options: Mapping[str, str] = field(default_factory=dict[str, str])
    since: datetime | None = None
    until: datetime | None = None

    def rows(self, name: str, *conditions: pl.Expr) -> pl.LazyFrame:
        """Return the wanted rows of a frame; only files that may hold one are opened.

        Args:
            name: One of `FRAMES`, with a clock.
            conditions: On stored columns, before they are brought to the frame: behind a change of
                type they would reach no file.

        Raises:
            NoStoreError: There is no store.
        """
        table = TABLES[name]
        clock = pl.col(table.clock or DAY)
        bounds = [] if self.since is None else [clock >= self.since]
        bounds += [] if self.until is None else [clock < self.until]
        kept = pl.scan_delta(Store.open_at(self.root, self.options).place.open(name))
        return table.from_stored(kept.filter(*bounds, *conditions))


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerGroup:
    """Devices that are compared with each other; null is a name that nobody told.

    Attributes:
        device_kind: What they are.
        run: What they work for.
        model: Their model.
        hosts: Where they are, by name.
    """

    device_kind: str | None
    run: str | None
    model: str | None
    hosts: tuple[str | None, ...]

    @property
    def name(self) -> str:
        """What people call the group."""
        return " ".join(one for one in (self.run, self.model, self.device_kind) if one)


def peer_groups(place: StorePlace) -> list[PeerGroup]:
    """Return the peer groups of a store whose devices tell how fast they work, by name."""
    rows = place.rows("samples", _is_speed())
    names = rows.drop_nulls("time").select(*_KEY, "host").unique()
    groups = (
        names.sort(*_KEY, "host", nulls_last=True)
        .group_by(_KEY, maintain_order=True)
        .agg("host")
        .collect(engine="streaming")
    )
    return [
        PeerGroup(device_kind=kind, run=run, model=model, hosts=tuple(hosts))
        for kind, run, model, hosts in groups.iter_rows()
    ]


def read_group(place: StorePlace, group: PeerGroup) -> pl.LazyFrame:
    """Return the samples of a peer group, and what its hosts say beside, by one name each.

    Args:
        place: The store.
        group: One of `peer_groups`.

    Returns:
        `SAMPLES`, in no order.
    """
    there = pl.col("host").is_in(list(group.hosts), nulls_equal=True)
    mine = [pl.col(name).eq_missing(pl.lit(getattr(group, name), pl.String)) for name in _KEY]
    speeds = place.rows("samples", _is_speed(), there, *mine)
    beside = place.rows("samples", pl.col("signal").is_in(_BESIDE), there)
    samples = pl.concat([speeds, beside]).collect(engine="streaming")
    aliases = replace(place, since=None).rows("aliases", there).collect()
    return resolve_devices(reading_of(samples=samples, aliases=aliases)).samples.lazy()


def _is_speed() -> pl.Expr:
    return pl.col("signal").is_in(list(SPEED_SIGNALS))
