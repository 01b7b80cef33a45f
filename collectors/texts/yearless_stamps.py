"""Stamps without a year, `Jan  5 04:03:02`, read into UTC by the order of their log.

Source: RFC 3164, section 4.1.2 (the stamp of BSD syslog); formats of GPU and host streams, section
0.3, and of fabric counters, section 4 (the year is that of the log's end, walk back across New
Year). A stamp that says its year (some switches put one in front) is believed.
"""

from dataclasses import dataclass
from typing import Final

import polars as pl

from collectors.sniffing import ReadOptions

_NAMES: Final = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"

YEARLESS_STAMP: Final = (
    rf"(?:\b(\d{{4}}) )?\b({_NAMES}) {{1,2}}(3[01]|[12]\d|0?[1-9]) "
    r"(\d\d:\d\d:\d\d)(?:[.,](\d{1,9})| (\d{6})\b)?"
)
"""Maybe a year, month, day, clock; maybe a fraction, or OpenSM's microseconds as a word."""

_MONTHS: Final = [
    "Jan",
    "Feb",
    "Mar",
    "Apr",
    "May",
    "Jun",
    "Jul",
    "Aug",
    "Sep",
    "Oct",
    "Nov",
    "Dec",
]

_MONTH_DAYS: Final = (0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335)
"""Days of a leap year before each month."""

_YEAR_DAYS: Final = 366

MAX_DISORDER_DAYS: Final = 30
"""A step back by up to this much is disorder, also over New Year; a longer one is a New Year. Logs
are written within seconds of order and glued together within weeks; none is silent for 11 months.
"""

MIN_REPEAT: Final = pl.duration(minutes=30)
"""A clock that falls by more inside an hour that occurs twice has begun that hour again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class YearWalk:
    """Where a log stands in its years, for reading it by blocks.

    Attributes:
        day: Day in a leap year, from 0, of the last stamp read; null before the first.
        years: New Years passed since the first stamp, minus those stepped back over.
        newest: The most that `years` has been.
    """

    day: int | None = None
    years: int = 0
    newest: int = 0


def walk_years(stamps: pl.Series, walk: YearWalk | None = None) -> YearWalk:
    """Return where a log stands after some more of its lines.

    Args:
        stamps: Texts in the order of the log; those without a stamp count for nothing.
        walk: Where it stood before; null at its start.
    """
    return _walked(stamps, walk or YearWalk())[1]


def yearless_times(
    stamps: pl.Series,
    options: ReadOptions,
    before: YearWalk | None = None,
    end: YearWalk | None = None,
) -> pl.Series:
    """Return the times of the stamps of a log.

    Args:
        stamps: Texts in the order of the log; the first stamp in each counts.
        options: `year` is that of the newest stamp; without it, that of `taken`. `time_zone` is
            that of all stamps.
        before: Where the log stood before these lines (see `walk_years`); null at its start.
        end: Where it stands at its end; null if these lines reach it.

    Returns:
        UTC microseconds; null for a text without a valid stamp, and where no year is known. An
        hour that occurs twice is its first occurrence until the log's clock falls by half an hour
        inside it, and its second from there on: the order of the lines tells, never a sort.
    """
    years, after = _walked(stamps, before or YearWalk())
    parts = _parts(stamps).with_columns(years=years)
    newest = (end or after).newest
    last = options.year if options.year is not None else _taken_year(after, options)
    told = pl.lit(None if last is None else last - newest, dtype=pl.Int32) + pl.col("years")
    local = parts.select(_local(pl.col("year").fill_null(told)).alias(stamps.name))
    return local.select(local_time(pl.col(stamps.name), options.time_zone)).to_series()


def local_time(local: pl.Expr, time_zone: str) -> pl.Expr:
    """Return the UTC times of a log's local clock; see `yearless_times` for the hour met twice.

    Args:
        local: Local times without zone, in the order of the log.
        time_zone: Their IANA zone; an hour that does not exist is null.
    """
    first, second = (
        local.dt.replace_time_zone(time_zone, ambiguous=which, non_existent="null")
        for which in ("earliest", "latest")
    )
    twice = pl.when(first != second).then(local)
    day = twice.dt.date()
    has_fallen = (twice < twice.cum_max().over(day) - MIN_REPEAT).fill_null(value=False)
    is_second = has_fallen.cum_max().over(day)
    return (
        pl.when(twice.is_not_null() & is_second)
        .then(second)
        .otherwise(first)
        .dt.convert_time_zone("UTC")
    )


def _parts(stamps: pl.Series) -> pl.DataFrame:
    """Return `year`, `month`, `day` (numbers), `clock` and `fraction` of each stamp."""
    groups = pl.col("stamp").str.extract_groups(YEARLESS_STAMP).struct
    return pl.DataFrame({"stamp": stamps}, schema={"stamp": pl.String}).select(
        year=groups.field("1").cast(pl.Int32),
        month=groups.field("2").replace_strict(
            _MONTHS, list(range(1, 13)), default=None, return_dtype=pl.Int32
        ),
        day=groups.field("3").cast(pl.Int32),
        clock=groups.field("4"),
        fraction=groups.field("5").fill_null(groups.field("6")).fill_null("0"),
    )


def _walked(stamps: pl.Series, walk: YearWalk) -> tuple[pl.Series, YearWalk]:
    """Return the New Years passed at each stamp, and where the log stands after the last."""
    starts = dict(enumerate(_MONTH_DAYS, 1))
    month = pl.col("month").replace_strict(starts, default=None, return_dtype=pl.Int32)
    days = _parts(stamps).select(day=month + pl.col("day") - 1).to_series()
    known = days.drop_nulls()
    if known.is_empty():
        return days * 0, walk
    before = pl.Series([known[0] if walk.day is None else walk.day], dtype=pl.Int32)
    change = pl.concat([before, known]).diff()[1:]
    step = (change + MAX_DISORDER_DAYS) % _YEAR_DAYS - MAX_DISORDER_DAYS
    passed = (step - change) // _YEAR_DAYS
    years = passed.cum_sum() + walk.years
    spread = pl.DataFrame({"day": days}).with_row_index("at")
    at = spread.filter(pl.col("day").is_not_null()).select("at", years=years)
    whole = spread.join(at, on="at", how="left", maintain_order="left")["years"]
    newest = max(walk.newest, int(years.to_numpy().max()))
    return whole, YearWalk(day=int(known[-1]), years=int(years[-1]), newest=newest)


def _taken_year(after: YearWalk, options: ReadOptions) -> int | None:
    """Return the year of the newest stamp of a log whose file was taken at a known time."""
    if options.taken is None or after.day is None:
        return None
    taken = options.taken.timetuple()
    return taken.tm_year - (after.day > taken.tm_yday + 1)


def _local(year: pl.Expr) -> pl.Expr:
    """Return the local time of each row of parts; null for a day that its year does not have."""
    day = pl.concat_str(year, "month", "day", separator="-")
    whole = pl.concat_str(day, "clock", separator=" ").str.to_datetime(
        "%Y-%m-%d %H:%M:%S", time_unit="us", strict=False
    )
    micros = pl.col("fraction").str.pad_end(6, "0").str.slice(0, 6).cast(pl.Int64)
    return whole + pl.duration(microseconds=micros)
