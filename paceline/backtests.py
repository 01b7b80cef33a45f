"""A backtest: the policy as it is and others beside it, over one history and its incidents."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from paceline.progress import Say
from slo.backtest_scores import all_alerts, score_alerts
from slo.histories import SeriesHistory
from slo.known_incidents import known_incidents, with_spent
from slo.objectives import Objective
from slo.page_changes import page_changes
from slo.policy_replays import PolicyReplay, ReplayParams, replay_policy

CURRENT = "current"
"""What the policy is called that others are held against."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BacktestParams:
    """What is asked of a backtest.

    Attributes:
        replay: Grid, stretches and arithmetic.
        span: First and last evaluation; null is the history's.
        min_spent_ratio: Share (0-1) of the budget from which on an event is significant.
    """

    replay: ReplayParams
    span: tuple[datetime | None, datetime | None]
    min_spent_ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """One policy, replayed and scored.

    Attributes:
        name: `current`, or what the alternative was asked for by.
        replay: What it would have done.
        alerts: The group labels, `alert`, `severity`, times and `spent_ratio`; see `all_alerts`.
        scores: `SCORES`.
        changes: Group labels and `PAGE_CHANGES` against the current policy; null of itself.
    """

    name: str
    replay: PolicyReplay
    alerts: pl.DataFrame
    scores: pl.DataFrame
    changes: pl.DataFrame | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Backtest:
    """Policies over one history.

    Attributes:
        source: Where the history comes from.
        params: What was asked.
        incidents: The group labels, `INCIDENTS` and `spent_ratio`; null when none are known.
        policies: The current one first.
    """

    source: str
    params: BacktestParams
    incidents: pl.DataFrame | None
    policies: tuple[Policy, ...]

    @property
    def current(self) -> Policy:
        """The policy that others are held against."""
        return self.policies[0]


def run_backtest(
    source: tuple[str, Callable[[Objective], SeriesHistory]],
    objectives: Mapping[str, Objective],
    incidents: pl.DataFrame | None,
    params: BacktestParams,
    say: Say,
) -> Backtest:
    """Return how policies would have done.

    Args:
        source: What the history is called, and the series that a policy counts: another ratio of
            slow steps makes others.
        objectives: Policies by name, the current one first.
        incidents: `label`, `start`, `end` and labels; null when none are known.
        params: What is asked.
        say: Told after each policy: its name, how many are done, how many there are.

    Raises:
        NoHistoryError: There is nothing to replay.
        IncidentsError: An incident cannot be one.
    """
    name, history_of = source
    policies: list[Policy] = []
    known: pl.DataFrame | None = None
    for title, objective in objectives.items():
        history = history_of(objective)
        replay = replay_policy(history, objective, params.replay, span=params.span)
        spent = None
        if incidents is not None:
            spent = with_spent(known_incidents(incidents, objective), history, objective, replay)
            known = spent if known is None else known
        policies.append(
            Policy(
                name=title,
                replay=replay,
                alerts=all_alerts(replay),
                scores=score_alerts(replay, spent, min_spent_ratio=params.min_spent_ratio),
                changes=page_changes(policies[0].replay, replay) if policies else None,
            )
        )
        say(title, len(policies), len(objectives))
    return Backtest(source=name, params=params, incidents=known, policies=tuple(policies))
