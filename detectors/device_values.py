"""The values of speed signals that may be compared: of devices at work, whose telemetry lives.

Source: methods reference, sections 1 (idle, stale) and 8. What a device does at rest says nothing
of how fast it is, and what a frozen exporter repeats says nothing at all.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import polars as pl

from detectors.cleaning import CleaningParams, fresh_gauges
from detectors.telemetry import NOISY_SIGNALS

NAMES: Final = ("host", "device", "index", "device_kind", "model", "run", "signal")
"""Columns that name a device and its signal."""

_AT: Final = ("host", "device", "time")


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedSignal:
    """A signal that says how fast a device works.

    Attributes:
        bad: +1 if more is slower, -1 if less is slower.
        quantum: Step of the source, in the signal's unit; 0 if it has none.
        min_slowdown: Least ratio to the own good level.
        min_level: Least ratio to the peers for a device that was slow throughout.
        host_peers: Peers are the devices of the same host instead of the same run and model.
        under_load: Only ticks count at which the device is known to be busy, if that is reported.
    """

    bad: int
    quantum: float = 0.0
    min_slowdown: float = 1.05
    min_level: float = 1.10
    host_peers: bool = False
    under_load: bool = False


SPEED_SIGNALS: Final[Mapping[str, SpeedSignal]] = {
    "sm_clock_hertz": SpeedSignal(bad=-1, quantum=15e6, under_load=True),
    "memory_clock_hertz": SpeedSignal(bad=-1, quantum=1e6, under_load=True),
    "latency_seconds": SpeedSignal(bad=1, min_slowdown=1.2, min_level=1.5, host_peers=True),
    "latency": SpeedSignal(bad=1, min_slowdown=1.2, min_level=1.5, host_peers=True),
}
"""Clocks: 5 % below peers is beyond what one model's silicon and a step of 15 MHz explain. Latency
of a drive: the level at the fleet's 99.9 % point (methods reference, section 4)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueParams:
    """Which values may be compared.

    Attributes:
        cleaning: When a gauge is stale.
        min_busy_ratio: Busy share from which a GPU is under load.
        min_clock_ratio: Where no busy share is reported, a GPU whose clock is below this share of
            its group's highest may as well be idle, so that reading is not known.
    """

    cleaning: CleaningParams = field(default_factory=CleaningParams)
    min_busy_ratio: float = 0.5
    min_clock_ratio: float = 0.5


def cleaned_values(rows: pl.LazyFrame, name: str, params: ValueParams) -> pl.LazyFrame:
    """Return the values of a speed signal that may be compared: not frozen, and under load."""
    mine = rows.filter(pl.col("signal") == name).select(*NAMES, "time", "value")
    fresh = _not_frozen(mine, rows, params)
    return _under_load(fresh, rows, params) if SPEED_SIGNALS[name].under_load else fresh


def _not_frozen(values: pl.LazyFrame, rows: pl.LazyFrame, params: ValueParams) -> pl.LazyFrame:
    """Return the values without those of times at which a device's telemetry is frozen.

    A clock may rightly stand still; power never does, so it tells.
    """
    noisy = rows.filter(pl.col("signal").is_in(NOISY_SIGNALS))
    stale = fresh_gauges(noisy, params.cleaning).filter("stale").select(*_AT).collect()
    if stale.is_empty():
        return values
    return values.join(stale.lazy(), on=_AT, how="anti", nulls_equal=True)


def _under_load(values: pl.LazyFrame, rows: pl.LazyFrame, params: ValueParams) -> pl.LazyFrame:
    """Return the values at ticks where the device is busy, as far as anybody can tell."""
    told = rows.filter(pl.col("signal") == "gpu_busy_ratio", pl.col("value").is_not_null())
    busy = (
        told.group_by(_AT)
        .agg((pl.col("value").max() >= params.min_busy_ratio).alias("at_work"))
        .collect(engine="streaming")
    )
    group = ["device_kind", "run", "model"]
    ends = values.group_by(group).agg(
        pl.col("value").min().alias("least"), pl.col("value").max().alias("most")
    )
    limit = params.min_clock_ratio * pl.col("most")
    limits = ends.with_columns(limit=limit).collect(engine="streaming")
    is_fast = limits.select((pl.col("least") >= pl.col("limit")).all()).item()
    if busy.is_empty() and is_fast:
        return values
    work = pl.col("at_work")
    fast = (pl.col("value") >= pl.col("limit")).fill_null(value=False)
    return (
        values.join(busy.lazy(), on=_AT, how="left", nulls_equal=True)
        .join(limits.lazy().select(*group, "limit"), on=group, how="left", nulls_equal=True)
        .filter(
            pl.when(fast).then(work.fill_null(value=True)).otherwise(work.fill_null(value=False))
        )
        .drop("at_work", "limit")
    )


def log_values(values: pl.LazyFrame, signal: SpeedSignal) -> pl.LazyFrame:
    """Return values with their `log_value`, where worse is more, and their `peer_host`.

    Args:
        values: Cleaned values, by `cleaned_values`.
        signal: The signal.
    """
    return values.with_columns(
        log_value=pl.when(pl.col("value") > 0).then(pl.col("value").log() * signal.bad),
        peer_host=pl.col("host") if signal.host_peers else pl.lit(None, dtype=pl.String),
    )
