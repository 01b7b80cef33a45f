"""The edge to pandas: frames stay Polars up to here."""

from importlib import import_module
from typing import Any

import polars as pl


class NoPandasError(ModuleNotFoundError):
    """Pandas is not installed."""


def to_pandas(frame: pl.DataFrame) -> Any:  # noqa: ANN401 -- pandas comes without types
    """Return a frame as a `pandas.DataFrame`, column by column: no pyarrow is needed.

    Args:
        frame: Any frame of Polars. A null count becomes NA, a null float NaN, a null time NaT and a
            null text None; times keep their zone; lists and structures become lists and dicts.

    Raises:
        NoPandasError: Pandas is not installed.
    """
    try:
        pandas = import_module("pandas")
    except ModuleNotFoundError as error:
        raise NoPandasError(
            "wanted pandas, which is not installed; `pip install pandas`, or stay with Polars"
        ) from error
    columns = {name: _column(frame.get_column(name), pandas) for name in frame.columns}
    return pandas.DataFrame(columns, index=pandas.RangeIndex(frame.height))


def _column(values: pl.Series, pandas: Any) -> Any:  # noqa: ANN401 -- as above
    """Return a column as pandas holds it."""
    kind = values.dtype
    if isinstance(kind, pl.Datetime):
        if kind.time_zone is None:
            return pandas.Series(values.to_numpy())
        moments = values.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        times = pandas.Series(moments.to_numpy())
        return times.dt.tz_localize("UTC").dt.tz_convert(kind.time_zone)
    if kind.is_integer():
        whole = "UInt64" if kind.is_unsigned_integer() else "Int64"
        return pandas.array(values.to_list(), dtype=whole)
    if kind == pl.Boolean:
        return pandas.array(values.to_list(), dtype="boolean")
    if kind.is_float():
        return values.to_numpy()
    return pandas.Series(values.to_list(), dtype="object")
