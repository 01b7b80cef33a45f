"""Burn rates tick by tick: the evaluator of `paceline.burning`, asked at one moment after another.

As in Prometheus, an evaluation is made once, of what is known at its time; a tick that was skipped
is an evaluation that never was. What the alert states need of past evaluations is carried: when
they were, and the rows of conditions that held.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final

import polars as pl

from alerts.firings import Firing, firings_of
from collectors.frames import TIME, conform
from paceline.series_sources import COARSE_SECONDS, FINE_SECONDS, MAX_FINE_SPAN
from slo.alert_states import burn_alerts
from slo.burns import BURNS, burn_rates
from slo.counters import counter_series, step_counters
from slo.growth import BurnParams
from slo.metrics import SLOW_STEPS_TOTAL, STEPS_TOTAL
from slo.objectives import Objective
from slo.training import STEP_EVENTS, JudgeParams, judge_steps

KEPT: Final = timedelta(days=7)
"""For how long evaluations are carried: a firing that began before that is known to the store."""

BACKFILL_STEP: Final = timedelta(seconds=30)
"""Distance of the evaluations that a first tick makes up for: a third of the shortest `for`."""

TOLD: Final = (STEPS_TOTAL.name, SLOW_STEPS_TOTAL.name)
"""Metrics that the watch makes of steps, and so can evaluate."""

_TIMES: Final = pl.Schema({"time": TIME})


class NotWatchedError(ValueError):
    """An objective counts what the watch does not make."""


def refuse_others(objectives: Sequence[Objective]) -> None:
    """Refuse objectives that the watch cannot evaluate.

    Raises:
        NotWatchedError: One counts another metric than those of steps.
    """
    for one in objectives:
        counted = [each.metric for each in (one.total, one.bad, one.good) if each is not None]
        others = [name for name in counted if name not in TOLD]
        if others:
            raise NotWatchedError(
                f"objective {one.name!r} counts {', '.join(others)}; the watch evaluates "
                f"{' and '.join(TOLD)}: give its rules to Prometheus (`paceline slo rules`) and "
                "let Alertmanager call the webhook"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Burning:
    """What an evaluation gave.

    Attributes:
        events: `STEP_EVENTS` of all runs, by the usual ratio.
        rates: `BURNS` of this moment, by the objective's name.
        firings: Every alert that fired within what is carried.
    """

    events: pl.DataFrame
    rates: Mapping[str, pl.DataFrame]
    firings: tuple[Firing, ...]


@dataclass(slots=True, kw_only=True)
class BurnWatch:
    """The carried state of all objectives.

    Attributes:
        objectives: What is promised.
        params: Arithmetic of the evaluation.
        cluster: What the counters call the cluster.
        backfill: How far back the first tick evaluates as well, as if the watch had run: an alert
            that fires at a cold start began with its fault, and not with the watch.
        every: Distance of ticks when several share a fleet: evaluations that this one was not there
            for are made up for, since others were. Null: what was not evaluated never was.
    """

    objectives: Sequence[Objective]
    params: BurnParams
    cluster: str
    backfill: timedelta = timedelta(hours=2)
    every: timedelta | None = None
    _times: pl.DataFrame = field(default_factory=_TIMES.to_frame)
    _held: dict[str, pl.DataFrame] = field(default_factory=dict[str, pl.DataFrame])

    def evaluate(self, steps: pl.DataFrame, now: datetime) -> Burning:
        """Evaluate at one moment.

        Args:
            steps: `STEP_COLUMNS`, all that are known.
            now: The moment; evaluations of later ones, before a clock was set back, are void.
        """
        moments = self._moments(now)
        self._times = pl.concat([_recent(self._times, now), moments.to_frame()])
        rates, firings = dict[str, pl.DataFrame](), list[Firing]()
        events = _judged(steps, None)
        for objective in self.objectives:
            own = events
            if objective.slow_step_ratio is not None:
                own = _judged(steps, objective.slow_step_ratio)
            evaluated = self._rates(_series(own, now, self.cluster), objective, moments)
            rates[objective.name] = evaluated.filter(pl.col("time") == now)
            firings += self._firings(objective, evaluated, now)
        return Burning(events=events, rates=rates, firings=tuple(firings))

    def _moments(self, now: datetime) -> pl.Series:
        """Return when to evaluate: now, and at ticks before it as if this one had been there."""
        moments = [now]
        last = _recent(self._times, now)["time"].max()
        if isinstance(last, datetime) and self.every is not None:
            missed = min(-(-(now - last) // self.every), self.backfill // self.every)
            return pl.Series(
                "time", [now - number * self.every for number in range(missed - 1, -1, -1)], TIME
            )
        if last is None:
            count = int(self.backfill / BACKFILL_STEP)
            moments = [now - number * BACKFILL_STEP for number in range(count, -1, -1)]
        return pl.Series("time", moments, dtype=TIME)

    def frames(self) -> dict[str, pl.DataFrame]:
        """Return what is carried."""
        return {"evaluations": self._times} | {
            f"held-{name}": frame for name, frame in self._held.items()
        }

    def restore(self, frames: Mapping[str, pl.DataFrame]) -> None:
        """Go on with what was carried; an objective that was changed begins anew."""
        self._times = frames.get("evaluations", self._times)
        for objective in self.objectives:
            held = frames.get(f"held-{objective.name}")
            if held is not None and set(objective.group_labels) <= set(held.columns):
                self._held[objective.name] = held

    def _rates(
        self, series: pl.DataFrame, objective: Objective, moments: pl.Series
    ) -> pl.DataFrame:
        """Return the burn rates of some moments; no row where there are no counters yet."""
        unbounded = replace(objective, max_group_count=max(1, series.height))
        if series.is_empty():
            return _no_rates(objective)
        return burn_rates(series, unbounded, moments, self.params)

    def _firings(self, objective: Objective, rates: pl.DataFrame, now: datetime) -> list[Firing]:
        known = _recent(self._held.get(objective.name, _no_rates(objective)), now)
        held = pl.concat([known, rates.filter("fires")], how="diagonal")
        self._held[objective.name] = held
        times = self._times["time"]
        return firings_of(burn_alerts(held, objective, times), held, objective)


def _judged(steps: pl.DataFrame, ratio: float | None) -> pl.DataFrame:
    params = JudgeParams() if ratio is None else JudgeParams(min_slow_ratio=ratio)
    return judge_steps(steps.lazy(), params).collect()


def _series(events: pl.DataFrame, now: datetime, cluster: str) -> pl.DataFrame:
    """Return the step counters as scrapes up to a moment would have read them."""
    ends = events.select(STEP_EVENTS.names())["end_time"].drop_nulls().dt.epoch("us")
    stop = int(now.timestamp() * 1e6)
    first = ends.min()
    start = stop if first is None else int(str(first))
    seconds = FINE_SECONDS if stop - start <= MAX_FINE_SPAN / _US else COARSE_SECONDS
    step = seconds * 1_000_000
    at = pl.int_range(start // step * step, stop + 1, step, eager=True).cast(TIME).alias("time")
    counters = step_counters(events.lazy(), at, cluster=cluster)
    return counter_series(counters).collect()


_US: Final = timedelta(microseconds=1)


def _no_rates(objective: Objective) -> pl.DataFrame:
    """Return that nothing burns: the columns of an objective's burn rates, and no row."""
    labels: dict[str, Any] = dict.fromkeys(objective.group_labels, pl.String)
    schema = pl.Schema({**labels, **BURNS})
    return conform(pl.LazyFrame(schema=schema), schema).collect()


def _recent(frame: pl.DataFrame, now: datetime) -> pl.DataFrame:
    """Return the rows of evaluations that are carried: recent, and before a moment."""
    return frame.filter(pl.col("time") >= now - KEPT, pl.col("time") < now)
