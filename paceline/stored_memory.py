"""What a store knew last: a signal that has gone is told from one that never was."""

from datetime import datetime
from typing import Final

import polars as pl

from collectors.readings import Reading, reading_of
from collectors.storage.store import Store, Wanted

_CLOCKED: Final = (
    ("samples", "time", ("source", "host", "device_kind", "signal")),
    ("steps", "end_time", ("source", "rank")),
    ("collectives", "time", ("source", "rank")),
    ("events", "time", ("source", "kind")),
)
"""Frame, its clock, and of what the last row is kept."""


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
