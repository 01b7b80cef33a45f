"""Which checkpoint interval follows from the failure rate that was measured, and what it gives.

Source: progress reference, section 15.1: Young's interval, Daly's refinement, and the closed form
of ETTR. The bounds of the rate go through: a rate that is hardly known gives an interval that is
hardly known.
"""

from dataclasses import dataclass
from typing import Final

import polars as pl

from collectors.frames import schema_of
from slo.failure_rates import FailureRate
from slo.reliability import (
    SECONDS_PER_DAY,
    RunCosts,
    daly_interval,
    expected_ettr,
    wasted_share,
    young_interval,
)

EXPECTATIONS: Final = schema_of(
    {
        "run": pl.String,
        "nodes": pl.Int64,
        "observed_ettr": pl.Float64,
        "expected_ettr": pl.Float64,
        "min_expected_ettr": pl.Float64,
        "max_expected_ettr": pl.Float64,
        "interval_seconds": pl.Float64,
        "write_seconds": pl.Float64,
        "init_seconds": pl.Float64,
        "queue_seconds": pl.Float64,
        "need": pl.String,
    }
)
"""What a run's ETTR was, and what the closed form expects of a long run of its size at the fleet's
rate, with the run's own costs. Null where a cost is not known: `need` says which input would tell
it. The bounds are those of the rate; the upper one stands alone where nothing failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalPlan:
    """A checkpoint interval with its bounds; seconds.

    Attributes:
        nodes: Nodes of the job.
        write_seconds: What a checkpoint holds training up.
        mttf_seconds: Mean time to an interruption; null where none was seen.
        min_mttf_seconds: Its lower bound.
        max_mttf_seconds: Its upper bound; infinite where none was seen.
        young_seconds: Young's interval; null where no interruption was seen.
        min_young_seconds: Young's for the lower bound of the time: no less is worth it.
        max_young_seconds: Young's for the upper bound.
        daly_seconds: Daly's interval; null likewise.
    """

    nodes: float
    write_seconds: float
    mttf_seconds: float | None
    min_mttf_seconds: float
    max_mttf_seconds: float
    young_seconds: float | None
    min_young_seconds: float
    max_young_seconds: float
    daly_seconds: float | None

    def waste(self, interval_seconds: float) -> float | None:
        """Return the share of time that an interval wastes; null where no interruption was seen.

        Args:
            interval_seconds: From one checkpoint to the next.
        """
        if self.mttf_seconds is None:
            return None
        return wasted_share(interval_seconds, self.write_seconds, self.mttf_seconds)


def budget_interval(rate: FailureRate, nodes: float, write_seconds: float) -> IntervalPlan:
    """Return the checkpoint interval that a measured rate asks for.

    Args:
        rate: Interruptions per node-day.
        nodes: Nodes of the job; each fails alike, and any failure interrupts the job.
        write_seconds: What a checkpoint holds training up.
    """
    job = rate.scaled(SECONDS_PER_DAY / nodes)
    mttf = job.mean_time
    return IntervalPlan(
        nodes=nodes,
        write_seconds=write_seconds,
        mttf_seconds=mttf,
        min_mttf_seconds=job.min_mean_time,
        max_mttf_seconds=job.max_mean_time,
        young_seconds=None if mttf is None else young_interval(write_seconds, mttf),
        min_young_seconds=young_interval(write_seconds, job.min_mean_time),
        max_young_seconds=young_interval(write_seconds, job.max_mean_time),
        daly_seconds=None if mttf is None else daly_interval(write_seconds, mttf),
    )


def budget_ettr(runs: pl.DataFrame, lives: pl.DataFrame, rate: FailureRate | None) -> pl.DataFrame:
    """Return expected and observed ETTR of each run, side by side.

    Args:
        runs: `GOODPUT`, one row a run.
        lives: `LIVES`, for sizes and starts.
        rate: Interruptions per node-day; null where none is known.

    Returns:
        `EXPECTATIONS`, by run.
    """
    starts = lives.group_by("run").agg(starts=pl.len(), nodes=pl.col("nodes").max())
    seconds = [f"{part}_seconds" for part in ("productive", "straggler", "data", "replay")]
    known = runs.join(starts, on="run", how="left", nulls_equal=True).with_columns(
        interval_seconds=pl.sum_horizontal(seconds) / pl.col("save_count"),
        write_seconds=pl.col("save_seconds") / pl.col("save_count"),
        init_seconds=(pl.col("init_seconds") + pl.col("restore_seconds").fill_null(0.0))
        / pl.col("starts"),
        queue_seconds=(pl.col("down_seconds") + pl.col("queue_seconds").fill_null(0.0))
        / pl.col("starts"),
    )
    rows = [_expectation(row, rate) for row in known.sort("run").iter_rows(named=True)]
    return pl.DataFrame(rows, schema=EXPECTATIONS)


_COSTS: Final = {
    "nodes": "the nodes of the job: placements, or accounts with nodes",
    "interval_seconds": "saves: events of checkpoints",
    "write_seconds": "what a save takes: marks of its start and end, or checkpoint seconds",
    "init_seconds": "what a start takes: the scheduler's accounts, or marks of starts",
    "queue_seconds": "waits: the scheduler's accounts",
}


def _expectation(row: dict[str, float | None], rate: FailureRate | None) -> dict[str, object]:
    """Return what is expected of a run; null with the first input that is missing."""
    known: dict[str, object] = {name: row[name] for name in EXPECTATIONS.names() if name in row}
    costs = {name: value for name in _COSTS if (value := row[name]) is not None}
    missing = [text for name, text in _COSTS.items() if name not in costs]
    if missing or rate is None or not costs["interval_seconds"] > 0.0:
        return known | {"need": missing[0] if missing else "a failure rate: jobs with nodes"}
    nodes = costs.pop("nodes")
    expected = [
        None if per_node is None else expected_ettr(per_node * nodes, RunCosts(**costs))
        for per_node in (
            None if value is None else value / SECONDS_PER_DAY
            for value in (rate.rate, rate.high, rate.low)
        )
    ]
    names = ("expected_ettr", "min_expected_ettr", "max_expected_ettr")
    return known | dict(zip(names, expected, strict=True))
