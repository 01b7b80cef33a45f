"""Failures summed up: by cause, by week, by place."""

from typing import Final

import polars as pl

from detectors.promotion import RACK
from slo.failures import CAUSES

_HOURS: Final = "gpu_hours_lost"


def by_cause(costs: pl.DataFrame) -> pl.DataFrame:
    """Return `cause`, `failures`, `gpu_hours_lost` and `second_order`, the dearest first.

    Args:
        costs: `COSTS`. GPU-hours are null where no failure of a cause has a known cost;
            `second_order` are failures that another job's restart made.
    """
    return _summed(costs, "cause").sort(
        _HOURS, "failures", "cause", descending=[True, True, False], nulls_last=True
    )


def by_week(costs: pl.DataFrame) -> pl.DataFrame:
    """Return `week` (its Monday), `cause`, `failures` and `gpu_hours_lost`, by week and cause.

    Args:
        costs: `COSTS`.
    """
    order = pl.col("cause").replace_strict({name: at for at, name in enumerate(CAUSES)})
    weeks = costs.with_columns(week=pl.col("time").dt.truncate("1w").dt.date())
    return _summed(weeks, "week", "cause").sort("week", order)


def by_host(costs: pl.DataFrame) -> pl.DataFrame:
    """Return `host`, `rack`, `failures` and `gpu_hours_lost`, the dearest first.

    Args:
        costs: `COSTS`. Failures of which no event names a host are of the host that is null: a job
            that dies on many nodes accuses none of them.
    """
    alone = pl.when(pl.col("hosts").list.len() == 1).then(pl.col("hosts").list.first())
    ours = costs.filter("is_infrastructure").with_columns(host=pl.coalesce("host", alone))
    placed = ours.with_columns(rack=pl.col("host").str.extract(RACK, 1))
    return _summed(placed, "host", "rack").sort(
        _HOURS, "failures", "host", descending=[True, True, False], nulls_last=True
    )


def _summed(costs: pl.DataFrame, *keys: str) -> pl.DataFrame:
    """Return counts and costs by some columns."""
    hours = pl.col(_HOURS)
    return costs.group_by(keys).agg(
        failures=pl.len().cast(pl.Int64),
        gpu_hours_lost=pl.when(hours.is_not_null().any()).then(hours.sum()),
        second_order=pl.col("forced_by").is_not_null().sum().cast(pl.Int64),
    )
