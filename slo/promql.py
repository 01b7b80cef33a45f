"""What Prometheus means by a range, a comparison and a subquery, where its versions differ too.

Source: Prometheus, promql/engine.go at 2.42 and 3.x, and "Migration to 3.0": ranges and lookback
became left-open. Whose semantics were followed belongs beside every result.
"""

from enum import StrEnum
from typing import Final

import polars as pl

MILLISECONDS: Final = 1000
DEFAULT_LOOKBACK_SECONDS: Final = 300


class Semantics(StrEnum):
    """Whose arithmetic is followed; it belongs beside every result."""

    PROMETHEUS_2_42 = "prometheus-2.42"
    """Ranges closed on both sides; the clamp to zero before the limit on extrapolation; plain
    sums over series."""
    PROMETHEUS_3 = "prometheus-3"
    """Ranges open on the left; the clamp to zero after it; compensated sums over series."""

    @property
    def is_closed(self) -> bool:
        """Whether a sample on the left edge of a range is inside."""
        return self is Semantics.PROMETHEUS_2_42


def above(ratio: pl.Expr, threshold: float) -> pl.Expr:
    """Return whether a value exceeds a threshold the way PromQL compares: NaN never does."""
    # Polars orders NaN above every number, so that a stretch without traffic would page.
    return (ratio.is_not_nan() & (ratio > threshold)).fill_null(value=False)


def divided(dividend: pl.Expr, divisor: float) -> pl.Expr:
    """Return a quotient that is rounded once.

    By a single number Polars multiplies with its inverse where there are rows enough: the last bit
    would depend on how many.
    """
    return dividend / ((pl.int_range(pl.len()) * 0).cast(pl.Float64) + divisor)


def subquery_times(
    times: pl.Series, *, range_seconds: int, step_seconds: int, semantics: Semantics
) -> pl.DataFrame:
    """Return when the inner query of `query[range:step]` is evaluated for each time.

    Args:
        times: Evaluation times of the outer query, `TIME`.
        range_seconds: Length of the range.
        step_seconds: Distance of the inner evaluations, which lie on its absolute multiples.
        semantics: Whether an evaluation exactly on the left edge is inside (2.42) or not (3).

    Returns:
        `time` and `inner_time`, one row an inner evaluation, in this order.
    """
    step = step_seconds * MILLISECONDS
    low = pl.col("_at") - range_seconds * MILLISECONDS
    first = (low + (step - 1 if semantics.is_closed else step)) // step
    steps = pl.int_ranges(first, pl.col("_at") // step + 1)
    inner = (pl.col("_steps") * step * MILLISECONDS).cast(times.dtype)
    return (
        pl.DataFrame({"time": times.unique().sort()})
        .with_columns(_at=pl.col("time").dt.epoch("ms"))
        .with_columns(_steps=steps)
        .explode("_steps", empty_as_null=False)
        .select("time", inner.alias("inner_time"))
    )
