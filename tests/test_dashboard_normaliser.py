"""The normaliser turns grafanalib's output into what Grafana reads without migrating it."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboards.boards import build_board_trees
from dashboards.grafana import build_object, build_plain
from dashboards.jsontree import panels_of
from dashboards.normaliser import DATA_SOURCE, PLUGIN_VERSION, PanelIdError, build_normal


def normal_panel(**fields: object) -> dict[str, Any]:
    """Return one panel after the normaliser."""
    panel: dict[str, Any] = {"type": "timeseries", "title": "one", **fields}
    return dict(build_normal({"panels": [panel]}, {"one": 7})["panels"][0])


def normal_variable(**fields: object) -> dict[str, Any]:
    """Return one variable after the normaliser."""
    board: dict[str, Any] = {"templating": {"list": [{"name": "run", **fields}]}}
    return dict(build_normal(board, {})["templating"]["list"][0])


@pytest.mark.parametrize("key", ["__inputs", "rows", "hideControls", "style", "gnetId", "id"])
def test_dead_board_keys_go(key: str) -> None:
    """What Grafana no longer reads of a board is left out."""
    assert build_normal({key: [], "title": "a"}, {}) == {
        "title": "a",
        "panels": [],
        "schemaVersion": 39,
        "templating": {"list": []},
    }


@pytest.mark.parametrize(
    ("fields", "key", "expected"),
    [
        pytest.param({}, "id", 7, id="the id comes from the table"),
        pytest.param({"id": 3}, "id", 7, id="an id of the panel's own is replaced"),
        pytest.param({}, "pluginVersion", PLUGIN_VERSION, id="a version is stated"),
        pytest.param({}, "datasource", DATA_SOURCE, id="a missing data source is filled in"),
        pytest.param({"datasource": "prod"}, "datasource", DATA_SOURCE, id="a named one replaced"),
        pytest.param({"maxDataPoints": 100}, "maxDataPoints", None, id="100 points are not kept"),
        pytest.param({"maxDataPoints": 1000}, "maxDataPoints", 1000, id="1000 points are kept"),
        pytest.param({"span": 4}, "span", None, id="span goes"),
        pytest.param({"error": False}, "error", None, id="error goes"),
        pytest.param({"links": []}, "links", None, id="empty links go"),
        pytest.param({"transformations": []}, "transformations", None, id="no empty steps"),
        pytest.param({"interval": None}, "interval", None, id="nulls go"),
        pytest.param(
            {"type": "table", "fontSize": "100%"}, "fontSize", None, id="a table's dead looks go"
        ),
        pytest.param(
            {"fieldConfig": {"defaults": {"thresholds": {"steps": ""}}}},
            "fieldConfig",
            {"defaults": {}, "overrides": []},
            id="steps that are text go",
        ),
        pytest.param(
            {"fieldConfig": {"defaults": {"thresholds": {"steps": [{"value": None}]}}}},
            "fieldConfig",
            {"defaults": {"thresholds": {"steps": [{"value": None}]}}, "overrides": []},
            id="the null of a base step stays",
        ),
        pytest.param(
            {"fieldConfig": {"defaults": {"custom": {"displayMode": "auto"}}}},
            "fieldConfig",
            {"defaults": {"custom": {"cellOptions": {"type": "auto"}}}, "overrides": []},
            id="a cell's mode becomes its options",
        ),
        pytest.param(
            {"options": {"legend": {"displayMode": "hidden"}}},
            "options",
            {"legend": {"calcs": [], "displayMode": "list", "showLegend": False}},
            id="a hidden legend is a list that is not shown",
        ),
        pytest.param(
            {"options": {"legend": {"displayMode": "table"}, "tooltip": {"mode": "multi"}}},
            "options",
            {
                "legend": {"calcs": [], "displayMode": "table", "showLegend": True},
                "tooltip": {"mode": "multi", "sort": "none"},
            },
            id="legend and tooltip are completed",
        ),
        pytest.param(
            {"type": "heatmap", "options": {"legend": {"show": True}, "tooltip": {}}},
            "options",
            {"legend": {"show": True}, "tooltip": {}},
            id="a heatmap's legend and tooltip are other ones",
        ),
        pytest.param(
            {"targets": [{"expr": "up", "step": 10}, {"expr": "up", "instant": True}]},
            "targets",
            [
                {
                    "datasource": DATA_SOURCE,
                    "editorMode": "code",
                    "expr": "up",
                    "range": True,
                    "refId": "A",
                },
                {
                    "datasource": DATA_SOURCE,
                    "editorMode": "code",
                    "expr": "up",
                    "instant": True,
                    "range": False,
                    "refId": "B",
                },
            ],
            id="targets are named and completed",
        ),
        pytest.param(
            {"type": "text", "targets": []}, "datasource", None, id="a text has no data source"
        ),
    ],
)
def test_panels(fields: dict[str, Any], key: str, expected: object) -> None:
    """A panel keeps what Grafana reads, and gains what its migrations used to fill in."""
    assert normal_panel(**fields).get(key) == expected


def test_rows() -> None:
    """A row keeps its few fields, and the panels inside it are made normal too."""
    inner = {"type": "text", "title": "note", "span": 1}
    row = {"type": "row", "title": "Why", "collapsed": True, "panels": [inner], "targets": []}

    board = build_normal({"panels": [row]}, {"Why": 1, "note": 2})

    assert board["panels"] == [
        {
            "type": "row",
            "title": "Why",
            "collapsed": True,
            "id": 1,
            "panels": [
                {
                    "type": "text",
                    "title": "note",
                    "id": 2,
                    "pluginVersion": PLUGIN_VERSION,
                    "fieldConfig": {"defaults": {}, "overrides": []},
                    "options": {},
                }
            ],
        }
    ]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({"useTags": False, "tagsQuery": None}, {}, id="tags go"),
        pytest.param({"regex": None, "allValue": None}, {}, id="nulls go"),
        pytest.param({"type": "custom", "auto": False}, {"type": "custom"}, id="auto goes"),
        pytest.param(
            {"type": "interval", "auto": True},
            {"type": "interval", "auto": True},
            id="auto stays with an interval",
        ),
        pytest.param(
            {"current": {"text": None, "value": None, "tags": []}}, {}, id="no empty choice"
        ),
        pytest.param(
            {"current": {"text": "a", "value": "a", "tags": []}},
            {"current": {"text": "a", "value": "a"}},
            id="a choice stays, without tags",
        ),
        pytest.param(
            {"type": "query", "datasource": None},
            {"type": "query", "datasource": DATA_SOURCE},
            id="a query asks the chosen data source",
        ),
    ],
)
def test_variables(fields: dict[str, Any], expected: dict[str, Any]) -> None:
    """A variable loses what Grafana no longer reads."""
    assert normal_variable(**fields) == {"name": "run", **expected}


def test_time_picker() -> None:
    """The picker stands under Grafana's own name, without its dead parts."""
    picker = build_plain("TimePicker", refreshIntervals=["1m"], timeOptions=["5m"])

    board = build_normal({"timePicker": picker}, {})

    assert board["timepicker"] == {"refresh_intervals": ["1m"], "hidden": False}


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        pytest.param({}, r"without an id: \['one'\]", id="a panel that is not in the table"),
        pytest.param(
            {"one": 1, "two": 2}, r"ids without a panel: \['two'\]", id="an id without a panel"
        ),
    ],
)
def test_ids_and_panels_must_agree(ids: dict[str, int], message: str) -> None:
    """A table of ids that does not fit the board is refused."""
    with pytest.raises(PanelIdError, match=message):
        build_normal({"panels": [{"type": "text", "title": "one"}]}, ids)


def test_input_is_left_alone() -> None:
    """The normaliser changes nothing in what it is given."""
    board = {"panels": [build_plain("Stat", title="one", targets=[build_object("Target")])]}
    before = copy.deepcopy(board)

    build_normal(board, {"one": 1})

    assert board == before


LEAVES = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "auto", "hidden"])
PANEL_FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "type": st.sampled_from(["stat", "table", "text", "heatmap", "row"]),
    "span": LEAVES,
    "interval": LEAVES,
    "maxDataPoints": st.sampled_from([None, 100, 1000]),
    "links": st.lists(st.just({"url": "/d/aif-job"}), max_size=1),
    "datasource": LEAVES,
    "pluginVersion": st.sampled_from(["", None, "11.0.0"]),
    "options": st.fixed_dictionaries({}, optional={"legend": st.just({"displayMode": "hidden"})}),
    "fieldConfig": st.fixed_dictionaries(
        {}, optional={"defaults": st.dictionaries(st.sampled_from(["min", "unit"]), LEAVES)}
    ),
    "targets": st.lists(
        st.dictionaries(st.sampled_from(["instant", "refId", "step", "hide"]), LEAVES), max_size=3
    ),
}


@given(st.fixed_dictionaries({"title": st.just("one")}, optional=PANEL_FIELDS))
def test_normal_stays_normal(panel: dict[str, Any]) -> None:
    """Whatever a panel holds, normalising twice is normalising once."""
    once = build_normal({"panels": [panel]}, {"one": 7})

    assert build_normal(once, {"one": 7}) == once


@pytest.mark.parametrize("uid", sorted(build_board_trees()))
def test_a_normal_board_stays_as_it_is(uid: str) -> None:
    """Normalising twice is normalising once."""
    board = build_board_trees()[uid]
    ids = {panel["title"]: panel["id"] for panel in panels_of(board)}

    assert build_normal(board, ids) == board
