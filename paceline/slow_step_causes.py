"""Which findings stand behind a run's slow steps: shares of hosts and of causes.

A slow step belongs to the gravest finding of its run that holds at its end; a step that no finding
covers is not explained, and says so.
"""

from collections.abc import Callable, Sequence
from typing import Final

import polars as pl

from collectors.frames import TIME
from detectors.verdicts import Verdict, sort_verdicts
from slo.budget_reviews import shares_of

NOT_EXPLAINED: Final = "not explained"

_SPEED_KINDS: Final = frozenset(
    {"slow", "degrading", "flapping", "group_slow", "imbalance", "link_fault", "congestion"}
)
"""Kinds of findings that make steps slow."""


def slow_step_causes(events: pl.DataFrame, verdicts: Sequence[Verdict]) -> pl.DataFrame:
    """Return how slow steps spread over hosts and causes.

    Args:
        events: `STEP_EVENTS` of the period.
        verdicts: What the detectors found.

    Returns:
        `CONTRIBUTORS` with the labels `cause` and `host`.
    """
    slow = events.filter(pl.col("slow"))
    known = [
        one for one in sort_verdicts(verdicts) if one.kind in _SPEED_KINDS and one.onset is not None
    ]
    parts = [
        _counts(slow, known, "cause", lambda one: one.cause or one.kind.replace("_", " ")),
        _counts(slow, known, "host", lambda one: one.subject.host or NOT_EXPLAINED),
    ]
    return shares_of(parts)


def _counts(
    slow: pl.DataFrame, verdicts: Sequence[Verdict], label: str, name: Callable[[Verdict], str]
) -> pl.DataFrame:
    """Return the slow steps of each name."""
    asked = [pl.when(_covers(one)).then(pl.lit(name(one))) for one in verdicts]
    return (
        slow.group_by(name=pl.coalesce(*asked, pl.lit(NOT_EXPLAINED)))
        .agg(bad=pl.col("interval_steps").sum().cast(pl.Float64))
        .select(label=pl.lit(label), name="name", bad="bad")
    )


def _covers(verdict: Verdict) -> pl.Expr:
    """Return whether a step is of the verdict's run and ends while it holds."""
    end = pl.col("end_time")
    covered = end >= pl.lit(verdict.onset, dtype=TIME)
    if verdict.cleared is not None:
        covered = covered & (end <= pl.lit(verdict.cleared, dtype=TIME))
    if verdict.subject.run is not None:
        covered = covered & (pl.col("run") == verdict.subject.run)
    return covered
