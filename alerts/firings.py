"""One firing of a burn-rate alert, with the counts it rested on when it fired.

Source: The Site Reliability Workbook, chapter 5; the counts in both windows belong on the page,
because a ratio alone does not say how many steps it stands for.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import polars as pl

from collectors.frames import require
from slo.alert_states import BURN_ALERTS
from slo.burns import BURNS
from slo.objectives import Objective
from slo.windows import Severity, duration


@dataclass(frozen=True, slots=True, kw_only=True)
class Firing:
    """One stretch in which a burn-rate alert fired; counts and rates are those when it fired.

    Attributes:
        objective: The objective's name.
        title: What people call the objective.
        promise: The promise in words, as in `99 % over 30d`.
        run: Training run; null when the objective has one budget for all runs.
        severity: `page` or `ticket`.
        long_seconds: Length of the long window.
        short_seconds: Length of the short window.
        factor: Burn rate that both windows had to exceed; null when not told.
        active_at: When the condition began to hold.
        fired_at: When the alert was sent.
        resolved_at: When it let go; null while it fires.
        long_bad: Bad events in the long window; null when not known.
        long_total: All events in the long window; null when not known.
        short_bad: Bad events in the short window; null when not known.
        short_total: All events in the short window; null when not known.
        long_burn_rate: Burn over the long window; null when not known.
        short_burn_rate: Burn over the short window; null when not known.
        long_coverage_ratio: Share (0-1) of the long window that there is data for.
        budget_left_ratio: Share of the budget left, negative when overspent; null when not known.
        budget_coverage_ratio: Share (0-1) of the budget's period that there is data for.
        exhaustion_seconds: How long the budget lasts at the long window's pace; 0 when spent.
        runbook_url: Where the next steps are written; null when nowhere.
        dashboard_url: Where it is drawn; null when nowhere.
    """

    objective: str
    title: str
    promise: str
    run: str | None
    severity: Severity
    long_seconds: int
    short_seconds: int
    factor: float | None
    active_at: datetime
    fired_at: datetime
    resolved_at: datetime | None = None
    long_bad: float | None = None
    long_total: float | None = None
    short_bad: float | None = None
    short_total: float | None = None
    long_burn_rate: float | None = None
    short_burn_rate: float | None = None
    long_coverage_ratio: float | None = None
    budget_left_ratio: float | None = None
    budget_coverage_ratio: float | None = None
    exhaustion_seconds: float | None = None
    runbook_url: str | None = None
    dashboard_url: str | None = None

    @property
    def pair(self) -> str:
        """What people call the pair of windows, as in `1h/5m`."""
        return f"{duration(self.long_seconds)}/{duration(self.short_seconds)}"


_COUNTS: Final = (
    "long_bad",
    "long_total",
    "short_bad",
    "short_total",
    "long_burn_rate",
    "short_burn_rate",
    "long_coverage_ratio",
    "budget_left_ratio",
    "budget_coverage_ratio",
    "exhaustion_seconds",
)
_PAIR: Final = ("severity", "long_seconds", "short_seconds")
_TIMES: Final = ("active_at", "fired_at", "resolved_at")


def firings_of(alerts: pl.DataFrame, burns: pl.DataFrame, objective: Objective) -> list[Firing]:
    """Return the firings of an objective's alerts.

    Args:
        alerts: `BURN_ALERTS` with the objective's group labels.
        burns: `BURNS` with the same labels, for the counts; a missing row leaves them null.
        objective: What was promised.

    Returns:
        One firing a row of `alerts`, by time, severity and window.

    Raises:
        SchemaError: One of the frames lacks a column of its schema.
    """
    alerts.lazy().pipe(require, BURN_ALERTS)
    burns.lazy().pipe(require, BURNS)
    keys = [*objective.group_labels, *_PAIR]
    seen = burns.select(*keys, *_COUNTS, fired_at="time")
    rows = alerts.join(seen, on=[*keys, "fired_at"], how="left", nulls_equal=True)
    ordered = rows.sort("fired_at", "severity", "long_seconds", *objective.group_labels)
    factors: dict[tuple[str, int, int], float] = {
        (window.severity, window.long_seconds, window.short_seconds): float(window.factor)
        for window in objective.windows
    }
    return [_firing(row, objective, factors) for row in ordered.iter_rows(named=True)]


def _firing(
    row: Mapping[str, Any], objective: Objective, factors: Mapping[tuple[str, int, int], float]
) -> Firing:
    pair = (row["severity"], row["long_seconds"], row["short_seconds"])
    told = {name: row[name] for name in (*_PAIR, *_TIMES, *_COUNTS)}
    return Firing(
        objective=objective.name,
        title=objective.title,
        promise=objective.promise,
        run=row.get("run"),
        factor=factors[pair],
        runbook_url=objective.runbook_url,
        dashboard_url=objective.dashboard_url,
        **told,
    )
