"""Failures summed up by week."""

import polars as pl

from slo.failures import CAUSES


def by_week(costs: pl.DataFrame) -> pl.DataFrame:
    """Return `week` (its Monday), `cause`, `failures`, `gpu_hours_lost` and `second_order`.

    Args:
        costs: `COSTS`. GPU-hours are null where no failure of a cause has a known cost;
            `second_order` are failures that another job's restart made.

    Returns:
        By week and cause.
    """
    order = pl.col("cause").replace_strict({name: at for at, name in enumerate(CAUSES)})
    hours = pl.col("gpu_hours_lost")
    return (
        costs.with_columns(week=pl.col("time").dt.truncate("1w").dt.date())
        .group_by("week", "cause")
        .agg(
            failures=pl.len().cast(pl.Int64),
            gpu_hours_lost=pl.when(hours.is_not_null().any()).then(hours.sum()),
            second_order=pl.col("forced_by").is_not_null().sum().cast(pl.Int64),
        )
        .sort("week", order)
    )


def weeks_of(weeks: pl.DataFrame) -> pl.Series:
    """Return each week from the first failure to the last, those in which nothing failed as well.

    Args:
        weeks: As `by_week` gives them.
    """
    first, last = pl.col("week").min(), pl.col("week").max()
    if weeks.is_empty():
        return weeks["week"]
    return weeks.select(week=pl.date_range(first, last, "1w")).to_series()
