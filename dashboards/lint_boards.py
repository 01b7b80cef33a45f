"""Rules about a board as a whole: its name, its variables, its links, its size."""

import json
import re
from collections import Counter
from collections.abc import Iterator

import promql_parser

from dashboards.jsontree import data_panels_of, panels_of, values_under, variables_of
from dashboards.linted import Board, Problem
from dashboards.normaliser import DATA_SOURCE, build_normal
from dashboards.queries import QueryError, UnknownVariableError

UID = re.compile(r"aif-[a-z0-9-]{1,36}")  # Grafana refuses more than 40 characters
SECONDS_BY_UNIT = {"s": 1, "m": 60, "h": 3600, "d": 86400}
MIN_REFRESH_SECONDS = 30
MAX_DATA_PANELS = 30
MAX_TEXT_BYTES = 500_000
BOARD_LINK = re.compile(r"/d/(?P<uid>[\w-]+)")
LINKED_VARIABLE = re.compile(r"var-(?P<set>\w+)=|\$\{(?P<passed>\w+):queryparam\}")
REFRESH_ON_TIME_CHANGE = 2


def check_uid(board: Board) -> Iterator[Problem]:
    """The uid is ours, and the one under which the board is listed."""
    uid = board.tree.get("uid", "")
    if uid != board.uid or not UID.fullmatch(uid):
        yield Problem(
            message=f"uid {uid!r} is listed as {board.uid!r}; give both the same uid, "
            f"of the form {UID.pattern}"
        )


def check_title(board: Board) -> Iterator[Problem]:
    """The title is unique in the folder; Grafana blocks all writes when it is not."""
    title = board.tree.get("title", "")
    titles = Counter(sibling.get("title", "") for sibling in board.siblings.values())
    if not title or titles[title] > 1:
        yield Problem(message=f"title {title!r} names {titles[title]} boards; give each its own")


def check_editable(board: Board) -> Iterator[Problem]:
    """People cannot change in Grafana what the next provisioning overwrites."""
    if board.tree.get("editable") is not False:
        yield Problem(message="the board can be edited in Grafana; set editable to false")


def check_refresh(board: Board) -> Iterator[Problem]:
    """The board does not ask more often than sources are read."""
    picker = board.tree.get("timepicker", {})
    for text in [board.tree.get("refresh") or "", *picker.get("refresh_intervals", [])]:
        seconds = int(text[:-1]) * SECONDS_BY_UNIT[text[-1]] if text else MIN_REFRESH_SECONDS
        if seconds < MIN_REFRESH_SECONDS:
            yield Problem(message=f"refresh {text!r} is under 30 s; choose 1m or slower")


def check_size(board: Board) -> Iterator[Problem]:
    """The board stays small enough to load and to read."""
    panels = sum(1 for _ in data_panels_of(board.tree))
    if panels > MAX_DATA_PANELS:
        yield Problem(message=f"{panels} data panels, over {MAX_DATA_PANELS}; split the board")
    size = len(json.dumps(board.tree, indent=2).encode())
    if size > MAX_TEXT_BYTES:
        yield Problem(message=f"{size} bytes of JSON, over {MAX_TEXT_BYTES}; split the board")


def check_normal_form(board: Board) -> Iterator[Problem]:
    """The board went through the normaliser, and nothing was added afterwards."""
    ids = {panel.get("title", ""): panel.get("id", 0) for panel in panels_of(board.tree)}
    normal = build_normal(board.tree, ids)
    for key in sorted(set(board.tree) | set(normal)):
        if board.tree.get(key) != normal.get(key):
            yield Problem(message=f"{key} is not in normal form; build boards by `build_normal`")


def check_source_variable(board: Board) -> Iterator[Problem]:
    """There is one choice of data source, called and labelled alike on all boards."""
    found = [
        (variable["name"], variable.get("label"), variable.get("query"))
        for variable in variables_of(board.tree).values()
        if variable.get("type") == "datasource"
    ]
    wanted = [("datasource", "Data source", "prometheus")]
    if found != wanted:
        yield Problem(message=f"data source variables are {found}, wanted {wanted}")


def check_variable_reload(board: Board) -> Iterator[Problem]:
    """Choices follow the time range, so that a run of last week can be chosen."""
    for name, variable in variables_of(board.tree).items():
        is_query = variable.get("type") == "query"
        if is_query and variable.get("refresh") != REFRESH_ON_TIME_CHANGE:
            yield Problem(message=f"variable {name} does not reload with the time; set refresh 2")


def check_annotations(board: Board) -> Iterator[Problem]:
    """Annotations ask a data source that can be chosen, and for one cluster."""
    for annotation in board.tree.get("annotations", {}).get("list", []):
        expr = annotation.get("target", {}).get("expr")
        if expr is None:
            continue
        name = annotation.get("name")
        if annotation.get("datasource") != DATA_SOURCE:
            yield Problem(message=f"annotation {name!r} has a fixed data source; use {DATA_SOURCE}")
        yield from _check_annotation_query(board, f"annotation {name!r}", expr)


def _check_annotation_query(board: Board, name: str, text: str) -> Iterator[Problem]:
    try:
        expr = board.parse(text)
    except (QueryError, UnknownVariableError) as error:
        yield Problem(message=f"{name}: {error.args[0]}")
        return
    is_alerts = isinstance(expr, promql_parser.VectorSelector) and expr.name == "ALERTS"
    if not is_alerts or "$cluster" not in text:
        yield Problem(message=f'{name} must select ALERTS{{cluster="$cluster"}}, found {text}')


def check_links(board: Board) -> Iterator[Problem]:
    """Links lead to boards that exist, with variables that both ends have."""
    own = set(variables_of(board.tree))
    for panel in panels_of(board.tree):
        for url in sorted({str(url) for url in values_under(panel, "url")}):
            yield from _check_url(board, url, own, panel.get("id"))
    for url in sorted({str(url) for url in values_under(board.tree.get("links", []), "url")}):
        yield from _check_url(board, url, own, None)


def _check_url(board: Board, url: str, own: set[str], panel: int | None) -> Iterator[Problem]:
    match = BOARD_LINK.match(url)
    if match is None:
        return
    uid = match["uid"]
    if uid not in board.siblings:
        known = ", ".join(sorted(board.siblings))
        yield Problem(message=f"link to {uid!r}, which is no board; known: {known}", panel=panel)
        return
    theirs = set(variables_of(board.siblings[uid]))
    for variable in LINKED_VARIABLE.finditer(url):
        name = variable["set"] or variable["passed"]
        missing = name not in theirs or (variable["passed"] is not None and name not in own)
        if missing:
            message = f"link to {uid!r} passes {name!r}, which one of the boards does not have"
            yield Problem(message=f"{message}; leave it out", panel=panel)
