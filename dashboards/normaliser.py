"""Turns what grafanalib says into what Grafana 11 to 13 read without migrating it.

A pure function over plain JSON, and idempotent: a normal board stays as it is. Grafana runs old
migrations on what it takes for an old board and no longer mends what it takes for a new one, so
versions are stated and the fields that those migrations used to fill in are filled in here.

Source: Grafana's `@grafana/schema` types and its dashboard and panel migrations.
"""

from collections.abc import Mapping
from typing import TypeVar, cast

from dashboards.jsontree import Json, panels_of

_Tree = TypeVar("_Tree")

# The schema of Grafana 11, which is the oldest that we serve; 12 and 13 upgrade from it.
SCHEMA_VERSION = 39
# Without it the options count as ancient, and panels gain limits that nobody asked for.
PLUGIN_VERSION = "12.0.0"

DATA_SOURCE: Json = {"type": "prometheus", "uid": "${datasource}"}
REF_IDS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

DEAD_BOARD_KEYS = frozenset(
    {"__inputs", "rows", "hideControls", "sharedCrosshair", "style", "gnetId", "id"}
)
DEAD_TIMEPICKER_KEYS = frozenset({"time_options", "nowDelay"})
DEAD_PANEL_KEYS = frozenset(
    {"span", "minSpan", "height", "editable", "error", "cacheTimeout", "hideTimeOverride"}
)
# A table's looks that grafanalib writes where Grafana ignores them.
DEAD_TABLE_KEYS = frozenset({"color", "columns", "fontSize", "mappings"})
DEAD_TARGET_KEYS = frozenset({"step", "intervalFactor", "metric", "target", "query"})
DEAD_VARIABLE_KEYS = frozenset({"useTags", "tagsQuery", "tagValuesQuery"})
INTERVAL_KEYS = frozenset({"auto", "auto_count", "auto_min"})
ROW_KEYS = frozenset({"type", "title", "collapsed", "panels", "gridPos", "id", "repeat"})
# grafanalib's default of 100 points would make six hours of samples very coarse.
COARSE_DATA_POINTS = 100
# A base step's value and the open ends of a range mapping: here null is an answer.
MEANT_NULLS = frozenset({"value", "from", "to"})


class PanelIdError(KeyError):
    """The board's table of ids and its panels do not name the same titles."""


def build_normal(board: Json, panel_ids: Mapping[str, int]) -> Json:
    """Return a board in the form that Grafana reads as it stands.

    Args:
        board: A dashboard in the classic form, as grafanalib encodes it.
        panel_ids: Id of each panel and row by title; ids are stable, so links to panels hold.

    Raises:
        PanelIdError: A panel is not in the table, or the table names one that is not there.
    """
    _require_ids(board, panel_ids)
    normal = _without(board, DEAD_BOARD_KEYS)
    if "timePicker" in normal or "timepicker" in normal:
        picker = normal.pop("timePicker", None) or normal.get("timepicker", {})
        normal["timepicker"] = _without(picker, DEAD_TIMEPICKER_KEYS)
    variables = board.get("templating", {}).get("list", [])
    normal["schemaVersion"] = SCHEMA_VERSION
    normal["templating"] = {"list": [_variable(variable) for variable in variables]}
    normal["panels"] = [_panel_or_row(panel, panel_ids) for panel in board.get("panels", [])]
    return _without_nulls(normal, MEANT_NULLS)


def _require_ids(board: Json, panel_ids: Mapping[str, int]) -> None:
    titles = {panel.get("title", "") for panel in panels_of(board)}
    if titles != set(panel_ids):
        raise PanelIdError(
            f"without an id: {sorted(titles - set(panel_ids))}; "
            f"ids without a panel: {sorted(set(panel_ids) - titles)}; "
            "give a new panel a new number in the board's table, and never use one again"
        )


def _panel_or_row(panel: Json, panel_ids: Mapping[str, int]) -> Json:
    numbered = panel | {"id": panel_ids[panel.get("title", "")]}
    return _row(numbered, panel_ids) if panel.get("type") == "row" else _panel(numbered)


def _row(row: Json, panel_ids: Mapping[str, int]) -> Json:
    inner = [_panel_or_row(panel, panel_ids) for panel in row.get("panels", [])]
    return {key: value for key, value in row.items() if key in ROW_KEYS} | {"panels": inner}


def _panel(panel: Json) -> Json:
    is_table = panel.get("type") == "table"
    dead = DEAD_PANEL_KEYS | DEAD_TABLE_KEYS if is_table else DEAD_PANEL_KEYS
    normal = _without_nulls(_without(panel, dead), MEANT_NULLS)
    for key in ("links", "transformations", "targets"):
        if not normal.get(key):
            normal.pop(key, None)
    if normal.get("maxDataPoints") == COARSE_DATA_POINTS:
        del normal["maxDataPoints"]
    normal["pluginVersion"] = normal.get("pluginVersion") or PLUGIN_VERSION
    normal["fieldConfig"] = _field_config(normal.get("fieldConfig", {}))
    normal["options"] = _options(normal.get("options", {}), heatmap=panel.get("type") == "heatmap")
    return _with_queries(normal)


def _with_queries(panel: Json) -> Json:
    if panel.get("type") == "text":
        return panel
    targets = panel.get("targets", [])
    numbered = [_target(target, index) for index, target in enumerate(targets)]
    return panel | {"datasource": DATA_SOURCE} | ({"targets": numbered} if numbered else {})


def _target(target: Json, index: int) -> Json:
    normal = _without(target, DEAD_TARGET_KEYS)
    return normal | {
        "datasource": DATA_SOURCE,
        "editorMode": "code",
        "range": not target.get("instant", False),
        "refId": target.get("refId") or REF_IDS[index],
    }


def _field_config(config: Json) -> Json:
    defaults = dict(config.get("defaults", {}))
    thresholds = defaults.get("thresholds", {})
    if not thresholds.get("steps"):
        defaults.pop("thresholds", None)
    custom = dict(defaults.get("custom", {}))
    if "displayMode" in custom:
        custom["cellOptions"] = custom.get("cellOptions") or {"type": custom["displayMode"]}
        del custom["displayMode"]
    if custom:
        defaults["custom"] = custom
    filled: Json = {"overrides": []}
    return filled | config | {"defaults": defaults}


def _options(options: Json, *, heatmap: bool) -> Json:
    normal = dict(options)
    if "displayMode" in normal.get("legend", {}):
        normal["legend"] = _legend(normal["legend"])
    if "tooltip" in normal and not heatmap:
        normal["tooltip"] = {"sort": "none"} | normal["tooltip"]
    return normal


def _legend(legend: Json) -> Json:
    shown = legend["displayMode"] != "hidden"
    mode = legend["displayMode"] if shown else "list"
    filled: Json = {"calcs": [], "showLegend": shown}
    return filled | legend | {"displayMode": mode}


def _variable(variable: Json) -> Json:
    is_interval = variable.get("type") == "interval"
    dead = DEAD_VARIABLE_KEYS if is_interval else DEAD_VARIABLE_KEYS | INTERVAL_KEYS
    normal = _without_nulls(_without(variable, dead), frozenset())
    if variable.get("type") == "query":
        normal["datasource"] = DATA_SOURCE
    current = _without(normal.get("current", {}), frozenset({"tags"}))
    normal.pop("current", None)
    return normal | ({"current": current} if "value" in current else {})


def _without(tree: Json, keys: frozenset[str]) -> Json:
    return {key: value for key, value in tree.items() if key not in keys}


def _without_nulls(tree: _Tree, kept: frozenset[str]) -> _Tree:
    if isinstance(tree, dict):
        pruned: object = {
            key: _without_nulls(value, kept)
            for key, value in cast("Json", tree).items()
            if value is not None or key in kept
        }
    elif isinstance(tree, list):
        pruned = [_without_nulls(item, kept) for item in cast("list[object]", tree)]
    else:
        pruned = tree
    return cast("_Tree", pruned)
