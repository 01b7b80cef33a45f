"""A dense view of many series: entities by ticks, for statistics over a whole fleet at once.

Long frames are right for reading and storing; rank statistics over a fleet are several times
faster on one dense array (methods reference, cost guidance). NaN marks what is not known.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

MAX_KEY: Final = 2**62
"""Numbers of entities stay below this."""

ONE_VALUE: Final = 2
"""Width of a name that has one value, and room for null."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class LongValues:
    """Known values of entities in no order: what a panel is laid out from.

    Attributes:
        entities: As in a panel.
        groups: As in a panel.
        numbers: Which entity each value is of; shape (values,).
        stamps: At which tick, or time in microseconds; shape (values,).
        values: A float column.
    """

    entities: pl.DataFrame
    groups: Ints
    numbers: Ints
    stamps: Ints
    values: pl.Series

    def panel(self, width: int = 1) -> Panel:
        """Return the panel of these values.

        Args:
            width: Width of a tick, in the unit of the stamps.

        Returns:
            The panel. Several values of one entity at one tick become their median, so that neither
            row order nor duplicate delivery matters.
        """
        stamps = self.stamps if width == 1 else self.stamps // width * width
        ticks = pl.Series(stamps).unique().sort().to_numpy()
        cells = np.searchsorted(ticks, stamps)
        cells += self.numbers * ticks.size
        return Panel(
            entities=self.entities,
            groups=self.groups,
            ticks=ticks,
            values=_filled((self.entities.height, ticks.size), cells, self.values),
        )


def build_panel(
    frame: pl.LazyFrame, *, group: Sequence[str], entity: Sequence[str], tick: str, value: str
) -> Panel:
    """Return the panel of a long frame; see `long_values` and `LongValues.panel`."""
    return long_values(frame, group=group, entity=entity, tick=tick, value=value).panel()


def long_values(
    frame: pl.LazyFrame, *, group: Sequence[str], entity: Sequence[str], tick: str, value: str
) -> LongValues:
    """Return the known values of a long frame, with their entities as numbers.

    Args:
        frame: One row a value; rows with a null or NaN value, or a null tick, are not known.
        group: Columns that name the peer group; entities of a group are comparable.
        entity: Columns that name an entity within its group.
        tick: Column of integers, or of times, that orders an entity's values.
        value: Float column.
    """
    names = list(dict.fromkeys([*group, *entity]))
    coded = [pl.col(name).cast(pl.Categorical) for name in _texts(frame, names)]
    rows = (
        frame.filter(pl.col(value).is_not_null(), pl.col(value).is_not_nan())
        .drop_nulls(tick)
        .select(*names, pl.col(tick).cast(pl.Int64), value)
        .with_columns(coded)
        .collect(engine="streaming")
    )
    numbers, entities = _numbered(rows.select(names))
    return LongValues(
        entities=entities,
        groups=group_numbers(entities, group),
        numbers=numbers,
        stamps=rows[tick].to_numpy(),
        values=rows[value],
    )


def _texts(frame: pl.LazyFrame, names: Sequence[str]) -> list[str]:
    """Return the text columns: as numbers of their values they take a quarter of the memory."""
    kinds = frame.collect_schema()
    return [name for name in names if kinds[name] == pl.String]


def _numbered(rows: pl.DataFrame) -> tuple[Ints, pl.DataFrame]:
    """Return the number of each row's entity, and the entities by name, text as text again."""
    key = _key(rows)
    firsts = pl.DataFrame({"key": key}).with_row_index("row").unique("key", keep="first")
    entities = (
        rows[firsts["row"]]
        .with_columns(pl.col(pl.Categorical).cast(pl.String))
        .with_columns(key=firsts["key"])
        .sort(rows.columns, nulls_last=True)
        .with_row_index("number")
    )
    numbers = (
        pl.DataFrame({"key": key})
        .join(entities.select("key", "number"), on="key", how="left", maintain_order="left")[
            "number"
        ]
        .to_numpy()
        .astype(np.int64)
    )
    return numbers, entities.drop("number", "key")


def _key(rows: pl.DataFrame) -> pl.Series:
    """Return one number for each different row: names one after the other, as digits of a number.

    A tenth of the time of grouping by all the names. Where the numbers would not fit, rows are
    ranked.
    """
    key, size = np.zeros(rows.height, dtype=np.int64), 1
    for name in rows.columns:
        code = rows[name].to_physical()
        low, high = (int(str(one if one is not None else 0)) for one in (code.min(), code.max()))
        width = high - low + 2
        size *= width
        if size >= MAX_KEY:
            return rows.select(pl.struct(rows.columns).rank("dense")).to_series().cast(pl.Int64)
        if width > ONE_VALUE or code.null_count():
            key *= width
            key += (code.cast(pl.Int64) - (low - 1)).fill_null(0).to_numpy()
    return pl.Series("key", key)


def _filled(shape: tuple[int, int], cells: Ints, values: pl.Series) -> Floats:
    """Return an array with the median of each cell's values; NaN where a cell has none."""
    filled = np.full(shape[0] * shape[1], np.nan)
    if cells.size and int(np.bincount(cells).max()) > 1:
        pairs = pl.DataFrame({"cell": cells, "value": values})
        pairs = pairs.group_by("cell").agg(pl.col("value").median())
        cells, values = pairs["cell"].to_numpy(), pairs["value"]
    filled[cells] = values.to_numpy()
    return filled.reshape(shape)


def group_numbers(entities: pl.DataFrame, group: Sequence[str]) -> Ints:
    """Return the group number of each entity, rising, from 0.

    Args:
        entities: Sorted by group.
        group: Columns that name it.
    """
    numbers = entities.select(pl.struct(list(group)).rle_id()).to_series().to_numpy()
    groups: Ints = numbers.astype(np.int64)
    return groups


def group_sizes(groups: Ints) -> Ints:
    """Return the number of members of each group; shape (groups,)."""
    return np.bincount(groups).astype(np.int64) if groups.size else np.zeros(0, dtype=np.int64)
