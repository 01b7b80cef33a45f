"""Where a replay takes its series from: any source that can be asked for a stretch of time.

A history may be longer than memory holds; a replay asks for one stretch after the other.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol, cast

import polars as pl

from collectors.frames import TIME

_MICROSECONDS: Final = ((1e11, 1e6), (1e14, 1e3), (1e17, 1.0), (float("inf"), 1e-3))
"""Microseconds of a unit of a number below a size, from seconds to nanoseconds: seconds below the
first one last until the year 5138, and milliseconds above it began in 1973."""


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
        ends = _collected(self.frame.select(first=first, last=last)).row(0)
        return None if ends[0] is None else cast("tuple[datetime, datetime]", ends)

    def read(self, start: datetime, end: datetime) -> pl.DataFrame:
        """Return the samples in `[start, end)`."""
        return _collected(self.frame.filter(pl.col("time").is_between(start, end, closed="left")))

    def metrics(self) -> list[str]:
        """Return the names of all metrics, ascending."""
        names = self.frame.select(pl.col("metric").drop_nulls().unique().sort())
        return _collected(names)["metric"].to_list()


def _collected(frame: pl.LazyFrame) -> pl.DataFrame:
    """Return rows, or refuse them for the first one that cannot be read."""
    try:
        return frame.collect()
    except pl.exceptions.PolarsError as error:
        found = str(error).partition("\n")[0]
        raise SeriesColumnsError(
            f"wanted times as dates, numbers or RFC 3339 text, and values as numbers; {found}; "
            "leave out or mend those rows"
        ) from error


def frame_history(frame: pl.LazyFrame) -> FrameHistory:
    """Return a frame of series as a history.

    Args:
        frame: `metric`, `time` and `value`, and each other column a label; an empty label is none.
            Times are any dates of Polars (without a zone: UTC), RFC 3339 text, or seconds since the
            epoch; or milliseconds, microseconds or nanoseconds, which their size tells.

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
            pl.col("metric").cast(pl.String),
            *(_label(name) for name in labels),
            _utc(schema["time"]).alias("time"),
            pl.col("value").cast(pl.Float64),
        )
    )


def _label(name: str) -> pl.Expr:
    """Return a label; an empty one is absent, as in Prometheus."""
    label = pl.col(name).cast(pl.String)
    return pl.when(label != "").then(label).alias(name)


def _utc(kind: pl.DataType) -> pl.Expr:
    """Return the times in UTC microseconds."""
    time = pl.col("time")
    if isinstance(kind, pl.Datetime):
        aware = time.dt.replace_time_zone("UTC") if kind.time_zone is None else time
        return aware.dt.convert_time_zone("UTC").cast(TIME)
    if kind.is_numeric():
        number = time.cast(pl.Float64)
        scaled = [pl.when(number.abs() < size).then(number * unit) for size, unit in _MICROSECONDS]
        return pl.coalesce(scaled).round().cast(pl.Int64).cast(TIME)
    if kind == pl.String:
        return time.str.to_datetime(time_unit="us", time_zone="UTC", strict=True)
    raise SeriesColumnsError(
        f"wanted times as dates, seconds or text, found {kind}; write them as 2026-01-05T04:00:00Z"
    )
