"""When a trainer's line was printed: the stamp inside it is nearer to the step than its envelope's.

Source: formats of progress streams, sections 0.2 and 0.3: stamps are local and carry no zone, glog
and absl print no year. An inner stamp hours from an envelope that names its zone is in another
zone, so the envelope is believed.
"""

from typing import Final

import polars as pl

from collectors.communication.c10_lines import short_time, year_of
from collectors.sniffing import ReadOptions
from collectors.texts.stamps import iso_time

MAX_APART_SECONDS: Final = 900.0
"""Two stamps of one line are further apart only when one is in another zone: the least is 15 min,
less what a pipe may hold a line back."""

_STAMP_CHARACTERS: Final = 80
"""A line's own stamp stands at its beginning: dates further on are what it speaks of."""

_SHORT_START: Final = r"^[IWEF][0-9]{4} "

_SHORT_STAMP: Final = (
    r"^[IWEF](?P<month>\d\d)(?P<day>\d\d) (?P<clock>\d\d:\d\d:\d\d)\.(?P<fraction>\d+) "
)


def with_own_times(hits: pl.DataFrame, lines: pl.DataFrame, options: ReadOptions) -> pl.DataFrame:
    """Return lines with their times.

    Args:
        hits: Some of the lines.
        lines: `LINES`, whose other stamps may tell the year.
        options: The zone and year of stamps that carry none.

    Returns:
        The hits with `end_time` (UTC; null without a stamp or its year) and `tick_seconds`, a clock
        that runs without a year too: only differences of it count.
    """
    own = iso_time(pl.col("text").str.head(_STAMP_CHARACTERS), options.time_zone)
    full = nearer_time(own, pl.col("time"))
    if not hits["text"].str.contains(_SHORT_START).any():
        timed = hits.with_columns(end_time=full)
        return timed.with_columns(tick_seconds=_seconds(pl.col("end_time")))
    stamps = hits.select(pl.col("text").str.extract_groups(_SHORT_STAMP)).unnest("text")
    year = year_of(lines, options)
    any_year = short_time(options.time_zone, year or 2000)
    return (
        hits.hstack(stamps)
        .with_columns(
            end_time=full.fill_null(short_time(options.time_zone, year)),
            tick_seconds=_seconds(full.fill_null(any_year)),
        )
        .drop("month", "day", "clock", "fraction")
    )


def nearer_time(own: pl.Expr, envelope: pl.Expr) -> pl.Expr:
    """Return a line's own time, or its envelope's where it has none or is in another zone."""
    apart = (own - envelope).dt.total_microseconds().abs() >= MAX_APART_SECONDS * 1e6
    return pl.when(apart).then(envelope).otherwise(pl.coalesce(own, envelope))


def _seconds(time: pl.Expr) -> pl.Expr:
    return time.cast(pl.Int64) / 1e6
