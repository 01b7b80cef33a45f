"""The error ratio behind a bound that no bucket has: an interval from its two neighbours.

Source: Prometheus, "Histograms and summaries": a classic histogram knows its buckets only. Events
at or below a bound in between are at least those of the next lower bucket and at most those of the
next higher one; what interpolation would add is a guess.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import polars as pl

from collectors.frames import TIME, schema_of
from slo.buckets import BOUND_LABEL, bound_of, bounds_of
from slo.growth import BurnParams, event_growth
from slo.objectives import Objective
from slo.selectors import Matcher, Selector

INTERVALS: Final = schema_of(
    {
        "objective": pl.String,
        "time": TIME,
        "lower_bound": pl.Float64,
        "upper_bound": pl.Float64,
        "min_error_ratio": pl.Float64,
        "max_error_ratio": pl.Float64,
    }
)
"""Beside the group labels. The bounds are those of the buckets next to the wanted one: both the
same where the histogram has it, null where there is none on that side. The error ratio lies from
`min_error_ratio` to `max_error_ratio`."""


class NoBoundError(ValueError):
    """An objective does not ask for one bound of a histogram."""


def error_intervals(
    series: pl.DataFrame,
    objective: Objective,
    times: pl.Series,
    *,
    range_seconds: int,
    params: BurnParams,
) -> pl.DataFrame:
    """Return between which values the error ratio lies over the window before each time.

    Args:
        series: `metric`, labels with `le`, `time`, `value`: one row a sample of a bucket or count.
        objective: Its good (or bad) events are one bucket of a histogram.
        times: Evaluation times, `TIME`.
        range_seconds: Length of the window.
        params: Arithmetic and mode.

    Returns:
        The group labels and `INTERVALS`, by group and time; no row where nothing happened.

    Raises:
        NoBoundError: The objective's events are no bucket.
    """
    bucket, bound = _wanted(objective)
    known = bounds_of(series, bucket)
    lower = max((each for each in known if each <= bound), default=None)
    upper = min((each for each in known if each >= bound), default=None)
    keys = [*objective.group_labels, "time"]
    at_lower, at_upper = (
        event_growth(
            series,
            _with_bound(objective, bucket, [] if each is None else known[each]),
            times,
            range_seconds=range_seconds,
            params=params,
        ).select(*keys, "error_ratio")
        for each in (lower, upper)
    )
    return (
        at_lower.join(at_upper, on=keys, how="left", nulls_equal=True, suffix="_upper")
        .with_columns(
            objective=pl.lit(objective.name),
            lower_bound=pl.lit(lower, dtype=pl.Float64),
            upper_bound=pl.lit(upper, dtype=pl.Float64),
        )
        .with_columns(_sides(is_good=objective.good is not None))
        .sort(keys)
        .select(*objective.group_labels, *INTERVALS.names())
    )


def _wanted(objective: Objective) -> tuple[Selector, float]:
    """Return the bucket that an objective asks for, and its bound."""
    bucket = objective.good or objective.bad or objective.total
    bound = bound_of(bucket)
    if bound is None:
        raise NoBoundError(
            f"objective {objective.name!r}: wanted good (or bad) events that are a bucket, as in "
            f'requests_bucket{{le="1"}}, found {bucket.text}'
        )
    return bucket, bound


def _sides(*, is_good: bool) -> list[pl.Expr]:
    """Return the least and the most that the error ratio may be.

    Without a neighbour nothing is known on that side: all, or none, of the events may lie there.
    """
    none_below, all_above = (1.0, 0.0) if is_good else (0.0, 1.0)
    low = pl.when(pl.col("lower_bound").is_null()).then(none_below).otherwise("error_ratio")
    high = pl.when(pl.col("upper_bound").is_null()).then(all_above).otherwise("error_ratio_upper")
    least, most = (high, low) if is_good else (low, high)
    return [least.alias("min_error_ratio"), most.alias("max_error_ratio")]


def _with_bound(objective: Objective, bucket: Selector, spellings: Sequence[str]) -> Objective:
    """Return the objective with another bucket; without a spelling, with none of its own."""
    others = [each for each in bucket.matchers if each.label != BOUND_LABEL]
    pattern = "|".join(re.escape(each) for each in spellings) or "none"
    matcher = Matcher(label=BOUND_LABEL, sign="=~", value=pattern)
    other = Selector(metric=bucket.metric, matchers=(*others, matcher))
    if objective.good is not None:
        return replace(objective, good=other)
    return replace(objective, bad=other)
