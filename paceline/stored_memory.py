"""What a store knew last: a signal that has gone is told from one that never was."""

from datetime import datetime
from typing import Final

import polars as pl

from collectors.readings import Reading, reading_of
from collectors.storage.metric_presence import read_metric_states
from collectors.storage.store import Store, Wanted
from collectors.storage.store_tables import METRICS
from paceline.checkups import GoneMetric

_CLOCKED: Final = (
    ("samples", "time", ("source", "host", "device_kind", "signal")),
    ("steps", "end_time", ("source", "rank")),
    ("collectives", "time", ("source", "rank")),
    ("transfers", "time", ("source", "operation")),
    ("events", "time", ("source", "kind")),
)
"""Frame, its clock, and of what the last row is kept."""


def gone_metrics(store: Store, since: datetime) -> list[GoneMetric]:
    """Return the metrics that sources had before a time and not since, by source and name.

    Args:
        store: An open store.
        since: A metric without a sample from then on is gone; with a zone.
    """
    sources = store.read(METRICS.name).select(pl.col("source").unique().sort()).collect()
    states = [read_metric_states(store, source, since) for source in sources["source"]]
    return [
        GoneMetric(source=row["source"], metric=row["metric"], last_seen=row["last_seen"])
        for frame in states
        for row in frame.filter(pl.col("state") == "vanished").iter_rows(named=True)
    ]


def last_known(store: Store, before: datetime) -> Reading:
    """Return the last rows of a store from before a time.

    Args:
        store: An open store.
        before: Rows at this time or later are left out; with a zone.

    Returns:
        One row a source, host, kind of device and signal of samples; a source and rank of steps
        and collectives; a source and kind of events. Other frames are empty.
    """
    frames = {
        name: (
            store.read(name, Wanted(until=before))
            .drop_nulls(clock)
            .group_by(keys)
            .agg(pl.all().exclude(keys).sort_by(clock).last())
            .collect(engine="streaming")
        )
        for name, clock, keys in _CLOCKED
    }
    return reading_of(**frames)
