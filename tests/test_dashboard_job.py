"""The job board's queries, asked of a real Prometheus: with a slow rank, with nothing, and late."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

import pytest
import requests

from dashboards.boards import build_board_trees
from dashboards.fields import NO_DATA_COLOR
from dashboards.jsontree import Json, data_panels_of
from dashboards.queries import LABEL_IN_LEGEND, fill_in, query_in_variable

BOARD = build_board_trees()["aif-job"]
START = 1767225600  # 2026-01-01, so that an instant query never meets the machine's own clock
MINUTES = 120
END = START + 60 * MINUTES
ONSET_MINUTE = 90
CULPRIT = 11
CHOSEN = {"cluster": "c1", "run": "llama", "node": ".+", "rank": ".+"}
VALUES = CHOSEN | {"__range": "2h", "__rate_interval": "5m"}


class Server(Protocol):
    """What the shared fixture yields."""

    url: str


class Series(NamedTuple):
    """One series of the history: its name with labels, and its value at each minute."""

    name: str
    value: Callable[[int], float]


def is_slow(minute: int) -> bool:
    """Return whether the culprit is slow in the minute before."""
    return minute > ONSET_MINUTE


def grown(healthy: float, slow: float) -> Callable[[int], float]:
    """Return a counter that grows by one amount a minute, and by another after the onset."""
    return lambda minute: healthy * min(minute, ONSET_MINUTE) + slow * max(0, minute - ONSET_MINUTE)


def steady(value: float) -> Callable[[int], float]:
    """Return a value that stays."""
    return lambda _: value


def rank_series() -> Iterator[Series]:
    """Yield sixteen ranks on two nodes, one of which turns slow, and a worse run elsewhere."""
    for rank in range(16):
        labels = f'cluster="c1",run="llama",rank="{rank}",node="n{rank // 8}",gpu="{rank % 8}"'
        bad = rank == CULPRIT

        def slowdown(minute: int, rank: int = rank, *, bad: bool = bad) -> float:
            return 1.4 if bad and is_slow(minute) else 1 + rank / 1000

        def wait(minute: int, *, bad: bool = bad) -> float:
            return (0.05 if bad else 0.4) if is_slow(minute) else 0.3

        yield Series(f"paceline_rank_slowdown_ratio{{{labels}}}", slowdown)
        yield Series(f"paceline_rank_comm_wait_ratio{{{labels}}}", wait)
    for cluster, run in (("c1", "other"), ("c2", "llama")):
        labels = f'cluster="{cluster}",run="{run}",rank="99",node="n9",gpu="0"'
        yield Series(f"paceline_rank_slowdown_ratio{{{labels}}}", steady(9.0))
        yield Series(f"paceline_rank_comm_wait_ratio{{{labels}}}", steady(0.0))


def run_series() -> Iterator[Series]:
    """Yield the run's own counters: 10 s a step, and 14 s after the onset."""
    labels = '{cluster="c1",run="llama"}'
    yield Series(f"paceline_training_steps_total{labels}", grown(60 / 10, 60 / 14))
    yield Series(f"paceline_training_slow_steps_total{labels}", grown(0, 60 / 14))
    yield Series(f"paceline_training_productive_seconds_total{labels}", grown(60, 600 / 14))
    yield Series(f"paceline_training_wall_seconds_total{labels}", grown(60, 60))
    yield Series(f"paceline_training_step_seconds{labels}", lambda m: 14.0 if is_slow(m) else 10.0)


def fleet_series() -> Iterator[Series]:
    """Yield devices, nodes, links, sources and findings of the cluster."""
    for node in ("n0", "n1", "n9"):
        state = 2.0 if node == "n1" else 1.0
        yield Series(f'paceline_node_state{{cluster="c1",node="{node}"}}', steady(state))
        for device in range(8):
            ratio = 0.7 if (node, device) == ("n1", CULPRIT % 8) else 1 + device / 1000
            labels = f'cluster="c1",node="{node}",device="gpu{device}",signal="sm_clock_hertz"'
            yield Series(f"paceline_device_peer_ratio{{{labels}}}", steady(ratio))
    for port in range(6):
        labels = f'cluster="c1",switch="leaf1",port="{port}"'
        yield Series(f"paceline_link_fault_score{{{labels}}}", steady(port / 10))
    for source, age in (("dcgm", 15.0), ("progress", 200.0)):
        labels = f'cluster="c1",source="{source}"'
        yield Series(f"paceline_source_age_seconds{{{labels}}}", steady(age))
    for kind, count in (("slow", 1.0), ("hang", 0.0)):
        labels = f'cluster="c1",kind="{kind}",level="rank"'
        yield Series(f"paceline_verdicts{{{labels}}}", steady(count))
        incident = f'cluster="c1",incident="{kind}-1"'
        yield Series(f"paceline_incident_open{{{incident}}}", steady(count))
    alert = 'alertname="TrainingStepsPage",alertstate="firing",severity="page",cluster="c1"'
    yield Series(f"ALERTS{{{alert}}}", steady(1.0))


def openmetrics() -> str:
    """Return the history as text, the series of one metric together."""
    series = sorted([*rank_series(), *run_series(), *fleet_series()], key=lambda one: one.name)
    lines = [
        f"{one.name} {one.value(minute)!r} {START + 60 * minute}"
        for one in series
        for minute in range(MINUTES + 1)
    ]
    return "\n".join([*lines, "# EOF", ""])


Servers = Callable[[str], AbstractContextManager[Server]]


@pytest.fixture(scope="module")
def fleet(prometheus: Servers) -> Iterator[str]:
    """Yield the address of a server that holds the history."""
    with prometheus(openmetrics()) as server:
        yield server.url


@pytest.fixture(scope="module")
def empty(prometheus: Servers) -> Iterator[str]:
    """Yield the address of a server that holds nothing."""
    with prometheus("# EOF\n") as server:
        yield server.url


def asked(url: str, path: str, **parameters: str | int) -> list[Any]:
    """Return the data of an answer, which must be a success."""
    answer = requests.get(f"{url}/api/v1/{path}", params=parameters, timeout=30)
    assert answer.ok, answer.text
    data = answer.json()["data"]
    return list(data["result"]) if isinstance(data, dict) else list(data)


def series_of(
    url: str, target: Json, *, at: int = END, values: Mapping[str, str] = VALUES
) -> list[Any]:
    """Return the series that a target shows, as Grafana would ask for them."""
    query = fill_in(target["expr"], values)
    if target["instant"]:
        return asked(url, "query", query=query, time=at)
    return asked(url, "query_range", query=query, start=START, end=at, step=60)


def target_of(title: str, ref: str = "A") -> Json:
    """Return a target of the board by its panel's title and its own name."""
    panel = next(item for item in data_panels_of(BOARD) if item["title"] == title)
    return dict(next(item for item in panel["targets"] if item["refId"] == ref))


SERIES_COUNTS = {
    ("Worst slowdown", "A"): 1,
    ("Slow ranks", "A"): 1,
    ("Pace now", "A"): 1,
    ("Step time in the range", "A"): 1,
    ("Step time in the range", "B"): 1,
    ("Time lost in the range", "A"): 1,
    ("Slow steps in the range", "A"): 1,
    ("Oldest source", "A"): 1,
    ("Slowest ranks", "A"): 5,
    ("Ranks that wait least", "A"): 5,
    ("Suspects", "A"): 10,
    ("Suspects", "B"): 10,
    ("Suspects", "C"): 1,
    ("Suspects", "D"): 10,
    ("Slowdown by rank and time", "A"): 16,
    ("Waiting by rank and time", "A"): 16,
    ("Compute: worst rank and median", "A"): 1,
    ("Compute: worst rank and median", "B"): 1,
    ("Communication: share of waiting", "A"): 1,
    ("Communication: share of waiting", "B"): 1,
    ("Communication: share of waiting", "C"): 1,
    ("Signals of the worst rank's node", "A"): 8,
    ("Signals furthest from their peers", "A"): 8,
    ("States of the run's nodes", "A"): 2,
    ("Links most likely at fault", "A"): 5,
    ("Step time", "A"): 1,
    ("Age of sources", "A"): 2,
    ("Open findings", "A"): 1,
    ("Open incidents", "A"): 1,
}
TARGETS = [
    (panel["title"], target["refId"])
    for panel in data_panels_of(BOARD)
    for target in panel["targets"]
]


def test_every_target_is_expected() -> None:
    """No query of the board goes without a look at its answer."""
    assert sorted(TARGETS) == sorted(SERIES_COUNTS)


@pytest.mark.parametrize(("title", "ref"), TARGETS)
def test_answers(fleet: str, title: str, ref: str) -> None:
    """Each target answers with the series that it means, with the labels of its legend."""
    target = target_of(title, ref)
    wanted = set(LABEL_IN_LEGEND.findall(target["legendFormat"]))

    series = series_of(fleet, target)

    assert len(series) == SERIES_COUNTS[title, ref]
    assert all(wanted <= set(one["metric"]) for one in series)


@pytest.mark.parametrize(
    ("title", "ref", "expected"),
    [
        pytest.param("Worst slowdown", "A", 1.4, id="the worst rank is 1.4 times its peers"),
        pytest.param("Slow ranks", "A", 1, id="one rank is slow"),
        pytest.param("Pace now", "A", 1 / 1.4, id="the run goes at the pace of that rank"),
        pytest.param("Step time in the range", "A", 10, id="the median step is a healthy one"),
        pytest.param("Step time in the range", "B", 14, id="the worst step is a slow one"),
        pytest.param("Time lost in the range", "A", 1800 * (1 - 1 / 1.4), id="half an hour slow"),
        pytest.param("Slow steps in the range", "A", 5 / 26, id="the share of slow steps"),
        pytest.param("Oldest source", "A", 200, id="the source that lags most"),
    ],
)
def test_verdict(fleet: str, title: str, ref: str, expected: float) -> None:
    """The verdict says what was planted."""
    (series,) = series_of(fleet, target_of(title, ref))

    assert float(series["value"][1]) == pytest.approx(expected, rel=1e-9)


def test_slow_rank_comes_first(fleet: str) -> None:
    """The planted rank leads both lists of offenders, with where it runs."""
    culprit = {"rank": "11", "node": "n1", "gpu": "3"}

    slowest = series_of(fleet, target_of("Slowest ranks"))
    waiting = series_of(fleet, target_of("Ranks that wait least"))

    assert [one["metric"]["rank"] for one in slowest] == ["11", "15", "14", "13", "12"]
    assert (slowest[0]["metric"], waiting[0]["metric"]) == (culprit, culprit)


def test_suspect_since_when_and_in_what_phase(fleet: str) -> None:
    """The table says when the planted rank was last healthy, and that it is slow in compute."""
    (healthy,) = series_of(fleet, target_of("Suspects", "C"))
    phases = {
        one["metric"]["rank"]: one["value"][1]
        for one in series_of(fleet, target_of("Suspects", "D"))
    }

    assert (healthy["metric"]["rank"], float(healthy["value"][1])) == (
        "11",
        1000.0 * (START + 60 * ONSET_MINUTE),
    )
    assert phases == {"11": "3", **{str(rank): "0" for rank in (15, 14, 13, 12, 10, 9, 8, 7, 6)}}


def test_worst_device_is_among_the_signals(fleet: str) -> None:
    """Both plots of signals hold the planted device, and none of a node outside the run."""
    titles = ("Signals of the worst rank's node", "Signals furthest from their peers")
    shown = [series_of(fleet, target_of(title)) for title in titles]

    devices = [{(one["metric"]["node"], one["metric"]["device"]) for one in plot} for plot in shown]
    assert all(("n1", "gpu3") in plot for plot in devices)
    assert not any(node == "n9" for plot in devices for node, _ in plot)


def test_narrowing(fleet: str) -> None:
    """A chosen rank narrows the plots and leaves the verdict alone."""
    chosen = VALUES | {"node": "n0", "rank": "3"}

    plot = series_of(fleet, target_of("Slowdown by rank and time"), values=chosen)
    verdict = series_of(fleet, target_of("Worst slowdown"), values=chosen)

    assert [one["metric"] for one in plot] == [{"rank": "3"}]
    assert float(verdict[0]["value"][1]) == 1.4


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("cluster", ["c1"], id="clusters that train"),
        pytest.param("run", ["llama"], id="runs of the cluster"),
        pytest.param("node", ["n0", "n1"], id="nodes of the run"),
        pytest.param("rank", [str(rank) for rank in range(16)], id="ranks of the run"),
    ],
)
def test_variables(fleet: str, name: str, expected: list[str]) -> None:
    """Each variable offers what there is, within what was chosen before it."""
    variable = next(one for one in BOARD["templating"]["list"] if one["name"] == name)
    selector = fill_in(query_in_variable(variable["query"]) or "", VALUES)

    offered = asked(fleet, f"label/{name}/values", **{"match[]": selector})

    assert sorted(offered, key=int if name == "rank" else str) == expected


def test_annotation_of_alerts(fleet: str) -> None:
    """The marks of firing alerts are those of the cluster."""
    query = fill_in(BOARD["annotations"]["list"][-1]["target"]["expr"], VALUES)

    (alert,) = asked(fleet, "query", query=query, time=END)

    assert alert["metric"]["alertname"] == "TrainingStepsPage"


@pytest.mark.parametrize(("title", "ref"), TARGETS)
def test_nothing_is_no_number(empty: str, title: str, ref: str) -> None:
    """Where nobody reports, no query makes up a number."""
    assert series_of(empty, target_of(title, ref)) == []


@pytest.mark.parametrize(
    "title", ["Worst slowdown", "Slow ranks", "Pace now", "Oldest source", "Slowest ranks"]
)
def test_a_dead_source_is_no_verdict(fleet: str, title: str) -> None:
    """Ten minutes after the last sample nothing speaks of now any more."""
    assert series_of(fleet, target_of(title), at=END + 600) == []


def shown_color(panel: Json, value: float | None) -> str:
    """Return the colour of a value by Grafana's order: words first, then the highest step."""
    defaults = panel["fieldConfig"]["defaults"]
    for mapping in defaults["mappings"]:
        if mapping["options"].get("match") == "null+nan" and value is None:
            return str(mapping["options"]["result"]["color"])
    color = defaults["thresholds"]["steps"][0]["color"]
    for step in defaults["thresholds"]["steps"][1:]:
        if value is not None and value >= step["value"]:
            color = step["color"]
    return str(color)


COLORED = [panel for panel in data_panels_of(BOARD) if panel["type"] in {"stat", "bargauge"}]


@pytest.mark.parametrize("panel", COLORED, ids=[panel["title"] for panel in COLORED])
def test_nothing_is_grey(panel: Json) -> None:
    """An empty answer is grey twice over: as the base step, and by the mapping of null."""
    base = panel["fieldConfig"]["defaults"]["thresholds"]["steps"][0]["color"]

    assert (shown_color(panel, None), base) == (NO_DATA_COLOR, NO_DATA_COLOR)


@pytest.mark.parametrize(
    ("title", "value", "color"),
    [
        pytest.param("Worst slowdown", 1.0, "green", id="alike is green"),
        pytest.param("Worst slowdown", 1.1, "orange", id="a tenth slower is orange"),
        pytest.param("Worst slowdown", 1.4, "red", id="the planted rank is red"),
        pytest.param("Slow ranks", 0, "green", id="no slow rank is green"),
        pytest.param("Slow ranks", 1, "orange", id="one slow rank is orange"),
        pytest.param("Pace now", 1 / 1.4, "red", id="the planted pace is red"),
        pytest.param("Pace now", 0.8, "orange", id="a fair pace is orange"),
        pytest.param("Pace now", 1.0, "green", id="the healthy pace is green"),
        pytest.param("Oldest source", 300, "red", id="a stale source is red"),
        pytest.param("Time lost in the range", 514, "blue", id="what is not judged is blue"),
    ],
)
def test_colors(title: str, value: float, color: str) -> None:
    """A verdict has the colour of what it means."""
    panel = next(item for item in COLORED if item["title"] == title)

    assert shown_color(panel, value) == color
