"""Take the head off the lines of PyTorch's C++ log: rank, severity, time, process group.

Source: formats of NCCL and PyTorch-distributed logs, sections 8.1 and 8.2 (c10 log head of torch
2.0 to 2.13, `[PG ...]` head). The stamp has neither year nor zone, and its last two digits before
the blank are the day.
"""

from typing import Final

import polars as pl

from collectors.sniffing import ReadOptions
from collectors.texts.ascii_patterns import ascii_pattern
from collectors.texts.file_places import file_number

C10_START: Final = (
    r"(?:\[rank\d+\]: ?)?\[[IWEFV](?:\d{3,4} \d\d:\d\d:\d\d\.\d{6,9})? ?"
    r"[A-Za-z_]\w*\.(?:cpp|hpp|cc|cu|h):\d+\] "
)
"""How such a record begins, wherever it stands."""

C10_MARK: Final = r"(?:\.cpp:|\.hpp:|\.cc:|\.cu:|\.h:)[0-9]+\] "
"""What such a beginning holds once."""

_HEAD: Final = (
    r"^\s*\[(?P<level>[IWEFV])(?:(?P<month>1[0-2]|0?[1-9])(?P<day>\d\d) "
    r"(?P<clock>\d\d:\d\d:\d\d)\.(?P<fraction>\d{6,9}))? "
    r"[A-Za-z_]\w*\.(?:cpp|hpp|cc|cu|h):\d+\] ?(?P<message>.*)$"
)

_GROUP: Final = (
    r"\[(?:PG (?:ID (?P<group_id>\d+) PG GUID (?P<guid>[^\s(\]]+)|(?P<old_group>[^\s(\]]+)) ?"
    r"(?:\((?P<group_name>[^)\]]*)\))? ?)?Rank (?P<group_rank>\d+)\]\s*"
)

MAX_YEAR_LINES: Final = 10_000
"""Lines with a year that are enough to tell which is the commonest."""

_FIRST_LOOK_LINES: Final = 2 * MAX_YEAR_LINES
"""Where most lines show a year, these have enough of them."""

_YEAR: Final = ascii_pattern(r"\b(20\d\d)-\d\d-\d\d[T ]\d\d:\d\d")


def read_c10_lines(lines: pl.DataFrame, options: ReadOptions) -> pl.DataFrame:
    """Return the lines that PyTorch's C++ side printed, without their heads.

    Args:
        lines: `LINES`.
        options: The zone and year of stamps that carry none; without a year, that of other stamps
            in the log is taken.

    Returns:
        The lines with `message` (after the group's head), `time` (the envelope's, else their
        own; null without a year), `group` (the GUID, which members share; in old releases the
        number after `PG`), `group_name`, and `group_rank`, the rank inside that group.
    """
    hits = lines.filter(pl.col("text").str.contains(_HEAD))
    heads = hits.hstack(hits.select(pl.col("text").str.extract_groups(_HEAD)).unnest("text"))
    groups = heads.select(pl.col("message").str.extract_groups(_GROUP)).unnest("message")
    year = year_of(lines, options)
    return heads.hstack(groups).with_columns(
        time=pl.col("time").fill_null(short_time(options.time_zone, year)),
        group=pl.col("guid").fill_null(pl.col("old_group")),
        group_rank=pl.col("group_rank").cast(pl.Int32, strict=False),
        message=pl.col("message").str.replace_all(_GROUP, ""),
    )


def year_of(lines: pl.DataFrame, options: ReadOptions) -> int | None:
    """Return the year of short stamps: as told, else the commonest of the log's other stamps."""
    if options.year is not None:
        return options.year
    shown = lines.head(_FIRST_LOOK_LINES).filter(_shows_year())
    if shown.height < MAX_YEAR_LINES:
        shown = pl.concat([shown, lines[_FIRST_LOOK_LINES:].filter(_shows_year())])
    year = _shown_year().drop_nulls().mode().min()
    found: int | None = shown.head(MAX_YEAR_LINES).select(year).item()
    return found


def years_of_files(lines: pl.DataFrame) -> pl.DataFrame:
    """Return `file` and `year` of short stamps, for each file of `LINES` that shows a year."""
    shown = lines.filter(_shows_year()).select(file_number(), year=_shown_year())
    first = pl.col("year").head(MAX_YEAR_LINES).drop_nulls()
    return shown.group_by("file", maintain_order=True).agg(first.mode().min())


def _shown_year() -> pl.Expr:
    said = pl.col("text").str.extract(_YEAR).cast(pl.Int32, strict=False)
    return pl.col("time").dt.year().fill_null(said)


def _shows_year() -> pl.Expr:
    """Return whether lines show a year: they have a time, or a stamp in their text."""
    return pl.col("time").is_not_null() | pl.col("text").str.contains(_YEAR)


def short_time(time_zone: str, year: int | None) -> pl.Expr:
    """Return the time of a stamp without a year: `month`, `day`, `clock`, `fraction` as text."""
    month = pl.col("month").str.zfill(2)
    day = pl.concat_str(pl.lit(None if year is None else str(year)), month, "day", separator="-")
    whole = pl.concat_str(day, "clock", separator=" ").str.to_datetime(
        "%Y-%m-%d %H:%M:%S", time_unit="us", strict=False
    )
    micros = pl.col("fraction").str.pad_end(6, "0").str.slice(0, 6).cast(pl.Int64, strict=False)
    exact = whole + pl.duration(microseconds=micros)
    local = exact.dt.replace_time_zone(time_zone, ambiguous="earliest", non_existent="null")
    return local.dt.convert_time_zone("UTC")
