"""Rules about panels as frames: place, number, caption, kind, data source."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations

from dashboards.catalog import PANEL_TYPES
from dashboards.jsontree import Json, data_panels_of, panels_of, variables_of
from dashboards.layout import GRID_COLUMNS
from dashboards.linted import Board, Problem
from dashboards.normaliser import DATA_SOURCE

MAX_SENTENCES = 2
SENTENCE_END = re.compile(r"[.!?](?:\s|$)")


def check_ids(board: Board) -> Iterator[Problem]:
    """Every panel and row has a number of its own, from 1 on."""
    ids = Counter(panel.get("id") for panel in panels_of(board.tree))
    for panel in panels_of(board.tree):
        number = panel.get("id")
        if not isinstance(number, int) or number < 1 or ids[number] > 1:
            yield Problem(
                message=f"panel {panel.get('title')!r} has id {number}, used "
                f"{ids[number]} times; give it its own number from 1 on in the table of ids",
                panel=number if isinstance(number, int) else None,
            )


def check_captions(board: Board) -> Iterator[Problem]:
    """Every panel says in its title what it shows, and in one or two sentences what to do."""
    titles = Counter(panel.get("title") for panel in panels_of(board.tree))
    for panel in panels_of(board.tree):
        title = panel.get("title")
        if not title or titles[title] > 1:
            yield _at(panel, f"title {title!r} stands on {titles[title]} panels; give each its own")
        sentences = len(SENTENCE_END.findall(panel.get("description") or ""))
        if panel.get("type") != "row" and not 1 <= sentences <= MAX_SENTENCES:
            yield _at(panel, f"description of {sentences} sentences; say what to do in 1 or 2")


def check_types(board: Board) -> Iterator[Problem]:
    """Only kinds of panels that the recipes build."""
    for panel in panels_of(board.tree):
        if panel.get("type") not in PANEL_TYPES:
            known = ", ".join(sorted(PANEL_TYPES))
            yield _at(panel, f"panel type {panel.get('type')!r}; use one of {known}")


def check_texts(board: Board) -> Iterator[Problem]:
    """Notes are Markdown or plain text."""
    for panel in panels_of(board.tree):
        if panel.get("type") == "text" and panel.get("options", {}).get("mode") == "html":
            yield _at(panel, "text in HTML mode; write Markdown")


def check_targets(board: Board) -> Iterator[Problem]:
    """A panel that shows data asks for some."""
    for panel in data_panels_of(board.tree):
        if not panel.get("targets"):
            yield _at(panel, "no target; give the panel a query or make it a text")


def check_data_sources(board: Board) -> Iterator[Problem]:
    """Panels, targets and variables ask the data source that the reader chose."""
    for panel in data_panels_of(board.tree):
        asked = [panel.get("datasource")]
        asked += [target.get("datasource") for target in panel.get("targets", [])]
        for source in asked:
            if source != DATA_SOURCE:
                yield _at(panel, f"data source {source!r}; use {DATA_SOURCE}")
    for name, variable in variables_of(board.tree).items():
        if variable.get("type") == "query" and variable.get("datasource") != DATA_SOURCE:
            message = f"variable {name} has data source {variable.get('datasource')!r}"
            yield Problem(message=f"{message}; use {DATA_SOURCE}")


def check_heatmaps(board: Board) -> Iterator[Problem]:
    """A heatmap shows a row a series, in colours that mean the same in every time range."""
    for panel in data_panels_of(board.tree):
        if panel.get("type") != "heatmap":
            continue
        options = panel.get("options", {})
        if options.get("calculate") is not False:
            yield _at(panel, "calculate is on, which shows how values spread; set it to false")
        if not {"min", "max"} <= set(options.get("color", {})):
            yield _at(panel, "colours follow the data; fix color.min and color.max")
        if any(target.get("format") != "time_series" for target in panel.get("targets", [])):
            yield _at(panel, "only format time_series gives a row a series; set it")


def check_grid(board: Board) -> Iterator[Problem]:
    """Panels fit the grid, none covers another, and no line is left empty."""
    panels = list(panels_of(board.tree))
    for panel in panels:
        place = panel.get("gridPos", {})
        if place["x"] < 0 or place["x"] + place["w"] > GRID_COLUMNS:
            yield _at(panel, f"reaches from column {place['x']} over {place['w']}; the grid has 24")
    for first, second in combinations(panels, 2):
        if _overlap(first["gridPos"], second["gridPos"]):
            yield _at(second, f"covers {first.get('title')!r}; place panels by `build_layout`")
    covered = {
        line
        for panel in panels
        for line in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    }
    for line in sorted(set(range(max(covered, default=-1) + 1)) - covered):
        yield Problem(message=f"grid line {line} is empty; place panels by `build_layout`")


def _overlap(first: Json, second: Json) -> bool:
    beside = first["x"] + first["w"] <= second["x"] or second["x"] + second["w"] <= first["x"]
    apart = first["y"] + first["h"] <= second["y"] or second["y"] + second["h"] <= first["y"]
    return not (beside or apart)


def _at(panel: Json, message: str) -> Problem:
    return Problem(message=message, panel=panel.get("id"))
