"""`increase`, `rate` and instant selection over frames, exactly as Prometheus computes them.

Source: Prometheus, promql/functions.go (`extrapolatedRate`) and promql/engine.go at 2.42 and 3.x;
the order of extrapolation clamps changed with pull request 13725 (2.51), ranges became left-open
with 3.0. The order of the floating-point operations is part of the method: change none of it.
We differ in speed only: both ends of every window come from an as-of join over the whole frame.
"""

from enum import StrEnum
from typing import Final

import polars as pl

from collectors.frames import TIME, schema_of

INCREASES: Final = schema_of(
    {"time": TIME, "value": pl.Float64, "sample_count": pl.Int64, "overlap_count": pl.Int64}
)
"""What `increase` and `rate` add to the label columns. `sample_count` is how many samples the
window held; `overlap_count` how many of them look like a second replica's (see `_is_overlap`)."""

MILLISECONDS: Final = 1000
DEFAULT_LOOKBACK_SECONDS: Final = 300
EXTRAPOLATION_LIMIT: Final = 1.1
MAX_OVERLAP_DROP_RATIO: Final = 0.5


class Semantics(StrEnum):
    """Whose arithmetic is followed; it belongs beside every result."""

    PROMETHEUS_2_42 = "prometheus-2.42"
    """Ranges closed on both sides; the clamp to zero before the limit on extrapolation."""
    PROMETHEUS_3 = "prometheus-3"
    """Ranges open on the left; the clamp to zero after it."""


class DuplicateSampleError(ValueError):
    """One series has two values at one time."""


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
    ends = _range_ends(samples, times, range_seconds=range_seconds, semantics=semantics)
    return _results(ends, samples, _raw() * (_covered_seconds(semantics) / _span()))


def rate(
    samples: pl.DataFrame, times: pl.Series, *, range_seconds: int, semantics: Semantics
) -> pl.DataFrame:
    """Return the per-second growth of each counter over the range before each time.

    The arguments, result and errors are those of `increase`.
    """
    ends = _range_ends(samples, times, range_seconds=range_seconds, semantics=semantics)
    factor = _covered_seconds(semantics) / _span() / _each(float(range_seconds))
    return _results(ends, samples, _raw() * factor)


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
    ordered = _ordered(samples)
    age = pl.col("_at") - pl.col("_ms")
    limit = lookback_seconds * MILLISECONDS
    fresh = age <= limit if semantics is Semantics.PROMETHEUS_2_42 else age < limit
    found = _crossed(ordered, times).join_asof(
        ordered.select("_series", "_ms", "value").sort("_ms"),
        left_on="_at",
        right_on="_ms",
        by="_series",
        strategy="backward",
        coalesce=False,
        check_sortedness=False,
    )
    kept = found.filter(fresh, pl.col("value").is_not_null())
    return kept.sort("_series", "_at").select(*_labels(samples), _time("_at"), "value")


def above(ratio: pl.Expr, threshold: float) -> pl.Expr:
    """Return whether a value exceeds a threshold the way PromQL compares: NaN never does."""
    # Polars orders NaN above every number, so that a stretch without traffic would page.
    return (ratio.is_not_nan() & (ratio > threshold)).fill_null(value=False)


def _labels(samples: pl.DataFrame) -> list[str]:
    """Return the names of the columns that identify a series."""
    return [name for name in samples.columns if name not in {"time", "value"}]


def _time(milliseconds: str) -> pl.Expr:
    """Return a column of epoch milliseconds as `time`."""
    return (pl.col(milliseconds) * 1000).cast(TIME).alias("time")


def _ordered(samples: pl.DataFrame) -> pl.DataFrame:
    """Return the samples by series and time, with a number for each series (`_series`)."""
    labels = _labels(samples)
    keyed = samples.with_columns(_none=0, _ms=pl.col("time").dt.epoch("ms")).unique()
    names = ["_none", *labels]
    keys = keyed.select(names).unique().sort(names).with_row_index("_series")
    joined = keyed.join(keys, on=names, nulls_equal=True).sort("_series", "_ms")
    twice = joined.filter(pl.struct("_series", "_ms").is_duplicated())
    if twice.height:
        raise DuplicateSampleError(
            "wanted one value a series and time, found "
            f"{twice.select(*labels, 'time', 'value').rows(named=True)[:2]}; merge replicas first"
        )
    return joined


def _crossed(ordered: pl.DataFrame, times: pl.Series) -> pl.DataFrame:
    """Return each series at each time: `_series`, its labels, and `_at` in milliseconds."""
    series = ordered.unique("_series").drop("_ms", "_none", "time", "value", strict=False)
    grid = pl.DataFrame({"_at": times.dt.epoch("ms").unique().sort()})
    return grid.join(series, how="cross").sort("_at")


def _numbered(ordered: pl.DataFrame) -> pl.DataFrame:
    """Return the samples without markers, numbered, with running counts of resets and overlaps."""
    previous = pl.col("value").shift(1).over("_series")
    # A comparison with NaN is never a reset; Polars would say that any number is below NaN.
    is_reset = ((pl.col("value") < previous) & previous.is_not_nan()).fill_null(value=False)
    return (
        ordered.drop_nulls("value")
        .with_row_index("_row")
        .with_columns(_previous=previous, _is_reset=is_reset)
        .with_columns(
            _resets=pl.col("_is_reset").cum_sum().cast(pl.Int64),
            _overlaps=_is_overlap().cum_sum().cast(pl.Int64),
        )
    )


def _is_overlap() -> pl.Expr:
    """Return whether a sample dips as a second replica's does, and not as a restart.

    A restarted counter begins near zero; a replica that counts a little behind dips by less than
    half, and the next sample is back where the first replica was.
    """
    after = pl.col("value").shift(-1).over("_series")
    is_small = pl.col("value") > pl.col("_previous") * MAX_OVERLAP_DROP_RATIO
    is_back = (after >= pl.col("_previous")).fill_null(value=True)
    return (pl.col("_is_reset") & is_small & is_back).fill_null(value=False)


def _range_ends(
    samples: pl.DataFrame, times: pl.Series, *, range_seconds: int, semantics: Semantics
) -> pl.DataFrame:
    """Return the first and the last sample of each range that holds two, and its raw growth."""
    ordered = _ordered(samples)
    numbered = _numbered(ordered)
    ends = numbered.select("_series", "_ms", "_row", "value", "_resets", "_overlaps").sort("_ms")
    ranges = (
        _crossed(ordered, times)
        .with_columns(_low=pl.col("_at") - range_seconds * MILLISECONDS)
        .join_asof(
            ends,
            left_on="_low",
            right_on="_ms",
            by="_series",
            strategy="forward",
            allow_exact_matches=semantics is Semantics.PROMETHEUS_2_42,
            coalesce=False,
            check_sortedness=False,
        )
        .join_asof(
            ends,
            left_on="_at",
            right_on="_ms",
            by="_series",
            strategy="backward",
            coalesce=False,
            check_sortedness=False,
            suffix="_n",
        )
        .filter(pl.col("_row_n") > pl.col("_row"))
        .with_columns(_raw=pl.col("value_n") - pl.col("value"))
    )
    return _corrected(ranges, numbered)


def _corrected(ranges: pl.DataFrame, numbered: pl.DataFrame) -> pl.DataFrame:
    """Return the ranges with the value before each of their resets added to the raw growth.

    One reset after the other, in order: sums over prefixes lose digits after one large counter.
    """
    resets = numbered.filter("_is_reset").select(_reset="_resets", _lost="_previous")
    count = (pl.col("_resets_n") - pl.col("_resets")).max()
    for number in range(1, int(ranges.select(count.fill_null(0)).item() or 0) + 1):
        nth = pl.col("_resets") + number
        ranges = (
            ranges.with_columns(_reset=pl.when(nth <= pl.col("_resets_n")).then(nth))
            .join(resets, on="_reset", how="left", maintain_order="left")
            .with_columns(_raw=pl.col("_raw") + pl.col("_lost").fill_null(0.0))
            .drop("_reset", "_lost")
        )
    return ranges


def _raw() -> pl.Expr:
    """Return the growth between the first and the last sample, resets added."""
    return pl.col("_raw")


def _seconds(later: str, earlier: str) -> pl.Expr:
    """Return the seconds between two columns of milliseconds."""
    return (pl.col(later) - pl.col(earlier)).cast(pl.Float64) / _each(float(MILLISECONDS))


def _each(number: float) -> pl.Expr:
    """Return a number as a value for each row.

    Polars divides by a single number by multiplying with its inverse, which is off by one bit.
    """
    return (pl.col("_at") * 0).cast(pl.Float64) + number


def _span() -> pl.Expr:
    """Return the seconds between the first and the last sample."""
    return _seconds("_ms_n", "_ms")


def _zero_seconds() -> pl.Expr:
    """Return the seconds since the counter would have been zero; null where that is not asked."""
    grew = above(_raw(), 0.0) & (pl.col("value") >= 0.0) & pl.col("value").is_not_nan()
    return pl.when(grew).then(_span() * (pl.col("value") / _raw()))


def _clamped(seconds: pl.Expr) -> pl.Expr:
    """Return seconds before the first sample, no farther than where the counter was zero."""
    zero = _zero_seconds()
    return pl.when(zero < seconds).then(zero).otherwise(seconds)


def _covered_seconds(semantics: Semantics) -> pl.Expr:
    """Return the seconds that the growth is taken to stand for, edges extrapolated."""
    gap = _span() / (pl.col("_row_n").cast(pl.Int64) - pl.col("_row")).cast(pl.Float64)
    limit = gap * EXTRAPOLATION_LIMIT
    start, end = _seconds("_ms", "_low"), _seconds("_at", "_ms_n")
    if semantics is Semantics.PROMETHEUS_2_42:
        start = _clamped(start)
        start = pl.when(start < limit).then(start).otherwise(gap / 2.0)
    else:
        start = _clamped(pl.when(start >= limit).then(gap / 2.0).otherwise(start))
    return _span() + start + pl.when(end < limit).then(end).otherwise(gap / 2.0)


def _results(ends: pl.DataFrame, samples: pl.DataFrame, value: pl.Expr) -> pl.DataFrame:
    """Return the labels, time, value and counts of each range, in their order."""
    return ends.sort("_series", "_at").select(
        *_labels(samples),
        _time("_at"),
        value.alias("value"),
        (pl.col("_row_n").cast(pl.Int64) - pl.col("_row") + 1).alias("sample_count"),
        (pl.col("_overlaps_n") - pl.col("_overlaps")).alias("overlap_count"),
    )
