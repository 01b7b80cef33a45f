"""Stamps as sources write them, read into UTC.

Most stamps are local and carry no zone (formats of progress streams, section 0.3): the zone is
the reader's to give. A stamp that says its offset is believed.
"""

from typing import Final

import polars as pl

from collectors.frames import TIME

ISO_PATTERN: Final = (
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T _]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:[.,]([0-9]{1,9}))? ?"
    r"(Z|[+-][0-9]{2}:?[0-9]{2})?"
)
"""Date and time with blank, `T` or `_` between; fraction after a dot or a comma; maybe a zone. The
digits of other scripts are none of a stamp, and looking for them costs."""

_ZONE: Final = r" ?(Z|[+-][0-9]{2}:?[0-9]{2})$"

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
    # Eager expressions evaluate what they share as often as it is used; a text is searched once.
    return text.map_batches(
        lambda texts: _times(texts, time_zone), return_dtype=TIME, is_elementwise=True
    )


def _times(texts: pl.Series, time_zone: str) -> pl.Series:
    stamps = texts.cast(pl.String).str.extract(f"({ISO_PATTERN})").str.strip_chars_end()
    plain = plain_times(stamps, time_zone)
    if plain.null_count() == stamps.null_count():
        return plain
    usual = stamps.str.replace(_ZONE, "").str.replace("[T_]", " ").str.replace(",", ".")
    local = plain_times(usual, time_zone)
    zones = stamps.str.extract(_ZONE)
    if zones.null_count() == len(zones):
        return local
    shift = offset_minutes(pl.col("zone"))
    absolute = pl.col("utc") - pl.duration(minutes=shift)
    told = pl.when(shift.is_null()).then("local").otherwise(absolute)
    parts = {"local": local, "utc": plain_times(usual, "UTC"), "zone": zones}
    return pl.DataFrame(parts).select(told.alias(texts.name)).to_series()


def plain_times(stamps: pl.Series, time_zone: str) -> pl.Series:
    """Return the times of stamps in the usual form, ten times as fast as those of any other.

    Args:
        stamps: Texts that are a stamp alone: `2031-02-03 04:05:06`, with a fraction or without.
        time_zone: IANA zone of the stamps.

    Returns:
        UTC microseconds; null for stamps of another form.
    """
    local = stamps.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=False)
    zoned = local.dt.replace_time_zone(time_zone, ambiguous="earliest", non_existent="null")
    return zoned.dt.convert_time_zone("UTC")


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
