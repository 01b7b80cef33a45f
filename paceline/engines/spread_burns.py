"""Judge steps and evaluate objectives a run at a time: the numbers of one evaluation of all.

Steps are judged against their own run's pace, and an objective that counts each run by itself asks
nothing of the others. One that has a single budget for several runs is evaluated on all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from alerts.firings import Firing, firings_of
from paceline.burning import CLUSTER, BurnReplay, evaluation_times
from paceline.engines.engines import Engine
from slo.alert_states import burn_alerts
from slo.burns import burn_rates
from slo.counters import counter_series, step_counters
from slo.growth import BurnParams
from slo.objectives import Objective
from slo.training import STEP_COLUMNS, STEP_EVENTS, JudgeParams, judge_steps


@dataclass(frozen=True, slots=True, kw_only=True)
class BurnWork:
    """Evaluates an objective over the steps of a run, or of all runs with one budget.

    Attributes:
        objective: What is promised.
        times: Evaluation times of the whole history, `TIME`.
        params: Arithmetic and mode.
    """

    objective: Objective
    times: pl.Series
    params: BurnParams

    def __call__(self, events: pl.DataFrame) -> pl.DataFrame | None:
        """Return the burn rates over `STEP_EVENTS`; null where no step is judged."""
        series = _series(events, self.times)
        if series.is_empty():
            return None
        # Logs are judged whole, however many runs they tell of: no bound is asked of them.
        unbounded = replace(self.objective, max_group_count=series.height)
        return burn_rates(series, unbounded, self.times, self.params)


def spread_burns(
    engine: Engine,
    steps: pl.DataFrame,
    objectives: Sequence[Objective],
    *,
    scrape_seconds: float,
    params: BurnParams,
) -> BurnReplay:
    """Return burn rates and firings over a history of steps; see `paceline.burning.replay_burns`.

    Args:
        engine: Does the work.
        steps: `STEPS`, named.
        objectives: What is promised.
        scrape_seconds: Time between two scrapes, and between two evaluations.
        params: Arithmetic and mode of the evaluation.
    """
    told = _by_run(steps.select(STEP_COLUMNS.names()))
    events = pl.concat([STEP_EVENTS.to_frame(), *engine.map(judged, told)])
    times = evaluation_times(events, scrape_seconds)
    burns: dict[str, pl.DataFrame] = {}
    firings: list[Firing] = []
    for objective in objectives:
        parts = _by_run(events) if "run" in objective.group_labels else [events]
        work = BurnWork(objective=objective, times=times, params=params)
        known = [rates for rates in engine.map(work, parts) if rates is not None]
        if known:
            rates = pl.concat(known)
            burns[objective.name] = rates
            firings += firings_of(burn_alerts(rates, objective, times), rates, objective)
    return BurnReplay(events=events, series=_series(events, times), burns=burns, firings=firings)


def judged(steps: pl.DataFrame) -> pl.DataFrame:
    """Return `STEP_EVENTS` of the steps of a run."""
    return judge_steps(steps.lazy(), JudgeParams()).collect()


def _by_run(frame: pl.DataFrame) -> list[pl.DataFrame]:
    """Return the rows of each run, by its name."""
    return frame.sort("run", maintain_order=True).partition_by("run", maintain_order=True)


def _series(events: pl.DataFrame, times: pl.Series) -> pl.DataFrame:
    """Return the counters of `STEP_EVENTS` as scraped."""
    return counter_series(step_counters(events.lazy(), times, cluster=CLUSTER)).collect()
