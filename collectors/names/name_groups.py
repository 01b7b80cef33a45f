"""Which names are one device, and from when until when: connected names, host by host.

Names of a host that are said to mean the same, directly or through a third, are one device. Where
names move, the time is cut at each move and the pieces are joined for themselves. A group with two
names of a kind of which a device has but one is a contradiction: the weakest names in it then join
nothing.
"""

from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from collectors.frames import schema_of
from collectors.names.device_names import EXCLUSIVE, MOVING, RANKS
from collectors.names.name_spells import EVER, GROUP, clashes_of, meanings_of, spells_of
from collectors.names.name_statements import claims_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

CANONICAL: Final = schema_of(
    {
        "host": pl.String,
        "family": pl.String,
        "name": pl.String,
        "since": pl.Int64,
        "until": pl.Int64,
        "canonical": pl.String,
    }
)
"""The best name of what `name` means in [since, until), in microseconds since the epoch. A name
that is its own best one, or joins nothing, has no row."""

CONFLICTS: Final = schema_of(
    {
        "host": pl.String,
        "family": pl.String,
        "name": pl.String,
        "at": pl.Int64,
        "sides": pl.List(pl.Struct({"key": pl.String, "value": pl.String})),
    }
)
"""A name that several things claim at a time: each of them, and the source that says so."""

_HOST: Final = ("host", "family")
_CELL: Final = (*_HOST, "epoch")


def join_names(stated: pl.DataFrame, implied: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the best name of each name of a device, and what contradicts itself.

    Args:
        stated: `PAIRS` that sources state.
        implied: `PAIRS` that hold at any time.

    Returns:
        `CANONICAL` and `CONFLICTS`, both in order of host, family, name and time.
    """
    spells = spells_of(claims_of(stated))
    clashes = clashes_of(spells)
    barred = clashes.select(*_HOST, "name").unique()
    edges = pl.concat([_lasting(stated, spells, barred), _everlasting(implied, barred)]).unique()
    cells = _cells(edges)
    kept, contradictions = _without_contradictions(cells)
    conflicts = pl.concat([_conflicts(clashes), contradictions]).sort(*_HOST, "name", "at")
    return _canonical(kept), conflicts


def _lasting(stated: pl.DataFrame, spells: pl.DataFrame, barred: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs with the times in which both of their names allow them."""
    meanings = meanings_of(spells.join(barred, on=[*_HOST, "name"], how="anti"), MOVING)
    edges = stated.select(*_HOST, "a", "a_kind", "b", "b_kind").unique().pipe(_unbarred, barred)
    for one, two in (("a", "b"), ("b", "a")):
        view = meanings.select(
            *_HOST,
            pl.col("name").alias(one),
            pl.col("other").alias(two),
            pl.col("since").alias(f"since_{one}"),
            pl.col("until").alias(f"until_{one}"),
        )
        edges = edges.join(view, on=[*_HOST, one, two], how="left")
    since = pl.max_horizontal(pl.col("since_a", "since_b").fill_null(-EVER))
    until = pl.min_horizontal(pl.col("until_a", "until_b").fill_null(EVER))
    return (
        edges.with_columns(since=since, until=until)
        .filter(pl.col("since") < pl.col("until"))
        .select(*_HOST, "a", "a_kind", "b", "b_kind", "since", "until")
    )


def _everlasting(implied: pl.DataFrame, barred: pl.DataFrame) -> pl.DataFrame:
    return (
        implied.select(*_HOST, "a", "a_kind", "b", "b_kind")
        .pipe(_unbarred, barred)
        .with_columns(since=pl.lit(-EVER, pl.Int64), until=pl.lit(EVER, pl.Int64))
    )


def _unbarred(edges: pl.DataFrame, barred: pl.DataFrame) -> pl.DataFrame:
    for side in ("a", "b"):
        edges = edges.join(barred.rename({"name": side}), on=[*_HOST, side], how="anti")
    return edges


def _cells(edges: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs cut at each time at which any pair of their host begins or ends.

    Returns:
        The pairs with `epoch`, and `since` and `until` of that epoch.
    """
    bounds = (
        pl.concat(edges.select(*_HOST, epoch=side) for side in ("since", "until"))
        .unique()
        .sort(*_HOST, "epoch")
        .with_columns(end=pl.col("epoch").shift(-1).over(_HOST))
        .drop_nulls("end")
    )
    return (
        edges.join(bounds, on=list(_HOST))
        .filter(pl.col("since") <= pl.col("epoch"), pl.col("end") <= pl.col("until"))
        .with_columns(since="epoch", until="end")
        .drop("end")
    )


def _without_contradictions(cells: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the members of groups that make sense, and the contradictions taken out."""
    found: list[pl.DataFrame] = []
    for _ in RANKS:
        members = _members(cells)
        doubled = members.filter(pl.col("kind").is_in(EXCLUSIVE)).filter(
            pl.col("name").n_unique().over(*_CELL, "group", "kind") > 1
        )
        if doubled.is_empty():
            break
        weakest = _weakest(members.join(doubled, on=[*_CELL, "group"], how="semi"))
        found.append(_contradictions(weakest, doubled))
        for side in ("a", "b"):
            gone = weakest.select(*_CELL, pl.col("name").alias(side))
            cells = cells.join(gone, on=[*_CELL, side], how="anti")
    return _members(cells), pl.concat([CONFLICTS.to_frame(), *found]).pipe(_first_of_each)


def _weakest(members: pl.DataFrame) -> pl.DataFrame:
    """Return the names of each group whose kind is worth the least."""
    rank = pl.col("kind").replace_strict(RANKS, return_dtype=pl.Int32)
    return members.filter(rank == rank.max().over(*_CELL, "group"))


def _contradictions(weakest: pl.DataFrame, doubled: pl.DataFrame) -> pl.DataFrame:
    sides = doubled.group_by(*_CELL, "group").agg(
        sides=pl.struct(key=pl.col("name").unique().sort(), value=pl.lit(None, pl.String))
    )
    return (
        weakest.join(sides, on=[*_CELL, "group"])
        .with_columns(at=pl.col("epoch"))
        .select(CONFLICTS.names())
    )


def _first_of_each(conflicts: pl.DataFrame) -> pl.DataFrame:
    return conflicts.sort(*_HOST, "name", "at").unique(
        [*_HOST, "name"], keep="first", maintain_order=True
    )


def _conflicts(clashes: pl.DataFrame) -> pl.DataFrame:
    """Return the conflicts of single names; ports of one card share its address by right."""
    card = pl.col("other").str.extract(r"^(.+)/\d+$", 1)
    is_card = (pl.col("other_kind") == "rdma") & (card.n_unique().over(GROUP) == 1)
    return (
        clashes.filter(~is_card)
        .sort(*GROUP, "other", "source")
        .group_by(*GROUP, maintain_order=True)
        .agg(
            at=pl.col("clash").first(),
            sides=pl.struct(key=pl.col("other"), value=pl.col("source")),
        )
        .select(CONFLICTS.names())
    )


def _members(cells: pl.DataFrame) -> pl.DataFrame:
    """Return each name of each epoch with the number of its group."""
    keys = [*_CELL, "since", "until"]
    names = (
        pl.concat(
            cells.select(*keys, name=pl.col(side), kind=pl.col(f"{side}_kind"))
            for side in ("a", "b")
        )
        .unique([*_CELL, "name"], keep="any")
        .sort(*_CELL, "name")
        .with_row_index("number")
    )
    at = [
        cells.join(
            names.select(*_CELL, pl.col("name").alias(side), "number"),
            on=[*_CELL, side],
            how="left",
            maintain_order="left",
        )["number"].to_numpy()
        for side in ("a", "b")
    ]
    return names.with_columns(group=pl.Series(_groups(at[0], at[1], names.height)))


def _groups(a: "NDArray[np.uint32]", b: "NDArray[np.uint32]", count: int) -> "NDArray[np.uint32]":
    """Return for each of `count` nodes the smallest node that it is connected with by a-b pairs."""
    label = np.arange(count, dtype=np.uint32)
    while True:
        lowest = np.minimum(label[a], label[b])
        after = label.copy()
        np.minimum.at(after, a, lowest)
        np.minimum.at(after, b, lowest)
        after = after[after]
        if np.array_equal(after, label):
            return label
        label = after


def _canonical(members: pl.DataFrame) -> pl.DataFrame:
    """Return `CANONICAL`: neighbouring epochs that say the same of a name are one row."""
    rank = pl.col("kind").replace_strict(RANKS, return_dtype=pl.Int32)
    best = pl.col("name").sort_by(rank, "name").first().over(*_CELL, "group")
    key = [*_HOST, "name"]
    starts = (pl.col("canonical") != pl.col("canonical").shift()) | (
        pl.col("since") != pl.col("until").shift()
    )
    return (
        members.with_columns(canonical=best)
        .filter(pl.col("canonical") != pl.col("name"))
        .sort(*key, "since")
        .with_columns(run=starts.fill_null(value=True).cum_sum().over(key))
        .group_by(*key, "run", "canonical")
        .agg(pl.col("since").min(), pl.col("until").max())
        .select(CANONICAL.names())
        .sort(*key, "since")
    )
