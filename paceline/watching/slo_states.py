"""Where each objective stands, run by run, as the last evaluation had it."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Any, cast

import polars as pl

from alerts.firings import Firing
from alerts.service.live import PairState, SloState
from paceline.watching.burn_watch import Burning
from slo.objectives import Objective
from slo.windows import BurnWindow


def slo_states(objectives: Sequence[Objective], burning: Burning, now: datetime) -> list[SloState]:
    """Return the state of each objective and group, by name and run.

    Args:
        objectives: What is promised.
        burning: What the last evaluation gave.
        now: Its time.
    """
    newest = _newest_steps(burning.events)
    states = list[SloState]()
    for objective in objectives:
        rates = burning.rates.get(objective.name)
        if rates is None:
            continue
        by_run = "run" in objective.group_labels
        runs: list[str | None] = [*sorted(newest)] if by_run else [None]
        for run in runs:
            mine = rates.filter(pl.col("run") == run) if by_run else rates
            last = newest.get(run) if run is not None else max(newest.values(), default=None)
            states.append(_state(objective, mine, burning.firings, (run, last, now)))
    return states


def _newest_steps(events: pl.DataFrame) -> dict[str, datetime]:
    rows = events.drop_nulls(["run", "end_time"]).group_by("run").agg(pl.col("end_time").max())
    return dict(rows.sort("run").iter_rows())


def _state(
    objective: Objective,
    rates: pl.DataFrame,
    firings: Sequence[Firing],
    where: tuple[str | None, datetime | None, datetime],
) -> SloState:
    run, newest, now = where
    rows = rates.sort("long_seconds", "short_seconds").to_dicts()
    by_pair = {(row["severity"], row["long_seconds"], row["short_seconds"]): row for row in rows}
    open_pairs: set[tuple[str, int, int]] = {
        (one.severity, one.long_seconds, one.short_seconds)
        for one in firings
        if one.objective == objective.name and one.run == run and one.resolved_at is None
    }
    pairs = tuple(_pair(window, by_pair, open_pairs) for window in objective.windows)
    budget = rows[0] if rows else dict[str, Any]()
    return SloState(
        objective=objective.name,
        title=objective.title,
        promise=objective.promise,
        run=run,
        pairs=pairs,
        budget_left_ratio=budget.get("budget_left_ratio"),
        budget_coverage_ratio=budget.get("budget_coverage_ratio"),
        exhaustion_seconds=min(
            (cast("float", row["exhaustion_seconds"]) for row in rows if row["exhaustion_seconds"]),
            default=None,
        ),
        age_seconds=None if newest is None else max(0.0, (now - newest).total_seconds()),
    )


def _pair(
    window: BurnWindow,
    rows: dict[tuple[Any, Any, Any], dict[str, Any]],
    open_pairs: AbstractSet[tuple[str, int, int]],
) -> PairState:
    key = (window.severity, window.long_seconds, window.short_seconds)
    row = rows.get(key, {})
    return PairState(
        severity=window.severity,
        long_seconds=window.long_seconds,
        short_seconds=window.short_seconds,
        factor=float(window.factor),
        long_burn_rate=row.get("long_burn_rate"),
        short_burn_rate=row.get("short_burn_rate"),
        is_firing=key in open_pairs,
    )
