"""What `paceline checkpoint-interval` prints: the interval, how well it is known, what it gives."""

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

import orjson
import polars as pl

from alerts.wording import percent_text, span_text
from paceline.failure_output import rate_json, rate_text
from paceline.fleet_review import FleetReview
from paceline.goodput_output import NAMELESS, ettr_text
from slo.failure_rates import FailureRate
from slo.intervals import IntervalPlan, budget_interval
from slo.reliability import RunCosts, expected_ettr

NO_WRITE: Final = (
    "for how long a save holds training up is not known; marks of its start and end, checkpoint "
    "seconds in step records, or --write-seconds would tell it"
)


def plans_of(
    review: FleetReview, nodes: int | None, write_seconds: float | None
) -> list[tuple[dict[str, Any], IntervalPlan | None]]:
    """Return a plan for each run with steps, or for one size of job, the largest first.

    Args:
        review: What the history tells.
        nodes: Of a job that is thought of; null asks for the runs that were seen.
        write_seconds: What a save takes; null takes what was measured of each run.

    Returns:
        What is known of the run, as in `EXPECTATIONS`, and its plan; null where it has none.
    """
    seen = review.ettr.filter(pl.col("observed_ettr").is_not_null())
    measured = seen["write_seconds"].drop_nulls().median()
    rows = seen.sort("nodes", "run", descending=[True, False], nulls_last=True).to_dicts()
    if nodes is not None:
        write = measured if isinstance(measured, float) else None
        rows = [dict.fromkeys(seen.columns) | {"nodes": nodes, "write_seconds": write}]
    found: list[tuple[dict[str, Any], IntervalPlan | None]] = []
    for row in rows:
        write = write_seconds if write_seconds is not None else row["write_seconds"]
        found.append((row, _plan(review.rates.interruptions, row["nodes"], write)))
    return found


def _plan(
    rate: FailureRate | None, nodes: float | None, write: float | None
) -> IntervalPlan | None:
    """Return a plan; null where anything that it needs is not known, or a save holds nobody up."""
    if rate is None or not nodes or not write:
        return None
    return budget_interval(rate, nodes, write)


def interval_bytes(
    review: FleetReview, plans: list[tuple[dict[str, Any], IntervalPlan | None]]
) -> bytes:
    """Return the plans as JSON, indented, with a final line break; an endless time is null.

    Args:
        review: What the history tells.
        plans: What `plans_of` returns.
    """
    told = {
        "interruptions_per_1000_node_days": rate_json(review.rates.interruptions),
        "infrastructure_per_1000_node_days": rate_json(review.rates.infrastructure),
        "plans": [
            row | {"plan": None if plan is None else _finite(asdict(plan))} for row, plan in plans
        ],
    }
    return orjson.dumps(told, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _finite(row: Mapping[str, float | None]) -> dict[str, float | None]:
    return {
        name: None if value is None or math.isinf(value) else value for name, value in row.items()
    }


def interval_text(
    review: FleetReview, plans: list[tuple[dict[str, Any], IntervalPlan | None]], top: int
) -> str:
    """Return what people read.

    Args:
        review: What the history tells.
        plans: What `plans_of` returns.
        top: How many of them to show.
    """
    parts = [
        rate_text(review.rates.interruptions, "interruptions"),
        *(_plan_text(row, plan) for row, plan in plans[:top]),
    ]
    if not plans:
        parts.append("No run with steps: give step logs, or --nodes and --write-seconds.\n")
    if len(plans) > top:
        parts.append(f"and {len(plans) - top} more runs; --top shows more, --format json all\n")
    return "\n".join(parts)


def _plan_text(row: dict[str, Any], plan: IntervalPlan | None) -> str:
    """Return one plan: what is done now, what would be best, and what either gives."""
    name = row["run"] or (NAMELESS if row["observed_ettr"] is not None else "a job")
    if plan is None:
        missing = NO_WRITE if row["nodes"] else "how many nodes it has is not known"
        return f"{name}: no interval follows: {missing}\n"
    lines = [f"{name} on {plan.nodes:.0f} nodes, {span_text(plan.write_seconds)} a save:"]
    lines += [f"  {line}" for line in _best_lines(plan)]
    if row["interval_seconds"]:
        lines += [f"  {line}" for line in _now_lines(row, plan)]
    return "\n".join([*lines, ""])


def _best_lines(plan: IntervalPlan) -> list[str]:
    """Return the mean time to an interruption, and the interval that follows."""
    if plan.mttf_seconds is None or plan.young_seconds is None or plan.daly_seconds is None:
        return [
            f"interrupted every {span_text(plan.min_mttf_seconds)} or more (nothing was seen)",
            f"save no more often than every {span_text(plan.min_young_seconds)} (Young)",
        ]
    waste = percent_text(plan.waste(plan.young_seconds))
    bounds = f"{span_text(plan.min_mttf_seconds)} to {span_text(plan.max_mttf_seconds)}"
    young = f"{span_text(plan.min_young_seconds)} to {span_text(plan.max_young_seconds)}"
    mttf = span_text(plan.mttf_seconds)
    return [
        f"interrupted every {mttf} ({bounds}), projected from the measured rate (MODELED)",
        f"save every {span_text(plan.young_seconds)} (Young; {young} for the rate's interval)",
        f"Daly's refinement: {span_text(plan.daly_seconds)} between saves",
        f"saves and lost work then take {waste} of the time (MODELED)",
    ]


def _now_lines(row: dict[str, Any], plan: IntervalPlan) -> list[str]:
    """Return what is done now and what it costs."""
    now = row["interval_seconds"]
    waste = plan.waste(now)
    lines = [f"now: every {span_text(now)} (MEASURED)", ettr_text(row)]
    if waste is None or plan.young_seconds is None or plan.mttf_seconds is None:
        return lines
    lines[0] += f", which takes {percent_text(waste)} of the time (MODELED)"
    if row["init_seconds"] is not None and row["queue_seconds"] is not None:
        best = RunCosts(
            interval_seconds=plan.young_seconds,
            write_seconds=plan.write_seconds,
            init_seconds=row["init_seconds"],
            queue_seconds=row["queue_seconds"],
        )
        lines.append(
            f"ETTR expected at Young's interval: {expected_ettr(1 / plan.mttf_seconds, best):.3f} "
            "(MODELED)"
        )
    return lines
