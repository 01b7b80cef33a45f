"""Multiwindow burn rates over frames: the alert condition at each time, and what it rests on.

Source: The Site Reliability Workbook, chapter 5, "Multiwindow, Multi-Burn-Rate Alerts". Both
windows must exceed the threshold strictly. The same objective makes the Prometheus rules of
`slo.rules`; in parity mode both fire at the same evaluations.
"""

from typing import Final

import polars as pl

from collectors.frames import TIME, schema_of
from slo.budgets import measured_budget
from slo.growth import GROWTHS, BurnParams, Mode, growth_rows
from slo.guard_conditions import hold_back
from slo.measurements import Measurement
from slo.objectives import Objective
from slo.promql import above
from slo.windows import BurnWindow

BURNS: Final = schema_of(
    {
        "objective": pl.String,
        "time": TIME,
        "severity": pl.String,
        "long_seconds": pl.Int64,
        "short_seconds": pl.Int64,
        "threshold_ratio": pl.Float64,
        "long_bad": pl.Float64,
        "long_total": pl.Float64,
        "short_bad": pl.Float64,
        "short_total": pl.Float64,
        "long_error_ratio": pl.Float64,
        "short_error_ratio": pl.Float64,
        "long_burn_rate": pl.Float64,
        "short_burn_rate": pl.Float64,
        "long_coverage_ratio": pl.Float64,
        "short_coverage_ratio": pl.Float64,
        "fault": pl.String,
        "state": pl.String,
        "fires": pl.Boolean,
        "budget_left_ratio": pl.Float64,
        "budget_coverage_ratio": pl.Float64,
        "exhaustion_seconds": pl.Float64,
        "method": pl.String,
        "semantics": pl.String,
        "mode": pl.String,
    }
)
"""Beside the group labels: one row a group, time and pair of windows; no row without traffic in the
long window, and null for a short window without any. `state`: quiet, firing, warming_up (too little
history to judge), fault (the counters contradict each other); parity mode knows the first two only.
`exhaustion_seconds` is how long the budget lasts at the long window's pace: 0 when it is spent,
null when nothing burns."""


def burn_rates(
    series: pl.DataFrame, objective: Objective, times: pl.Series, params: BurnParams
) -> pl.DataFrame:
    """Return the burn rates of each pair of windows at each time.

    Args:
        series: `metric`, labels, `time`, `value`: one row a sample of a counter; a null label is
            absent, a null value a staleness marker.
        objective: What is promised, and the pairs.
        times: Evaluation times, `TIME`.
        params: Arithmetic and mode.

    Returns:
        The group labels and `BURNS`, by group, time and pair in the objective's order.

    Raises:
        MissingColumnError: `series` lacks a column that the objective asks for.
        DuplicateSampleError: A series has two different values at one time.
    """
    measured = Measurement(series, objective, times, params.view)
    growths = {seconds: _growth(measured, seconds, params) for seconds in objective.window_seconds}
    budgets = measured_budget(measured, params).select(
        *objective.group_labels,
        "time",
        "budget_left_ratio",
        pl.col("coverage_ratio").alias("budget_coverage_ratio"),
    )
    keys = [*objective.group_labels, "time"]
    pairs = [
        _pair(growths[window.long_seconds], growths[window.short_seconds], objective, number)
        for number, window in enumerate(objective.windows)
    ]
    return (
        hold_back(pl.concat(pairs), series, objective, times, params)
        .join(budgets, on=keys, how="left", nulls_equal=True)
        .with_columns(state=_state(params))
        .with_columns(
            objective=pl.lit(objective.name),
            fires=pl.col("state") == "firing",
            exhaustion_seconds=_exhaustion_seconds(objective),
            method=pl.lit(objective.method.value),
            semantics=pl.lit(params.semantics.value),
            mode=pl.lit(params.mode.value),
        )
        .sort(*keys, "_number")
        .select(*objective.group_labels, *BURNS.names())
    )


def _growth(measured: Measurement, range_seconds: int, params: BurnParams) -> pl.DataFrame:
    """Return what was bad, and what there was in all, over one window before each time."""
    counts = measured.counts(measured.before(range_seconds))
    rows = growth_rows(measured, counts, counts.cells, params.mode)
    return rows.select(*measured.objective.group_labels, *GROWTHS.names())


def _pair(
    long: pl.DataFrame, short: pl.DataFrame, objective: Objective, number: int
) -> pl.DataFrame:
    """Return one pair of windows side by side."""
    window = objective.windows[number]
    keys = [*objective.group_labels, "time"]
    budget = float(objective.budget)
    return (
        _named(long, "long", keys)
        .join(_named(short, "short", keys), on=keys, how="left", nulls_equal=True)
        .with_columns(
            pl.lit(number).alias("_number"),
            pl.lit(window.severity).alias("severity"),
            pl.lit(window.long_seconds, dtype=pl.Int64).alias("long_seconds"),
            pl.lit(window.short_seconds, dtype=pl.Int64).alias("short_seconds"),
            pl.lit(objective.threshold(window)).alias("threshold_ratio"),
            pl.coalesce("long_fault", "short_fault").alias("fault"),
            (pl.col("long_error_ratio") / budget).alias("long_burn_rate"),
            (pl.col("short_error_ratio") / budget).alias("short_burn_rate"),
            _exceeds(objective, window).alias("_exceeds"),
        )
    )


def _named(growth: pl.DataFrame, window: str, keys: list[str]) -> pl.DataFrame:
    """Return the growth with its columns named after its window."""
    return growth.select(*keys, pl.exclude(keys).name.prefix(f"{window}_"))


def _exceeds(objective: Objective, window: BurnWindow) -> pl.Expr:
    """Return whether both windows have traffic and burn faster than they may."""
    threshold = objective.threshold(window)
    both = pl.lit(value=True)
    for name in ("long", "short"):
        has_traffic = (pl.col(f"{name}_total") > 0).fill_null(value=False)
        both = both & has_traffic & above(pl.col(f"{name}_error_ratio"), threshold)
    return both


def _state(params: BurnParams) -> pl.Expr:
    """Return what is to be said about a pair at a time."""
    judged = pl.when("_exceeds").then(pl.lit("firing")).otherwise(pl.lit("quiet"))
    if params.mode is Mode.PARITY:
        return judged
    least = pl.min_horizontal("long_coverage_ratio", "short_coverage_ratio")
    is_covered = (least >= params.min_coverage_ratio).fill_null(value=False)
    return (
        pl.when(pl.col("fault").is_not_null())
        .then(pl.lit("fault"))
        .when(~is_covered)
        .then(pl.lit("warming_up"))
        .otherwise(judged)
    )


def _exhaustion_seconds(objective: Objective) -> pl.Expr:
    """Return how long what is left of the budget lasts at the long window's pace."""
    left = pl.col("budget_left_ratio").clip(lower_bound=0.0)
    burns = pl.col("long_burn_rate") > 0
    return pl.when(burns).then(left * objective.period_seconds / pl.col("long_burn_rate"))
