"""How much of the error budget of the period is left, group by group.

Source: The Site Reliability Workbook, chapters 2 and 5. A spent budget is shown as negative and
never clipped: by how much a promise was broken is the point. With less history than the period, the
value and how much of the period it rests on stand side by side.
"""

from typing import Final

import polars as pl

from collectors.frames import TIME, schema_of
from slo.growth import BurnParams, event_growth
from slo.objectives import Objective

BUDGETS: Final = schema_of(
    {
        "objective": pl.String,
        "time": TIME,
        "bad": pl.Float64,
        "total": pl.Float64,
        "error_ratio": pl.Float64,
        "budget_left_ratio": pl.Float64,
        "coverage_ratio": pl.Float64,
        "fault": pl.String,
        "method": pl.String,
        "semantics": pl.String,
    }
)
"""Beside the group labels. `budget_left_ratio` is 1 when untouched, 0 when spent, negative when
overspent; null when there is nothing to divide by."""


def budget_left(
    series: pl.DataFrame, objective: Objective, times: pl.Series, params: BurnParams
) -> pl.DataFrame:
    """Return the budget left over the period before each time.

    Args:
        series: `metric`, labels, `time`, `value`: one row a sample of a counter.
        objective: What is promised.
        times: Evaluation times, `TIME`.
        params: Arithmetic and mode.

    Returns:
        The group labels and `BUDGETS`, by group and time; no row where nothing happened.

    Raises:
        MissingColumnError: `series` lacks a column that the objective asks for.
        DuplicateSampleError: A series has two different values at one time.
    """
    growth = event_growth(
        series, objective, times, range_seconds=objective.period_seconds, params=params
    )
    return growth.with_columns(
        objective=pl.lit(objective.name),
        budget_left_ratio=1 - pl.col("error_ratio") / float(objective.budget),
        method=pl.lit(objective.method.value),
        semantics=pl.lit(params.semantics.value),
    ).select(*objective.group_labels, *BUDGETS.names())
