"""Stamps between the lines of a tool's output: what `date` prints before each round of a loop.

A stamp holds for the lines below it, until the next one; above the first one the file's own time
holds. Only a line that is nothing but a stamp (a mark before it, a topology file's words) counts.
"""

from typing import Final

import polars as pl

from collectors.sniffing import ReadOptions
from collectors.taken import taken_at
from collectors.texts.stamps import ISO_PATTERN, iso_time, offset_minutes

_LINE: Final = rf"^[#=\-\s]*(?:time:|date:|timestamp:)?\s*{ISO_PATTERN}[=\-\s]*$"

_DATE: Final = (
    r"^(?:[#=\-\s]*|# Topology file: generated on )(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) "
    r"([A-Z][a-z]{2}) +(\d{1,2}) (\d\d:\d\d:\d\d)(?: ([AP]M))?(?: ([A-Z]{2,5}))? (20\d\d)"
    r"[=\-\s]*$"
)
"""What `date` prints in the C locale, and what ibnetdiscover writes at the top."""

_ZULU: Final = ("UTC", "GMT")


def stamp_of(text: pl.Expr, time_zone: str) -> pl.Expr:
    """Return the time of a line that is a stamp alone; null for any other line."""
    iso = pl.when(text.str.contains(f"(?i){_LINE}")).then(iso_time(text, time_zone))
    month, day, clock, half, zone, year = (text.str.extract(_DATE, at) for at in range(1, 7))
    return pl.coalesce(iso, date_time((year, month, day), (clock, half, zone), time_zone))


def date_time(
    date: tuple[pl.Expr, pl.Expr, pl.Expr],
    clock: tuple[pl.Expr, pl.Expr, pl.Expr],
    time_zone: str,
) -> pl.Expr:
    """Return the time of a date in words; null where there is none.

    Args:
        date: Year, short name of the month, and day.
        clock: Hours, minutes and seconds; `AM` or `PM`, null for 24 hours; and the zone.
        time_zone: IANA zone of a clock that tells neither UTC nor an offset: no zone, or a name
            such as `CST`, which several zones have.
    """
    (year, month, day), (hours, half, zone) = date, clock
    words = pl.concat_str(
        [year, month, day.str.pad_start(2, "0"), hours, half.fill_null("")], separator=" "
    )
    whole = pl.coalesce(
        words.str.to_datetime("%Y %b %d %H:%M:%S ", time_unit="us", strict=False),
        words.str.to_datetime("%Y %b %d %I:%M:%S %p", time_unit="us", strict=False),
    )
    local = whole.dt.replace_time_zone(time_zone, ambiguous="earliest", non_existent="null")
    shift = pl.when(zone.is_in(_ZULU)).then(0).otherwise(offset_minutes(zone))
    absolute = (whole - pl.duration(minutes=shift)).dt.replace_time_zone("UTC")
    return pl.when(shift.is_null()).then(local.dt.convert_time_zone("UTC")).otherwise(absolute)


def stamped(lines: pl.DataFrame, source: str, options: ReadOptions) -> pl.DataFrame:
    """Return lines with `time`, the time they were taken, and `is_stamp`.

    Args:
        lines: `PLAIN_LINES`.
        source: The file's name, which may tell the time of all its lines.
        options: The zone of stamps without one, and the time of a file that does not say it.
    """
    taken = pl.lit(taken_at(source, options), pl.Datetime("us", "UTC"))
    stamp = stamp_of(pl.col("text"), options.time_zone)
    return (
        lines.lazy()
        .with_columns(stamp=stamp)
        .with_columns(
            time=pl.col("stamp").forward_fill().fill_null(taken),
            is_stamp=pl.col("stamp").is_not_null(),
        )
        .drop("stamp")
        .collect()
    )
