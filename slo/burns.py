"""Multiwindow burn rates over frames: the alert condition at each time, and what it rests on.

Source: The Site Reliability Workbook, chapter 5, "Multiwindow, Multi-Burn-Rate Alerts". Both
windows must exceed the threshold strictly. The same objective makes the Prometheus rules of
`slo.rules`; in parity mode both fire at the same evaluations.
"""

from typing import Final

import polars as pl

from collectors.frames import TIME, schema_of
from slo.budgets import Budget
from slo.growth import BurnParams, Mode, cells_of, growth_cells, growth_rows
from slo.guard_conditions import PERIOD_TOTAL, guard_allows
from slo.measurements import Cells, Counts, Measurement
from slo.objectives import Objective
from slo.promql import above, divided
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
        series: `metric`, labels, `time`, `value`: one row a sample; a null label is absent, a null
            value a staleness marker.
        objective: What is promised, and the pairs.
        times: Evaluation times, `TIME`.
        params: Arithmetic and mode.

    Returns:
        The group labels and `BURNS`, by group, time and pair in the objective's order.

    Raises:
        MissingColumnError: `series` lacks a column that the objective asks for.
        DuplicateSampleError: A series has two different values at one time.
    """
    burning = Burning(Measurement(series, objective, times, params.view), params)
    pairs = [
        burning.rows(window, burning.counts(window.long_seconds).cells)
        for window in objective.windows
    ]
    return (
        pl.concat(pairs)
        .sort("_group", "_range", maintain_order=True)
        .select(*objective.group_labels, *BURNS.names())
    )


class Burning:
    """Everything that an objective's burn rates are made of, counted once."""

    def __init__(self, measured: Measurement, params: BurnParams) -> None:
        """Count events over every window, and over the period.

        Args:
            measured: The objective over its series.
            params: Arithmetic and mode.
        """
        self.measured, self.params = measured, params
        self.budget = Budget(measured, params)
        objective = measured.objective
        lengths = list(objective.window_seconds)
        if objective.guard.by_traffic:
            # The nominal period, also of a calendar one: its first day has no traffic to compare.
            lengths.append(objective.period_seconds)
        self._counts = {each: measured.counts(measured.before(each)) for each in lengths}

    def counts(self, range_seconds: int) -> Counts:
        """Return what was counted over a window."""
        return self._counts[range_seconds]

    def rows(self, window: BurnWindow, cells: Cells) -> pl.DataFrame:
        """Return the burn rates of a pair of windows in some cells.

        Args:
            window: The pair.
            cells: Group and evaluation of each row that is wanted.

        Returns:
            The group labels, `BURNS`, `_group` and `_range`, in the order of the cells; none
            without traffic in the long window.
        """
        measured, params = self.measured, self.params
        long = growth_rows(measured, self._counts[window.long_seconds], cells, params.mode)
        cells = cells_of(long)
        short = growth_cells(measured, self._counts[window.short_seconds], cells, params.mode)
        sides = [_named(long, "long"), _named(short, "short"), self.budget.shares(cells)]
        return (
            pl.concat(
                [long.select(*measured.objective.group_labels, "time", "_group", "_range"), *sides],
                how="horizontal",
            )
            .lazy()
            .with_columns(*_of_pair(measured.objective, window), *self._period_total(cells))
            .with_columns(_exceeds=_exceeds(window, measured.objective))
            .with_columns(state=_state(params))
            .with_columns(**_told(measured.objective, params))
            .collect()
        )

    def _period_total(self, cells: Cells) -> list[pl.Series]:
        """Return all events of the nominal period, for a guard that asks for them."""
        objective = self.measured.objective
        if not objective.guard.by_traffic:
            return []
        counts = self._counts[objective.period_seconds]
        grown = growth_cells(self.measured, counts, cells, self.params.mode)
        return [grown["total"].alias(PERIOD_TOTAL)]


_SIDES: Final = ("bad", "total", "error_ratio", "coverage_ratio", "fault")


def _named(growth: pl.DataFrame, window: str) -> pl.DataFrame:
    """Return growth with its columns named after its window."""
    return growth.select(pl.col(_SIDES).name.prefix(f"{window}_"))


def _of_pair(objective: Objective, window: BurnWindow) -> list[pl.Expr]:
    """Return what a pair adds to its two windows."""
    budget = float(objective.budget)
    return [
        pl.lit(window.severity).alias("severity"),
        pl.lit(window.long_seconds, dtype=pl.Int64).alias("long_seconds"),
        pl.lit(window.short_seconds, dtype=pl.Int64).alias("short_seconds"),
        pl.lit(objective.threshold(window)).alias("threshold_ratio"),
        pl.coalesce("long_fault", "short_fault").alias("fault"),
        divided(pl.col("long_error_ratio"), budget).alias("long_burn_rate"),
        divided(pl.col("short_error_ratio"), budget).alias("short_burn_rate"),
    ]


def _exceeds(window: BurnWindow, objective: Objective) -> pl.Expr:
    """Return whether both windows burn faster than they may, and no guard holds back."""
    threshold = objective.threshold(window)
    both = guard_allows(objective)
    for name in ("long", "short"):
        has_traffic = (pl.col(f"{name}_total") > 0).fill_null(value=False)
        both = both & has_traffic & above(pl.col(f"{name}_error_ratio"), threshold)
    return both


def _told(objective: Objective, params: BurnParams) -> dict[str, pl.Expr]:
    """Return what follows from a pair's state, and what belongs beside each number."""
    return {
        "objective": pl.lit(objective.name),
        "fires": pl.col("state") == "firing",
        "exhaustion_seconds": _exhaustion_seconds(objective),
        "method": pl.lit(objective.method.value),
        "semantics": pl.lit(params.semantics.value),
        "mode": pl.lit(params.mode.value),
    }


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
