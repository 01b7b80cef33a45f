"""Let the kernel log speak where it can: the metric of the last Xid is only a hint.

The gauge cannot show the same Xid twice, and it may be late by a scrape and more. So a hint about
an Xid that the kernel log tells of itself goes, and the log's rows hold the count. Source: formats
of GPU and host streams, section 2.7 (4); NVIDIA/dcgm-exporter #190, #500.
"""

from dataclasses import replace
from datetime import timedelta
from typing import Final

import polars as pl

from collectors.gpus.last_xids import METRIC_PREFIX
from collectors.readings import Reading

MAX_APART: Final = timedelta(hours=1)
"""A scrape, a slow exporter and the drift of a log's clock together stay below this."""


def drop_told_xids(reading: Reading) -> Reading:
    """Return the reading without hints about Xids that a kernel log tells.

    Args:
        reading: All that was read, its devices named.

    Returns:
        The same but for `EVENTS` of kind `xid` from metrics, where the log of the host has the
        same Xid on that GPU within an hour. A GPU that the metric only numbers may be any of its
        host; a host or a time that is not known may be any.
    """
    is_xid = pl.col("kind") == "xid"
    is_hint = is_xid & pl.col("message").str.starts_with(METRIC_PREFIX)
    events = reading.events.with_row_index("row")
    hints = events.filter(is_hint).select("row", "host", "device", "code", "time")
    logged = events.filter(is_xid & ~is_hint).select("host", "device", "code", "time", "last")
    told = hints.join(logged, on="code", suffix="_log").filter(
        _may_be("host"), _may_be("device") | _is_number(), _is_near()
    )
    kept = events.filter(~pl.col("row").is_in(told["row"].implode())).drop("row")
    return replace(reading, events=kept)


def _may_be(name: str) -> pl.Expr:
    return (pl.col(name) == pl.col(f"{name}_log")).fill_null(value=True)


def _is_number() -> pl.Expr:
    return pl.col("device").str.contains(r"^\d+$").fill_null(value=False)


def _is_near() -> pl.Expr:
    end = pl.coalesce("last", "time_log")
    near = pl.col("time").is_between(pl.col("time_log") - MAX_APART, end + MAX_APART)
    return near.fill_null(value=True)
