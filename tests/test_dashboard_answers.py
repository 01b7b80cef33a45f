"""Queries of every board, asked of a real Prometheus: with a simulated incident, and empty."""

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

import pytest
import requests

from benchmarks.planted_boards import CULPRIT, START, Fleet, build_history
from dashboards.boards import build_board_trees
from dashboards.fields import NO_DATA_COLOR
from dashboards.jsontree import Json, data_panels_of, values_under, variables_of
from dashboards.queries import LABEL_IN_LEGEND, fill_in, query_in_variable
from dashboards.thresholds import OVERSPENT_COLOR

BOARDS = {uid: board for uid, board in build_board_trees().items() if uid != "aif-job"}
FLEET = Fleet()
ALL = ".+"
VALUES = {
    **dict.fromkeys(("node", "gpu", "rank", "switch", "port", "slo"), ALL),
    "cluster": "c1",
    "run": "llama",
    "incident": "i-4711",
    "__range": "2h",
    "__rate_interval": "5m",
    "__from": str(1000 * START),
}
SESSION = requests.Session()
LINKED_LABEL = re.compile(r"\$\{__(?:data\.fields|field\.labels)\.(\w+)\}")
BOUNDLESS = {("aif-slo", "Budget left", "B")}
"""A query of the clock alone: the line that an even burn would draw."""


class Server(Protocol):
    """What the shared fixture yields."""

    url: str


class Target(NamedTuple):
    """One query with its board and panel."""

    uid: str
    panel: Json
    tree: Json


Servers = Callable[[str], AbstractContextManager[Server]]


@pytest.fixture(scope="module", autouse=True)
def _session() -> Iterator[None]:
    """Close the connections that the tests of this file share."""
    with SESSION:
        yield


@pytest.fixture(scope="module")
def fleet(prometheus: Servers) -> Iterator[str]:
    """Yield the address of a server that holds the incident."""
    with prometheus(build_history(FLEET)) as server:
        yield server.url


@pytest.fixture(scope="module")
def empty(prometheus: Servers) -> Iterator[str]:
    """Yield the address of a server that holds nothing."""
    with prometheus("# EOF\n") as server:
        yield server.url


def asked(url: str, path: str, **parameters: str | int) -> list[Any]:
    """Return the data of an answer, which must be a success."""
    answer = SESSION.post(f"{url}/api/v1/{path}", data=parameters, timeout=30)
    assert answer.ok, answer.text
    data = answer.json()["data"]
    return list(data["result"]) if isinstance(data, dict) else list(data)


def series_of(url: str, target: Json) -> list[Any]:
    """Return the series that a target shows, as Grafana would ask for them."""
    query = fill_in(target["expr"], VALUES)
    if target["instant"]:
        return asked(url, "query", query=query, time=FLEET.end)
    return asked(url, "query_range", query=query, start=START, end=FLEET.end, step=60)


TARGETS = [
    Target(uid, panel, tree)
    for uid, board in BOARDS.items()
    for panel in data_panels_of(board)
    for tree in panel["targets"]
]
EACH_TARGET = pytest.mark.parametrize(
    "target", TARGETS, ids=[f"{t.uid} {t.panel['title']} {t.tree['refId']}" for t in TARGETS]
)


def found(uid: str, title: str, ref: str = "A") -> Json:
    """Return a target by its board, its panel's title and its own name."""
    for target in TARGETS:
        if (target.uid, target.panel["title"], target.tree["refId"]) == (uid, title, ref):
            return target.tree
    raise AssertionError((uid, title, ref))


def wanted_labels(target: Target) -> set[str]:
    """Return the labels that the legend names, and those that the links of a series pass on."""
    named = set(LABEL_IN_LEGEND.findall(target.tree["legendFormat"]))
    if target.panel["type"] == "table":
        return named
    links = " ".join(str(url) for url in values_under(target.panel["fieldConfig"], "url"))
    return named | set(LINKED_LABEL.findall(links))


@EACH_TARGET
def test_answers(fleet: str, target: Target) -> None:
    """Each target answers, and its legend and its links can name what they say."""
    series = series_of(fleet, target.tree)

    assert series, fill_in(target.tree["expr"], VALUES)
    if target.uid != "aif-slo":  # an objective has the labels that its group has
        missing = [wanted_labels(target) - set(one["metric"]) for one in series]
        assert not any(missing)


@pytest.mark.parametrize(
    "panel",
    [
        pytest.param(panel, id=f"{uid} {panel['title']}")
        for uid, board in BOARDS.items()
        for panel in data_panels_of(board)
        if panel["type"] == "table"
    ],
)
def test_columns_of_tables(fleet: str, panel: Json) -> None:
    """A table's columns, and what its rows pass on, are labels and values that come back."""
    columns = next(iter(panel["transformations"][1:]))["options"]["indexByName"]
    several = len(panel["targets"]) > 1
    given = {f"Value #{one['refId']}" if several else "Value" for one in panel["targets"]}
    for target in panel["targets"]:
        given |= {label for one in series_of(fleet, target) for label in one["metric"]}
    links = " ".join(str(url) for url in values_under(panel["fieldConfig"], "url"))

    assert set(columns) <= given
    assert set(LINKED_LABEL.findall(links)) <= set(columns)


@pytest.mark.parametrize(
    ("uid", "title", "culprit"),
    [
        pytest.param("aif-fleet", "Nodes that need hands", {"node": "n002"}, id="the sick node"),
        pytest.param("aif-fleet", "Highest lemon scores", CULPRIT["lemon"], id="the lemon"),
        pytest.param("aif-device", "Furthest from their peers", CULPRIT["device"], id="the GPU"),
        pytest.param("aif-device", "Suspects", CULPRIT["device"], id="the GPU in the table"),
        pytest.param("aif-fabric", "Worst links", CULPRIT["link"], id="the link"),
        pytest.param("aif-fabric", "Cards that are paused most", {"node": "n002"}, id="the card"),
        pytest.param("aif-lemon", "Nodes by score", CULPRIT["lemon"], id="the lemon in the table"),
        pytest.param("aif-lemon", "Scores", CULPRIT["lemon"], id="the lemon among the bars"),
        pytest.param(
            "aif-slo", "Least budget left by group", CULPRIT["objective"], id="the budget"
        ),
        pytest.param("aif-slo", "Fastest burn by group", CULPRIT["objective"], id="the burn"),
        pytest.param(
            "aif-incident", "Slowest ranks of these hours", CULPRIT["rank"], id="the rank"
        ),
        pytest.param(
            "aif-incident", "Devices furthest from their peers", CULPRIT["device"], id="its GPU"
        ),
        pytest.param("aif-incident", "Worst links of these hours", CULPRIT["link"], id="its link"),
    ],
)
def test_culprit_comes_first(fleet: str, uid: str, title: str, culprit: dict[str, str]) -> None:
    """The planted culprit leads each list of offenders."""
    first = series_of(fleet, found(uid, title))[0]["metric"]

    assert first | culprit == first


@pytest.mark.parametrize(
    ("uid", "title", "ref", "expected"),
    [
        pytest.param("aif-fleet", "Nodes fit to train", "A", 0.5, id="two of four nodes are fit"),
        pytest.param("aif-fleet", "Goodput now", "A", 0.95 * 0.8, id="half the runs are slow"),
        pytest.param("aif-fleet", "Runs with a slow rank", "A", 1, id="one run is slow"),
        pytest.param("aif-fleet", "Devices off their peers", "A", 1, id="one device is off"),
        pytest.param("aif-fleet", "Links likely at fault", "A", 1, id="one link is at fault"),
        pytest.param("aif-fleet", "Objectives that burn", "A", 1, id="one objective pages"),
        pytest.param("aif-fleet", "Incidents open", "A", 1, id="one incident is open"),
        pytest.param("aif-device", "Furthest from its peers", "A", 0.3, id="a third off"),
        pytest.param("aif-device", "Peers of the least watched signal", "A", 8, id="eight peers"),
        pytest.param("aif-device", "GPUs held back by heat", "A", 1, id="one GPU is hot"),
        pytest.param("aif-device", "GPUs that want a reset", "A", 1, id="one GPU wants a reset"),
        pytest.param("aif-fabric", "Flaps in the range", "A", 18, id="the port's changes"),
        pytest.param("aif-fabric", "Blocks beyond correction", "A", 360, id="the port's blocks"),
        pytest.param("aif-fabric", "Runs on hosts that lost a link", "A", 1, id="one run at risk"),
        pytest.param("aif-lemon", "Lemons", "A", 1, id="one lemon"),
        pytest.param("aif-lemon", "Awaiting a decision", "A", 0, id="it is taken out already"),
        pytest.param("aif-slo", "Objectives missed", "A", 1, id="one objective is missed"),
        pytest.param("aif-slo", "Objectives that burn", "A", 1, id="one objective burns"),
        pytest.param("aif-slo", "Least budget left", "A", -0.1, id="its budget is overspent"),
        pytest.param("aif-slo", "Objectives judged", "A", 3, id="three objectives are judged"),
        pytest.param("aif-incident", "Began", "A", 1000.0 * (START + 3600), id="its onset"),
        pytest.param("aif-incident", "Until", "A", 180, id="three minutes to detect"),
        pytest.param("aif-incident", "Until", "C", 1800, id="half an hour to mitigate"),
        pytest.param("aif-incident", "Runs hit", "A", 1, id="one run was hit"),
        pytest.param("aif-incident", "GPU time lost", "A", 20, id="twenty GPU-hours"),
        pytest.param("aif-incident", "Budget spent", "A", 0.9, id="most of a budget"),
    ],
)
def test_verdict(fleet: str, uid: str, title: str, ref: str, expected: float) -> None:
    """The verdict says what was planted."""
    (series,) = series_of(fleet, found(uid, title, ref))

    assert float(series["value"][1]) == pytest.approx(expected, rel=0.02)


@EACH_TARGET
def test_nothing_is_no_number(empty: str, target: Target) -> None:
    """Where nobody reports, no query makes up a number."""
    name = (target.uid, target.panel["title"], target.tree["refId"])

    assert bool(series_of(empty, target.tree)) is (name in BOUNDLESS)


VERDICTS = [
    pytest.param(panel, id=f"{uid} {panel['title']}")
    for uid, board in BOARDS.items()
    for panel in data_panels_of(board)
    if panel["type"] in {"stat", "bargauge"}
]


@pytest.mark.parametrize("panel", VERDICTS)
def test_nothing_is_grey(panel: Json) -> None:
    """An empty answer is grey by the mapping of null, and by a base step that is not healthy."""
    defaults = panel["fieldConfig"]["defaults"]
    (nothing,) = [one for one in defaults["mappings"] if one["options"].get("match") == "null+nan"]

    assert nothing["options"]["result"]["color"] == NO_DATA_COLOR
    assert defaults["thresholds"]["steps"][0]["color"] in {NO_DATA_COLOR, OVERSPENT_COLOR}


@pytest.mark.parametrize(
    ("uid", "name"),
    [
        pytest.param(uid, name, id=f"{name} of {uid}")
        for uid, board in BOARDS.items()
        for name, variable in variables_of(board).items()
        if variable["type"] == "query"
    ],
)
def test_variables(fleet: str, uid: str, name: str) -> None:
    """Each variable offers something within what was chosen before it."""
    query = variables_of(BOARDS[uid])[name]["query"]
    selector = fill_in(query_in_variable(query) or "", VALUES)
    label = query.rpartition(",")[2].strip(" )")

    answer = SESSION.get(
        f"{fleet}/api/v1/label/{label}/values", params={"match[]": selector}, timeout=30
    )

    assert answer.json()["data"]
