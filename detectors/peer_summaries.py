"""Fold samples into what stays of them: statistics of groups of peers, and ratios to peers.

Source: methods reference, sections 2 and 3. Both are made of medians of devices over a step, so
that a device that was scraped twice as often does not count twice.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import polars as pl

from collectors.frames import SAMPLES, conform, require
from collectors.peer_frames import PEER_RATIOS, PEER_STATISTICS

GROUP: Final = ("device_kind", "model", "run", "peer_host", "signal")
"""Devices that can be compared."""

_DEVICE: Final = ("host", "device", "index")

HOST_PEERS: Final = ("disk",)
"""Kinds of devices whose peers are those of their host."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryParams:
    """How finely samples are folded.

    Attributes:
        group_step: Width of a step of the groups' statistics.
        device_step: Width of a step of the devices' ratios; a fleet has thousands of devices.
    """

    group_step: timedelta = timedelta(minutes=5)
    device_step: timedelta = timedelta(hours=1)

    def __post_init__(self) -> None:
        """Refuse steps that do not divide a day: a day is folded by itself."""
        for name, step in (("group_step", self.group_step), ("device_step", self.device_step)):
            if step < timedelta(seconds=1) or timedelta(days=1) % step:
                raise ValueError(f"{name} must divide a day, such as 5 minutes; got {step}")


def fold_groups(samples: pl.LazyFrame, params: SummaryParams) -> pl.DataFrame:
    """Return how groups of peers were.

    Args:
        samples: `SAMPLES`; rows without a time or a value tell nothing.
        params: How finely.

    Returns:
        `PEER_STATISTICS`, by time and group.
    """
    middle = pl.col("median")
    quantiles = {f"q{at:02d}": middle.quantile(at / 100, "linear") for at in (5, 25, 75, 95)}
    folded = (
        _medians(samples, params.group_step)
        .group_by("time", *GROUP)
        .agg(
            device_count=pl.len().cast(pl.Int64),
            sample_count=pl.col("sample_count").sum(),
            mad=(middle - middle.median()).abs().median(),
            **quantiles,
            median=middle.median(),
        )
        .with_columns(step_seconds=_seconds(params.group_step))
        .sort("time", *GROUP, nulls_last=True)
    )
    return conform(folded, PEER_STATISTICS).collect(engine="streaming")


def fold_devices(samples: pl.LazyFrame, params: SummaryParams) -> pl.DataFrame:
    """Return how far devices were from their peers.

    Args:
        samples: `SAMPLES`; rows without a time or a value tell nothing.
        params: How finely.

    Returns:
        `PEER_RATIOS`, by host, device, signal and time. The device itself is in the median of its
        group, which draws small groups towards 1: a ratio never says too much.
    """
    medians = _medians(samples, params.device_step)
    groups = medians.group_by("time", *GROUP).agg(
        peer_median=pl.col("median").median(), peer_count=pl.len().cast(pl.Int64) - 1
    )
    peers = pl.when(pl.col("peer_median") != 0.0).then("peer_median")
    folded = (
        medians.join(groups, on=["time", *GROUP], how="left", nulls_equal=True)
        .with_columns(ratio=pl.col("median") / peers, step_seconds=_seconds(params.device_step))
        .sort("host", "device", "signal", "time", nulls_last=True)
    )
    return conform(folded, PEER_RATIOS).collect(engine="streaming")


def _medians(samples: pl.LazyFrame, step: timedelta) -> pl.LazyFrame:
    """Return the median of each device and signal over each step."""
    known = pl.col("value").is_not_null() & pl.col("value").is_not_nan()
    is_local = pl.col("device_kind").is_in(HOST_PEERS)
    return (
        samples.pipe(require, SAMPLES)
        .drop_nulls("time")
        .filter(known)
        .with_columns(
            time=pl.col("time").dt.truncate(step), peer_host=pl.when(is_local).then("host")
        )
        .group_by("time", *GROUP, *_DEVICE)
        .agg(median=pl.col("value").median(), sample_count=pl.len().cast(pl.Int64))
    )


def _seconds(step: timedelta) -> pl.Expr:
    return pl.lit(int(step.total_seconds()), pl.Int32)
