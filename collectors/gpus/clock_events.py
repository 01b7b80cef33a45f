"""Events from the mask of clock event reasons: when a GPU began to be throttled, and by what.

The mask is an instant sample: short throttles are missed, which the counters of nanoseconds are
not. Source: NVIDIA NVML `nvmlClocksEventReasons`; GPU idle, clock settings, the software power
cap and sync boost are no faults of the GPU.
"""

from collections.abc import Mapping
from typing import Final

import polars as pl

from collectors.frames import EVENTS, conform
from collectors.gpus.measured_order import in_order
from collectors.texts.event_labels import event_labels

REASONS: Final[Mapping[str, int]] = {
    "gpu_idle": 0x1,
    "clocks_setting": 0x2,
    "power_cap": 0x4,
    "hw_slowdown": 0x8,
    "sync_boost": 0x10,
    "sw_thermal": 0x20,
    "hw_thermal": 0x40,
    "hw_power_brake": 0x80,
    "display_clocks": 0x100,
}
"""Names as dcgm-exporter gives them, and bits as NVML does; higher bits are not known."""

THROTTLES: Final = ("hw_slowdown", "sw_thermal", "hw_thermal", "hw_power_brake")

_UMBRELLA: Final = REASONS["hw_slowdown"]
_UNDER_IT: Final = REASONS["hw_thermal"] | REASONS["hw_power_brake"]


def reason_names(mask: pl.Expr, wanted: tuple[str, ...] = tuple(REASONS)) -> pl.Expr:
    """Return the names of the bits that are set in an integer mask, joined by commas."""
    names = [
        pl.when((mask & REASONS[name]) != 0).then(pl.lit(name)).otherwise(pl.lit(None, pl.String))
        for name in wanted
    ]
    return pl.concat_list(names).list.drop_nulls().list.join(",")


def throttle_events(measured: pl.DataFrame, source: str) -> pl.DataFrame:
    """Return one event for each GPU and each set of reasons that slowed it down.

    Args:
        measured: `MEASURED`; a null mask says nothing.
        source: The name to quote.

    Returns:
        `EVENTS` of kind `clock_throttle` at the first sample with the reasons; `code` names them
        (hardware slowdown is an umbrella over two others and not named beside them), `count` is
        how often they set in and `last` when they last did; the attribute `reasons` has all bits.
    """
    mask = pl.col("value").cast(pl.Int64)
    told = pl.when((mask & _UNDER_IT) != 0).then(mask & ~pl.lit(_UMBRELLA)).otherwise(mask)
    gpu = ("host", "device", "code")
    is_mask = (pl.col("signal") == "clock_event_reasons") & (pl.col("device_kind") == "gpu")
    rows = (
        in_order(measured, is_mask)
        .with_columns(code=reason_names(told, THROTTLES), reasons=reason_names(mask))
        .with_columns(before=pl.col("code").shift().over("entity"))
        .filter(pl.col("code") != "", pl.col("code").ne_missing(pl.col("before")))
        .group_by(gpu, maintain_order=True)
        .agg(
            pl.col("time", "position", "reasons").first(),
            count=pl.len(),
            last=pl.when(pl.len() > 1).then(pl.col("time").last()),
        )
        .with_columns(
            device_kind=pl.lit("gpu"),
            kind=pl.lit("clock_throttle"),
            severity=pl.lit("medium"),
            message=pl.format("the clocks are held down: {}", "reasons"),
            attributes=event_labels({"reasons": pl.col("reasons")}),
            source=pl.lit(source),
        )
    )
    return conform(rows, EVENTS).collect()
