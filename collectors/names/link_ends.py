"""Cables named once, whichever end tells of them, and ports that two cables seem to end at."""

from typing import Final

import polars as pl

from collectors.frames import LINKS
from collectors.names.name_groups import CONFLICTS
from collectors.names.name_spells import CLAIMS, clashes_of, spells_of

_ENDS: Final = ("node_a", "port_a", "node_b", "port_b")
_ORDER: Final = ("time", *_ENDS, "source", "rail")
_SIDES: Final = (("a", "b"), ("b", "a"))
_RAIL: Final = pl.coalesce(
    pl.col(f"port_{side}").str.extract(r"^mlx\d_(\d+)/", 1).cast(pl.Int32, strict=False)
    for side in ("a", "b")
)
"""The rail of a cable to a NIC: the number in the NIC's name."""


def ordered_links(links: pl.DataFrame) -> pl.DataFrame:
    """Return cables with their ends in order, each once for every time it was plugged.

    Args:
        links: `LINKS` in any order, their ends in any order; a null port is not told.

    Returns:
        `LINKS` by their ends and time. Rows that say the same of a cable are one, with the first
        time and source of them, unless another cable was in one of its ports between. A row that
        does not tell a port goes where another tells it.
    """
    whole = _without_portless(_flipped(links).unique())
    sorted_links = whole.sort(_ORDER, nulls_last=False).with_row_index("row")
    rows = sorted_links.with_columns(rail=pl.coalesce("rail", _RAIL))
    runs = _runs(rows)
    for side in ("a", "b"):
        run = runs.filter(pl.col("side") == side).select("row", pl.col("run").alias(f"run_{side}"))
        rows = rows.join(run, on="row", how="left", maintain_order="left")
    return (
        rows.group_by(*_ENDS, "run_a", "run_b", maintain_order=True)
        .agg(pl.col("time").min(), pl.col("rail").drop_nulls().min(), pl.col("source").first())
        .select(LINKS.names())
        .sort(*_ENDS, "time", nulls_last=False)
    )


def double_peers(links: pl.DataFrame) -> pl.DataFrame:
    """Return the ports that are told to have two peers at a time.

    Args:
        links: `LINKS`, both ends canonical.

    Returns:
        `CONFLICTS` of the family `port`. Both cables stay in `LINKS`: neither is the wrong one.
    """
    whole = _without_portless(_flipped(links).unique())
    ends = [
        whole.select(
            host=f"node_{one}",
            family=pl.lit("port"),
            name=f"port_{one}",
            kind=pl.lit("port"),
            other=pl.concat_str(f"node_{two}", f"port_{two}", separator=" ", ignore_nulls=True),
            other_kind=pl.lit("peer"),
            at=pl.col("time").dt.timestamp("us"),
            source="source",
        )
        for one, two in _SIDES
    ]
    claims = pl.concat(ends).drop_nulls(["host", "name", "other"]).select(CLAIMS.names())
    return (
        clashes_of(spells_of(claims))
        .group_by("host", "family", "name", maintain_order=True)
        .agg(
            at=pl.col("clash").first(),
            sides=pl.struct(key=pl.col("other"), value=pl.col("source")),
        )
        .select(CONFLICTS.names())
    )


def _flipped(links: pl.DataFrame) -> pl.DataFrame:
    """Return links with their ends in alphabetical order of node and port."""
    text = [
        pl.concat_str(
            f"node_{side}", pl.col(f"port_{side}").fill_null(""), separator="\n", ignore_nulls=True
        )
        for side in ("a", "b")
    ]
    is_late = text[0] > text[1]
    return links.with_columns(
        pl.when(is_late).then(f"{end}_{two}").otherwise(f"{end}_{one}").alias(f"{end}_{one}")
        for end in ("node", "port")
        for one, two in _SIDES
    )


def _without_portless(links: pl.DataFrame) -> pl.DataFrame:
    """Return the links but for those that leave a port open which another row of them tells."""
    open_ends = links.filter(pl.col("port_a").is_null() | pl.col("port_b").is_null())
    if open_ends.is_empty():
        return links
    told = links.drop_nulls(["port_a", "port_b"])
    for one, two in _SIDES:
        both = pl.concat(
            told.select(
                pl.col(f"node_{x}").alias(f"node_{one}"),
                pl.col(f"port_{x}").alias(f"port_{one}"),
                pl.col(f"node_{y}").alias(f"node_{two}"),
            )
            for x, y in _SIDES
        ).unique()
        known = [f"node_{one}", f"port_{one}", f"node_{two}"]
        told_elsewhere = links.filter(pl.col(f"port_{two}").is_null()).join(
            both, on=known, how="semi"
        )
        links = links.join(told_elsewhere, on=links.columns, how="anti", nulls_equal=True)
    return links


def _runs(rows: pl.DataFrame) -> pl.DataFrame:
    """Return for each end of each row how often its port had changed its peer by then."""
    ends = pl.concat(
        rows.select(
            "row",
            "time",
            side=pl.lit(one),
            node=f"node_{one}",
            port=f"port_{one}",
            peer=pl.concat_str(f"node_{two}", f"port_{two}", separator="\n", ignore_nulls=True),
        )
        for one, two in _SIDES
    )
    changed = (pl.col("peer") != pl.col("peer").shift()).fill_null(value=False)
    run = pl.when(pl.col("port").is_not_null()).then(changed.cum_sum().over("node", "port"))
    return ends.sort("time", "row", "side", nulls_last=False).with_columns(run=run)
