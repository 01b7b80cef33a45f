"""The time at the head of launchers' own lines: in full, or without a year, of glog or syslog.

Source: PyTorch `torch/_logging/_internal.py` (glog form) and the logging format before it.
"""

from typing import Final

import polars as pl

from collectors.communication.c10_lines import short_time
from collectors.texts.stamps import iso_time

_HEAD: Final = (
    r"^[\[(]?[IWEFDV](?P<month>\d\d)(?P<day>\d\d) (?P<clock>\d\d:\d\d:\d\d)\.(?P<fraction>\d+)"
)

_MONTHS: Final = {
    "Jan": "01",
    "Feb": "02",
    "Mar": "03",
    "Apr": "04",
    "May": "05",
    "Jun": "06",
    "Jul": "07",
    "Aug": "08",
    "Sep": "09",
    "Oct": "10",
    "Nov": "11",
    "Dec": "12",
}

_SYSLOG: Final = (
    rf"^(?P<month>{'|'.join(_MONTHS)}) {{1,2}}(?P<day>\d{{1,2}}) (?P<clock>\d\d:\d\d:\d\d)"
)

_FULL: Final = r"^\W*(\d{4}-\d\d-\d\d[T _]\d\d:\d\d:\d\d(?:[.,]\d+)?)"

_SHORT: Final = (_HEAD, _SYSLOG)


def agent_time(events: pl.DataFrame, year: int | None, time_zone: str) -> pl.Series:
    """Return the time of each line: of its envelope, else of its head; null without either.

    Args:
        events: `time` of the envelope, and `text`.
        year: Of stamps that carry none; null: they are no time.
        time_zone: IANA zone of stamps that carry none.
    """
    short = [
        events.select(pl.col("text").str.extract_groups(form)).unnest("text") for form in _SHORT
    ]
    forms = [
        heads.with_columns(
            pl.col("month").replace(_MONTHS),
            pl.col("day").str.zfill(2),
            fraction="fraction" if "fraction" in heads.columns else pl.lit("0"),
        ).select(short_time(time_zone, year).alias(f"short{at}"))
        for at, heads in enumerate(short)
    ]
    full = iso_time(pl.col("text").str.extract(_FULL, 1), time_zone)
    told = events.select("time", full=full)
    return pl.concat([told, *forms], how="horizontal").select(pl.coalesce(pl.all()))["time"]
