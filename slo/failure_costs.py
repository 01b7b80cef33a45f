"""What each failure cost its job, measured where steps tell and modelled where they do not.

Source: progress reference, section 15.1. Measured: the stall before the end, the steps that were
done again, and the time until steps went on. Modelled, after A. Kokolis and others: the run time up
to half an hour (half of an hour's interval between checkpoints), times the GPUs.
"""

from dataclasses import dataclass
from typing import Final

import polars as pl

from collectors.frames import schema_of
from slo.failures import FAILURES
from slo.losses import SECONDS_PER_HOUR
from slo.parts import FAILURE_PARTS

COSTS: Final = pl.Schema(
    [
        *FAILURES.items(),
        *((f"{part}_seconds", pl.Float64()) for part in FAILURE_PARTS),
        *schema_of(
            {
                "lost_seconds": pl.Float64,
                "gpu_hours_lost": pl.Float64,
                "basis": pl.String,
                "forced_by": pl.String,
                "root": pl.UInt32,
            }
        ).items(),
    ]
)
"""A failure with what it cost. The parts are null where no step
tells, and 0 where nothing of them was seen. `lost_seconds` is the job's;
`gpu_hours_lost` leaves out the queue, in which a job holds no GPU, and is null where the size of
the job is not known. `basis`: MEASURED or MODELED. `forced_by` is the run for whose restart the
attempt was preempted: a loss of second order, whose cause is that run's. `root` is the failure that
it is charged to: that of `forced_by`, else its own."""

_BEFORE: Final = ("replay", "stall")
"""Parts that lie before the end that they are charged to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostParams:
    """How costs are modelled, and when one failure makes others.

    Attributes:
        max_lost_seconds: Work that a failure undoes where no step tells.
        max_restart_seconds: From the failure of a job to its restart, for which others had to go.
        max_gap_seconds: From when they went to that restart.
    """

    max_lost_seconds: float = 1800.0
    max_restart_seconds: float = 3600.0
    max_gap_seconds: float = 600.0


def budget_costs(
    failures: pl.DataFrame, lives: pl.DataFrame, ledger: pl.DataFrame, params: CostParams
) -> pl.DataFrame:
    """Return what each failure cost.

    Args:
        failures: `FAILURES`.
        lives: `LIVES`, the planned ends among them: what follows those is charged to no failure.
        ledger: `LEDGER`.
        params: What is modelled.

    Returns:
        `COSTS`, by failure.
    """
    stepped = ledger.lazy().filter(pl.col("part") == "productive").select("run").unique()
    measured = stepped.with_columns(is_measured=pl.lit(value=True))
    ran = (pl.col("time") - pl.col("start")).dt.total_microseconds() / 1e6
    modelled = pl.min_horizontal(ran, pl.lit(params.max_lost_seconds)).clip(0)
    seconds = [f"{part}_seconds" for part in FAILURE_PARTS]
    lost = pl.when("is_measured").then(pl.sum_horizontal(seconds)).otherwise(modelled)
    held = pl.col("lost_seconds") - pl.col("queue_seconds").fill_null(0.0)
    return (
        failures.lazy()
        .join(measured, on="run", how="left", nulls_equal=True)
        .with_columns(pl.col("is_measured").fill_null(value=False))
        .join(_charged(lives, ledger), on=["run", "time"], how="left", nulls_equal=True)
        .with_columns(pl.when("is_measured").then(pl.col(seconds).fill_null(0.0)))
        .with_columns(lost_seconds=lost, basis=_basis())
        .with_columns(gpu_hours_lost=held * pl.col("gpus") / SECONDS_PER_HOUR)
        .pipe(_with_second_order, lives.lazy(), params)
        .select(COSTS.names())
        .sort("failure")
        .collect()
    )


def _basis() -> pl.Expr:
    return pl.when("is_measured").then(pl.lit("MEASURED")).otherwise(pl.lit("MODELED"))


def _charged(lives: pl.DataFrame, ledger: pl.DataFrame) -> pl.LazyFrame:
    """Return the parts of a run's time that each of its ends is charged with."""
    ends = lives.lazy().filter("is_over").select("run", time="end").unique().sort("time")
    keyed = ends.with_columns(run=pl.col("run").fill_null(""), charged="time")
    rows = (
        ledger.lazy()
        .filter(pl.col("part").is_in(FAILURE_PARTS))
        .with_columns(run=pl.col("run").fill_null(""))
        .sort("time")
    )
    is_before = pl.col("part").is_in(_BEFORE)
    before = rows.filter(is_before).join_asof(
        keyed, on="time", by="run", strategy="forward", check_sortedness=False
    )
    after = rows.filter(~is_before).join_asof(keyed, on="time", by="run", check_sortedness=False)
    micros = pl.col("micros")
    return (
        pl.concat([before, after])
        .drop_nulls("charged")
        .group_by("run", time="charged")
        .agg(
            (micros.filter(pl.col("part") == part).sum() / 1e6).alias(f"{part}_seconds")
            for part in FAILURE_PARTS
        )
        .with_columns(run=pl.when(pl.col("run") != "").then("run"))
    )


def _with_second_order(
    costs: pl.LazyFrame, lives: pl.LazyFrame, params: CostParams
) -> pl.LazyFrame:
    """Return costs with `forced_by`, and the cause of that run's failure instead of a preemption.

    A job went for another one's restart when that one failed before, begins again soon after, and
    on a host of the one that went, where both name theirs.
    """
    restart, gap = (
        pl.duration(microseconds=int(seconds * 1e6))
        for seconds in (params.max_restart_seconds, params.max_gap_seconds)
    )
    failed = costs.filter("is_infrastructure").select(
        forced_by="run", failed="time", forced_cause="cause", root="failure"
    )
    again = lives.select(forced_by="run", again="start", new_hosts="hosts").sort("again")
    restarts = (
        failed.sort("failed")
        .join_asof(
            again,
            left_on="failed",
            right_on="again",
            by="forced_by",
            strategy="forward",
            check_sortedness=False,
        )
        .filter(pl.col("again") <= pl.col("failed") + restart)
    )
    gone = costs.filter(pl.col("cause") == "preempted").select("failure", "run", "time", "hosts")
    shared = pl.col("hosts").list.set_intersection("new_hosts").list.len() > 0
    pairs = (
        gone.join(restarts, how="cross")
        .filter(
            pl.col("run") != pl.col("forced_by"),
            pl.col("failed") <= pl.col("time") + gap,
            pl.col("again").is_between(pl.col("time"), pl.col("time") + gap),
            shared.fill_null(value=True),
        )
        .sort("failure", "again", "failed", "forced_by")
        .unique("failure", keep="first", maintain_order=True)
        .select("failure", "forced_by", "forced_cause", "root")
    )
    return costs.join(pairs, on="failure", how="left").with_columns(
        cause=pl.coalesce("forced_cause", "cause"), root=pl.coalesce("root", "failure")
    )


def second_order_share(costs: pl.DataFrame) -> float | None:
    """Return the share of the GPU-hours lost to infrastructure that went to make room for others.

    Args:
        costs: `COSTS`.

    Returns:
        Null where nothing is known to be lost to infrastructure.
    """
    is_ours = pl.col("is_infrastructure") | pl.col("forced_by").is_not_null()
    lost = costs.filter(is_ours, pl.col("gpu_hours_lost") > 0)
    whole = float(lost["gpu_hours_lost"].sum())
    second = lost.filter(pl.col("forced_by").is_not_null())["gpu_hours_lost"].sum()
    return float(second) / whole if whole > 0.0 else None
