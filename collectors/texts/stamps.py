"""Stamps as sources write them, read into UTC.

Most stamps are local and carry no zone (formats of progress streams, section 0.3): the zone is
the reader's to give. A stamp that says its offset is believed.
"""

from typing import Final

import polars as pl

from collectors.frames import TIME

ISO_PATTERN: Final = (
    r"(\d{4}-\d\d-\d\d)[T _](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))? ?(Z|[+-]\d\d:?\d\d)?"
)
"""Date and time with blank, `T` or `_` between; fraction after a dot or a comma; maybe a zone."""

_UNITS: Final = ((1e17, 1e-3), (1e14, 1.0), (1e11, 1e3), (1e8, 1e6))
"""(smallest epoch value, its unit in microseconds): ns, us, ms, s. Below 1e8 s lies 1973."""


def iso_time(text: pl.Expr, time_zone: str) -> pl.Expr:
    """Return the time of the first date-and-time in a text.

    Args:
        text: Any text.
        time_zone: IANA zone of stamps without one. An hour that occurs twice is its first
            occurrence, one that does not exist is null.

    Returns:
        UTC microseconds; finer digits are cut; null where there is no valid stamp.
    """
    day, clock, fraction, zone = (text.str.extract(ISO_PATTERN, group) for group in (1, 2, 3, 4))
    whole = pl.concat_str(day, pl.lit(" "), clock).str.to_datetime(
        "%Y-%m-%d %H:%M:%S", time_unit="us", strict=False
    )
    micros = fraction.fill_null("0").str.pad_end(6, "0").str.slice(0, 6).cast(pl.Int64)
    exact = whole + pl.duration(microseconds=micros)
    shift = offset_minutes(zone)
    absolute = (exact - pl.duration(minutes=shift)).dt.replace_time_zone("UTC")
    local = exact.dt.replace_time_zone(time_zone, ambiguous="earliest", non_existent="null")
    return pl.when(shift.is_null()).then(local.dt.convert_time_zone("UTC")).otherwise(absolute)


def offset_minutes(zone: pl.Expr) -> pl.Expr:
    """Return the minutes east of UTC of `Z`, `+08:00` or `-0530`; null without a zone."""
    hours = zone.str.extract(r"[+-](\d\d)").cast(pl.Int64)
    minutes = zone.str.extract(r"[+-]\d\d:?(\d\d)").cast(pl.Int64)
    sign = pl.when(zone.str.starts_with("-")).then(-1).otherwise(1)
    return pl.when(zone == "Z").then(0).otherwise(sign * (hours * 60 + minutes))


def epoch_time(number: pl.Expr) -> pl.Expr:
    """Return the time of an epoch number in s, ms, us or ns, told apart by its size.

    Args:
        number: Float64; below 1e8 it is no epoch but a clock of its own.

    Returns:
        UTC microseconds; null for null, NaN and numbers that are no epoch.
    """
    micros = pl.lit(None, dtype=pl.Float64)
    for smallest, unit in reversed(_UNITS):
        micros = pl.when(number >= smallest).then(number * unit).otherwise(micros)
    sound = number.is_finite() & (number < 1e19)  # noqa: PLR2004 -- past 64-bit nanoseconds
    return pl.when(sound).then(micros.round()).cast(pl.Int64, strict=False).cast(TIME)
