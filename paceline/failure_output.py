"""What `paceline failures` prints: causes, costs, rates, and what hangs on each part."""

from collections.abc import Mapping
from typing import Any, Final

import orjson
import polars as pl

from alerts.wording import amount_text, counted_text, percent_text, span_text
from paceline.domain_output import domain_texts, radii_text
from paceline.failure_tables import by_week, weeks_of
from paceline.fleet_review import FleetReview
from paceline.goodput_output import NAMELESS, plain_rows
from paceline.text_tables import table
from slo.failure_costs import second_order_share
from slo.failure_rates import FailureRate, per_1000_node_days
from slo.failures import CAUSES
from slo.reliability import SECONDS_PER_HOUR

_COSTS: Final = (
    *("run", "attempt", "time", "ended_by", "cause", "what", "host", "device", "source"),
    *("is_infrastructure", "nodes", "ranks", "gpus", "lost_seconds", "gpu_hours_lost", "basis"),
    "forced_by",
)


def failure_bytes(review: FleetReview) -> bytes:
    """Return failures, sums, rates and blast radii as JSON, indented, with a final line break.

    Args:
        review: What the history tells.
    """
    told = {
        "failures": plain_rows(review.costs.select(_COSTS)),
        "weeks": by_week(review.costs).to_dicts(),
        "domains": plain_rows(review.domains),
        "second_order_share": second_order_share(review.costs),
        "rate_per_1000_node_days": rate_json(review.rates.infrastructure),
        "sizes": plain_rows(review.rates.by_size),
        "unsized_attempts": review.rates.unsized,
        "blast_radii": plain_rows(review.radii),
        "needs": failure_needs(review),
    }
    return orjson.dumps(told, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def rate_json(rate: FailureRate | None) -> dict[str, object] | None:
    """Return a rate per 1000 node-days for machines; null where none is known.

    Args:
        rate: Per node-day.
    """
    if rate is None:
        return None
    told = per_1000_node_days(rate)
    return {
        "failures": told.count,
        "node_days": rate.exposure,
        "rate": told.rate,
        "low": told.low,
        "high": told.high,
        "coverage": told.coverage,
    }


def rate_text(rate: FailureRate | None, what: str) -> str:
    """Return a rate in a sentence.

    Args:
        rate: Per node-day; null where nothing tells how many nodes jobs had.
        what: What is counted.
    """
    if rate is None:
        return f"Rate of {what}: not known; accounts with nodes, or placements, would give it.\n"
    told = per_1000_node_days(rate)
    head = f"{told.count} {what} in {rate.exposure:,.1f} node-days"
    if told.rate is None:
        return f"{head}: below {told.high:.3g} in 1000 ({told.coverage:.0%} bound, one-sided).\n"
    return (
        f"{head}: {told.rate:.3g} in 1000 ({told.coverage:.0%} interval {told.low:.3g} to "
        f"{told.high:.3g}).\n"
    )


def failure_needs(review: FleetReview) -> list[str]:
    """Return what is not known of failures, and what would decide it.

    Args:
        review: What the history tells.
    """
    costs = review.costs
    unknown = costs.filter(pl.col("cause") == "unknown").height
    nowhere = costs.filter("is_infrastructure", pl.col("host").is_null()).height
    unpriced = costs.filter(pl.col("gpu_hours_lost").is_null()).height
    modelled = costs.filter(pl.col("basis") == "MODELED").height
    told = [
        (
            unknown,
            "of unknown cause: logs of kernels and jobs around their ends would tell it",
        ),
        (nowhere, "that no event ties to a node: Xids and health checks would name it"),
        (unpriced, "of unknown cost: placements, or --gpus-per-node, would give it"),
        (modelled, "whose cost is modelled: step logs would measure it"),
        (review.rates.unsized, "attempts of unknown size: accounts with nodes would give it"),
    ]
    domains = set(review.radii["kind"])
    missing = [
        text
        for kind, text in (
            ("gpu", "blast radius of GPUs: placements of ranks would tell it"),
            ("rack", "blast radius of racks: host names with a rack would tell it"),
            ("switch", "blast radius of switches: links (LLDP, iblinkinfo) would tell it"),
            ("storage", "blast radius of storage: kernel logs that name a server would tell some"),
        )
        if kind not in domains
    ]
    return [f"{count} {text}" for count, text in told if count] + missing


def failure_text(review: FleetReview, top: int) -> str:
    """Return what people read.

    Args:
        review: What the history tells.
        top: Rows of each table.
    """
    parts = [_head(review), rate_text(review.rates.infrastructure, "failures by infrastructure")]
    if not review.costs.is_empty():
        parts += [*domain_texts(review.domains, top), _weeks_text(review)]
        parts.append(_dearest_text(review, top))
    parts += [_sizes_text(review), radii_text(review.radii, top)]
    parts += ["\n".join(f"not known - {need}" for need in failure_needs(review)) + "\n"]
    return "\n".join(parts)


def _head(review: FleetReview) -> str:
    costs = review.costs
    ours = costs.filter("is_infrastructure").height
    lost = float(costs["gpu_hours_lost"].sum())
    share = second_order_share(costs)
    second = f", {percent_text(share)} of them of second order" if share else ""
    known = f" They cost {amount_text(lost)} GPU-hours{second}." if lost else ""
    runs = review.lives["run"].n_unique()
    return (
        f"{counted_text(runs, 'run')}, {counted_text(review.lives.height, 'attempt')}: "
        f"{costs.height:,} ended without a plan, {ours:,} by infrastructure.{known}\n"
    )


def _words(cause: str) -> str:
    """Return a cause for people."""
    return cause.replace("_", " ")


def _weeks_text(review: FleetReview) -> str:
    """Return how many failures of each cause fell in each week."""
    weeks = by_week(review.costs)
    causes = [name for name in CAUSES if name in set(weeks["cause"])]
    counts = {(row["week"], row["cause"]): row["failures"] for row in weeks.to_dicts()}
    rows = [["week of", *(_words(cause) for cause in causes)]]
    rows += [
        [f"{week}", *(f"{counts.get((week, cause), 0)}" for cause in causes)]
        for week in weeks_of(weeks)
    ]
    return table("Failures by week", rows)


def _dearest_text(review: FleetReview, top: int) -> str:
    dearest = review.costs.sort(
        "gpu_hours_lost", "failure", descending=[True, False], nulls_last=True
    )
    lines = [
        f"  {row['time']:%Y-%m-%d %H:%M} {row['run'] or NAMELESS}: {_words(row['cause'])}, "
        f"{amount_text(row['gpu_hours_lost'])} GPU-hours ({row['basis']})"
        f"{_because(row)}"
        for row in dearest.head(top).iter_rows(named=True)
    ]
    return "\n".join(["The dearest", *lines, ""])


def _because(row: Mapping[str, Any]) -> str:
    if row["forced_by"] is not None:
        return f"; made room for {row['forced_by']}"
    where = f" on {row['host']}" if row["host"] else ""
    return f"; {row['what']}{where}" if row["what"] else ""


def _sizes_text(review: FleetReview) -> str:
    rows = [("nodes", "attempts", "failures", "MTTF observed", "projected (MODELED)")]
    rows += [
        (
            _size(row),
            f"{row['attempts']:,}",
            f"{row['failures']:,}",
            _mttf(row, "mttf"),
            _mttf(row, "projected"),
        )
        for row in review.rates.by_size.iter_rows(named=True)
    ]
    return table("Mean time to failure by size of job", rows)


def _size(row: Mapping[str, Any]) -> str:
    low, high = row["min_nodes"], row["max_nodes"]
    return f"{low}" if low == high else f"{low}-{high}"


def _mttf(row: Mapping[str, Any], name: str) -> str:
    low, mean, high = (row[f"{part}{name}_hours"] for part in ("min_", "", "max_"))
    if low is None:
        return "?"
    if mean is None:
        return f"above {span_text(low * SECONDS_PER_HOUR)}"
    ends = (span_text(hours * SECONDS_PER_HOUR) for hours in (low, high))
    return f"{span_text(mean * SECONDS_PER_HOUR)} ({' to '.join(ends)})"
