"""How long jobs of each size run until infrastructure ends them: observed, and projected.

Source: A. Kokolis and others, arXiv 2410.21680 (progress reference, section 15.1): failures in 1000
node-days, and what they project for a job of any size if all nodes fail alike. Observed times of
small jobs lie far below in their fleet: the two are told apart here, and never mixed.
"""

from dataclasses import dataclass
from typing import Final

import polars as pl

from collectors.frames import schema_of
from slo.failure_rates import COVERAGE, FailureRate, failure_rate

RATES: Final = schema_of(
    {
        "min_nodes": pl.Int64,
        "max_nodes": pl.Int64,
        "mean_nodes": pl.Float64,
        "attempts": pl.Int64,
        "failures": pl.Int64,
        "job_days": pl.Float64,
        "node_days": pl.Float64,
        "mttf_hours": pl.Float64,
        "min_mttf_hours": pl.Float64,
        "max_mttf_hours": pl.Float64,
        "projected_hours": pl.Float64,
        "min_projected_hours": pl.Float64,
        "max_projected_hours": pl.Float64,
    }
)
"""Jobs of one size. `mttf_hours` is observed, null where none failed: then only `min_mttf_hours` is
known, and `max_mttf_hours` is null. `projected_hours` is what the rate of the fleet gives for
`mean_nodes`."""

HOURS_PER_DAY: Final = 24.0

_MICROS_PER_DAY: Final = 86_400e6


@dataclass(frozen=True, slots=True, kw_only=True)
class RateParams:
    """What rates are counted over.

    Attributes:
        min_nodes: Attempts on fewer nodes tell nothing of the fleet's rate.
        coverage: Of intervals.
    """

    min_nodes: int = 1
    coverage: float = COVERAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetRates:
    """How often things fail.

    Attributes:
        infrastructure: Per node-day: ends by infrastructure; null where no attempt has a size.
        interruptions: Per node-day: ends that nobody planned and the run went on after, and those
            by infrastructure; null likewise.
        by_size: `RATES`, by size.
        unsized: Attempts of which nothing tells how many nodes they had.
    """

    infrastructure: FailureRate | None
    interruptions: FailureRate | None
    by_size: pl.DataFrame
    unsized: int


def budget_rates(lives: pl.DataFrame, failures: pl.DataFrame, params: RateParams) -> FleetRates:
    """Return how often things fail, over all and by the size of jobs.

    Args:
        lives: `LIVES`.
        failures: `FAILURES`.
        params: What is counted.
    """
    sized = lives.filter(pl.col("nodes") > 0).with_columns(
        days=(pl.col("end") - pl.col("start")).dt.total_microseconds() / _MICROS_PER_DAY
    )
    large = pl.col("nodes") >= params.min_nodes
    node_days = float((sized.filter(large)["days"] * sized.filter(large)["nodes"]).sum())
    known = failures.filter(large)
    ours = known.filter("is_infrastructure")
    whole = [
        failure_rate(one.height, node_days, params.coverage) if node_days > 0.0 else None
        for one in (ours, interruptions_of(known, lives))
    ]
    return FleetRates(
        infrastructure=whole[0],
        interruptions=whole[1],
        by_size=_by_size(sized, failures, whole[0], params),
        unsized=lives.height - sized.height,
    )


def interruptions_of(failures: pl.DataFrame, lives: pl.DataFrame) -> pl.DataFrame:
    """Return the failures that a checkpoint is for.

    Args:
        failures: `FAILURES`.
        lives: `LIVES`.

    Returns:
        `FAILURES`: those by infrastructure, and those after which the run began again. A program
        that fails and is given up loses nothing that a checkpoint would have kept.
    """
    last = lives.group_by("run").agg(last=pl.col("start").max())
    joined = failures.join(last, on="run", how="left", nulls_equal=True)
    goes_on = (pl.col("last") >= pl.col("time")).fill_null(value=False)
    return joined.filter(pl.col("is_infrastructure") | goes_on).select(failures.columns)


def _by_size(
    sized: pl.DataFrame, failures: pl.DataFrame, fleet: FailureRate | None, params: RateParams
) -> pl.DataFrame:
    """Return jobs in sizes that double."""
    size = 2 ** pl.col("nodes").log(2.0).add(1e-9).floor().cast(pl.Int64)
    counted = failures.filter("is_infrastructure", pl.col("nodes") > 0).with_columns(size=size)
    groups = (
        sized.with_columns(size=size)
        .group_by("size")
        .agg(
            attempts=pl.len(),
            job_days=pl.col("days").sum(),
            node_days=(pl.col("days") * pl.col("nodes")).sum(),
        )
        .join(counted.group_by("size").agg(failures=pl.len()), on="size", how="left")
        .with_columns(pl.col("failures").fill_null(0))
        .filter(pl.col("job_days") > 0.0)
        .sort("size")
    )
    rows = [
        {
            "min_nodes": row["size"],
            "max_nodes": 2 * row["size"] - 1,
            "mean_nodes": row["node_days"] / row["job_days"],
            **{name: row[name] for name in ("attempts", "failures", "job_days", "node_days")},
            **_hours(failure_rate(row["failures"], row["job_days"], params.coverage), "mttf"),
            **_projected(fleet, row["node_days"] / row["job_days"]),
        }
        for row in groups.iter_rows(named=True)
    ]
    return pl.DataFrame(rows, schema=RATES)


def _hours(rate: FailureRate, name: str) -> dict[str, float | None]:
    """Return a mean time with its bounds, in hours; null where there is none."""
    mean = rate.mean_time
    return {
        f"{name}_hours": None if mean is None else mean * HOURS_PER_DAY,
        f"min_{name}_hours": rate.min_mean_time * HOURS_PER_DAY,
        f"max_{name}_hours": rate.max_mean_time * HOURS_PER_DAY if rate.count else None,
    }


def _projected(fleet: FailureRate | None, nodes: float) -> dict[str, float | None]:
    return {} if fleet is None else _hours(fleet.scaled(1.0 / nodes), "projected")
