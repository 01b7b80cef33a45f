"""The edge to pandas: frames stay Polars up to here."""

from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    import pandas as pd


class NoPandasError(ModuleNotFoundError):
    """Pandas is not installed."""


def to_pandas(frame: pl.DataFrame) -> "pd.DataFrame":
    """Return a frame for pandas, by its columns: no pyarrow is needed.

    Args:
        frame: Any frame of Polars. A null count becomes NA, a null float NaN, a null time NaT and a
            null text None; times stay in UTC; lists and structures become lists and dicts.

    Raises:
        NoPandasError: Pandas is not installed.
    """
    try:
        import pandas as pd  # noqa: PLC0415 -- nothing else needs it
    except ModuleNotFoundError as error:
        raise NoPandasError(
            "wanted pandas, which is not installed; `pip install pandas`, or stay with Polars"
        ) from error
    columns = {name: _column(frame.get_column(name)) for name in frame.columns}
    return pd.DataFrame(columns, index=pd.RangeIndex(frame.height))


def _column(values: pl.Series) -> Any:  # noqa: ANN401 -- pandas' types depend on what is in it
    """Return a column as pandas holds it."""
    import pandas as pd  # noqa: PLC0415 -- nothing else needs it

    kind = values.dtype
    if isinstance(kind, pl.Datetime):
        times = pd.Series(values.dt.replace_time_zone(None).to_numpy())
        return (
            times
            if kind.time_zone is None
            else times.dt.tz_localize("UTC").dt.tz_convert(kind.time_zone)
        )
    if kind.is_integer():
        return pd.array(values.to_list(), dtype="UInt64" if kind.is_unsigned_integer() else "Int64")
    if kind == pl.Boolean:
        return pd.array(values.to_list(), dtype="boolean")
    if kind.is_float():
        return values.to_numpy()
    return pd.Series(values.to_list(), dtype="object")
