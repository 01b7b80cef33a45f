"""Find devices of which only coarse ratios are left, and that were far from their peers.

An hour's median says neither when a device became slow nor whether it was at work, and the samples
that would tell are gone. So the answer is `unknown`, with what would decide it, and never an
accusation. Source: as `detectors.devices`, whose levels are asked for here too.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import polars as pl

from collectors.frames import require
from collectors.peer_frames import PEER_RATIOS
from detectors.device_values import SPEED_SIGNALS
from detectors.verdicts import Evidence, Level, Subject, Verdict, rfc3339, verdict_frame

_LEVELS: Final[dict[str, Level]] = {"gpu": "gpu", "nic": "nic"}

_DEVICE: Final = ("signal", "device_kind", "host", "device", "index")


@dataclass(frozen=True, slots=True, kw_only=True)
class CoarseParams:
    """When coarse ratios are worth a word.

    Attributes:
        min_steps: Steps far from the peers.
        min_step_share: Share (0-1) of a device's steps that must be far.
        min_peers: Other devices of the group.
    """

    min_steps: int = 3
    min_step_share: float = 0.5
    min_peers: int = 3


def find_coarse_departures(ratios: pl.LazyFrame, params: CoarseParams) -> pl.DataFrame:
    """Return the devices that were far from their peers for hours, as far as ratios tell.

    Args:
        ratios: `PEER_RATIOS`; a null ratio tells nothing.
        params: The thresholds.

    Returns:
        `VERDICTS` of kind unknown, one row a device and signal. Partition key: signal and device.
    """
    slowdown = pl.col("ratio") ** pl.col("signal").replace_strict(
        {name: float(one.bad) for name, one in SPEED_SIGNALS.items()}, return_dtype=pl.Float64
    )
    level = pl.col("signal").replace_strict(
        {name: one.min_level for name, one in SPEED_SIGNALS.items()}, return_dtype=pl.Float64
    )
    is_far = pl.col("slowdown") >= pl.col("level")
    found = (
        ratios.pipe(require, PEER_RATIOS)
        .filter(
            pl.col("signal").is_in(list(SPEED_SIGNALS)),
            pl.col("ratio").is_not_null() & (pl.col("ratio") > 0.0),
            pl.col("peer_count") >= params.min_peers,
        )
        .with_columns(slowdown=slowdown, level=level)
        .group_by(_DEVICE)
        .agg(
            steps=pl.len(),
            far=is_far.sum(),
            first=pl.col("time").filter(is_far).min(),
            last=pl.col("time").filter(is_far).max(),
            slowdown=pl.col("slowdown").filter(is_far).median(),
            peers=pl.col("peer_count").max(),
            step_seconds=pl.col("step_seconds").max(),
        )
        .filter(
            pl.col("far") >= params.min_steps,
            pl.col("far") >= params.min_step_share * pl.col("steps"),
        )
        .sort(_DEVICE, nulls_last=True)
        .collect(engine="streaming")
    )
    return verdict_frame(_verdict(row) for row in found.iter_rows(named=True))


def _verdict(row: dict[str, Any]) -> Verdict:
    end = row["last"] + timedelta(seconds=row["step_seconds"])
    what = (
        f"{row['signal']} {row['slowdown']:.3g}x as slow as the median of its peers in "
        f"{row['far']} of {row['steps']} steps of {row['step_seconds']} s"
    )
    return Verdict(
        kind="unknown",
        level=_LEVELS.get(row["device_kind"], "host"),
        subject=Subject(host=row["host"], device=row["device"], gpu=row["index"]),
        confidence="low",
        onset=row["first"],
        cleared=end,
        peers=f"{row['device_kind']} devices of its group",
        peer_count=row["peers"],
        evidence=(Evidence(source="peer ratios", time=row["first"], what=what),),
        needed=(
            f"raw samples of {row['signal']} and of how busy the device was, from "
            f"{rfc3339(row['first'])} to {rfc3339(end)}: they are gone, and medians of "
            f"{row['step_seconds']} s tell rest from a fault nowhere"
        ),
    )
