"""Which communicator of a RAS report a block is about: its size, and whether it is the whole job.

Source: formats of NCCL logs, section 5.1. Ranks in a block count inside the communicator; only in
the one that holds every GPU of the job are they the job's.
"""

from typing import Final

import polars as pl

from collectors.communication.ras_tables import MAX_RANKS

_FIVE: Final = r"^\s*(?:\d+ +){4}(\d+)\s*$"

_THREE: Final = r"^\s*(?:\d+ +){2}(\d+)\s*$"

_TOTALS: Final = r"^\s*\(total\) +\(total\) +\(total\)"


def with_sizes(blocks: pl.DataFrame, groups: pl.DataFrame) -> pl.DataFrame:
    """Return the lines with `size`, `most_ranks`, `is_invalid` and `is_world` of their group.

    Args:
        blocks: Lines in their order with `index`, the group's row in the table above, and `group`,
            its hash; null where no heading stands above.
        groups: The rows of the tables: `line`, `index`, `size`, null where it cannot be.

    Returns:
        `size` null where no row tells it. Without a table, the only group that the lines speak of
        is taken for the whole job.
    """
    rows = groups.select("line", "index", "size", has_row=pl.lit(value=True)).sort("line")
    joined = (
        blocks.with_row_index("order")
        .sort("line")
        .join_asof(rows, on="line", by="index", strategy="backward", check_sortedness=False)
        .sort("order")
        .drop("order")
    )
    has_row = pl.col("has_row").fill_null(value=False)
    size = pl.col("size")
    world = pl.coalesce(_job_size(), pl.lit(_largest(groups), pl.Int64))
    alone = blocks["group"].drop_nulls().n_unique() <= 1 and groups.is_empty()
    return joined.with_columns(
        most_ranks=size.fill_null(MAX_RANKS),
        is_invalid=has_row & size.is_null(),
        is_world=pl.when(size.is_null())
        .then(~has_row & pl.lit(alone))
        .otherwise((size == world).fill_null(value=False)),
    ).drop("has_row")


def _job_size() -> pl.Expr:
    """Return how many GPUs the job summary above counts; null without one."""
    text = pl.col("text")
    is_total = text.str.contains(_TOTALS).shift(fill_value=False)
    total = pl.coalesce(
        text.str.extract(_FIVE, 1), pl.when(is_total).then(text.str.extract(_THREE, 1))
    )
    return total.cast(pl.Int64, strict=False).forward_fill()


def _largest(groups: pl.DataFrame) -> int | None:
    """Return the size of the largest group of the tables, if only one is as large."""
    sizes = groups.select("index", "size").unique().drop_nulls("size")
    if sizes.is_empty():
        return None
    top = sizes.filter(pl.col("size") == pl.col("size").max())
    return int(top["size"].item(0)) if top.height == 1 else None
