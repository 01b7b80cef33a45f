"""Objectives, evaluated a run at a time: the numbers of one evaluation of all."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from collectors.frames import STEPS, conform
from paceline.burning import replay_burns
from paceline.engines.engines import Engine
from paceline.engines.local import LocalEngine
from paceline.engines.spread_burns import spread_burns
from slo.growth import BurnParams
from slo.objectives import Objective
from slo.specs import load_ready

START = datetime(2026, 1, 5, tzinfo=UTC)
SLOW_FROM, STEPS_A_RUN = 60, 120


def steps(runs: int) -> pl.DataFrame:
    """`STEPS` of some runs, a step about every 30 s; every second run becomes slow for good."""
    rows = [
        {
            "run": f"run-{run}",
            "attempt": 0,
            "step": step,
            "interval_steps": 1,
            "end_time": START + timedelta(seconds=30 * step + run),
            "step_seconds": 60.0 if run % 2 and step >= SLOW_FROM else 30.0 + 0.01 * (step % 7),
            "time_kind": "step",
            "source": "test",
        }
        for run in range(runs)
        for step in range(STEPS_A_RUN)
    ]
    return conform(pl.LazyFrame(rows, schema_overrides={"run": pl.String}), STEPS).collect()


def objectives() -> Sequence[Objective]:
    """Return the objective that comes with Paceline, and one with a budget for all runs."""
    ready = load_ready()
    shared = replace(ready, name="shared", group_labels=("cluster",))
    return [ready, shared]


@pytest.mark.parametrize("runs", [1, 2, 5])
def test_runs_are_evaluated_by_themselves(engine: Engine, runs: int) -> None:
    """Events, series, burn rates and firings are those of an evaluation of all runs at once."""
    history = steps(runs).sample(fraction=1.0, shuffle=True, seed=runs)

    spread = spread_burns(engine, history, objectives(), scrape_seconds=15.0, params=BurnParams())
    whole = replay_burns(history, objectives(), scrape_seconds=15.0, params=BurnParams())

    assert spread.events.equals(whole.events)
    assert spread.series.equals(whole.series)
    assert spread.burns.keys() == whole.burns.keys()
    assert all(rates.equals(whole.burns[name]) for name, rates in spread.burns.items())
    assert spread.firings == whole.firings
    assert bool(spread.firings) == (runs > 1)


def test_nothing_to_judge() -> None:
    """Without a step nothing burns."""
    spread = spread_burns(
        LocalEngine(), STEPS.to_frame(), objectives(), scrape_seconds=15.0, params=BurnParams()
    )

    assert (spread.events.height, spread.burns, spread.firings) == (0, {}, [])
