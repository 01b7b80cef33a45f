"""Who waits in which collective, and whom the others wait for.

Source: methods of the NCCL and PyTorch reference, sections 12.2 and 12.3, and of the progress
reference, section 13.5. A rank that has not come because it waits elsewhere is a link of the chain,
not its end: it is excused by the first operation that it has not finished.
"""

from typing import Final

import polars as pl

from detectors.complaints import EVERYBODY
from detectors.standings import DEFAULT_GROUP

PEERLESS: Final = ("BROADCAST", "REDUCE", "SCATTER", "GATHER", "SEND", "RECV")
"""Operations that a rank can finish while others have not come."""

_LOCKSTEP: Final = r"(?i)tensor|expert|context|(?:^|_)(?:tp|ep|cp|etp)(?:_|$)"

_LOOSE: Final = r"(?i)data|pipeline|embedding|(?:^|_)(?:dp|pp|dp_cp)(?:_|$)"

_GROUP: Final = ("run", "scope", "group")

_RANK: Final = ("run", "scope", "rank")

_PAIR: Final = r"(?i)^(?:send \d+->|recv \d+<-)(\d+)"


def normal_operation(name: pl.Expr) -> pl.Expr:
    """Return operations in one spelling: watchdogs, recorders and call logs each have their own."""
    bare = name.str.to_uppercase().str.replace_all("[ _]", "").str.replace(r"^.*:", "")
    return bare.str.replace(r"^ALLREDUCEBARRIER$|^BARRIER$", "ALLREDUCE")


def memberships(collectives: pl.LazyFrame, ranks: pl.LazyFrame) -> pl.LazyFrame:
    """Return every rank of every group: `run`, `scope`, `group`, `rank`, `listed`.

    `listed` tells groups whose members are known, not only those that spoke.

    Args:
        collectives: What `ranked` returns; configured members and whoever spoke.
        ranks: Columns `run` and `rank`: every rank that any source has named; the default group
            holds them all.
    """
    lists = collectives.select(*_GROUP, rank="group_ranks").unique()
    listed = lists.explode("rank", empty_as_null=False)
    spoke = collectives.select(*_GROUP, "rank").unique()
    is_default = (pl.col("group") == DEFAULT_GROUP) | pl.col("group_name").str.contains("default")
    defaults = collectives.filter(is_default, pl.col("scope").is_null()).select(*_GROUP).unique()
    world = defaults.join(ranks.select("run", "rank"), on="run", how="inner", nulls_equal=True)
    told = pl.concat([listed, world.select(*_GROUP, "rank")]).drop_nulls("rank")
    known = told.select(_GROUP).unique().with_columns(listed=True)
    return (
        pl.concat([told, spoke])
        .drop_nulls("rank")
        .unique()
        .join(known, on=_GROUP, how="left", nulls_equal=True)
        .with_columns(pl.col("listed").fill_null(value=False))
    )


def places(members: pl.LazyFrame, belonging: pl.LazyFrame) -> pl.LazyFrame:
    """Return where the ranks of standing groups are, relative to the collective that stands.

    Args:
        members: `MEMBERS`.
        belonging: What `memberships` returns, with `unread`: null but where a rank spoke and what
            it said could not be read.

    Returns:
        The members of each group in which somebody waits, pairs apart, with `sequence`, the first
        collective that somebody entered and not all finished, and `place`: waiting in it, behind
        it, ahead of it, absent (nothing was heard of it in this group), or unknown. `lags` marks
        those that the others wait for. Of the `size` members of a group `heard` said where they
        are.
    """
    first = pl.col("blocked").min().over(_GROUP)
    known = members.filter(~pl.col("pairs")).with_columns(sequence=first)
    standing = known.select(*_GROUP, "sequence").drop_nulls("sequence").unique()
    return (
        belonging.join(standing, on=_GROUP, nulls_equal=True)
        .join(known.drop("sequence"), on=[*_GROUP, "rank"], how="left", nulls_equal=True)
        .with_columns(place=_place())
        .with_columns(
            lags=_lags(),
            operation=_called(),
            group_name=pl.col("group_name").drop_nulls().max().over(_GROUP),
        )
        .with_columns(
            heard=(~pl.col("place").is_in(["absent", "unknown"])).sum().over(_GROUP),
            size=pl.len().over(_GROUP),
        )
    )


def _place() -> pl.Expr:
    """Return where a rank is, relative to the collective that stands."""
    last = pl.max_horizontal("enqueued", "completed")
    return (
        pl.when(pl.col("pairs").is_null() & pl.col("unread").is_not_null())
        .then(pl.lit("unknown"))
        .when(pl.col("pairs").is_null())
        .then(pl.lit("absent"))
        .when(last < pl.col("sequence"))
        .then(pl.lit("behind"))
        .when(pl.col("completed") >= pl.col("sequence"))
        .then(pl.lit("ahead"))
        .when(last >= pl.col("sequence"))
        .then(pl.lit("waiting"))
        .otherwise(pl.lit("unknown"))
    )


def _called() -> pl.Expr:
    """Return the operation that stands, as those who wait in it call it."""
    at_first = pl.col("blocked") == pl.col("sequence")
    return pl.col("operation").filter(at_first).drop_nulls().min().over(_GROUP)


def _lags() -> pl.Expr:
    """Return whether the group waits for a rank.

    Who has not come is waited for, a known one before an unheard one. Where a symmetric operation
    is done on some ranks and not on others, those others are stuck on their own side.
    """
    place = pl.col("place")
    operation = normal_operation(pl.col("operation"))
    at_first = pl.when(pl.col("blocked") == pl.col("sequence")).then(operation)
    symmetric = (~at_first.is_in(PEERLESS)).all().over(_GROUP) & at_first.is_not_null().any().over(
        _GROUP
    )
    is_split = (place == "ahead").any().over(_GROUP) & symmetric
    is_behind = place == "behind"
    any_behind = is_behind.any().over(_GROUP)
    stuck = is_split & (place == "waiting") & ~any_behind
    absent = (place == "absent") & ~is_split & ~any_behind
    return is_behind | stuck | absent


def first_waits(members: pl.LazyFrame, collectives: pl.LazyFrame) -> pl.LazyFrame:
    """Return the operation in which each rank stands: the first that it has not finished.

    Args:
        members: `MEMBERS`.
        collectives: What `ranked` returns, for the pairs.

    Returns:
        `run`, `scope`, `rank`, the `group` it stands in, and `peer`, the rank at the other end
        where the operation is a send or a receive.
    """
    columns = [*_RANK, "group", "entered", "position", "peer"]
    shared = (
        members.filter(~pl.col("pairs"))
        .drop_nulls("blocked")
        .with_columns(peer=pl.lit(None, dtype=pl.Int32))
    )
    at = pl.col("operation").str.extract(_PAIR).cast(pl.Int64)
    pairs = (
        collectives.filter(pl.col("state").is_in(["scheduled", "started"]))
        .with_columns(peer=pl.col("group_ranks").list.get(at, null_on_oob=True), entered="time")
        .drop_nulls(["rank", "peer"])
    )
    return (
        pl.concat([shared.select(columns), pairs.select(columns)])
        .sort("entered", "position", "group", nulls_last=True)
        .group_by(_RANK)
        .agg(pl.col("group", "peer").first())
    )


def suspects(standing: pl.LazyFrame, waits: pl.LazyFrame) -> pl.LazyFrame:
    """Return the laggards that nothing excuses, with their rows of `places`.

    Args:
        standing: What `places` returns.
        waits: What `first_waits` returns.

    Returns:
        Rows of `places` for ranks that others wait for and that do not wait for another laggard
        themselves, or in a group not all of whose members are known. A wait in a pair excuses
        nobody who is late in a group whose members go in lockstep (tensor, expert, context): its
        mates wait in the same pairs and have come.
    """
    name = pl.col("group_name").fill_null("").max().over(_GROUP)
    lockstep = name.str.contains(_LOCKSTEP) & ~name.str.contains(_LOOSE) & pl.col("lags")
    return (
        standing.with_columns(lockstep=lockstep)
        .with_columns(in_step=pl.col("lockstep").any().over(_RANK))
        .join(_excuses(standing, waits), on=_RANK, how="left", nulls_equal=True)
        .filter(
            "lags",
            ~pl.col("by_group").fill_null(value=False),
            ~(pl.col("by_pair").fill_null(value=False) & ~pl.col("in_step")),
        )
        .drop("lockstep", "in_step", "by_group", "by_pair")
        .sort(*_GROUP, "rank")
    )


def _excuses(standing: pl.LazyFrame, waits: pl.LazyFrame) -> pl.LazyFrame:
    """Return of each rank that waits whether a group, or a pair, excuses it.

    A group does if it has other laggards or members that nobody knows, a pair if its other end is
    itself late or waiting.
    """
    lagging = standing.filter("lags").select(*_GROUP, "rank")
    stuck = (
        standing.group_by(_GROUP)
        .agg(has_laggards=pl.col("lags").any() | ~pl.col("listed").all())
        .filter("has_laggards")
    )
    own = lagging.with_columns(lags_there=pl.lit(value=True))
    busy = pl.concat([lagging.select(*_RANK), waits.select(*_RANK)]).unique()
    peers = busy.rename({"rank": "peer"}).with_columns(peer_busy=pl.lit(value=True))
    by_group = pl.col("has_laggards").is_not_null() & pl.col("lags_there").is_null()
    return (
        waits.join(stuck, on=_GROUP, how="left", nulls_equal=True)
        .join(own, on=[*_GROUP, "rank"], how="left", nulls_equal=True)
        .join(peers, on=["run", "scope", "peer"], how="left", nulls_equal=True)
        .select(
            *_RANK,
            by_group=by_group & pl.col("peer").is_null(),
            by_pair=pl.col("peer").is_not_null() & pl.col("peer_busy").is_not_null(),
        )
    )


def lone_callers(standing: pl.LazyFrame, waits: pl.LazyFrame) -> pl.LazyFrame:
    """Return the few that wait in a collective which most of their group, idle, never called.

    Args:
        standing: What `places` returns.
        waits: What `first_waits` returns.

    Returns:
        Rows of `places`: their extra call is the odd one, not the silence of the others.
    """
    busy = waits.select(*_RANK).with_columns(busy=pl.lit(value=True))
    at_rest = (
        (pl.col("place") == "behind")
        & (pl.col("completed") == pl.col("sequence") - 1)
        & pl.col("busy").is_null()
    )
    return (
        standing.join(busy, on=_RANK, how="left", nulls_equal=True)
        .with_columns(resting=at_rest.sum().over(_GROUP))
        .filter(
            pl.col("place") == "waiting",
            pl.col("group") != EVERYBODY,
            2 * pl.col("resting") > pl.col("size"),
        )
        .drop("busy", "resting")
        .sort(*_GROUP, "rank")
    )
