"""How much of the error budget of the period is left, group by group.

Source: The Site Reliability Workbook, chapters 2 and 5. A spent budget is shown as negative and
never clipped: by how much a promise was broken is the point. With less history than the period, the
value and how much of the period it rests on stand side by side. Declared maintenance is shown with
and without: live alerts are silenced, never recomputed.
"""

from typing import Final

import numpy as np
import polars as pl

from collectors.frames import TIME, schema_of
from detectors.panels import Floats, Ints
from slo.calendar_bounds import calendar_bounds
from slo.growth import BurnParams, TotalBasis, cells_of, growth_cells, growth_rows
from slo.maintenance import excluded_spans, seconds_inside
from slo.measurements import Cells, Counts, Measurement
from slo.objectives import Counting, Method, Objective
from slo.promql import MILLISECONDS, divided
from slo.ranges import Growth

MIN_JUDGED_COVERAGE_RATIO: Final = 0.5
"""Share of the period (0-1) that must have data before a budget is called spent or left: on three
hours of a month, any bad hour looks like the end of it."""

BUDGETS: Final = schema_of(
    {
        "objective": pl.String,
        "time": TIME,
        "period": pl.String,
        "period_start": TIME,
        "period_end": TIME,
        "bad": pl.Float64,
        "total": pl.Float64,
        "error_ratio": pl.Float64,
        "budget_total": pl.Float64,
        "budget_left_ratio": pl.Float64,
        "excluded_seconds": pl.Float64,
        "net_bad": pl.Float64,
        "net_total": pl.Float64,
        "net_error_ratio": pl.Float64,
        "net_budget_left_ratio": pl.Float64,
        "coverage_ratio": pl.Float64,
        "fault": pl.String,
        "total_basis": pl.String,
        "method": pl.String,
        "empty_slices": pl.String,
        "semantics": pl.String,
    }
)
"""Beside the group labels. `period` is rolling, or a calendar's unit and zone; it began at
`period_start`. `budget_total` is what the budget is a share of: so many events (or slices, as
`method` says) times the budget may be bad; `total_basis` says whether that is what there was so
far, or an estimate of the whole period. `budget_left_ratio` is 1 when untouched, 0 when spent,
negative when overspent; null when there is nothing to divide by. The `net` columns leave out
declared maintenance, of which there were `excluded_seconds`; without any they are the same.
`empty_slices` says what a slice without events was; null without slices."""


def budget_left(
    series: pl.DataFrame, objective: Objective, times: pl.Series, params: BurnParams
) -> pl.DataFrame:
    """Return the budget left over the period before each time.

    Args:
        series: `metric`, labels, `time`, `value`: one row a sample.
        objective: What is promised. Of a calendar period counts what went by of it.
        times: Evaluation times, `TIME`.
        params: Arithmetic and mode.

    Returns:
        The group labels and `BUDGETS`, by group and time; no row where nothing happened.

    Raises:
        MissingColumnError: `series` lacks a column that the objective asks for.
        DuplicateSampleError: A series has two different values at one time.
    """
    budget = Budget(Measurement(series, objective, times, params.view), params)
    return budget.rows(budget.counts.cells)


class Budget:
    """What was counted in the period of each evaluation."""

    def __init__(self, measured: Measurement, params: BurnParams) -> None:
        """Count once.

        Args:
            measured: The objective over its series.
            params: Arithmetic and mode.
        """
        objective = measured.objective
        self.measured, self.params = measured, params
        self._start, self._end = _period(objective, measured.at)
        # A gauge that is a total over a window says nothing of a period: what it told is added up.
        is_windowed = objective.counting is Counting.WINDOWED
        growth = Growth.OBSERVED if is_windowed else Growth.INCREASE
        ranges = measured.since(self._start, objective.period_seconds)
        self.counts = measured.counts(ranges, growth)

    def shares(self, cells: Cells) -> pl.DataFrame:
        """Return `budget_left_ratio` and `budget_coverage_ratio` of some cells; null is unknown."""
        grown = growth_cells(self.measured, self.counts, cells, self.params.mode)
        coverage = pl.col("coverage_ratio").alias("budget_coverage_ratio")
        return self._with_left(grown).select("budget_left_ratio", coverage).collect()

    def rows(self, cells: Cells) -> pl.DataFrame:
        """Return the budget in some cells, as `budget_left` does."""
        objective = self.measured.objective
        grown = growth_rows(self.measured, self.counts, cells, self.params.mode)
        return (
            self._with_left(grown)
            .with_columns(*_excluded(self.measured, self.counts, cells_of(grown)))
            .with_columns(
                net_bad=pl.col("bad") - pl.col("_excluded_bad"),
                net_total=pl.col("total") - pl.col("_excluded_total"),
            )
            .with_columns(net_error_ratio=_net_ratio())
            .with_columns(net_budget_left_ratio=_left(objective, self.params, "net_error_ratio"))
            .with_columns(**_told(objective, self.params))
            .select(*objective.group_labels, *BUDGETS.names())
            .collect()
        )

    def _with_left(self, grown: pl.DataFrame) -> pl.LazyFrame:
        """Return growth with its period, and what is left of that."""
        objective, numbers = self.measured.objective, grown["_range"].to_numpy()
        return (
            grown.lazy()
            .with_columns(_bounds(self._start, self._end, numbers))
            .with_columns(budget_total=_budget_total(objective, self.params))
            .with_columns(budget_left_ratio=_left(objective, self.params, "error_ratio"))
        )


def _period(objective: Objective, at: Ints) -> tuple[Ints, Ints]:
    """Return when the period of each evaluation began, and when it ends."""
    if objective.calendar is not None:
        return calendar_bounds(objective.calendar, at)
    return at - objective.period_seconds * MILLISECONDS, at


def _bounds(start: Ints, end: Ints, numbers: Ints) -> list[pl.Series]:
    """Return the period of each row."""
    return [
        pl.Series(name, edge[numbers] * MILLISECONDS).cast(TIME)
        for name, edge in (("period_start", start), ("period_end", end))
    ]


def _excluded(measured: Measurement, counts: Counts, cells: Cells) -> list[pl.Series]:
    """Return what some cells counted in declared maintenance, and how much of that there was."""
    spans = excluded_spans(measured.objective)
    nothing = np.zeros_like(counts.bad)
    bad, total = measured.excluded(counts.ranges, spans) if spans else (nothing, nothing)
    found: dict[str, Floats] = {
        "_excluded_bad": bad[cells],
        "_excluded_total": total[cells],
        "excluded_seconds": seconds_inside(counts.ranges, spans)[cells[1]],
    }
    return [pl.Series(name, values, dtype=pl.Float64) for name, values in found.items()]


def _net_ratio() -> pl.Expr:
    """Return the error ratio without maintenance: that of all where there was none.

    Where the ratio of all is not known, that of a part is not, either.
    """
    bad, total = pl.col("net_bad"), pl.col("net_total")
    is_known = (total > 0) & pl.col("error_ratio").is_not_null()
    ratio = pl.when(is_known).then((bad / total).clip(0.0, 1.0))
    return pl.when(pl.col("excluded_seconds") > 0).then(ratio).otherwise("error_ratio")


def _budget_total(objective: Objective, params: BurnParams) -> pl.Expr:
    """Return what the budget is a share of.

    Slices of a whole calendar period are known: those to come are added to those that count so far.
    Events are not: what was so far is scaled by the share of the period that went by.
    """
    total = pl.col("total")
    if not _is_estimated(objective, params):
        return total
    left = (pl.col("period_end") - pl.col("time")).dt.total_milliseconds() / MILLISECONDS
    gone = (pl.col("time") - pl.col("period_start")).dt.total_milliseconds() / MILLISECONDS
    if objective.slices is not None:
        return total + (left / objective.slices.seconds).ceil()
    return pl.when(gone > 0).then(total * ((gone + left) / gone))


def _left(objective: Objective, params: BurnParams, ratio: str) -> pl.Expr:
    """Return the share of the budget that is left."""
    spent = divided(pl.col(ratio), float(objective.budget))
    if _is_estimated(objective, params):
        spent = spent * (pl.col("total") / pl.col("budget_total"))
    return 1 - spent


def _is_estimated(objective: Objective, params: BurnParams) -> bool:
    """Return whether the budget is a share of what the whole period is expected to have."""
    return objective.calendar is not None and params.total_basis is TotalBasis.ESTIMATED


def _told(objective: Objective, params: BurnParams) -> dict[str, pl.Expr]:
    """Return what belongs beside each number."""
    calendar = objective.calendar
    basis = TotalBasis.ESTIMATED if _is_estimated(objective, params) else TotalBasis.SO_FAR
    is_sliced = objective.method is not Method.OCCURRENCES and objective.slices is not None
    empty = objective.slices.empty.value if is_sliced and objective.slices else None
    return {
        "objective": pl.lit(objective.name),
        "period": pl.lit(f"{calendar.unit} {calendar.zone}" if calendar else "rolling"),
        "total_basis": pl.lit(basis.value),
        "method": pl.lit(objective.method.value),
        "empty_slices": pl.lit(empty, dtype=pl.String),
        "semantics": pl.lit(params.semantics.value),
    }
