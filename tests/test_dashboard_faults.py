"""Twenty faults that Grafana would swallow without a word: each is caught by one of the checks."""

import copy
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dashboards.boards import build_board_trees
from dashboards.jsontree import Json, panels_of
from dashboards.lint import check_boards
from dashboards.schemas import NoSchemasError, check_schemas

JOB = "aif-job"
TREE = build_board_trees()[JOB]
SCHEMAS = Path(
    os.environ.get("PACELINE_GRAFANA_SCHEMAS", Path.home() / ".cache/paceline/grafana-13.2.3")
)
NEEDS_SCHEMAS = pytest.mark.skipif(
    not SCHEMAS.is_dir(),
    reason="no schemas of Grafana's types; benchmarks/grafana/schemas.mjs makes them",
)


def panel(board: Json, title: str) -> Json:
    """Return a panel by its title."""
    return next(item for item in panels_of(board) if item["title"] == title)


def in_panel(title: str, *path: str, value: object) -> Callable[[Json], Any]:
    """Return a fault that sets what stands at a path of a panel."""

    def change(board: Json) -> None:
        tree: Any = panel(board, title)
        for key in path[:-1]:
            tree = tree[key]
        tree[path[-1]] = value

    return change


def in_board(**fields: object) -> Callable[[Json], Any]:
    """Return a fault in the board itself."""
    return lambda board: board.update(fields)


STAT, LINES, HEAT, TABLE = "Slow ranks", "Step time", "Waiting by rank and time", "Suspects"
DEFAULTS = ("fieldConfig", "defaults")
NULL_STEP = [{"color": "green", "value": "null"}, {"color": "red", "value": 2}]

SEEN_BY_LINT = [
    pytest.param(lambda board: panel(board, STAT).pop("id"), id="no id"),
    pytest.param(in_panel(STAT, "id", value=4), id="an id twice"),
    pytest.param(in_panel(STAT, "gridPos", "x", value=3), id="a panel over another"),
    pytest.param(in_panel(LINES, *DEFAULTS, "unit", value="bogus"), id="an unknown unit"),
    pytest.param(
        in_panel(LINES, "options", "legend", "calcs", value=["total"]), id="an unknown reducer"
    ),
    pytest.param(
        in_panel(TABLE, "transformations", value=[{"id": "joinBy", "options": {}}]),
        id="an unknown transformation",
    ),
    pytest.param(in_panel(STAT, "type", value="singlestat"), id="a dead kind of panel"),
    pytest.param(
        in_panel(STAT, *DEFAULTS, "thresholds", "steps", value=NULL_STEP),
        id="the word null as a threshold",
    ),
]
SEEN_BY_SCHEMAS = [
    pytest.param(
        in_panel(STAT, *DEFAULTS, "thresholds", "steps", value=""), id="thresholds that are a text"
    ),
    pytest.param(in_panel(STAT, "options", value={"fieldOptions": {}}), id="options of Grafana 6"),
    pytest.param(in_panel(STAT, "options", "colorMode", value="loud"), id="an unknown colour mode"),
    pytest.param(
        in_panel(LINES, *DEFAULTS, "custom", "drawStyle", value="dots"), id="an unknown line style"
    ),
    pytest.param(
        in_panel(LINES, "options", "tooltip", "mode", value="all"), id="an unknown tooltip"
    ),
    pytest.param(
        in_panel(LINES, "options", "legend", "placement", value="left"), id="an unknown placement"
    ),
    pytest.param(
        in_panel(HEAT, "options", "color", "mode", value="spectrum"), id="the old heatmap's colours"
    ),
    pytest.param(in_panel(LINES, *DEFAULTS, "decimals", value="2"), id="decimals as a text"),
    pytest.param(
        in_panel(STAT, *DEFAULTS, "mappings", value=[{"type": 1, "value": "0", "text": "ok"}]),
        id="value mappings of Grafana 7",
    ),
    pytest.param(in_panel(STAT, "gridPos", "w", value="3"), id="a width as a text"),
    pytest.param(in_board(schemaVersion="39"), id="a schema version as a text"),
    pytest.param(in_board(tags="ai-fleet"), id="tags as a text"),
]


def broken(fault: Callable[[Json], Any]) -> dict[str, Json]:
    """Return the job board with a fault."""
    tree = copy.deepcopy(TREE)
    fault(tree)
    return {JOB: tree}


@pytest.mark.parametrize("fault", SEEN_BY_LINT)
def test_lint_catches(fault: Callable[[Json], Any]) -> None:
    """A fault that Grafana's types allow is caught by a rule."""
    assert check_boards(broken(fault)) != []


@NEEDS_SCHEMAS
@pytest.mark.parametrize("fault", SEEN_BY_SCHEMAS)
def test_schemas_catch(fault: Callable[[Json], Any]) -> None:
    """A fault against Grafana's types is caught by their schemas."""
    assert check_schemas(broken(fault), SCHEMAS) != []


def test_twenty_faults() -> None:
    """The list is as long as it says."""
    assert len(SEEN_BY_LINT) + len(SEEN_BY_SCHEMAS) == 20


@NEEDS_SCHEMAS
def test_boards_break_no_schema() -> None:
    """Every board of ours is of Grafana's types."""
    assert check_schemas(build_board_trees(), SCHEMAS) == []


def test_folder_without_schemas(tmp_path: Path) -> None:
    """A folder that does not hold them is refused, with what makes them."""
    with pytest.raises(NoSchemasError, match=r"no dashboard\.Dashboard\.json in"):
        check_schemas({JOB: TREE}, tmp_path)


def test_kind_of_panel_without_a_schema(tmp_path: Path) -> None:
    """A kind of panel that no schema is for is refused, not passed over."""
    for name in ("Dashboard", "Panel", "RowPanel"):
        (tmp_path / f"dashboard.{name}.json").write_text("{}")

    with pytest.raises(NoSchemasError, match=r"no stat\.Options\.json"):
        check_schemas({JOB: TREE}, tmp_path)


def test_small_schemas(tmp_path: Path) -> None:
    """Missing options are fine, keys that the types leave out too; the rest is told by place."""
    (tmp_path / "dashboard.Dashboard.json").write_text('{"required": ["uid"]}')
    (tmp_path / "dashboard.Panel.json").write_text('{"properties": {"id": {"maximum": 1}}}')
    (tmp_path / "dashboard.RowPanel.json").write_text("{}")
    (tmp_path / "stat.Options.json").write_text(
        '{"required": ["gone"], "additionalProperties": false}'
    )
    (tmp_path / "stat.FieldConfig.json").write_text("{}")
    config = {"defaults": {"custom": {"spanNulls": True}}}
    stat = {"id": 2, "type": "stat", "options": {"spanNulls": 1}, "fieldConfig": config}
    row = {"id": 1, "type": "row", "panels": []}

    found = check_schemas({"aif-x": {"title": "x", "panels": [row, stat]}}, tmp_path)

    assert found == [
        "aif-x: board : 'uid' is a required property [schema]",
        "aif-x: panel 2 id: 2 is greater than the maximum of 1 [schema]",
    ]
