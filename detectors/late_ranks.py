"""Find the rank that comes last to the collectives: the one that waits in them for the least time.

Source: methods of the NCCL reference, sections 6.1 and 12.5. The time of a collective holds the
wait for the slowest, so everybody is long but the one whom the others wait for. Only times of one
timing source are compared, and only where every rank of the collective reported it: gaps are no
evidence.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class LateParams:
    """When a rank is late.

    Attributes:
        max_own_ratio: Its time in a collective, of the second shortest, at or below which it came
            last there.
        min_collectives: So many collectives of a group that all ranks reported, at least.
        min_share: Of them in which the same rank came last.
        min_wait_seconds: The others wait so long for it, at least.
        min_world: A group of fewer ranks has no majority.
    """

    max_own_ratio: float = 0.75
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
    ends = _ends(_whole(transfers.pipe(require, TRANSFERS), params.min_world))
    is_clear = (pl.col("own") <= params.max_own_ratio * pl.col("other")).fill_null(value=False)
    group = ["run", "group", "timing", "world"]
    late = (
        ends.with_columns(is_clear=is_clear, all=pl.len().over(group))
        .filter("is_clear")
        .group_by(*group, "all", "last", "host")
        .agg(
            count=pl.len(),
            wait=(pl.col("others") - pl.col("own")).median(),
            onset=pl.col("time").min(),
            **_FIRST_LINE,
        )
        .filter(
            pl.col("all") >= params.min_collectives,
            pl.col("count") >= params.min_share * pl.col("all"),
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


def _ends(whole: pl.LazyFrame) -> pl.LazyFrame:
    """Return one row a collective: who came last, its time, and that of the others."""
    last = {name: pl.col(name).sort_by("seconds", "rank").first() for name in ("rank", "host")}
    return whole.group_by(*_ONE).agg(
        own=pl.col("seconds").min(),
        other=pl.col("seconds").sort().get(1, null_on_oob=True),
        others=pl.col("seconds").median(),
        last=last["rank"],
        host=last["host"],
        world=pl.col("world").first(),
        time=pl.col("time").min(),
        **_FIRST_LINE,
    )


def _whole(transfers: pl.LazyFrame, min_world: int) -> pl.LazyFrame:
    """Return the collectives that every rank of their group timed in the same way."""
    known = transfers.filter(
        pl.col("timing").is_in(TRUSTED_TIMING),
        pl.col("peer_rank").is_null(),
        pl.col("operation").str.contains(_SYMMETRIC),
    )
    return (
        known.drop_nulls(["group", "operation", "sequence", "rank", "world", "seconds"])
        .unique([*_ONE, "rank", "seconds"], keep="first", maintain_order=True)
        .filter(
            pl.col("world") >= min_world,
            pl.len().over(_ONE) == pl.col("world"),
            pl.col("rank").n_unique().over(_ONE) == pl.col("world"),
        )
    )


def _verdict(row: dict[str, Any], largest: int) -> Verdict:
    """Return the verdict on one rank; its number is the job's in the largest group alone."""
    rank = row["last"] if row["world"] == largest else None
    name = f"rank {row['last']} of group {row['group']}"
    what = (
        f"{name} came last to {row['count']} of {row['all']} collectives; "
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
