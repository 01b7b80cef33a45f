"""Find runs whose loss scale stands at its minimum and still overflows.

Source: progress reference, sections 1.2 and 3: mixed precision halves its loss scale when gradients
overflow, and skips the step. That is how a run begins, and with hysteresis the first overflows
leave the scale as it is. A scale of 1 that is cut to 1, or one that is kept again and again, falls
no further, and every step is skipped from there on.
"""

from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from collectors.frames import EVENTS, require
from detectors.verdicts import Evidence, Subject, Verdict, verdict_frame

_SIDES: Final = r"^([0-9.e+-]+)->([0-9.e+-]+)$"

MAX_NAMED_RANKS: Final = 8
"""Ranks that the evidence names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleParams:
    """When a loss scale is stuck.

    Attributes:
        max_floor: A scale up to here that is kept is at its minimum (DeepSpeed's default is 1).
        min_kept: How often any other scale must be kept, without ever being cut.
    """

    max_floor: float = 1.0
    min_kept: int = 5


def find_stuck_scales(events: pl.LazyFrame, params: ScaleParams) -> pl.DataFrame:
    """Return the runs whose loss scale overflows and is not cut any more.

    Args:
        events: `EVENTS`; of kind loss_scale the code is `from->to`.
        params: When a scale is stuck.

    Returns:
        `VERDICTS` of kind numerical at level job, cause loss_scale_at_minimum, one row a run. Which
        rank says so is no accusation: the overflow is found together. Partition key: run.
    """
    before, after = (pl.col("code").str.extract(_SIDES, at) for at in (1, 2))
    told = (
        events.pipe(require, EVENTS)
        .filter(pl.col("kind") == "loss_scale", before.is_not_null())
        .with_columns(scale=before, kept=before == after)
        .sort("time", "source", "position", nulls_last=True)
    )
    scale = ["run", "scale"]
    times = pl.col("kept").sum().over(*scale, "rank")
    is_floor = pl.col("scale").cast(pl.Float64, strict=False) <= params.max_floor
    is_stuck = is_floor | ((times >= params.min_kept) & pl.col("kept").all().over(scale))
    rows = (
        told.filter(pl.col("kept"), is_stuck)
        .group_by("run", maintain_order=True)
        .agg(
            pl.col("time", "source", "message", "scale").first(),
            pl.col("count").fill_null(1).sum(),
            ranks=pl.col("rank").drop_nulls().unique().sort(),
        )
        .collect()
    )
    return verdict_frame(_verdict(row) for row in rows.iter_rows(named=True))


def _verdict(row: dict[str, Any]) -> Verdict:
    ranks = ", ".join(str(rank) for rank in row["ranks"][:MAX_NAMED_RANKS])
    told = f", told by rank {ranks}" if ranks else ""
    what = f"loss scale {row['scale']} overflows and is kept, {row['count']} times{told}"
    return Verdict(
        kind="numerical",
        level="job",
        subject=Subject(run=row["run"]),
        onset=row["time"],
        detected=row["time"],
        cause="loss_scale_at_minimum",
        confidence="high",
        evidence=(
            Evidence(source=row["source"] or "events", time=row["time"], what=what),
            Evidence(source=row["source"] or "events", time=row["time"], what=row["message"] or ""),
        ),
        action="stop the run: each step is skipped; restore a checkpoint from before the overflows",
        needed="loss and gradient norm before the first overflow tell divergence from bad data",
    )
