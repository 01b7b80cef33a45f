"""Tell silence from what was not read, and find the one member of a group that was never heard.

Source: methods of the NCCL and PyTorch reference, sections 8.3, 10.1, 12.2 and 12.7. A dump that is
torn is no sign that its rank is silent. How large a group is follows from what its operations put
out and take in, and from the places of those that spoke.
"""

from typing import Final

import polars as pl

_GROUP: Final = ("run", "scope", "group")

_GATHERS: Final = r"(?i)gather"

_SCATTERS: Final = r"(?i)reduce_?scatter"


def unread_dumps(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the ranks, by run, whose dump is there and could not be read: they were not silent.

    Args:
        events: `EVENTS`; a `flight_dump` with the code `unread`.
    """
    unread = (pl.col("kind") == "flight_dump") & (pl.col("code") == "unread")
    return (
        events.filter(unread)
        .drop_nulls("rank")
        .select("run", "rank", unread=pl.lit(value=True))
        .unique()
    )


def missing_members(collectives: pl.LazyFrame, ranks: pl.LazyFrame) -> pl.LazyFrame:
    """Return the member that one group lacks: `run`, `scope`, `group`, `rank`.

    Args:
        collectives: What `ranked` returns. The sizes that operations put out and take in tell how
            many members there are; so do the places of those that spoke, if several did.
        ranks: Columns `run` and `rank`: every rank that any source has named, or counts above.

    Returns:
        Rows only for runs in which a single group, whose members nobody lists, lacks a single
        place. Members of a group are evenly spaced: two or more that spoke tell who is at the
        place; else it is the rank that was never heard in any group, if that is a single one.
    """
    alone = _short_groups(collectives).filter(pl.len().over("run") == 1, pl.col("lacking") == 1)
    heard = collectives.drop_nulls("rank").select("run", "rank")
    silent = ranks.select("run", "rank").join(
        heard, on=["run", "rank"], how="anti", nulls_equal=True
    )
    only = silent.unique().filter(pl.len().over("run") == 1).rename({"rank": "only"})
    told = pl.when(pl.col("heard") > 1).then(_at_gap()).otherwise("only")
    return (
        alone.join(only, on="run", how="left", nulls_equal=True)
        .with_columns(rank=told)
        .drop_nulls("rank")
        .join(
            ranks.select("run", "rank").unique(), on=["run", "rank"], how="semi", nulls_equal=True
        )
        .select(*_GROUP, "rank")
    )


def _short_groups(collectives: pl.LazyFrame) -> pl.LazyFrame:
    """Return the groups that lack members: how many, how many spoke, and who they are."""
    unlisted = pl.col("group_ranks").is_null().all().over(_GROUP)
    spoke = collectives.filter(unlisted, pl.col("scope").is_null())
    places, rank = pl.col("group_rank"), pl.col("rank")
    by_place = pl.when(places.n_unique() > 1).then(places.max() + 1)
    size = pl.max_horizontal(_told_size().max(), by_place)
    return (
        spoke.drop_nulls(["rank", "group_rank"])
        .group_by(_GROUP)
        .agg(
            size=size,
            heard=places.n_unique(),
            lacking=size - places.n_unique(),
            places=places.unique().sum(),
            first=rank.min() - places.min() * _step(),
            step=_step(),
            even=(rank - rank.min() == (places - places.min()) * _step()).all(),
        )
        .filter(pl.col("lacking") > 0)
    )


def _step() -> pl.Expr:
    """Return how far apart neighbouring members are, as those at both ends tell."""
    places, rank = pl.col("group_rank"), pl.col("rank")
    return (rank.max() - rank.min()) // (places.max() - places.min())


def _at_gap() -> pl.Expr:
    """Return who is at the only place that is missing; null where members are not evenly spaced."""
    size = pl.col("size")
    place = size * (size - 1) // 2 - pl.col("places")
    found = pl.col("first") + place * pl.col("step")
    return pl.when("even").then(found).cast(pl.Int32)


def _told_size() -> pl.Expr:
    """Return how many members an operation says its group has; null where it does not say."""
    name = pl.col("operation")
    larger, smaller = pl.col("output_count"), pl.col("input_count")
    gathered = pl.when(name.str.contains(_GATHERS) & (larger % smaller == 0)).then(
        larger // smaller
    )
    parted = pl.when(name.str.contains(_SCATTERS) & (smaller % larger == 0)).then(smaller // larger)
    return pl.coalesce(gathered, parted)
