"""Tell a kernel's fault once, though its ring buffer was saved several times.

A reader that starts again reads the whole buffer again, and people save `dmesg` before and after.
The clock since boot tells: the same host says the same at the same microsecond once. Source:
formats of GPU and host streams, section 5.1.
"""

from dataclasses import replace
from typing import Final

import polars as pl

from collectors.readings import Reading

_SAME: Final = ("host", "device_kind", "device", "kind", "code", "message", "time", "monotonic")


def drop_replays(reading: Reading) -> Reading:
    """Return the reading with each fault of a kernel's log from one source only.

    Args:
        reading: All that was read, its devices named.

    Returns:
        The same but for `EVENTS` that say when since boot they were, and that another source tells
        too: the one that counts more of its lines stays, else the first. Hosts that are not known
        may be different ones.
    """
    pair = pl.element().filter(pl.element().struct.field("key") == "monotonic_seconds")
    since_boot = pl.col("attributes").list.eval(pair.struct.field("value")).list.first()
    events = reading.events.with_row_index("row").with_columns(monotonic=since_boot)
    told = events.filter(pl.col("monotonic").is_not_null(), pl.col("host").is_not_null())
    kept = told.sort("count", "row", descending=[True, False], nulls_last=True).unique(
        _SAME, keep="first", maintain_order=True
    )
    # Two rows of one source are two faults: only another source's row is a copy.
    copies = told.join(
        kept.select(*_SAME, kept_source="source"), on=_SAME, how="left", nulls_equal=True
    ).filter(pl.col("source") != pl.col("kept_source"))
    left = events.filter(~pl.col("row").is_in(copies["row"].implode()))
    return replace(reading, events=left.drop("row", "monotonic"))
