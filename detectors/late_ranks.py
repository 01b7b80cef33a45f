"""Find the rank that comes last to the collectives: the one that waits in them for the least time.

Source: methods of the NCCL reference, sections 6.1 and 12.5. The time of a collective holds the
wait for the slowest, so everybody is long but the one whom the others wait for. Only times of one
timing source are compared, and only in groups of which every rank is heard: who never reports may
be the one. Reports that are lost now and then do no harm.
"""

from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from collectors.frames import TRANSFERS, require
from detectors.quotes import quoted_place
from detectors.verdicts import Evidence, Subject, Verdict, verdict_frame

TRUSTED_TIMING: Final = ("kernel_gpu", "kernel_cpu")
"""Sources that time the kernel; a host's call tells nothing of who came when."""

_SYMMETRIC: Final = r"(?i)all|reduce_?scatter|barrier"
"""Operations that no rank can leave before all have come; the root of a broadcast can."""

_ONE: Final = ("run", "group", "operation", "sequence", "timing")

_GROUP: Final = ("run", "group", "timing", "world")


@dataclass(frozen=True, slots=True, kw_only=True)
class LateParams:
    """When a rank is late.

    Attributes:
        max_own_ratio: Its time in a collective, of the second shortest, at or below which it came
            last there.
        min_reported_share: Of the ranks that reported a collective, below which it tells nothing.
        min_collectives: So many collectives of a group that tell, at least.
        min_share: Of those that a rank reported, in which it came last.
        min_wait_seconds: The others wait so long for it, at least.
        min_world: A group of fewer ranks has no majority.
    """

    max_own_ratio: float = 0.75
    min_reported_share: float = 0.6
    min_collectives: int = 20
    min_share: float = 0.8
    min_wait_seconds: float = 1e-4
    min_world: int = 3


def find_late_ranks(transfers: pl.LazyFrame, params: LateParams) -> pl.DataFrame:
    """Return the ranks that keep their group waiting.

    Args:
        transfers: `TRANSFERS` of profilers; rows without group, rank, sequence or world tell
            nothing here.
        params: The thresholds.

    Returns:
        `VERDICTS` of kind slow and cause arrives_last, one a rank of a group, without a slowdown:
        how long the others wait is no ratio of its speed. Partition key: run.

    Raises:
        SchemaError: A frame lacks a column.
    """
    told = _told(transfers.pipe(require, TRANSFERS), params)
    is_clear = (pl.col("own") <= params.max_own_ratio * pl.col("other")).fill_null(value=False)
    reports = told.group_by(*_GROUP, last="rank").agg(reported=pl.len())
    late = (
        _ends(told)
        .with_columns(is_clear=is_clear, all=pl.len().over(_GROUP))
        .filter("is_clear")
        .join(reports, on=[*_GROUP, "last"], nulls_equal=True)
        .group_by(*_GROUP, "all", "reported", "last", "host")
        .agg(
            count=pl.len(),
            wait=(pl.col("others") - pl.col("own")).median(),
            onset=pl.col("time").min(),
            **_FIRST_LINE,
        )
        .filter(
            pl.col("all") >= params.min_collectives,
            pl.col("count") >= params.min_share * pl.col("reported"),
            pl.col("wait") >= params.min_wait_seconds,
        )
        .sort("run", "group", "timing", "last")
        .collect()
    )
    rows = late.to_dicts()
    largest = max((row["world"] for row in rows), default=0)
    return verdict_frame(_verdict(row, largest) for row in rows)


_FIRST_LINE: Final = {
    name: pl.col(name).sort_by("source", "position").first() for name in ("source", "position")
}


def _ends(told: pl.LazyFrame) -> pl.LazyFrame:
    """Return one row a collective: who came last, its time, and that of the others."""
    last = {name: pl.col(name).sort_by("seconds", "rank").first() for name in ("rank", "host")}
    return told.group_by(*_ONE).agg(
        own=pl.col("seconds").min(),
        other=pl.col("seconds").sort().get(1, null_on_oob=True),
        others=pl.col("seconds").median(),
        last=last["rank"],
        host=last["host"],
        world=pl.col("world").first(),
        time=pl.col("time").min(),
        **_FIRST_LINE,
    )


def _told(transfers: pl.LazyFrame, params: LateParams) -> pl.LazyFrame:
    """Return the collectives that most ranks timed in the same way, of groups heard as a whole."""
    known = transfers.filter(
        pl.col("timing").is_in(TRUSTED_TIMING),
        pl.col("peer_rank").is_null(),
        pl.col("operation").str.contains(_SYMMETRIC),
    )
    least = pl.max_horizontal(
        pl.lit(float(params.min_world)), params.min_reported_share * pl.col("world")
    )
    return (
        known.drop_nulls(["group", "operation", "sequence", "rank", "world", "seconds"])
        .unique([*_ONE, "rank", "seconds"], keep="first", maintain_order=True)
        .filter(
            pl.col("world") >= params.min_world,
            pl.len().over(_ONE) == pl.col("rank").n_unique().over(_ONE),
            pl.len().over(_ONE) >= least,
            pl.col("rank").n_unique().over(_GROUP) == pl.col("world"),
        )
    )


def _verdict(row: dict[str, Any], largest: int) -> Verdict:
    """Return the verdict on one rank; its number is the job's in the largest group alone."""
    rank = row["last"] if row["world"] == largest else None
    name = f"rank {row['last']} of group {row['group']}"
    what = (
        f"{name} came last to {row['count']} of {row['reported']} collectives; "
        f"the others wait {row['wait'] * 1e3:.3g} ms in each ({row['timing']})"
    )
    return Verdict(
        kind="slow",
        level="rank",
        subject=Subject(run=row["run"], host=row["host"], rank=rank, group=row["group"]),
        onset=row["onset"],
        detected=row["onset"],
        cause="arrives_last",
        confidence="medium",
        peers="ranks of the same group in the same collectives",
        peer_count=row["world"] - 1,
        evidence=(Evidence(source=quoted_place(row), time=row["onset"], what=what),),
        victims=(f"the other ranks of group {row['group']}",),
        action="compare this rank's compute, input and GPU clocks with its peers'",
        needed="step phases or device telemetry of this rank tell why it is late",
    )
