"""The PromQL of an objective means what our evaluator computes: a real Prometheus says so."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Protocol

import polars as pl
import pytest
import requests

from collectors.frames import TIME
from slo.burns import burn_rates
from slo.counters import counter_series, step_counters
from slo.expressions import alert_condition, bad_events, total_events
from slo.growth import BurnParams, Mode, event_growth
from slo.objectives import Objective
from slo.selectors import Selector, parse_selector
from slo.specs import load_ready
from slo.training import STEP_COLUMNS, JudgeParams, judge_steps
from slo.windows import RECOMMENDED_WINDOWS, BurnWindow

START = datetime(2026, 1, 5, tzinfo=UTC)
HOURS = 9
GRID = pl.Series([START + timedelta(minutes=3 * n) for n in range(20 * HOURS)], dtype=TIME)
PARITY = BurnParams(mode=Mode.PARITY)
LIBRARY = load_ready()
GOOD = replace(
    LIBRARY,
    bad=None,
    good=parse_selector('good_total{cluster="c1"}'),
    total=Selector(metric="paceline_training_steps_total"),
)


class Server(Protocol):
    """What a server of the fixture offers."""

    @property
    def url(self) -> str:
        """Where it answers."""
        ...


def run(name: str, slow_hours: tuple[float, float], *, gap_hours: tuple[float, float]) -> pl.Series:
    """Reports of a run of 17.4 s steps that is 18 percent slow for a while, with a pause."""
    rows: list[dict[str, object]] = []
    now, step = 0.0, 0
    while now < HOURS * 3600:
        is_slow = slow_hours[0] * 3600 <= now < slow_hours[1] * 3600
        seconds = 17.4 * (1.18 if is_slow else 1.0)
        now += seconds
        if gap_hours[0] * 3600 <= now < gap_hours[1] * 3600:
            now = gap_hours[1] * 3600
        step += 1
        rows.append(
            {
                "run": name,
                "attempt": 1,
                "step": step,
                "interval_steps": 1,
                "end_time": START + timedelta(seconds=now),
                "step_seconds": seconds,
            }
        )
    return pl.DataFrame(rows, schema=STEP_COLUMNS).to_struct()


def history() -> pl.DataFrame:
    """Counters of three simulated runs, one of them restarted by its exporter, as scraped."""
    reports = pl.concat(
        [
            run("hurt", (3, 5), gap_hours=(9, 9)),
            run("well", (0, 0), gap_hours=(4, 5)),
            run("late", (6.5, 9), gap_hours=(0, 2)),
        ]
    ).struct.unnest()
    scrapes = pl.Series(
        [START + timedelta(seconds=7.5 + 30 * n) for n in range(120 * HOURS)], dtype=TIME
    )
    events = judge_steps(reports.lazy(), JudgeParams())
    counted = counter_series(step_counters(events, scrapes, cluster="c1")).collect()
    restart = START + timedelta(hours=4, minutes=10)
    is_restarted = (pl.col("run") == "hurt") & (pl.col("time") >= restart)
    first = pl.col("value").filter(is_restarted).first().over("metric", "run")
    value = pl.when(is_restarted).then(pl.col("value") - first).otherwise(pl.col("value"))
    steps = counted.with_columns(value=value)
    total = steps.filter(pl.col("metric") == "paceline_training_steps_total", run="well")
    good = total.with_columns(metric=pl.lit("good_total"), value=pl.col("value") * 0.875)
    return pl.concat([steps, good])


SERIES = history()


@pytest.fixture(scope="module")
def server(
    prometheus: Callable[[str], AbstractContextManager[Server]],
    openmetrics: Callable[[pl.DataFrame], str],
) -> Iterator[Server]:
    """A Prometheus that holds the counters of the simulated runs."""
    with prometheus(openmetrics(SERIES)) as running:
        yield running


def asked(server: Server, query: str) -> dict[tuple[str, float], float]:
    """The server's answers over the grid, by run and time."""
    reply = requests.get(
        f"{server.url}/api/v1/query_range",
        params={
            "query": query,
            "start": str(GRID[0].timestamp()),
            "end": str(GRID[-1].timestamp()),
            "step": "180",
        },
        timeout=60,
    ).json()
    return {
        (result["metric"]["run"], time): float(value)
        for result in reply["data"]["result"]
        for time, value in result["values"]
    }


def ours(frame: pl.DataFrame, column: str) -> dict[tuple[str, float], float]:
    """Our answers by run and time."""
    return {(r, t.timestamp()): v for r, t, v in frame.select("run", "time", column).iter_rows()}


@pytest.mark.parametrize("objective", [LIBRARY, GOOD], ids=["bad events", "good events"])
@pytest.mark.parametrize(
    "window", RECOMMENDED_WINDOWS, ids=[window.name for window in RECOMMENDED_WINDOWS]
)
def test_condition(server: Server, objective: Objective, window: BurnWindow) -> None:
    """The condition holds at the same evaluations in Prometheus and over frames, with one ratio."""
    objective = replace(objective, windows=(window,))
    fires = burn_rates(SERIES, objective, GRID, PARITY).filter("fires")

    found = ours(fires, "long_error_ratio")

    assert found
    assert found == pytest.approx(asked(server, alert_condition(objective, window)), rel=1e-9)


@pytest.mark.parametrize("objective", [LIBRARY, GOOD], ids=["bad events", "good events"])
@pytest.mark.parametrize("seconds", [300, 3600, 86400])
def test_events(server: Server, objective: Objective, seconds: int) -> None:
    """Bad and total events are the same, wherever there is traffic."""
    growth = event_growth(SERIES, objective, GRID, range_seconds=seconds, params=PARITY)
    traffic = f"({{}}) and ({total_events(objective, seconds)} > 0)"

    bad = asked(server, traffic.format(bad_events(objective, seconds)))
    total = asked(server, traffic.format(total_events(objective, seconds)))

    assert ours(growth, "bad") == pytest.approx(bad, rel=1e-9)
    assert ours(growth, "total") == pytest.approx(total, rel=1e-9)


def test_condition_text() -> None:
    """The condition keeps groups without bad events, and asks nothing where there is no traffic."""
    assert alert_condition(replace(LIBRARY, group_labels=()), RECOMMENDED_WINDOWS[0]) == (
        "(\n"
        "  (sum(increase(paceline_training_slow_steps_total[1h]))\n"
        "or\n"
        "0 * sum(increase(paceline_training_steps_total[1h])))\n"
        "  /\n"
        "  (sum(increase(paceline_training_steps_total[1h])) > 0)\n"
        "  > 0.14399999999999999\n"
        ")\n"
        "and\n"
        "(\n"
        "  (sum(increase(paceline_training_slow_steps_total[5m]))\n"
        "or\n"
        "0 * sum(increase(paceline_training_steps_total[5m])))\n"
        "  /\n"
        "  (sum(increase(paceline_training_steps_total[5m])) > 0)\n"
        "  > 0.14399999999999999\n"
        ")\n"
    )
