"""The time at the head of torchrun's own lines: in full, or of glog's form without a year.

Source: PyTorch `torch/_logging/_internal.py` (glog form) and the logging format before it.
"""

from typing import Final

import polars as pl

from collectors.communication.c10_lines import short_time
from collectors.texts.stamps import iso_time

_HEAD: Final = (
    r"^[\[(]?[IWEFDV](?P<month>\d\d)(?P<day>\d\d) (?P<clock>\d\d:\d\d:\d\d)\.(?P<fraction>\d+)"
)

_FULL: Final = r"^\W*(\d{4}-\d\d-\d\d[T _]\d\d:\d\d:\d\d(?:[.,]\d+)?)"


def agent_time(events: pl.DataFrame, year: int | None, time_zone: str) -> pl.Series:
    """Return the time of each line: of its envelope, else of its head; null without either.

    Args:
        events: `time` of the envelope, and `text`.
        year: Of stamps that carry none; null: they are no time.
        time_zone: IANA zone of stamps that carry none.
    """
    heads = events.select("time", "text", pl.col("text").str.extract_groups(_HEAD).alias("head"))
    return heads.unnest("head").select(
        pl.coalesce(
            "time",
            iso_time(pl.col("text").str.extract(_FULL, 1), time_zone),
            short_time(time_zone, year),
        )
    )["time"]
