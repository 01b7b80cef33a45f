"""`increase` and `rate` agree with a real Prometheus 2.42 on irregular series."""

import random
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from typing import Protocol

import polars as pl
import pytest
import requests

from collectors.frames import TIME
from slo.functions import increase, instant, rate
from slo.promql import Semantics

START = datetime(2026, 1, 5, tzinfo=UTC)
SPAN_SECONDS = 7200
TIMES = pl.Series([START + timedelta(seconds=600 + 517 * n) for n in range(13)], dtype=TIME)


class Server(Protocol):
    """What a server of the fixture offers."""

    @property
    def url(self) -> str:
        """Where it answers."""
        ...


def irregular(number: int) -> pl.DataFrame:
    """A counter with jitter, lost scrapes, gaps, resets, a birth and an end of its own."""
    dice = random.Random(number)
    gap = dice.choice([15, 30, 60])
    second = dice.choice([0.0, dice.uniform(0, SPAN_SECONDS / 2)])
    end = dice.choice([SPAN_SECONDS, dice.uniform(SPAN_SECONDS / 2, SPAN_SECONDS)])
    value = dice.choice([0.0, 3.0, 1e9, dice.uniform(0, 100)])
    step = dice.choice([0.0, 0.02, 1.0, 7.3])
    times, values = [], []
    while second < end:
        if dice.random() > 0.1:
            jitter = dice.choice([0, 0, 0.125, 0.25])
            times.append(START + timedelta(seconds=round(second * 8) / 8 + jitter))
            values.append(value)
        value = dice.uniform(0, 5) if dice.random() < 0.02 else value + dice.uniform(0, 2 * step)
        second += gap if dice.random() > 0.01 else dice.uniform(200, 900)
    frame = pl.DataFrame({"time": times, "value": values}, schema={"time": TIME, "value": float})
    return frame.select(pl.lit("x_total").alias("metric"), pl.lit(str(number)).alias("n"), pl.all())


SERIES = pl.concat([irregular(number) for number in range(60)])


@pytest.fixture(scope="module")
def server(
    prometheus: Callable[[str], AbstractContextManager[Server]],
    openmetrics: Callable[[pl.DataFrame], str],
) -> Iterator[Server]:
    """A Prometheus that holds the irregular series."""
    with prometheus(openmetrics(SERIES)) as running:
        yield running


def asked(server: Server, query: str) -> dict[tuple[str, float], float]:
    """The server's answers by series and time."""
    answers: dict[tuple[str, float], float] = {}
    for time in TIMES:
        reply = requests.get(
            f"{server.url}/api/v1/query",
            params={"query": query, "time": str(time.timestamp())},
            timeout=30,
        ).json()
        for result in reply["data"]["result"]:
            answers[result["metric"]["n"], time.timestamp()] = float(result["value"][1])
    return answers


def ours(frame: pl.DataFrame) -> dict[tuple[str, float], float]:
    """Our answers by series and time."""
    return {(n, t.timestamp()): v for n, t, v in frame.select("n", "time", "value").iter_rows()}


@pytest.mark.parametrize("range_seconds", [60, 300, 1800, 3600])
@pytest.mark.parametrize("function", [increase, rate], ids=["increase", "rate"])
def test_ranges(server: Server, function: Callable[..., pl.DataFrame], range_seconds: int) -> None:
    """Every result of the server is ours, to the last bit, and there is none beside."""
    semantics = Semantics.PROMETHEUS_2_42
    found = ours(function(SERIES, TIMES, range_seconds=range_seconds, semantics=semantics))

    assert found == asked(server, f"{function.__name__}(x_total[{range_seconds}s])")


def test_instants(server: Server) -> None:
    """Instant selection bridges the same gaps as the server's."""
    found = ours(instant(SERIES, TIMES, semantics=Semantics.PROMETHEUS_2_42))

    assert found == asked(server, "x_total")
