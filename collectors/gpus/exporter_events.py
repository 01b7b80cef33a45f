"""Events from what dcgm-exporter makes itself: counts of Xids in a window, and health checks.

The count of a window falls to 0 by itself and is called a counter all the same. It tells what the
last-Xid gauge cannot, that the same Xid came again. Source: NVIDIA/dcgm-exporter, `DCGM_EXP_*`.
"""

from typing import Final

import polars as pl

from collectors.frames import EVENTS, conform
from collectors.gpus.last_xids import METRIC_PREFIX
from collectors.gpus.measured_order import in_order

WINDOW_SECONDS: Final = 600.0
"""A change of the last Xid this near is the same Xid: twice the exporter's usual window."""

_PART: Final = r"^(.*)/[a-z0-9_]+:([^/:]*)$"


def window_xid_events(measured: pl.DataFrame, known: pl.DataFrame, source: str) -> pl.DataFrame:
    """Return one event for each rise of the count of an Xid.

    Args:
        measured: `MEASURED`; the Xid is in the device's name.
        known: `EVENTS` that the last-Xid gauge told; one of the same Xid nearby is not told twice.
        source: The name to quote.

    Returns:
        `EVENTS` of kind `xid` and severity `low`; `count` is by how much the count rose.
    """
    told = known.lazy().select("host", "device", "code", told="time")
    rows = (
        _parts(measured, "xid_window_count", "xid")
        .with_columns(count=pl.col("value") - pl.col("before").fill_null(0.0))
        .filter(pl.col("count") > 0)
        .join(told, on=("host", "device", "code"), how="left", maintain_order="left")
        .with_columns(gap=(pl.col("time") - pl.col("told")).dt.total_microseconds().abs() / 1e6)
        .group_by("host", "device", "code", "order", maintain_order=True)
        .agg(pl.col("time", "position", "count").first(), pl.col("gap").min())
        .filter(~(pl.col("gap") <= WINDOW_SECONDS).fill_null(value=False))
        .with_columns(
            kind=pl.lit("xid"),
            severity=pl.lit("low"),
            message=pl.format(
                METRIC_PREFIX + "Xid {} was counted in the exporter's window", "code"
            ),
        )
    )
    return _events(rows, source)


def health_events(measured: pl.DataFrame, source: str) -> pl.DataFrame:
    """Return one event for each time that a health check of a GPU got worse.

    Args:
        measured: `MEASURED`; 0 is passed, 10 a warning, 20 a failure.
        source: The name to quote.

    Returns:
        `EVENTS` of kind `gpu_health`; `code` is the check.
    """
    failed = pl.col("value") >= 20.0  # noqa: PLR2004 -- the exporter's number for a failure
    rows = (
        _parts(measured, "health_status", "health")
        .filter(pl.col("value") > pl.col("before").fill_null(0.0))
        .with_columns(
            kind=pl.lit("gpu_health"),
            severity=pl.when(failed).then(pl.lit("high")).otherwise(pl.lit("medium")),
            message=pl.format("the exporter's health check {} does not pass", "code"),
        )
    )
    return _events(rows, source)


def _parts(measured: pl.DataFrame, signal: str, kind: str) -> pl.LazyFrame:
    """Return samples of parts of GPUs with the GPU as `device`, the part as `code`."""
    is_part = (pl.col("signal") == signal) & (pl.col("device_kind") == kind)
    return in_order(measured, is_part).with_columns(
        code=pl.col("device").str.extract(_PART, 2), device=pl.col("device").str.extract(_PART, 1)
    )


def _events(rows: pl.LazyFrame, source: str) -> pl.DataFrame:
    named = rows.with_columns(device_kind=pl.lit("gpu"), source=pl.lit(source))
    return conform(named, EVENTS).collect()
