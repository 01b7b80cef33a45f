"""A dense view of many series: entities by ticks, for statistics over a whole fleet at once.

Long frames are right for reading and storing; rank statistics over a fleet are several times
faster on one dense array (methods reference, cost guidance). NaN marks what is not known.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Values of entities at ticks.

    Attributes:
        entities: One row an entity, sorted by group and entity; the columns that name them.
        groups: Group number of each entity, rising, from 0; shape (entities,).
        ticks: The ticks, rising; steps or microseconds since the epoch; shape (ticks,).
        values: Shape (entities, ticks); NaN is not known.
    """

    entities: pl.DataFrame
    groups: Ints
    ticks: Ints
    values: Floats


def build_panel(
    frame: pl.LazyFrame, *, group: Sequence[str], entity: Sequence[str], tick: str, value: str
) -> Panel:
    """Return the panel of a long frame.

    Args:
        frame: One row a value; rows with a null or NaN value, or a null tick, are not known.
        group: Columns that name the peer group; entities of a group are comparable.
        entity: Columns that name an entity within its group.
        tick: Integer column that orders an entity's values.
        value: Float column.

    Returns:
        The panel. Several values of one entity at one tick become their median, so that neither
        row order nor duplicate delivery matters.
    """
    names = list(dict.fromkeys([*group, *entity]))
    rows = (
        frame.filter(pl.col(value).is_not_null(), pl.col(value).is_not_nan())
        .drop_nulls(tick)
        .select(pl.col(names).exclude(pl.String), *_coded(frame, names), tick, value)
        .group_by(names)
        .agg(pl.col(tick), pl.col(value))
        .with_columns(pl.col(pl.Categorical).cast(pl.String))
        .select(*names, tick, value)
        .sort(names, nulls_last=True)
        .collect()
    )
    lengths = rows[tick].list.len().to_numpy()
    stamps = rows[tick].explode(empty_as_null=False)
    ticks = stamps.unique().sort().to_numpy().astype(np.int64)
    cells = np.repeat(np.arange(rows.height) * ticks.size, lengths)
    cells += np.searchsorted(ticks, stamps.to_numpy().astype(np.int64))
    groups = rows.select(pl.struct(list(group)).rle_id()).to_series().to_numpy()
    return Panel(
        entities=rows.select(names),
        groups=groups.astype(np.int64),
        ticks=ticks,
        values=_filled((rows.height, ticks.size), cells, rows[value].explode(empty_as_null=False)),
    )


def _coded(frame: pl.LazyFrame, names: Sequence[str]) -> list[pl.Expr]:
    """Return the text columns as numbers of their values: a third of the time to group."""
    kinds = frame.collect_schema()
    return [pl.col(name).cast(pl.Categorical) for name in names if kinds[name] == pl.String]


def _filled(shape: tuple[int, int], cells: Ints, values: pl.Series) -> Floats:
    """Return an array with the median of each cell's values; NaN where a cell has none."""
    filled = np.full(shape[0] * shape[1], np.nan)
    if cells.size and int(np.bincount(cells).max()) > 1:
        pairs = pl.DataFrame({"cell": cells, "value": values})
        pairs = pairs.group_by("cell").agg(pl.col("value").median())
        cells, values = pairs["cell"].to_numpy(), pairs["value"]
    filled[cells] = values.to_numpy()
    return filled.reshape(shape)


def group_sizes(groups: Ints) -> Ints:
    """Return the number of members of each group; shape (groups,)."""
    return np.bincount(groups).astype(np.int64) if groups.size else np.zeros(0, dtype=np.int64)
