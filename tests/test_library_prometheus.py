"""Every ready objective burns and fires in a real Prometheus as it does over frames."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Protocol

import polars as pl
import pytest
import requests

from collectors.frames import TIME
from slo.buckets import bound_of
from slo.burns import burn_rates
from slo.expressions import alert_condition, window_counts
from slo.growth import BurnParams, Mode, event_growth
from slo.objectives import Objective
from slo.selectors import Selector
from slo.specs import load_library

START = datetime(2026, 1, 5, tzinfo=UTC)
HOURS = 10
STEP_SECONDS = 180
GRID = pl.Series(
    [START + timedelta(seconds=STEP_SECONDS * n) for n in range(HOURS * 20)], dtype=TIME
)
PARITY = BurnParams(mode=Mode.PARITY)
LIBRARY = load_library()
GROUPS = ("calm", "hurt")

Answers = dict[tuple[str | None, float], float]
"""Values by the first group label and time."""


class Server(Protocol):
    """What a server of the fixture offers."""

    @property
    def url(self) -> str:
        """Where it answers."""
        ...


def grown(objective: Objective, group: str, *, is_part: bool) -> list[float]:
    """Values of a counter that is scraped every minute: an outage of the hurt group, a restart."""
    values, value = [], 0.0
    for minute in range(HOURS * 60):
        is_bad = group == "hurt" and 200 <= minute < 290
        share = (0.9 if is_bad else 0.0) if objective.bad else (0.1 if is_bad else 1.0)
        value = 0.0 if minute == 400 else value + 64 * (share if is_part else 1.0)
        values.append(value)
    return values


def counters(objective: Objective, selector: Selector, *, is_part: bool) -> Iterator[pl.DataFrame]:
    """The series that a selector picks, one a group."""
    bound = bound_of(selector)
    times = [START + timedelta(seconds=7.5 + 60 * minute) for minute in range(HOURS * 60)]
    for group in GROUPS:
        labels = {label: pl.lit(group) for label in objective.group_labels}
        yield pl.DataFrame(
            {
                "metric": selector.metric,
                "time": times,
                "value": grown(objective, group, is_part=is_part),
            },
            schema_overrides={"time": TIME},
        ).with_columns(**labels, le=pl.lit(None if bound is None else f"{bound:g}", pl.String))


def history() -> pl.DataFrame:
    """The series of all ready objectives."""
    frames = [
        frame
        for objective in LIBRARY
        for selector, is_part in (
            (objective.total, False),
            (objective.bad or objective.good or objective.total, True),
        )
        for frame in counters(objective, selector, is_part=is_part)
    ]
    return pl.concat(frames, how="diagonal").unique()


SERIES = history()


@pytest.fixture(scope="module")
def server(
    prometheus: Callable[[str], AbstractContextManager[Server]],
    openmetrics: Callable[[pl.DataFrame], str],
) -> Iterator[Server]:
    """A Prometheus that holds the series of all ready objectives."""
    with prometheus(openmetrics(SERIES)) as running:
        yield running


def asked(server: Server, query: str, label: str) -> Answers:
    """The server's answers over the grid."""
    span = {"start": str(GRID[0].timestamp()), "end": str(GRID[-1].timestamp())}
    reply = requests.post(
        f"{server.url}/api/v1/query_range",
        data={"query": query, "step": str(STEP_SECONDS), **span},
        timeout=60,
    ).json()
    assert reply["status"] == "success", reply
    return {
        (result["metric"].get(label), at): float(value)
        for result in reply["data"]["result"]
        for at, value in result["values"]
    }


def ours(frame: pl.DataFrame, label: str, column: str) -> Answers:
    """Our answers."""
    rows = frame.select(label, "time", column).iter_rows()
    return {(group, at.timestamp()): value for group, at, value in rows}


@pytest.mark.parametrize("objective", [pytest.param(one, id=one.name) for one in LIBRARY])
def test_ready_objective(server: Server, objective: Objective) -> None:
    """Ratios over every window, and firing times of every pair, are the server's."""
    label = objective.group_labels[0]

    for seconds in objective.window_seconds:
        growth = event_growth(SERIES, objective, GRID, range_seconds=seconds, params=PARITY)
        ratio = "({bad})\n/\n({total} > 0)".format_map(window_counts(objective, seconds))
        assert ours(growth, label, "error_ratio") == pytest.approx(
            asked(server, ratio, label), rel=1e-9
        )

    burns = burn_rates(SERIES, objective, GRID, PARITY).filter("fires")
    for window in objective.windows:
        pair = burns.filter(
            pl.col("severity") == window.severity, pl.col("long_seconds") == window.long_seconds
        )
        condition = asked(server, alert_condition(objective, window), label)
        assert ours(pair, label, "long_error_ratio") == pytest.approx(condition, rel=1e-9)


def test_they_fire() -> None:
    """Each ready objective fires for the hurt group only: agreeing is an achievement."""
    found = {
        (objective.name, group)
        for objective in LIBRARY
        for group in burn_rates(SERIES, objective, GRID, PARITY)
        .filter("fires")[objective.group_labels[0]]
        .unique()
    }

    assert found == set(product([one.name for one in LIBRARY], ["hurt"]))
