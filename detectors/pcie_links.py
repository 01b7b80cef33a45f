"""Find GPUs whose PCIe link runs below what it can, judged under load.

Source: nvidia-smi manual (`pcie.link.gen.current` falls when a GPU idles, to save power); GPU
stream reference, section 4.1. A link that lost lanes has lost them idle or not.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from collectors.frames import SAMPLES, require
from detectors.verdicts import Evidence, Subject, Verdict, verdict_frame

BUSY: Final = "gpu_busy_ratio"

_LEVELS: Final[Mapping[str, str]] = {
    "pcie_link_generation": "pcie_max_link_generation",
    "pcie_link_lanes": "pcie_max_link_lanes",
}
"""What a link runs at, and the most that card and slot can do."""

_NEEDS_LOAD: Final = ("pcie_link_generation",)

_CAUSES: Final = {"pcie_link_generation": "pcie_speed", "pcie_link_lanes": "pcie_width"}
_WORDS: Final = {"pcie_link_generation": "generation", "pcie_link_lanes": "lanes"}
_GPU: Final = ("host", "device")

MANY_READINGS: Final = 3
"""Readings from which a finding is sure: one may have caught the link while it trained."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PcieParams:
    """When a PCIe link is degraded.

    Attributes:
        min_busy_ratio: Busy share from which a GPU is under load.
        min_low_share: Share of the readings that count at which the link is below its best.
    """

    min_busy_ratio: float = 0.5
    min_low_share: float = 0.5

    def __post_init__(self) -> None:
        """Refuse a load that an idle GPU has."""
        if not 0.0 < self.min_busy_ratio <= 1.0:
            raise ValueError(f"min_busy_ratio must be in (0, 1], got {self.min_busy_ratio}")


def find_degraded_pcie(samples: pl.LazyFrame, params: PcieParams) -> pl.DataFrame:
    """Return the GPUs whose PCIe link is slower under load, or narrower, than it can be.

    Args:
        samples: `SAMPLES`; a null value is not known. A GPU whose load is not known is not judged
            by its link's speed.
        params: The thresholds.

    Returns:
        `VERDICTS` of kind slow, cause `pcie_speed` or `pcie_width`, one row a GPU and cause; how
        much the work suffers is not known, so `slowdown` is null. Partition key: host.

    Raises:
        SchemaError: `samples` is not a `SAMPLES`.
    """
    wanted = [BUSY, *_LEVELS, *_LEVELS.values()]
    rows = (
        samples.pipe(require, SAMPLES)
        .filter(
            pl.col("signal").is_in(wanted),
            pl.col("device_kind") == "gpu",
            pl.col("value").is_not_null(),
        )
        .collect()
    )
    found = [row for level in _LEVELS for row in _low(rows, level, params).to_dicts()]
    return verdict_frame(_verdict(row) for row in found)


def _low(rows: pl.DataFrame, level: str, params: PcieParams) -> pl.DataFrame:
    """Return one row a GPU whose link is below its best in most readings that count."""
    moment = [*_GPU, "time"]

    def of(signal: str) -> pl.DataFrame:
        return rows.filter(pl.col("signal") == signal)

    best = of(_LEVELS[level]).group_by(_GPU).agg(best=pl.col("value").max())
    # Readings without a time are one moment: only what holds for all of them is said.
    busy = of(BUSY).group_by(moment).agg(busy=pl.col("value").min())
    readings = (
        of(level)
        .group_by(moment)
        .agg(pl.col("value").max(), pl.col("index", "run").drop_nulls().first())
        .join(best, on=_GPU, how="inner", nulls_equal=True)
        .join(busy, on=moment, how="left", nulls_equal=True)
    )
    loaded = pl.col("busy") >= params.min_busy_ratio
    counted = readings.filter(loaded) if level in _NEEDS_LOAD else readings
    low = pl.col("value") < pl.col("best")
    return (
        counted.sort(moment, nulls_last=True)
        .group_by(_GPU, maintain_order=True)
        .agg(
            pl.col("index", "run", "best").first(),
            level=pl.lit(level),
            value=pl.col("value").filter(low).min(),
            onset=pl.col("time").filter(low).first(),
            last=pl.col("time").filter(low).last(),
            good=pl.col("time").filter(~low).last(),
            low=low.sum(),
            count=pl.len(),
        )
        .filter(pl.col("low") > 0, pl.col("low") >= params.min_low_share * pl.col("count"))
    )


def _verdict(row: dict[str, Any]) -> Verdict:
    word, cause = _WORDS[row["level"]], _CAUSES[row["level"]]
    load = " under load" if row["level"] in _NEEDS_LOAD else ""
    what = (
        f"PCIe {word} {row['value']:.0f} of {row['best']:.0f}{load}, "
        f"in {row['low']} of {row['count']} readings"
    )
    is_over = row["good"] is not None and row["last"] is not None and row["good"] > row["last"]
    return Verdict(
        kind="slow",
        level="gpu",
        subject=Subject(run=row["run"], host=row["host"], gpu=row["index"], device=row["device"]),
        onset=row["onset"],
        detected=row["onset"],
        cleared=row["good"] if is_over else None,
        cause=cause,
        confidence="high" if row["low"] >= MANY_READINGS else "medium",
        evidence=(Evidence(source=row["level"], time=row["onset"], what=what),),
        action="reseat the card or its riser after the next checkpoint; compare with lspci -vv",
    )
