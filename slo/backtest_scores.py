"""How a policy would have done: precision, recall, detection and reset time of each alert.

Source: The Site Reliability Workbook, chapter 5: precision is the share of firings that were
significant, recall the share of significant events that fired; detection and reset are the times
from an event's start to its alert, and from its end to the alert's.
"""

from typing import Final

import polars as pl

from collectors.frames import schema_of
from slo.known_incidents import matches, spent_ratio, with_period_events
from slo.page_routes import ROUTED, pair_name, routed_pages
from slo.policy_replays import PolicyReplay

SCORES: Final = schema_of(
    {
        "alert": pl.String,
        "severity": pl.String,
        "firings": pl.Int64,
        "significant_firings": pl.Int64,
        "precision": pl.Float64,
        "incidents": pl.Int64,
        "found": pl.Int64,
        "recall": pl.Float64,
        "ttd_seconds": pl.Float64,
        "max_ttd_seconds": pl.Float64,
        "reset_seconds": pl.Float64,
        "max_reset_seconds": pl.Float64,
    }
)
"""One row a pair of windows, then one for each severity as it is routed (`alert` is then `page` or
`ticket`). Null: `precision` without a firing; `recall`, `incidents`, `found` and times without
known incidents. Times are medians over the found incidents; a reset before the end counts 0."""

WHOLE: Final = "routed"
"""What stands in place of a pair for all pairs of a severity together."""


def all_alerts(replay: PolicyReplay) -> pl.DataFrame:
    """Return the firings of each pair, and those of each severity as routed.

    Returns:
        The group labels, `alert` (`1h/5m`, or `routed`), `severity`, `active_at`, `fired_at`,
        `resolved_at`, `peak_bad` and `spent_ratio`, the share of the period's budget that its long
        window held at most; by alert, group and time.
    """
    labels = replay.objective.group_labels
    columns = ["alert", *(name for name in ROUTED.names() if name != "pairs")]
    pairs = replay.firings.with_columns(alert=pair_name()).select(*labels, *columns)
    routed = routed_pages(replay.firings, labels).with_columns(alert=pl.lit(WHOLE))
    rows = pl.concat([pairs, routed.select(*labels, *columns)])
    counted = with_period_events(rows, replay, at="fired_at")
    spent = spent_ratio(replay.objective, "peak_bad").alias("spent_ratio")
    return counted.with_columns(spent).drop("period_events")


def score_alerts(
    replay: PolicyReplay, incidents: pl.DataFrame | None, *, min_spent_ratio: float
) -> pl.DataFrame:
    """Return the scores of each pair of a policy, and of its routed page and ticket.

    Args:
        replay: What the policy would have done.
        incidents: The group labels, `INCIDENTS` and `spent_ratio`; null when none are known. Then a
            firing is significant when its own long window held that share of the budget.
        min_spent_ratio: Share (0-1) of the budget from which on an event is significant.

    Returns:
        `SCORES`, by pair in the objective's order, then routed.
    """
    alerts = all_alerts(replay).with_row_index("_firing")
    names = _names(replay)
    if incidents is None:
        is_significant = (pl.col("spent_ratio") >= min_spent_ratio).fill_null(value=False)
        judged = alerts.with_columns(_right=is_significant)
        return names.pipe(_with_precision, judged).pipe(_without_incidents)
    wanted = incidents.filter(pl.col("spent_ratio") >= min_spent_ratio).with_row_index("_incident")
    met = _met(alerts, wanted, replay)
    judged = alerts.with_columns(_right=pl.col("_firing").is_in(met["_firing"].implode()))
    return names.pipe(_with_precision, judged).pipe(_with_recall, met, wanted.height)


def _names(replay: PolicyReplay) -> pl.DataFrame:
    """Return every alert of a policy, also those that never fired."""
    windows = replay.objective.windows
    pairs = [(w.name.partition(" ")[2], w.severity) for w in windows]
    routed = [(WHOLE, severity) for severity in dict.fromkeys(w.severity for w in windows)]
    return pl.DataFrame([*pairs, *routed], schema=["alert", "severity"], orient="row")


def _met(alerts: pl.DataFrame, incidents: pl.DataFrame, replay: PolicyReplay) -> pl.DataFrame:
    """Return each firing beside each incident of its group that it overlaps.

    A pair holds from `active_at` on; it may fire after a short incident is over, and still means
    it.
    """
    labels = replay.objective.group_labels
    until = pl.col("resolved_at").fill_null(replay.end)
    ends = pl.col("end").fill_null(replay.end)
    return (
        incidents.join(alerts, how="cross", suffix="_fired")
        .filter(
            matches(labels, "_fired"),
            pl.col("active_at") <= ends,
            until >= pl.col("start"),
        )
        .with_columns(
            _ttd=_seconds(pl.col("fired_at") - pl.col("start")),
            _reset=_seconds(pl.col("resolved_at") - pl.col("end")),
        )
    )


def _seconds(span: pl.Expr) -> pl.Expr:
    return (span.dt.total_microseconds() / 1e6).clip(lower_bound=0.0)


def _with_precision(names: pl.DataFrame, judged: pl.DataFrame) -> pl.DataFrame:
    """Return the alerts with how often they fired, and how often for something significant."""
    counted = judged.group_by("alert", "severity").agg(
        firings=pl.len().cast(pl.Int64), significant_firings=pl.col("_right").sum().cast(pl.Int64)
    )
    counts = pl.col("firings", "significant_firings").fill_null(0)
    ratio = pl.col("significant_firings") / pl.col("firings")
    return (
        names.join(counted, on=["alert", "severity"], how="left", maintain_order="left")
        .with_columns(counts)
        .with_columns(precision=pl.when(pl.col("firings") > 0).then(ratio))
    )


def _without_incidents(scores: pl.DataFrame) -> pl.DataFrame:
    """Return scores in which nothing is said about events that did not fire."""
    unknown = [
        pl.lit(None, dtype=kind).alias(name)
        for name, kind in SCORES.items()
        if name not in scores.columns
    ]
    return scores.with_columns(unknown).select(SCORES.names())


def _with_recall(scores: pl.DataFrame, met: pl.DataFrame, incident_count: int) -> pl.DataFrame:
    """Return the scores with what was found of the incidents, how fast, and how fast it let go."""
    found = (
        met.group_by("alert", "severity", "_incident")
        .agg(pl.col("_ttd").min(), _reset=pl.col("_reset").sort_by("fired_at").last())
        .group_by("alert", "severity")
        .agg(
            found=pl.len().cast(pl.Int64),
            ttd_seconds=pl.col("_ttd").median(),
            max_ttd_seconds=pl.col("_ttd").max(),
            reset_seconds=pl.col("_reset").median(),
            max_reset_seconds=pl.col("_reset").max(),
        )
    )
    ratio = pl.col("found") / incident_count
    return (
        scores.join(found, on=["alert", "severity"], how="left", maintain_order="left")
        .with_columns(
            pl.col("found").fill_null(0), incidents=pl.lit(incident_count, dtype=pl.Int64)
        )
        .with_columns(recall=pl.when(pl.col("incidents") > 0).then(ratio))
        .select(SCORES.names())
    )
