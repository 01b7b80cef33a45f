"""Find slow ranks in reports that are too few for statistics, where the difference is plain.

Source: progress reference, section 1.5 (timers of all ranks, printed once an interval) and the
persistence of the rank-straggler policy quoted in section 13.4: two steps are enough to warn. A
rank that is not listed is not known, which is not fast.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from collectors.frames import STEPS, require
from detectors.paces import rank_paces
from detectors.verdicts import Evidence, Subject, Verdict, verdict_frame

_GROUP: Final = ("run", "attempt", "pp", "ep")

_SECONDS: Final = ("pace_seconds", "data_seconds")

_MEASURES: Final = ("busy", "fed")

_MIN_CAUSE_SHARE: Final = 0.8
"""A phase is named where it holds so much of the excess; the policy of section 13.4."""

MAX_NAMED_RANKS: Final = 16
"""Ranks without a figure that the evidence lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortReportParams:
    """When few reports accuse a rank.

    Attributes:
        max_reports: With more steps than these the detector of stragglers judges: less a tenth for
            the warm-up, it wants ten.
        min_slowdown: Least ratio to the median of the others, in each report.
        min_peers: Others that must be known in a report.
        max_share: Share of the ranks above which it is no single rank's matter.
    """

    max_reports: int = 11
    min_slowdown: float = 1.3
    min_peers: int = 2
    max_share: float = 0.34

    def __post_init__(self) -> None:
        """Refuse a threshold that every rank would pass."""
        if self.min_slowdown <= 1.0:
            raise ValueError(f"min_slowdown must be above 1.0, got {self.min_slowdown}")


def find_short_reports(
    steps: pl.LazyFrame, roles: pl.LazyFrame, params: ShortReportParams
) -> pl.DataFrame:
    """Return the ranks that work plainly longer than their peers in a few reports.

    Args:
        steps: `STEPS`, with the first ones, which are a good part of a few.
        roles: `ROLES`; ranks of one stage are compared.
        params: The thresholds.

    Returns:
        `VERDICTS` of kind slow at level rank, where ranks tell how long they work, or in lockstep
        how long they wait for their data: whole steps and other waits tell too little at once. One
        report gives low confidence, more medium. Partition key: run, attempt, stage.

    Raises:
        SchemaError: `steps` is not a `STEPS`.
    """
    reports = pl.col("step").n_unique().over("run", "attempt")
    few = (
        steps.pipe(require, STEPS)
        .drop_nulls(["rank", "step"])
        .filter(_tells_work(), reports <= params.max_reports)
    )
    rows = rank_paces(few, roles).filter(pl.col("measure").is_in(_MEASURES)).collect()
    parts = rows.partition_by(_GROUP, maintain_order=False)
    return verdict_frame(one for part in parts for one in _judged(part, params))


def _tells_work() -> pl.Expr:
    """Return whether a rank tells its compute, or without it its data."""
    compute, data = pl.col("compute_seconds"), pl.col("data_seconds")
    return (compute > 0) | (compute.is_null() & (data >= 0))


def _judged(part: pl.DataFrame, params: ShortReportParams) -> Iterator[Verdict]:
    """Yield the verdicts of a group of ranks that play the same part."""
    others = pl.struct("rank", *_SECONDS)
    mates = part.group_by("step").agg(mates=others)
    pairs = part.join(mates, on="step").explode("mates", empty_as_null=False)
    mate = pl.col("mates").struct.field("rank") != pl.col("rank")
    peer, data = (pl.col("mates").struct.field(name) for name in _SECONDS)
    reports = (
        pairs.filter(mate)
        .group_by("rank", "step", "host", "end_time", "pace_seconds", "data_seconds")
        .agg(usual=peer.median(), usual_data=data.median(), peers=pl.len())
        .filter(pl.col("peers") >= params.min_peers)
        .with_columns(ratio=pl.col("pace_seconds") / pl.col("usual"))
    )
    found = (
        reports.sort("rank", "step")
        .group_by("rank", "host", maintain_order=True)
        .agg(
            pl.col("step", "end_time").first(),
            pl.col("ratio", "usual", "pace_seconds").median(),
            pl.col("peers").min(),
            data_excess=(pl.col("data_seconds") - pl.col("usual_data")).median(),
            least=pl.col("ratio").min(),
            reports=pl.len(),
        )
        .filter(pl.col("least") >= params.min_slowdown)
    )
    ranks = part["rank"].unique().sort().to_list()
    if found.height > params.max_share * len(ranks):
        return
    job = part.row(0, named=True)
    for row in found.iter_rows(named=True):
        yield _verdict(row, job, ranks)


def _verdict(row: dict[str, Any], job: dict[str, Any], ranks: list[int]) -> Verdict:
    absent = sorted(set(range(ranks[-1])) - set(ranks))[:MAX_NAMED_RANKS] if ranks else []
    names = ", ".join(str(rank) for rank in absent)
    what = (
        f"works {row['pace_seconds']:.4g} s a step, x{row['ratio']:.2f} of the median of "
        f"{row['peers']} others ({row['usual']:.4g} s), in {row['reports']} of as many reports"
    )
    seen = [what]
    seen += [f"no figure of rank {names}: not known, not fast"] if absent else []
    return Verdict(
        kind="slow",
        level="rank",
        subject=Subject(
            run=job["run"],
            attempt=job["attempt"],
            host=row["host"],
            rank=row["rank"],
            pp=job["pp"],
            ep=job["ep"],
        ),
        onset=row["end_time"],
        detected=row["end_time"],
        onset_step=row["step"],
        slowdown=row["ratio"],
        cause=_cause(row),
        confidence="medium" if row["reports"] > 1 else "low",
        peers="same attempt",
        peer_count=row["peers"],
        evidence=tuple(Evidence(source="steps", time=row["end_time"], what=one) for one in seen),
        action="look at the device signals of this rank's GPU and host",
        needed="more reports, or the stages of the ranks, if the model is cut unevenly",
    )


def _cause(row: dict[str, Any]) -> str | None:
    """Return the phase that holds the excess: data, compute, or null where both share it."""
    if row["data_excess"] is None:
        return "compute"
    share = row["data_excess"] / (row["pace_seconds"] - row["usual"])
    if share >= _MIN_CAUSE_SHARE:
        return "data"
    return "compute" if share <= 1.0 - _MIN_CAUSE_SHARE else None
