"""Step counters as `/metrics` exposes them, from judged steps.

Source: Prometheus, "Instrumentation": a counter starts with its first event known and only grows.
Both counters begin together, so that a run without a slow step has a slow counter of 0, not none.
"""

from typing import Final

import polars as pl

from collectors.frames import TIME, require, schema_of
from slo.metrics import SLOW_STEPS_TOTAL, STEPS_TOTAL
from slo.training import STEP_EVENTS

STEP_COUNTERS: Final = schema_of(
    {
        "cluster": pl.String,
        "run": pl.String,
        "time": TIME,
        "steps_total": pl.Float64,
        "slow_steps_total": pl.Float64,
    }
)
"""What a scrape of `/metrics` would have read at `time`; no row before the first judged step of a
run and after its last step."""


def step_counters(events: pl.LazyFrame, scrapes: pl.Series, *, cluster: str) -> pl.LazyFrame:
    """Return the step counters as scrapes at the given times would have read them.

    Args:
        events: `STEP_EVENTS`; steps without a time are in no scrape.
        scrapes: Scrape times, `TIME`.
        cluster: The cluster that the runs belong to.

    Returns:
        `STEP_COUNTERS`, by run and time; both counters begin with the first judged step and end
        with the run's last step.
    """
    timed = events.pipe(require, STEP_EVENTS).drop_nulls("end_time")
    judged = timed.filter(pl.col("reason").is_null())
    weight = pl.col("interval_steps").cast(pl.Float64)
    totals = judged.sort("end_time").select(
        "run",
        time="end_time",
        steps_total=weight.cum_sum().over("run"),
        slow_steps_total=(weight * pl.col("slow").cast(pl.Float64)).cum_sum().over("run"),
    )
    ends = timed.group_by("run").agg(pl.col("end_time").max().alias("_end"))
    grid = pl.LazyFrame({"time": scrapes.unique().sort()}, schema={"time": TIME})
    return (
        grid.join(ends, how="cross")
        .filter(pl.col("time") <= pl.col("_end"))
        .sort("time")
        .join_asof(totals, on="time", by="run", check_sortedness=False)
        .drop_nulls("steps_total")
        .with_columns(cluster=pl.lit(cluster))
        .sort("run", "time")
        .select(STEP_COUNTERS.names())
    )


def counter_series(counters: pl.LazyFrame) -> pl.LazyFrame:
    """Return step counters as series: one row a sample, under the names that `/metrics` uses.

    Args:
        counters: `STEP_COUNTERS`.

    Returns:
        `metric`, `cluster`, `run`, `time` and `value`, by metric, run and time.
    """
    names = {"steps_total": STEPS_TOTAL.name, "slow_steps_total": SLOW_STEPS_TOTAL.name}
    return (
        counters.pipe(require, STEP_COUNTERS)
        .rename(names)
        .unpivot(list(names.values()), index=["cluster", "run", "time"], variable_name="metric")
        .select("metric", "cluster", "run", "time", "value")
        .sort("metric", "cluster", "run", "time")
    )
