"""What a guard asks of a burning pair, as one expression over the rows of burn rates.

Sources: The Site Reliability Workbook, chapter 5, "Low-traffic services and error budget alerting";
Grafana SLO's `min_failures`; slok/sloth's denominator-corrected plugin, whose correction of the
ratio by r_W / r_P is the guard by traffic (as is pyrra-dev/pyrra pull request 1602); Wilson, JASA
22 (1927), for the lower bound, in the form of `proportion_confint` of statsmodels.
"""

import math
from statistics import NormalDist
from typing import Final

import polars as pl

from slo.objectives import Objective
from slo.promql import above
from slo.windows import HOUR_SECONDS, BurnWindow, burn_threshold, spent_budget

PERIOD_TOTAL: Final = "period_total"
"""Column with all events of the period, which only the guard by traffic needs."""


def guard_allows(objective: Objective) -> pl.Expr:
    """Return whether the objective's guard lets a pair fire.

    The expression reads `severity`, `long_seconds`, `short_seconds`, `long_bad` and `long_total` of
    `BURNS`, and `period_total` (all events of the period before each time) with a guard by traffic.
    A null count is not enough for any guard that asks for it.
    """
    asked = [
        pl.when(_is_pair(window)).then(_allows(objective, window)) for window in objective.windows
    ]
    return pl.coalesce(*asked, pl.lit(value=True))


def wilson_lower(bad: pl.Expr, total: pl.Expr, confidence_ratio: float) -> pl.Expr:
    """Return the one-sided lower bound (0-1) of the true ratio behind bad of total events.

    Args:
        bad: Bad events; more than there are events count as all of them.
        total: All events; 0 or null gives no bound.
        confidence_ratio: Chance (0-1) with which the true ratio lies above the bound.
    """
    z = normal_quantile(confidence_ratio)
    count = pl.when(total > 0).then(total)
    ratio = (bad / count).clip(0.0, 1.0)
    scale = 1 + z**2 / count
    center = ratio + z**2 / (2 * count)
    spread = z * (ratio * (1 - ratio) / count + z**2 / (4 * count.pow(2))).sqrt()
    return ((center - spread) / scale).clip(0.0, 1.0)


def normal_quantile(confidence_ratio: float) -> float:
    """Return how many standard deviations a one-sided confidence is; 0 at one half."""
    return NormalDist().inv_cdf(confidence_ratio)


def max_lone_failure_rate(objective: Objective, window: BurnWindow) -> float | None:
    """Return the traffic (events per hour) below which a single bad event fires a pair.

    With a guard by traffic that is the mean over the period, else over the long window.

    Returns:
        Null when one bad event fires it at no traffic at all.
    """
    threshold = burn_threshold(window, objective.target_percent)
    guard = objective.guard
    if threshold >= 1 or guard.min_bad_count > 1:
        return None
    # Even traffic makes the pair's share of the real budget the same bound, so it adds none here.
    events = float(1 / threshold)
    if guard.confidence_ratio is not None:
        events = _max_events(float(threshold), guard.confidence_ratio)
    return events * HOUR_SECONDS / window.long_seconds


def _is_pair(window: BurnWindow) -> pl.Expr:
    """Return whether a row is about a pair."""
    return (
        (pl.col("severity") == window.severity)
        & (pl.col("long_seconds") == window.long_seconds)
        & (pl.col("short_seconds") == window.short_seconds)
    )


def _allows(objective: Objective, window: BurnWindow) -> pl.Expr:
    """Return whether the guard lets one pair fire."""
    guard = objective.guard
    bad, total = pl.col("long_bad"), pl.col("long_total")
    allowed = pl.lit(value=True)
    if guard.min_bad_count:
        allowed = allowed & bad.is_not_nan() & (bad >= guard.min_bad_count)
    if guard.by_traffic:
        share = spent_budget(window, objective.period_seconds) * objective.budget
        # A quotient is rounded once, so that exactly the share is not above it.
        allowed = allowed & above(bad / pl.col(PERIOD_TOTAL), float(share))
    if guard.confidence_ratio is not None:
        bound = wilson_lower(bad, total, guard.confidence_ratio)
        allowed = allowed & above(bound, objective.threshold(window))
    return allowed.fill_null(value=False)


def _max_events(threshold: float, confidence_ratio: float) -> float:
    """Return below how many events one bad one keeps Wilson's bound above a threshold.

    The bound exceeds the threshold where the score test rejects it: where
    1 - n * theta > z * sqrt(n * theta * (1 - theta)), a quadratic in the root of n.
    """
    z = normal_quantile(confidence_ratio)
    spread = z**2 * threshold * (1 - threshold)
    root = (math.sqrt(spread + 4 * threshold) - math.sqrt(spread)) / (2 * threshold)
    return root**2
