"""Burn rates of the shipped objectives over a reading, as the live service would have seen them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from math import ceil
from typing import Final

import polars as pl

from alerts.firings import Firing, firings_of
from collectors.frames import TIME
from slo.alert_states import burn_alerts
from slo.burns import burn_rates
from slo.counters import counter_series, step_counters
from slo.growth import BurnParams
from slo.objectives import Objective
from slo.training import STEP_COLUMNS, STEP_EVENTS, JudgeParams, judge_steps

MAX_EVALUATIONS: Final = 20_000
"""Evaluations of one replay; longer histories are evaluated less often."""

CLUSTER: Final = "local"
"""The cluster's name where no setting gives one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BurnReplay:
    """What a replay of the objectives over a history gave.

    Attributes:
        events: `STEP_EVENTS`, every step judged or not.
        series: The counters as scraped: `metric`, `cluster`, `run`, `time`, `value`.
        burns: Burn rates of each objective, by its name.
        firings: Every alert that fired.
    """

    events: pl.DataFrame
    series: pl.DataFrame
    burns: dict[str, pl.DataFrame]
    firings: list[Firing]


def replay_burns(
    steps: pl.DataFrame,
    objectives: Sequence[Objective],
    *,
    scrape_seconds: float,
    params: BurnParams,
) -> BurnReplay:
    """Return burn rates and firings over a history of steps.

    Args:
        steps: `STEPS`; without end times there is nothing to burn over.
        objectives: What is promised.
        scrape_seconds: Time between two scrapes, and between two evaluations.
        params: Arithmetic and mode of the evaluation.

    Returns:
        The replay; empty where no step can be judged.
    """
    events = judge_steps(steps.lazy().select(STEP_COLUMNS.names()), JudgeParams()).collect()
    times = evaluation_times(events, scrape_seconds)
    counters = step_counters(events.lazy(), times, cluster=CLUSTER)
    series = counter_series(counters).collect()
    burns: dict[str, pl.DataFrame] = {}
    firings: list[Firing] = []
    for objective in objectives if series.height else ():
        # Logs are judged whole, however many runs they tell of: no bound is asked of them.
        unbounded = replace(objective, max_group_count=series.height)
        rates = burn_rates(series, unbounded, times, params)
        burns[objective.name] = rates
        firings += firings_of(burn_alerts(rates, objective, times), rates, objective)
    return BurnReplay(events=events, series=series, burns=burns, firings=firings)


def evaluation_times(events: pl.DataFrame, scrape_seconds: float) -> pl.Series:
    """Return evaluation times on whole multiples of the scrape interval, over the history.

    Args:
        events: `STEP_EVENTS` of all runs.
        scrape_seconds: Time between two scrapes; a history that is too long gets fewer.
    """
    span = events.select(STEP_EVENTS.names())["end_time"].drop_nulls()
    empty = pl.Series("time", [], dtype=TIME)
    if not span.len():
        return empty
    first, last = span.cast(pl.Int64).min(), span.cast(pl.Int64).max()
    start, stop = int(str(first)), int(str(last))
    scrapes = ceil((stop - start) / 1e6 / scrape_seconds / MAX_EVALUATIONS)
    step = max(1, scrapes) * int(timedelta(seconds=scrape_seconds) / timedelta(microseconds=1))
    at = pl.int_range(start // step * step, stop + step, step, eager=True)
    return at.cast(TIME).alias("time")
