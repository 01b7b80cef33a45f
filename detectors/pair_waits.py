"""Who waits for whom where ranks stand in sends and receives alone: a pipeline that hangs.

Source: methods of the NCCL and PyTorch reference, sections 10.1 and 12.3. A flight recorder tells
the peer of each send and receive. Where nobody stands in a collective, the waits of pairs are the
graph: its end is who has no dump, or nothing left to do. A call inside a batch may stay scheduled
for ever, so one with a finished call behind it is no wait.
"""

from typing import Final

import polars as pl

from collectors.texts.templates import filled
from detectors.standings import MEMBERS

_WAITING: Final = ("scheduled", "started")

_CALL: Final = r"(?i)^(?:send \d+->|recv \d+<-)(\d+)"

_OWN: Final = ("run", "scope", "group", "rank")


def pair_members(collectives: pl.LazyFrame, members: pl.LazyFrame) -> pl.LazyFrame:
    """Return `MEMBERS` of a group of two for each send or receive in which a rank waits.

    Args:
        collectives: What `ranked` returns.
        members: `MEMBERS`; runs in which somebody waits in a collective have no rows here.

    Returns:
        The rank that waits, in number 0, and its peer if anything was heard of it, before it;
        `peer` is the other one of the two.
    """
    stands = members.filter(~pl.col("pairs")).drop_nulls("blocked").select("run").unique()
    rows = collectives.join(stands, on="run", how="anti", nulls_equal=True).drop_nulls("rank")
    done = pl.col("position").filter(pl.col("state") == "completed").max().over(_OWN, "source")
    at = pl.col("operation").str.extract(_CALL).cast(pl.Int64)
    edges = (
        rows.with_columns(
            peer=pl.col("group_ranks").list.get(at, null_on_oob=True), done=done.fill_null(-1)
        )
        .filter(pl.col("state").is_in(_WAITING), pl.col("position") > pl.col("done"))
        .drop_nulls("peer")
        .with_columns(group=filled("{}, {} of rank {}", "group", "operation", pl.col("rank")))
        .sort("rank", "position")
        .unique(_OWN, keep="first", maintain_order=True)
    )
    waiting = _members(edges, enqueued=0, completed=-1, blocked=0)
    heard = rows.select("run", peer="rank").unique()
    there = edges.join(heard, on=["run", "peer"], how="semi", nulls_equal=True)
    turned = there.with_columns(rank="peer", peer="rank")
    return pl.concat([waiting, _members(turned, enqueued=-1, completed=-1, blocked=None)])


def pair_belonging(pairs: pl.LazyFrame) -> pl.LazyFrame:
    """Return both ranks of each pair: `run`, `scope`, `group`, `rank`, `listed`."""
    names = ["run", "scope", "group"]
    both = [pairs.select(*names, "rank"), pairs.select(*names, rank="peer")]
    return pl.concat(both).unique().with_columns(listed=pl.lit(value=True))


def _members(
    edges: pl.LazyFrame, *, enqueued: int, completed: int, blocked: int | None
) -> pl.LazyFrame:
    return edges.with_columns(
        enqueued=pl.lit(enqueued, dtype=pl.Int64),
        completed=pl.lit(completed, dtype=pl.Int64),
        blocked=pl.lit(blocked, dtype=pl.Int64),
        pairs=pl.lit(value=False),
        entered="time",
    ).select(*MEMBERS.names(), "peer")
