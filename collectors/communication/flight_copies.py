"""Leave out flight recorder dumps that are copies, or of an earlier attempt.

Source: formats of NCCL and PyTorch-distributed logs, section 10.1. A folder that was copied
together from several nodes may hold a rank twice, and files that an earlier attempt left behind:
dumps of one hang have their newest entries close together.
"""

from typing import Final

import polars as pl

from collectors.texts.event_labels import label_value

MIN_STALE_SECONDS: Final = 3600.0
"""A dump whose newest entry is older than all others' by more is of another attempt; twice the
time-out, where that is longer: so long a rank may have been idle in the same one."""


def drop_stale_dumps(collectives: pl.DataFrame, events: pl.DataFrame) -> pl.DataFrame:
    """Return collectives without those of dumps that a newer one of their run replaces.

    Args:
        collectives: `COLLECTIVES`.
        events: `EVENTS`; `flight_dump` tells each dump and its newest entry.

    Returns:
        `COLLECTIVES`; dumps whose time or rank is not known are kept.
    """
    dumps = (
        events.filter(pl.col("kind") == "flight_dump")
        .drop_nulls(["time", "rank", "source"])
        .with_columns(timeout=label_value("timeout_seconds").cast(pl.Float64, strict=False))
        .sort("time", "source", descending=[True, False])
    )
    newest = pl.col("time").max().over("run")
    limit = (2 * pl.col("timeout").max().over("run")).fill_null(0.0).clip(MIN_STALE_SECONDS)
    is_stale = (newest - pl.col("time")).dt.total_seconds() > limit
    is_copy = pl.int_range(pl.len()).over("run", "rank") > 0
    old = dumps.filter(is_stale | is_copy)["source"]
    return (
        collectives
        if old.is_empty()
        else collectives.filter(~pl.col("source").is_in(old.implode()).fill_null(value=False))
    )
