"""`increase` and `rate` agree with a real Prometheus 2.42 on irregular series."""

import random
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from typing import Literal, Protocol

import polars as pl
import pytest
import requests

from collectors.frames import TIME
from slo.functions import delta, increase, instant, over_time, rate
from slo.promql import Semantics, subquery_times

START = datetime(2026, 1, 5, tzinfo=UTC)
SPAN_SECONDS = 7200
STEP_SECONDS = 517
TIMES = pl.Series(
    [START + timedelta(seconds=600 + STEP_SECONDS * n) for n in range(13)], dtype=TIME
)
MIN_RESULTS = 5000

Answers = dict[tuple[str, float], float]
"""Values by series and time."""


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
            values.append(float("nan") if number % 10 == 0 and dice.random() < 0.02 else value)
        value = dice.uniform(0, 5) if dice.random() < 0.02 else value + dice.uniform(0, 2 * step)
        second += gap if dice.random() > 0.01 else dice.uniform(200, 900)
    frame = pl.DataFrame({"time": times, "value": values}, schema={"time": TIME, "value": float})
    return frame.select(pl.lit("x_total").alias("metric"), pl.lit(str(number)).alias("n"), pl.all())


SERIES = pl.concat([irregular(number) for number in range(80)])


@pytest.fixture(scope="module")
def server(
    prometheus: Callable[[str], AbstractContextManager[Server]],
    openmetrics: Callable[[pl.DataFrame], str],
) -> Iterator[Server]:
    """A Prometheus that holds the irregular series."""
    with prometheus(openmetrics(SERIES)) as running:
        yield running


def asked(server: Server, query: str) -> Answers:
    """The server's answers by series and time."""
    answers: Answers = {}
    span = {"start": str(TIMES[0].timestamp()), "end": str(TIMES[-1].timestamp())}
    reply = requests.get(
        f"{server.url}/api/v1/query_range",
        params={"query": query, "step": str(STEP_SECONDS), **span},
        timeout=30,
    ).json()
    for result in reply["data"]["result"]:
        for at, value in result["values"]:
            answers[result["metric"]["n"], at] = float(value)
    return answers


def ours(frame: pl.DataFrame) -> Answers:
    """Our answers by series and time."""
    return {(n, t.timestamp()): v for n, t, v in frame.select("n", "time", "value").iter_rows()}


def same(found: Answers, told: Answers) -> bool:
    """Whether both have the same results, to the last bit, NaN included."""
    return {each: str(value) for each, value in found.items()} == {
        each: str(value) for each, value in told.items()
    }


@pytest.mark.parametrize("range_seconds", [60, 300, 1800, 3600])
@pytest.mark.parametrize("function", [increase, rate, delta], ids=["increase", "rate", "delta"])
def test_ranges(server: Server, function: Callable[..., pl.DataFrame], range_seconds: int) -> None:
    """Every result of the server is ours, to the last bit, and there is none beside."""
    semantics = Semantics.PROMETHEUS_2_42
    found = ours(function(SERIES, TIMES, range_seconds=range_seconds, semantics=semantics))

    assert same(found, asked(server, f"{function.__name__}(x_total[{range_seconds}s])"))


def test_many_results() -> None:
    """Growth and rates that are compared are some thousands, and some of them are no number."""
    found = [
        function(SERIES, TIMES, range_seconds=seconds, semantics=Semantics.PROMETHEUS_2_42)
        for function in (increase, rate)
        for seconds in (60, 300, 1800, 3600)
    ]

    assert sum(frame.height for frame in found) >= MIN_RESULTS
    assert any(frame["value"].is_nan().any() for frame in found)


def test_instants(server: Server) -> None:
    """Instant selection bridges the same gaps as the server's."""
    found = ours(instant(SERIES, TIMES, semantics=Semantics.PROMETHEUS_2_42))

    assert same(found, asked(server, "x_total"))


@pytest.mark.parametrize("function", ["count", "sum", "avg"])
def test_over_time(server: Server, function: Literal["count", "sum", "avg"]) -> None:
    """Counts, sums and means over time are the server's, poisoned where its are."""
    semantics = Semantics.PROMETHEUS_2_42
    found = ours(over_time(SERIES, TIMES, function, range_seconds=1800, semantics=semantics))

    told = asked(server, f"{function}_over_time(x_total[1800s])")
    assert found == pytest.approx(told, rel=1e-12, nan_ok=True)


@pytest.mark.parametrize("step_seconds", [60, 7])
def test_subqueries(server: Server, step_seconds: int) -> None:
    """Inner evaluations of a subquery are as many, and where, as the server's."""
    semantics = Semantics.PROMETHEUS_2_42
    inner = subquery_times(TIMES, range_seconds=300, step_seconds=step_seconds, semantics=semantics)
    told = asked(
        server, f'sum_over_time((time() + 0 * (x_total{{n="1"}} > -1))[300s:{step_seconds}s])'
    )
    values = instant(
        SERIES.filter(pl.col("n") == "1"), inner["inner_time"], semantics=semantics
    ).select("time")

    sums = (
        inner.join(values, left_on="inner_time", right_on="time", how="semi")
        .group_by("time")
        .agg((pl.col("inner_time").dt.epoch("ms") / 1000).sum())
    )
    assert {("1", at.timestamp()): value for at, value in sums.iter_rows()} == pytest.approx(
        told, rel=1e-12
    )
