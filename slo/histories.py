"""Where a replay takes its series from: any source that can be asked for a stretch of time.

A history may be longer than memory holds; a replay asks for one stretch after the other.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, cast

import polars as pl

from collectors.frames import TIME


class SeriesColumnsError(ValueError):
    """A frame is not one of series."""


class SeriesHistory(Protocol):
    """Series over a span of time."""

    def span(self) -> tuple[datetime, datetime] | None:
        """Return the first and the last moment that it has samples of; null without any."""
        ...

    def read(self, start: datetime, end: datetime) -> pl.DataFrame:
        """Return `metric`, labels, `time` and `value` of the samples in `[start, end)`."""
        ...


@dataclass(frozen=True, slots=True)
class FrameHistory:
    """Series in one frame, in memory or in files.

    Attributes:
        frame: `metric`, labels, `time` (`TIME`) and `value`; made by `frame_history`.
    """

    frame: pl.LazyFrame

    def span(self) -> tuple[datetime, datetime] | None:
        """Return the first and the last moment that it has samples of; null without any."""
        first, last = pl.col("time").min(), pl.col("time").max()
        ends = self.frame.select(first=first, last=last).collect().row(0)
        return None if ends[0] is None else cast("tuple[datetime, datetime]", ends)

    def read(self, start: datetime, end: datetime) -> pl.DataFrame:
        """Return the samples in `[start, end)`."""
        return self.frame.filter(pl.col("time").is_between(start, end, closed="left")).collect()


def frame_history(frame: pl.LazyFrame) -> FrameHistory:
    """Return a frame of series as a history.

    Args:
        frame: `metric`, `time` and `value`, and each other column a label. Times are any dates of
            Polars (without a zone: UTC), seconds since the epoch, or RFC 3339 text.

    Raises:
        SeriesColumnsError: One of the three columns is missing, or no time is in one of the forms.
    """
    schema = frame.collect_schema()
    missing = [name for name in ("metric", "time", "value") if name not in schema]
    if missing:
        raise SeriesColumnsError(
            f"wanted columns metric, time, value and one for each label, missing {missing}, found "
            f"{schema.names()}; rename them, or give logs or a store instead"
        )
    labels = [name for name in schema if name not in {"metric", "time", "value"}]
    return FrameHistory(
        frame.select(
            pl.col("metric", *labels).cast(pl.String),
            _utc(schema["time"]).alias("time"),
            pl.col("value").cast(pl.Float64),
        )
    )


def _utc(kind: pl.DataType) -> pl.Expr:
    """Return the times in UTC microseconds."""
    time = pl.col("time")
    if isinstance(kind, pl.Datetime):
        aware = time.dt.replace_time_zone("UTC") if kind.time_zone is None else time
        return aware.dt.convert_time_zone("UTC").cast(TIME)
    if kind.is_numeric():
        return (time.cast(pl.Float64) * 1e6).round().cast(pl.Int64).cast(TIME)
    if kind == pl.String:
        return time.str.to_datetime(time_unit="us", time_zone="UTC", strict=True)
    raise SeriesColumnsError(
        f"wanted times as dates, seconds or text, found {kind}; write them as 2026-01-05T04:00:00Z"
    )
