"""Local stamps of a tool that prints as time goes by, told apart in the hour that comes twice."""

from typing import Final

import polars as pl

_MIN_STEP_BACK: Final = pl.duration(minutes=30)
"""A clock that was set back for the end of summer time steps back by more than this."""


def local_time(text: pl.Expr, pattern: str, time_zone: str) -> pl.Expr:
    """Return the times of stamps without a zone, in printed order.

    Args:
        text: The stamps; text that is none, and a time that does not exist, is null.
        pattern: How they are written, as Polars reads it.
        time_zone: IANA zone of the host.

    Returns:
        UTC microseconds. In the hour that occurs twice a stamp is its first occurrence until the
        stamps step back, then its second.
    """
    naive = text.str.to_datetime(pattern, time_unit="us", strict=False)
    first, second = (
        naive.dt.replace_time_zone(time_zone, ambiguous=which, non_existent="null")
        for which in ("earliest", "latest")
    )
    stepped = (naive.diff() < -_MIN_STEP_BACK).fill_null(value=False).cast(pl.Int8).cum_max()
    local = pl.when((stepped == 1) & (second != first)).then(second).otherwise(first)
    return local.dt.convert_time_zone("UTC")
