"""PromQL's functions over frames: growth of ranges, instant selection, and values over time.

Source: Prometheus, promql/functions.go and promql/engine.go at 2.42 and 3.x. Missing is no row:
never 0, and never the last value known beyond the lookback.
"""

from typing import Final, Literal

import numpy as np
import polars as pl

from collectors.frames import TIME, schema_of
from detectors.panels import Ints
from slo.promql import DEFAULT_LOOKBACK_SECONDS, MILLISECONDS, Semantics
from slo.range_sums import Sums, newest_of
from slo.ranges import Grown, Growth, Growths, Ranges
from slo.tracks import Tracks, label_names, tracks_of

INCREASES: Final = schema_of(
    {"time": TIME, "value": pl.Float64, "sample_count": pl.Int64, "overlap_count": pl.Int64}
)
"""What `increase`, `rate` and `delta` add to the label columns. `sample_count` is how many samples
the window held; `overlap_count` how many of them look like a second replica's."""


def increase(
    samples: pl.DataFrame, times: pl.Series, *, range_seconds: int, semantics: Semantics
) -> pl.DataFrame:
    """Return how much each counter grew over the range before each time.

    Args:
        samples: One row a sample: `time`, `value`, and every other column a label (null: absent).
            A null `value` is a staleness marker. Times count in whole milliseconds.
        times: Evaluation times, `TIME`.
        range_seconds: Length of the range.
        semantics: Whose arithmetic.

    Returns:
        The labels and `INCREASES`, by labels and time; no row where the range holds fewer than two
        samples. A missing series is no row, never 0.

    Raises:
        DuplicateSampleError: A series has two different values at one time.
    """
    return _grown(samples, Growth.INCREASE, ranges_before(times, range_seconds, semantics))


def rate(
    samples: pl.DataFrame, times: pl.Series, *, range_seconds: int, semantics: Semantics
) -> pl.DataFrame:
    """Return the per-second growth of each counter over the range before each time.

    The arguments, result and errors are those of `increase`.
    """
    return _grown(samples, Growth.RATE, ranges_before(times, range_seconds, semantics))


def delta(
    samples: pl.DataFrame, times: pl.Series, *, range_seconds: int, semantics: Semantics
) -> pl.DataFrame:
    """Return how much each gauge changed over the range before each time, down as well as up.

    The arguments, result and errors are those of `increase`.
    """
    return _grown(samples, Growth.DELTA, ranges_before(times, range_seconds, semantics))


def instant(
    samples: pl.DataFrame,
    times: pl.Series,
    *,
    semantics: Semantics,
    lookback_seconds: int = DEFAULT_LOOKBACK_SECONDS,
) -> pl.DataFrame:
    """Return the value of each series at each time.

    Args:
        samples: As for `increase`.
        times: Evaluation times, `TIME`.
        semantics: Whether a sample exactly `lookback_seconds` old still counts (2.42) or not (3).
        lookback_seconds: How far back a plain gap is bridged.

    Returns:
        The labels, `time` and `value`, by labels and time; no row where a staleness marker (null)
        is newest, or nothing is new enough.

    Raises:
        DuplicateSampleError: A series has two different values at one time.
    """
    tracks, at = tracks_of(samples), milliseconds(times)
    found = newest_of(tracks, at, lookback_seconds, is_closed=semantics.is_closed)
    return _rows(tracks, at, found).select(*label_names(samples), "time", "value")


def over_time(
    samples: pl.DataFrame,
    times: pl.Series,
    function: Literal["count", "sum", "avg"],
    *,
    range_seconds: int,
    semantics: Semantics,
) -> pl.DataFrame:
    """Return `<function>_over_time` of each series over the range before each time.

    Args:
        samples: As for `increase`. A NaN or an infinity poisons sums and means until it has left
            the range, as in Prometheus.
        times: Evaluation times, `TIME`.
        function: What is asked of the samples in the range.
        range_seconds: Length of the range.
        semantics: Which samples a range selects.

    Returns:
        The labels, `time` and `value`, by labels and time; no row where the range is empty.

    Raises:
        DuplicateSampleError: A series has two different values at one time.
    """
    tracks, ranges = tracks_of(samples), ranges_before(times, range_seconds, semantics)
    rows = _rows(tracks, ranges.at, Sums(tracks).over(ranges, Growth.INCREASE))
    count = pl.col("sample_count").cast(pl.Float64)
    value = {"count": count, "sum": pl.col("value"), "avg": pl.col("value") / count}[function]
    return rows.select(*label_names(samples), "time", value.alias("value"))


def ranges_before(times: pl.Series, range_seconds: int, semantics: Semantics) -> Ranges:
    """Return the ranges of one length that end at the given times."""
    at = milliseconds(times)
    low = at - range_seconds * MILLISECONDS
    return Ranges(low=low, at=at, seconds=range_seconds, semantics=semantics)


def milliseconds(times: pl.Series) -> Ints:
    """Return times as milliseconds since the epoch, each once, ascending."""
    at: Ints = times.dt.epoch("ms").unique().sort().cast(pl.Int64).to_numpy()
    return at


def _grown(samples: pl.DataFrame, growth: Growth, ranges: Ranges) -> pl.DataFrame:
    """Return growth over ranges as rows."""
    tracks = tracks_of(samples)
    rows = _rows(tracks, ranges.at, Growths(tracks).over(ranges, growth))
    return rows.select(*label_names(samples), *INCREASES.names())


def _rows(tracks: Tracks, at: Ints, grown: Grown) -> pl.DataFrame:
    """Return what is known as rows, by series and time."""
    series, number = np.nonzero(grown.known)
    overlaps = np.zeros_like(series) if grown.overlaps is None else grown.overlaps[grown.known]
    counted = pl.DataFrame(
        {
            "time": pl.Series(at[number] * MILLISECONDS).cast(TIME),
            "value": grown.values[grown.known],
            "sample_count": grown.counts[grown.known],
            "overlap_count": overlaps,
        }
    )
    return pl.concat([tracks.labels[series], counted], how="horizontal")
