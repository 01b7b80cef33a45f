"""The Prometheus alert state machine over frames: from conditions to intervals.

Source: Prometheus, rules/alerting.go at 2.42. An alert is pending from the first evaluation at
which its condition holds, fires at the first one at least `for` later, and forgets everything at
the first miss, unless `keep_firing_for` holds a firing alert.
"""

from collections.abc import Sequence
from typing import Final

import polars as pl

from collectors.frames import TIME, schema_of
from slo.objectives import Objective
from slo.restarts import PAIR, Outage, active_since, breaks_of, evaluations

BURN_ALERTS: Final = schema_of(
    {
        "objective": pl.String,
        "severity": pl.String,
        "long_seconds": pl.Int64,
        "short_seconds": pl.Int64,
        "active_at": TIME,
        "fired_at": TIME,
        "resolved_at": TIME,
    }
)
"""Beside the group labels: one row a firing. `active_at` is when the condition began to hold,
`fired_at` when the alert was sent, `resolved_at` null while it still fires at the last evaluation.
An alert that was only ever pending is no row."""


def burn_alerts(
    burns: pl.DataFrame,
    objective: Objective,
    times: pl.Series,
    *,
    outages: Sequence[Outage] = (),
    limit: int | None = None,
) -> pl.DataFrame:
    """Return when each alert of an objective fired.

    Args:
        burns: `BURNS` with the objective's group labels; a missing row is a condition that does not
            hold.
        objective: The pairs with their `for` and `keep_firing_for`.
        times: All evaluation times, `TIME`: without them a miss could not be told from no question.
        outages: When the server was down: nothing is evaluated, and some alerts begin again.
        limit: How many alerts a pair may have; beyond it all of them are dropped. Null is any
            number.

    Returns:
        The group labels and `BURN_ALERTS`, by group, severity, long window and time.
    """
    key = [*objective.group_labels, *PAIR]
    grid = evaluations(times, outages)
    held = burns.filter("fires").join(grid, on="time").join(_pairs(objective), on=PAIR)
    breaks = breaks_of(held, grid, outages, limit)
    return (
        held.join(breaks.filter("_drops"), on=[*PAIR, "_n"], how="anti")
        .sort("_n")
        .join_asof(_epochs(breaks), on="_n", by=PAIR, check_sortedness=False)
        .sort(*key, "_n")
        .pipe(_stretches, key, outages)
        .pipe(_with_resolved, grid)
        .pipe(_with_breaks, grid, breaks)
        .sort(*key, "_first")
        .pipe(_firings, key)
        .with_columns(objective=pl.lit(objective.name))
        .sort(*key, "fired_at")
        .select(*objective.group_labels, *BURN_ALERTS.names())
    )


def _epochs(breaks: pl.DataFrame) -> pl.DataFrame:
    """Return how often everything was forgotten, at each evaluation where it was."""
    forgets = breaks.filter("_forgets").sort("_n")
    return forgets.select(*PAIR, "_n", _epoch=pl.int_range(1, pl.len() + 1).over(PAIR))


def _pairs(objective: Objective) -> pl.DataFrame:
    """Return how long each pair waits before it fires and after its condition ends."""
    return pl.DataFrame(
        {
            "severity": [window.severity for window in objective.windows],
            "long_seconds": [window.long_seconds for window in objective.windows],
            "short_seconds": [window.short_seconds for window in objective.windows],
            "_for": [window.for_seconds for window in objective.windows],
            "_keep": [window.keep_firing_seconds for window in objective.windows],
        }
    ).with_columns(pl.duration(seconds=pl.col("_for", "_keep")).name.keep())


def _stretches(held: pl.DataFrame, key: list[str], outages: Sequence[Outage]) -> pl.DataFrame:
    """Return each unbroken stretch of evaluations at which a condition held.

    `_fired` is the first evaluation that came `for` after the first; null when it never waited
    long enough.
    """
    follows = (pl.col("_n").diff() == 1) & (pl.col("_epoch").diff() == 0)
    begins = ~follows.over(key).fill_null(value=False)
    since = active_since(outages, pl.col("time").first().over("_stretch"))
    waited = pl.col("time") - pl.col("_since") >= pl.col("_for")
    return (
        held.with_columns(pl.col("_epoch").fill_null(0))
        .with_columns(_stretch=begins.cum_sum())
        .with_columns(_since=since)
        .group_by("_stretch", *key, "_keep", "_epoch", maintain_order=True)
        .agg(
            pl.col("_n").first().alias("_first"),
            pl.col("_n").last().alias("_last"),
            pl.col("time").first().alias("active_at"),
            pl.col("time").filter(waited).first().alias("_fired"),
        )
    )


def _with_resolved(stretches: pl.DataFrame, grid: pl.DataFrame) -> pl.DataFrame:
    """Return the stretches with the evaluation at which a firing alert would let go.

    That is the first miss, or the first evaluation `keep_firing_for` after it; null when there is
    none in the grid.
    """
    missed = grid.select(_missed="time", _next="_n")
    resolved = grid.select(resolved_at="time", _resolved="_n")
    return (
        stretches.with_columns(_next=pl.col("_last") + 1)
        .join(missed, on="_next", how="left")
        .with_columns(_due=pl.col("_missed") + pl.col("_keep"))
        .sort("_due")
        .join_asof(
            resolved, left_on="_due", right_on="resolved_at", strategy="forward", coalesce=False
        )
    )


def _with_breaks(stretches: pl.DataFrame, grid: pl.DataFrame, breaks: pl.DataFrame) -> pl.DataFrame:
    """Return the stretches let go no later than at the next evaluation that loses alerts."""
    lost = breaks.select(*PAIR, "_n").join(grid, on="_n").sort("_n")
    lost = lost.rename({"_n": "_lost", "time": "_lost_at"})
    found = stretches.sort("_last").join_asof(
        lost,
        left_on="_last",
        right_on="_lost",
        by=PAIR,
        strategy="forward",
        allow_exact_matches=False,
        check_sortedness=False,
        coalesce=False,
    )
    is_lost = (pl.col("_lost") < pl.col("_resolved").fill_null(grid.height)).fill_null(value=False)
    return found.with_columns(
        _resolved=pl.when(is_lost).then("_lost").otherwise("_resolved"),
        resolved_at=pl.when(is_lost).then("_lost_at").otherwise("resolved_at"),
    )


def _firings(stretches: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    """Return each firing: a stretch that fired, with those that came before it let go.

    A stretch goes on with the firing before it when that has not let go yet. So a stretch fires
    when it waited long enough, or when the last one that did is joined to it without a break.
    """
    number = pl.int_range(pl.len())
    resolved_before = pl.col("_resolved").shift(1).over(key)
    is_first = pl.col("_first") == pl.col("_first").first().over(key)
    is_forgotten = pl.col("_epoch") != pl.col("_epoch").shift(1).over(key)
    is_late = resolved_before < pl.col("_first")
    is_apart = is_first | (is_forgotten | is_late).fill_null(value=False)
    last_own = pl.when(pl.col("_fired").is_not_null()).then(number).cum_max().forward_fill()
    last_apart = pl.when("_is_apart").then(number).cum_max().forward_fill()
    fires = (last_own >= last_apart).fill_null(value=False)
    return (
        stretches.with_columns(_is_apart=is_apart)
        .with_columns(_fires=fires.over(key))
        .with_columns(_goes_on=pl.col("_fires").shift(1, fill_value=False).over(key))
        .filter("_fires")
        .with_columns(_firing=(pl.col("_is_apart") | ~pl.col("_goes_on")).cum_sum())
        .group_by("_firing", *key, maintain_order=True)
        .agg(
            pl.col("active_at").first(),
            pl.col("_fired").first().alias("fired_at"),
            pl.col("resolved_at").last(),
        )
    )
