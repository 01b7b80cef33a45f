"""The generated alerts hold in a real Prometheus at exactly the evaluations that frames name."""

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

import polars as pl
import pytest
import requests
import yaml

from collectors.frames import TIME
from collectors.sniffing import ReadOptions
from paceline.burning import replay_burns
from paceline.simulation.orion import OrionParams, simulate
from paceline.sources import find_files, read_sources
from slo.burns import burn_rates
from slo.expressions import alert_condition, bad_events, total_events
from slo.growth import BurnParams, Mode, event_growth
from slo.metrics import SLOW_STEPS_TOTAL, STEPS_TOTAL
from slo.rules import burn_rules
from slo.specs import load_ready
from slo.windows import RECOMMENDED_WINDOWS, BurnWindow

START = datetime(2026, 1, 5, tzinfo=UTC)
STEP_SECONDS = 30
HOURS = 8
GRID = pl.Series(
    [START + timedelta(seconds=STEP_SECONDS * n) for n in range(HOURS * 3600 // STEP_SECONDS)],
    dtype=TIME,
)
PARITY = BurnParams(mode=Mode.PARITY)
LIBRARY = load_ready()

Answers = dict[tuple[str, float], float]
"""Values by run and time."""


class Server(Protocol):
    """What a server of the fixture offers."""

    @property
    def url(self) -> str:
        """Where it answers."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Backfilled:
    """A server, and the series that it holds."""

    url: str
    series: pl.DataFrame


def composed() -> pl.DataFrame:
    """Counters of a run that is slow for two hours, scraped off the grid, restarted in between."""
    scrapes = range(HOURS * 120)
    slow = [min(max(0, 2 * (n - 360)), 480) for n in scrapes]
    restarted = [n >= 420 for n in scrapes]
    values = {
        STEPS_TOTAL.name: [
            2 * n - 840 * again for n, again in zip(scrapes, restarted, strict=True)
        ],
        SLOW_STEPS_TOTAL.name: [s - 120 * again for s, again in zip(slow, restarted, strict=True)],
    }
    return pl.concat(
        pl.DataFrame(
            {
                "metric": metric,
                "cluster": "c",
                "run": "composed",
                "time": [START + timedelta(seconds=7.5 + 30 * n) for n in scrapes],
                "value": [float(value) for value in column],
            },
            schema_overrides={"time": TIME},
        )
        for metric, column in values.items()
    )


def say_nothing(_name: str, _done: int, _all: int) -> None:
    """Keep the progress of reading to itself."""


def simulated(folder: Path) -> pl.DataFrame:
    """Counters of a small simulated cluster whose GPU is throttled for an hour, read from files."""
    params = OrionParams(nodes=4, minutes=150, onset_minutes=75, fault_minutes=60)
    simulate("throttled-gpu", folder, seed=3, params=params)
    files = find_files([folder / "sources" / "progress"])
    reading = read_sources(files, ReadOptions(year=2026), say_nothing)
    replay = replay_burns(reading.steps, [LIBRARY], scrape_seconds=STEP_SECONDS, params=PARITY)
    return replay.series.with_columns(run=pl.lit("simulated"))


@pytest.fixture(scope="module")
def backfilled(
    prometheus: Callable[[str], AbstractContextManager[Server]],
    openmetrics: Callable[[pl.DataFrame], str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Backfilled]:
    """A Prometheus that holds the counters of both runs."""
    series = pl.concat([composed(), simulated(tmp_path_factory.mktemp("throttled"))])
    with prometheus(openmetrics(series)) as server:
        yield Backfilled(url=server.url, series=series)


def asked(url: str, query: str) -> Answers:
    """The server's answers over the grid."""
    span = {"start": str(GRID[0].timestamp()), "end": str(GRID[-1].timestamp())}
    reply = requests.post(
        f"{url}/api/v1/query_range",
        data={"query": query, "step": str(STEP_SECONDS), **span},
        timeout=60,
    ).json()
    assert reply["status"] == "success", reply
    return {
        (result["metric"]["run"], time): float(value)
        for result in reply["data"]["result"]
        for time, value in result["values"]
    }


def ours(frame: pl.DataFrame, column: str) -> Answers:
    """Our answers."""
    return {(r, t.timestamp()): v for r, t, v in frame.select("run", "time", column).iter_rows()}


def inlined(window: BurnWindow) -> str:
    """The generated alert of a pair, with each record that it reads replaced by its expression."""
    groups: list[dict[str, Any]] = yaml.safe_load(burn_rules(LIBRARY))["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    records = {rule["record"]: rule["expr"] for rule in rules if "record" in rule}
    (alert,) = (
        rule
        for rule in rules
        if rule["labels"].get("tier") == window.severity
        and window.name.endswith(f"{rule['labels'].get('long')}/{rule['labels'].get('short')}")
    )
    selector = re.compile(r'([a-z_:0-9]+)\{objective="training-steps"\}')
    return selector.sub(lambda found: f"({records[found[1]]})", alert["expr"])


@pytest.mark.parametrize(
    "window", RECOMMENDED_WINDOWS, ids=[window.name for window in RECOMMENDED_WINDOWS]
)
def test_same_evaluations(backfilled: Backfilled, window: BurnWindow) -> None:
    """Frames, the condition and the generated alert hold at the same evaluations, none beside."""
    objective = replace(LIBRARY, windows=(window,))
    burns = burn_rates(backfilled.series, objective, GRID, PARITY)
    found = ours(burns.filter("fires"), "long_error_ratio")

    condition = asked(backfilled.url, alert_condition(objective, window))
    alert = asked(backfilled.url, inlined(window))

    # Both runs fire, and neither does all the time: otherwise agreeing would be no achievement.
    assert burns.group_by("run").agg(pl.col("fires").unique().sort()).sort("run").rows() == [
        ("composed", [False, True]),
        ("simulated", [False, True]),
    ]
    assert condition == pytest.approx(found, rel=1e-9)
    assert alert == pytest.approx(found, rel=1e-9)


@pytest.mark.parametrize("seconds", LIBRARY.window_seconds)
def test_same_events(backfilled: Backfilled, seconds: int) -> None:
    """Numerators, denominators and their ratios agree wherever there is traffic."""
    growth = event_growth(backfilled.series, LIBRARY, GRID, range_seconds=seconds, params=PARITY)
    traffic = f"({total_events(LIBRARY, seconds)} > 0)"
    bad = f"({bad_events(LIBRARY, seconds)})"

    answers = {
        "bad": asked(backfilled.url, f"{bad} and {traffic}"),
        "total": asked(backfilled.url, traffic),
        "error_ratio": asked(backfilled.url, f"{bad} / {traffic}"),
    }

    assert {name: ours(growth, name) for name in answers} == {
        name: pytest.approx(answer, rel=1e-9) for name, answer in answers.items()
    }
