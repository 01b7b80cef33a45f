"""Doubts about the unit of throttle counters: warned of, never converted.

Their help said microseconds for years where they count nanoseconds. In nanoseconds a GPU cannot be
throttled for longer than time passes, and one that is throttled throughout counts all of it.
Source: NVIDIA/dcgm-exporter PR #589, NVIDIA/DCGM #266.
"""

from collections.abc import Mapping
from typing import Final

import polars as pl

from collectors.frames import EVENTS, conform

_COUNTERS: Final[Mapping[str, int]] = {
    "thermal_violation_seconds_total": 0x60,
    "power_violation_seconds_total": 0x84,
}
"""Counter, and the bits of the mask of reasons that say that it must be counting."""

MAX_SHARE: Final = 1.1
"""Above this much of the time, the counter counts another unit; stamps are a little inexact."""

MAX_IDLE_SHARE: Final = 0.0011
"""A counter of microseconds, read as nanoseconds, shows this much of a full throttle."""


def unit_warnings(measured: pl.DataFrame, source: str) -> pl.DataFrame:
    """Return one warning for each GPU and counter whose unit may be another one.

    Args:
        measured: `MEASURED`; samples without a time say nothing here.
        source: The name to quote.

    Returns:
        `EVENTS` of kind `warning` and code `unit_suspect`.
    """
    at = ("host", "device", "time")
    gpus = measured.lazy().filter(pl.col("device_kind") == "gpu").drop_nulls(["value", "time"])
    masks = gpus.filter(pl.col("signal") == "clock_event_reasons").select(
        *at, mask=pl.col("value").cast(pl.Int64)
    )
    bits = pl.col("signal").replace_strict(_COUNTERS, default=0, return_dtype=pl.Int64)
    is_full = ((pl.col("mask") & bits) != 0).fill_null(value=False)
    grown = pl.col("value").diff().over("entity")
    seconds = pl.col("time").diff().over("entity").dt.total_microseconds() / 1e6
    share = pl.col("grown") / pl.col("seconds")
    throughout = is_full & is_full.shift().over("entity").fill_null(value=False)
    rows = (
        gpus.filter(pl.col("signal").is_in(list(_COUNTERS)))
        .join(masks, on=at, how="left", nulls_equal=True, maintain_order="left")
        .sort("time", "position")
        .with_columns(grown=grown, seconds=seconds, throughout=throughout)
        .filter(pl.col("grown") > 0, pl.col("seconds") > 0)
        .filter((share > MAX_SHARE) | (pl.col("throughout") & (share <= MAX_IDLE_SHARE)))
        .group_by("host", "device", "signal", maintain_order=True)
        .agg(pl.col("time", "position").first(), count=pl.len())
        .with_columns(
            device_kind=pl.lit("gpu"),
            kind=pl.lit("warning"),
            code=pl.lit("unit_suspect"),
            severity=pl.lit("low"),
            message=pl.format("{} does not count nanoseconds, or not all of them", "signal"),
            source=pl.lit(source),
        )
    )
    return conform(rows, EVENTS).collect()
