"""Rules about how values are shown: units, colours, words, and what an empty answer looks like."""

from collections.abc import Iterator
from itertools import pairwise

from dashboards.catalog import REDUCERS, TRANSFORMATIONS, UNIT_PREFIXES, UNITS
from dashboards.fields import NO_DATA_COLOR
from dashboards.jsontree import Json, data_panels_of, leaves_of, values_under
from dashboards.linted import Board, Problem

COLORED_TYPES = frozenset({"bargauge", "gauge", "stat"})
"""Kinds of panels whose whole colour is read as a judgement."""

LABEL_UNIT = "string"
"""The unit of a table's columns unless overridden: the one that leaves labels as they are."""


def check_units(board: Board) -> Iterator[Problem]:
    """Units are ids that Grafana knows; it prints any other one behind the number."""
    for panel in data_panels_of(board.tree):
        for unit in _units_of(panel):
            if unit not in UNITS and not str(unit).startswith(UNIT_PREFIXES):
                yield _at(panel, f"unit {unit!r}; use an id of `dashboards.catalog.UNITS`")
        if panel.get("type") == "table" and _units_of(panel)[0] != LABEL_UNIT:
            message = "labels such as a rank are written as numbers, 7 as 7.00"
            yield _at(panel, f"{message}; set unit {LABEL_UNIT!r}, and units by override")


def _units_of(panel: Json) -> list[object]:
    if panel.get("type") == "heatmap":
        return [panel.get("options", {}).get("cellValues", {}).get("unit")]
    config = panel.get("fieldConfig", {})
    overridden = [
        item.get("value")
        for override in config.get("overrides", [])
        for item in override.get("properties", [])
        if item.get("id") == "unit"
    ]
    return [config.get("defaults", {}).get("unit"), *overridden]


def check_reducers(board: Board) -> Iterator[Problem]:
    """Reducers are ids that Grafana knows; it leaves out any other one."""
    for panel in data_panels_of(board.tree):
        for calcs in values_under(panel.get("options", {}), "calcs"):
            for reducer in leaves_of(calcs):
                if reducer not in REDUCERS:
                    message = f"reducer {reducer!r}; use an id of `dashboards.catalog.REDUCERS`"
                    yield _at(panel, message)


def check_transformations(board: Board) -> Iterator[Problem]:
    """Transformations are ids that Grafana knows."""
    for panel in data_panels_of(board.tree):
        for transformation in panel.get("transformations", []):
            if transformation.get("id") not in TRANSFORMATIONS:
                name = transformation.get("id")
                message = f"transformation {name!r}; use one of `dashboards.catalog`"
                yield _at(panel, message)


def check_string_nulls(board: Board) -> Iterator[Problem]:
    """No value is the word null, which grafanalib's `Threshold` writes for nothing."""
    count = sum(1 for leaf in leaves_of(board.tree) if leaf == "null")
    allowed = sum(1 for match in values_under(board.tree, "match") if match == "null")
    if count > allowed:
        yield Problem(message=f"{count - allowed} values are the text 'null'; write null")


def check_thresholds(board: Board) -> Iterator[Problem]:
    """Steps start from nothing and ascend; Grafana stops at the first that does not."""
    for panel in data_panels_of(board.tree):
        for thresholds in values_under(panel, "thresholds"):
            values = list(values_under(thresholds, "value"))
            if not _ascend(values):
                yield _at(panel, f"threshold steps {values}; start with null and ascend")


def _ascend(values: list[object]) -> bool:
    numbers = [value for value in values[1:] if isinstance(value, int | float)]
    complete = bool(values) and values[0] is None and len(numbers) == len(values) - 1
    return complete and all(low < high for low, high in pairwise(numbers))


def check_no_data(board: Board) -> Iterator[Problem]:
    """An empty answer is grey: by the first step, or by a mapping of null and NaN."""
    for panel in data_panels_of(board.tree):
        if panel.get("type") not in COLORED_TYPES:
            continue
        defaults = panel.get("fieldConfig", {}).get("defaults", {})
        if not (_has_grey_base(defaults) or _maps_nothing_to_grey(defaults)):
            message = "an empty answer takes the colour of a healthy one"
            yield _at(panel, f"{message}; make the first step grey (`build_steps`)")


def _has_grey_base(defaults: Json) -> bool:
    steps = defaults.get("thresholds", {}).get("steps", [])
    return bool(steps) and steps[0].get("color") == NO_DATA_COLOR


def _maps_nothing_to_grey(defaults: Json) -> bool:
    return any(
        mapping.get("type") == "special"
        and mapping["options"].get("match") == "null+nan"
        and mapping["options"].get("result", {}).get("color") == NO_DATA_COLOR
        for mapping in defaults.get("mappings", [])
    )


def check_staleness(board: Board) -> Iterator[Problem]:
    """What speaks of now asks for now: a range keeps the last value of a dead source."""
    for panel in data_panels_of(board.tree):
        targets = panel.get("targets", [])
        if panel.get("type") in COLORED_TYPES and not all(t.get("instant") for t in targets):
            message = "a query over the range shows the last value of a source that has died"
            yield _at(panel, f"{message}; make it instant")


def check_states(board: Board) -> Iterator[Problem]:
    """A state timeline has a word for each state, and shows one that nobody listed."""
    for panel in data_panels_of(board.tree):
        if panel.get("type") != "state-timeline":
            continue
        mappings = panel.get("fieldConfig", {}).get("defaults", {}).get("mappings", [])
        kinds = {mapping.get("type") for mapping in mappings}
        if not {"value", "range"} <= kinds:
            message = "states lack words, or an unlisted state cannot be seen"
            yield _at(panel, f"{message}; use `build_states`")


def _at(panel: Json, message: str) -> Problem:
    return Problem(message=message, panel=panel.get("id"))
