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
        .group_by([*names, tick])
        .agg(pl.col(value).median())
        .collect()
    )
    entities = rows.select(names).unique().sort(names, nulls_last=True)
    ticks = rows[tick].unique().sort().to_numpy().astype(np.int64)
    coded = rows.join(entities.with_row_index("entity_at"), on=names, nulls_equal=True)
    values = np.full((entities.height, ticks.size), np.nan)
    at_tick = np.searchsorted(ticks, coded[tick].to_numpy().astype(np.int64))
    values[coded["entity_at"].to_numpy(), at_tick] = coded[value].to_numpy()
    groups = entities.select(pl.struct(list(group)).rle_id()).to_series().to_numpy()
    return Panel(entities=entities, groups=groups.astype(np.int64), ticks=ticks, values=values)


def group_sizes(groups: Ints) -> Ints:
    """Return the number of members of each group; shape (groups,)."""
    return np.bincount(groups).astype(np.int64) if groups.size else np.zeros(0, dtype=np.int64)
