"""How members of groups that nobody lists are laid out: how many, from which rank, how far apart.

Source: formats of NCCL and PyTorch-distributed logs, sections 8.2, 8.3 and 12.3. A watchdog's head
tells a place in its group beside the global rank. Groups of one name are made alike: every tensor
group of a job has as many members, as far apart, so what one of them shows holds for its sisters.
"""

from typing import Final

import polars as pl

GROUP: Final = ("run", "scope", "group")

_FAMILY: Final = ("run", "group_name")

NAMELESS: Final = ("", "undefined")
"""What PyTorch calls groups that were given no name: they need not be alike."""

_GATHERS: Final = r"(?i)gather"

_SCATTERS: Final = r"(?i)reduce_?scatter"


def group_layouts(collectives: pl.LazyFrame) -> pl.LazyFrame:
    """Return the layout of each group whose members count globally and are listed nowhere.

    Args:
        collectives: What `ranked` returns. The places of those that spoke, and what operations put
            out and take in, tell how many members there are.

    Returns:
        `run`, `scope`, `group`, `group_name`; `size`, how many members, as far as places, sister
        groups, operations and the groups around tell; null where nothing does; `places`, those that
        spoke; `first`, the rank at place 0, and `step`, how far apart neighbours are: null where
        they are not evenly spaced, or only one member of all groups of the name spoke.
    """
    told = _own_layouts(collectives).with_columns(
        size=pl.max_horizontal("size", _of_family(pl.col("size").max())),
        step=pl.coalesce("step", pl.when("even").then(_of_family(_one_step()))),
    )
    return (
        told.join(_next_steps(told), on=["run", "step"], how="left", nulls_equal=True)
        .with_columns(
            size=pl.max_horizontal("size", pl.col("next_step") // pl.col("step")),
            first=pl.col("low_rank") - pl.col("low_place") * pl.col("step"),
        )
        .select(*GROUP, "group_name", "size", "places", "first", "step")
    )


def _next_steps(layouts: pl.LazyFrame) -> pl.LazyFrame:
    """Return `run`, `step` and `next_step`, that of the groups around those of a step.

    Ranks are numbered along one axis after the other: as many members of a group stand side by side
    as fit between neighbours of the groups around it.
    """
    steps = layouts.select("run", "step").drop_nulls("step").unique()
    around = steps.rename({"step": "next_step"})
    is_around = (pl.col("next_step") > pl.col("step")) & (pl.col("next_step") % pl.col("step") == 0)
    pairs = steps.join(around, on="run", nulls_equal=True).filter(is_around)
    return pairs.group_by("run", "step").agg(pl.col("next_step").min())


def _own_layouts(collectives: pl.LazyFrame) -> pl.LazyFrame:
    """Return what each group shows by itself, one row a group."""
    unlisted = pl.col("group_ranks").is_null().all().over(GROUP)
    places, rank = pl.col("group_rank"), pl.col("rank")
    step = (rank.max() - rank.min()) // (places.max() - places.min())
    is_alone = places.n_unique() == 1
    by_place = pl.when(~is_alone).then(places.max() + 1)
    even = (rank - rank.min() == (places - places.min()) * step).all() & (step > 0)
    return (
        collectives.filter(unlisted, pl.col("scope").is_null())
        .drop_nulls(["rank", "group_rank"])
        .group_by(GROUP)
        .agg(
            pl.col("group_name").drop_nulls().min(),
            size=pl.max_horizontal(_told_size().max(), by_place),
            places=places.unique().sort(),
            low_place=places.min(),
            low_rank=rank.min(),
            even=is_alone | even,
            step=pl.when(~is_alone & even).then(step),
        )
    )


def _of_family(value: pl.Expr) -> pl.Expr:
    """Return a value over all groups of a name; null for groups without one."""
    is_named = ~pl.col("group_name").fill_null("").is_in(NAMELESS)
    return pl.when(is_named).then(value.over(_FAMILY))


def _one_step() -> pl.Expr:
    """Return the step that all groups share that show one; null if they differ."""
    known = pl.col("step").drop_nulls()
    return pl.when(known.n_unique() == 1).then(known.min())


def _told_size() -> pl.Expr:
    """Return how many members an operation says its group has; null where it does not say."""
    name = pl.col("operation")
    larger, smaller = pl.col("output_count"), pl.col("input_count")
    gathered = pl.when(name.str.contains(_GATHERS) & (larger % smaller == 0)).then(
        larger // smaller
    )
    parted = pl.when(name.str.contains(_SCATTERS) & (smaller % larger == 0)).then(smaller // larger)
    return pl.coalesce(gathered, parted)
