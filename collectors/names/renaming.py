"""Put the best name of each thing into a frame: rows stay, in their order, only names change."""

from dataclasses import dataclass
from typing import Final

import polars as pl

from collectors.names.device_names import family_of, part_of, whole_of
from collectors.names.host_names import NODE
from collectors.names.name_spells import EVER

_HOST: Final = ("host", "family")


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Where a frame holds a name.

    Attributes:
        name: The column that is renamed.
        host: The host it is of; null for a name of a host.
        family: The family of its names, as an expression over the frame.
        time: The column with the time of the row; null if rows have none.
    """

    name: str
    host: str | None
    family: pl.Expr
    time: str | None


def device_columns(time: str | None) -> Columns:
    """Return the columns of a frame of devices: `host`, `device_kind`, `device`."""
    return Columns(name="device", host="host", family=family_of(pl.col("device_kind")), time=time)


def host_columns(name: str, time: str | None) -> Columns:
    """Return the columns of a frame that names a host in `name`."""
    return Columns(name=name, host=None, family=pl.lit(NODE), time=time)


def renamed(frame: pl.DataFrame, columns: Columns, canonical: pl.DataFrame) -> pl.DataFrame:
    """Return a frame with canonical names.

    Args:
        frame: Any frame.
        columns: Where its names are.
        canonical: `CANONICAL`. A name that means different things over time is replaced in rows
            with a time at which its meaning is known; in rows without one it stays.

    Returns:
        The rows and columns of `frame`, in its order.
    """
    if frame.is_empty() or canonical.is_empty():
        return frame
    key = ["_host", "_family", "_name"]
    host = pl.lit("") if columns.host is None else pl.col(columns.host)
    name = pl.col(columns.name)
    distinct = (
        frame.lazy()
        .select(_host=host, _family=columns.family, _full=name)
        .unique()
        .with_columns(_name=whole_of(pl.col("_full")))
        .join(
            canonical.lazy().rename({"host": "_host", "family": "_family", "name": "_name"}),
            on=key,
        )
        .collect()
    )
    if distinct.is_empty():
        return frame
    marked = frame.with_columns(_host=host, _family=columns.family, _full=name).with_row_index(
        "_row"
    )
    hits = _hits(marked, distinct, columns.time)
    return (
        marked.join(hits, on="_row", how="left", maintain_order="left")
        .with_columns(
            pl.when(pl.col("_best").is_not_null())
            .then(pl.col("_best") + part_of(name))
            .otherwise(name)
            .alias(columns.name)
        )
        .select(frame.columns)
    )


def _hits(marked: pl.DataFrame, distinct: pl.DataFrame, time: str | None) -> pl.DataFrame:
    """Return `_row` and `_best` of each row whose name has a better one at the row's time."""
    key = ["_host", "_family", "_full"]
    needed = ["_row", *key] if time is None else ["_row", *key, time]
    at = pl.lit(None, pl.Int64) if time is None else pl.col(time).dt.timestamp("us")
    is_ever = (pl.col("since") == -EVER) & (pl.col("until") == EVER)
    is_then = (pl.col("since") <= at) & (at < pl.col("until"))
    return (
        marked.lazy()
        .select(needed)
        .join(distinct.lazy(), on=key)
        .filter(is_ever | is_then.fill_null(value=False))
        .select("_row", _best="canonical")
        .collect()
    )
