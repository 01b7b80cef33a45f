"""Find pipeline stages that have more work than the others: partitioning, not sick devices.

Source: methods reference, sections 8 and 9; ByteDance's what-if analysis of stragglers
(arXiv 2505.05713), in which an uneven last stage dominates 39 % of straggling jobs. We compare
medians of stages, where that analysis simulates the schedule: enough to tell a stage from a device.
"""

from dataclasses import dataclass
from typing import Final

import polars as pl

from collectors.frames import require
from detectors.paces import PACES
from detectors.verdicts import Evidence, Subject, Verdict, verdict_frame

_RUN: Final = ("run", "attempt")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImbalanceParams:
    """When a stage counts as heavier.

    Attributes:
        min_ratio: Ratio of its median pace to the median of the other stages.
        min_alike_share: Share of its ranks that must show half of the excess.
        min_steps: Steps below which a rank is not counted.
    """

    min_ratio: float = 1.10
    min_alike_share: float = 0.8
    min_steps: int = 10

    def __post_init__(self) -> None:
        """Refuse a ratio that every stage would pass."""
        if self.min_ratio <= 1.0:
            raise ValueError(f"min_ratio must be above 1.0, got {self.min_ratio}")


def find_imbalance(paces: pl.LazyFrame, params: ImbalanceParams) -> pl.DataFrame:
    """Return the stages whose ranks all take longer than the other stages' do.

    Args:
        paces: `PACES`; ranks without a stage are left out.
        params: The thresholds.

    Returns:
        `VERDICTS` of kind imbalance, one row a heavy stage. A stage that only becomes heavy half
        way is a change and left to the others. Partition key: run and attempt.

    Raises:
        SchemaError: `paces` is not a `PACES`.
    """
    ranks = (
        paces.pipe(require, PACES)
        .filter(pl.col("measure") == "busy")
        .drop_nulls(["pp", "pace_seconds"])
        .with_columns(early=pl.col("step") <= pl.col("step").median().over(_RUN))
        .group_by(*_RUN, "pp", "rank")
        .agg(
            pl.col("pace_seconds").median().alias("pace"),
            pl.col("pace_seconds").filter("early").median().alias("early_pace"),
            pl.len().alias("steps"),
        )
        .filter(pl.col("steps") >= params.min_steps)
    )
    heavy = _stages(ranks, params).collect()
    return verdict_frame(_verdict(row) for row in heavy.iter_rows(named=True))


def _stages(ranks: pl.LazyFrame, params: ImbalanceParams) -> pl.LazyFrame:
    """Return heavy stages with their ratio to the other stages."""
    stage = [*_RUN, "pp"]
    medians = ranks.group_by(stage).agg(
        pl.col("pace").median(), pl.col("early_pace").median(), pl.len().alias("ranks")
    )
    others = (
        medians.join(medians, on=_RUN, how="inner", suffix="_other", nulls_equal=True)
        .filter(pl.col("pp") != pl.col("pp_other"))
        .group_by(stage)
        .agg(
            pl.col("pace_other").median(),
            pl.col("early_pace_other").median(),
            pl.len().alias("stages"),
        )
    )
    rated = medians.join(others, on=stage, nulls_equal=True).with_columns(
        ratio=pl.col("pace") / pl.col("pace_other"),
        early_ratio=pl.col("early_pace") / pl.col("early_pace_other"),
    )
    half = 1.0 + (pl.col("ratio") - 1.0) / 2.0
    alike = (
        ranks.join(rated, on=stage, suffix="_stage", nulls_equal=True)
        .group_by(stage)
        .agg((pl.col("pace") >= pl.col("pace_other") * half).mean().alias("alike"))
    )
    return rated.join(alike, on=stage, nulls_equal=True).filter(
        pl.col("ratio") >= params.min_ratio,
        pl.col("early_ratio") >= params.min_ratio,
        pl.col("alike") >= params.min_alike_share,
    )


def _verdict(row: dict[str, object]) -> Verdict:
    stage, ratio = int(str(row["pp"])), float(str(row["ratio"]))
    what = (
        f"all {row['ranks']} ranks of stage {stage} take x{ratio:.2f} of the other "
        f"{row['stages']} stages, from the first step on"
    )
    return Verdict(
        kind="imbalance",
        level="group",
        subject=Subject(
            run=None if row["run"] is None else str(row["run"]),
            attempt=None if row["attempt"] is None else int(str(row["attempt"])),
            pp=stage,
        ),
        onset_before_data=True,
        slowdown=ratio,
        cause="partitioning",
        confidence="high",
        peers="the other stages of the same attempt",
        peer_count=int(str(row["stages"])),
        evidence=(Evidence(source="steps", what=what),),
        action="no device to drain: move layers (or the loss head) off this stage",
    )
