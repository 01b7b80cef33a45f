"""Each rule of the lint catches the fault that it is there for, and the boards are clean."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from dashboards.boards import build_board_trees
from dashboards.jsontree import Json, panels_of, variables_of
from dashboards.lint import LEFT_OUT, RULES, Exemption, Finding, check_boards
from dashboards.lint_queries import FIXED_WINDOW_BOARDS

Fault = Callable[[Json], Any]
JOB = "aif-job"
TREES = build_board_trees()


@pytest.fixture
def boards() -> dict[str, Json]:
    """Return a copy of the job board that a test may break; its links lead to itself alone."""
    return {JOB: copy.deepcopy(TREES[JOB])}


def panel(board: Json, title: str) -> Json:
    """Return a panel by its title."""
    return next(item for item in panels_of(board) if item["title"] == title)


def on(title: str, change: Callable[[Json], Any]) -> Fault:
    """Return a fault in one panel."""
    return lambda board: change(panel(board, title))


def in_query(title: str, expr: str, **fields: object) -> Fault:
    """Return a fault in the first query of a panel."""
    return on(title, lambda item: item["targets"][0].update(expr=expr, **fields))


def in_variable(name: str, **fields: object) -> Fault:
    """Return a fault in a variable."""
    return lambda board: variables_of(board)[name].update(fields)


def in_annotation(**fields: object) -> Fault:
    """Return a fault in the annotation of firing alerts."""
    return lambda board: board["annotations"]["list"][-1].update(fields)


def in_defaults(title: str, **fields: object) -> Fault:
    """Return a fault in how a panel shows its values."""
    return on(title, lambda item: item["fieldConfig"]["defaults"].update(fields))


def linked(url: str) -> Fault:
    """Return a fault in the link of a bar gauge."""
    return in_defaults("Slowest ranks", links=[{"title": "go", "url": url}])


def crowd(board: Json) -> None:
    """Put forty copies of the last open panel below it."""
    original = board["panels"][-2]
    row = board["panels"].pop()
    for copy_number in range(40):
        place = original["gridPos"] | {"x": 0, "w": 24, "y": row["gridPos"]["y"] + copy_number * 8}
        title, number = f"copy {copy_number}", 100 + copy_number
        board["panels"].append(original | {"title": title, "id": number, "gridPos": place})


SELECTOR = 'cluster="$cluster", run="$run"'
SLOW = f"paceline_rank_slowdown_ratio{{{SELECTOR}}}"
GREEN = {"color": "green", "value": None}
RED = {"color": "red", "value": 1.3}
ORANGE = {"color": "orange", "value": 1.1}

FAULTS = [
    pytest.param(
        "board-annotation-rule", in_annotation(datasource="prod"), None, id="fixed source"
    ),
    pytest.param(
        "board-annotation-rule",
        in_annotation(target={"expr": "ALERTS"}),
        None,
        id="alerts of all clusters",
    ),
    pytest.param(
        "board-annotation-rule", in_annotation(target={"expr": "ALERTS{"}), None, id="broken marks"
    ),
    pytest.param("board-link-rule", linked("/d/aif-gone"), 10, id="a link to no board"),
    pytest.param(
        "board-link-rule", linked("/d/aif-job?var-gpu=1"), 10, id="a variable the target lacks"
    ),
    pytest.param(
        "board-link-rule",
        lambda board: board["links"][0].update(url="/d/aif-job?${gpu:queryparam}"),
        None,
        id="a variable that no board has",
    ),
    pytest.param(
        "board-normal-form-rule", lambda board: board.update(style="dark"), None, id="dead keys"
    ),
    pytest.param(
        "board-normal-form-rule",
        on("Pace now", lambda item: item.pop("pluginVersion")),
        None,
        id="a panel without a version",
    ),
    pytest.param(
        "board-normal-form-rule",
        on("Pace now", lambda item: item["targets"][0].update(refId="")),
        None,
        id="a target without a name",
    ),
    pytest.param(
        "board-refresh-rule", lambda board: board.update(refresh="10s"), None, id="a fast refresh"
    ),
    pytest.param(
        "board-refresh-rule",
        lambda board: board["timepicker"]["refresh_intervals"].append("5s"),
        None,
        id="a fast refresh to choose",
    ),
    pytest.param("board-size-rule", crowd, None, id="a crowd of panels"),
    pytest.param(
        "board-size-rule",
        lambda board: board.update(description="x" * 600_000),
        None,
        id="a file of more than 500 kB",
    ),
    pytest.param(
        "board-title-rule", lambda board: board.update(title=""), None, id="a board without title"
    ),
    pytest.param(
        "board-uid-rule", lambda board: board.update(uid="aif-jobs"), None, id="another uid"
    ),
    pytest.param(
        "panel-datasource-rule",
        on("Pace now", lambda item: item.update(datasource={"uid": "prod"})),
        4,
        id="a fixed source in a panel",
    ),
    pytest.param(
        "panel-datasource-rule",
        on("Pace now", lambda item: item["targets"][0].update(datasource="${DS_PROMETHEUS}")),
        4,
        id="a placeholder of the import dialog in a target",
    ),
    pytest.param(
        "panel-datasource-rule", in_variable("run", datasource=None), None, id="in a variable"
    ),
    pytest.param(
        "panel-grid-rule",
        on("Oldest source", lambda item: item["gridPos"].update(w=4)),
        8,
        id="a panel over the edge",
    ),
    pytest.param(
        "panel-grid-rule",
        on("Slow ranks", lambda item: item["gridPos"].update(x=3)),
        3,
        id="a panel over another",
    ),
    pytest.param(
        "panel-grid-rule",
        on("Evidence", lambda item: item["gridPos"].update(y=49)),
        23,
        id="a row over panels",
    ),
    pytest.param(
        "panel-grid-rule",
        on("How to read this board", lambda item: item["gridPos"].update(y=90)),
        None,
        id="an empty line",
    ),
    pytest.param(
        "panel-heatmap-rule",
        on("Waiting by rank and time", lambda item: item["options"].update(calculate=True)),
        15,
        id="a heatmap of how values spread",
    ),
    pytest.param(
        "panel-heatmap-rule",
        on("Waiting by rank and time", lambda item: item["options"]["color"].pop("max")),
        15,
        id="colours that follow the data",
    ),
    pytest.param(
        "panel-heatmap-rule",
        on("Waiting by rank and time", lambda item: item["targets"][0].update(format="heatmap")),
        15,
        id="one row for all ranks",
    ),
    pytest.param(
        "panel-html-rule",
        on("How to read this board", lambda item: item["options"].update(mode="html")),
        28,
        id="a note in HTML",
    ),
    pytest.param(
        "panel-id-rule", on("Slow ranks", lambda item: item.update(id=0)), 0, id="the id zero"
    ),
    pytest.param(
        "panel-id-rule", on("Slow ranks", lambda item: item.update(id=4)), 4, id="an id twice"
    ),
    pytest.param(
        "panel-id-rule", on("Slow ranks", lambda item: item.update(id="3")), None, id="a text as id"
    ),
    pytest.param(
        "panel-no-data-rule",
        in_defaults("Worst slowdown", thresholds={"steps": [GREEN, RED]}, mappings=[]),
        2,
        id="nothing measured, shown green",
    ),
    pytest.param(
        "panel-no-targets-rule",
        on("Slow ranks", lambda item: item.pop("targets")),
        3,
        id="a panel that asks nothing",
    ),
    pytest.param(
        "panel-reducer-rule",
        on("Step time", lambda item: item["options"]["legend"].update(calcs=["total"])),
        24,
        id="an unknown reducer",
    ),
    pytest.param(
        "panel-stale-rule",
        in_query("Worst slowdown", f"max({SLOW})", instant=False, range=True),
        2,
        id="the last value of a dead source",
    ),
    pytest.param(
        "panel-state-rule",
        in_defaults("States of the run's nodes", mappings=[]),
        21,
        id="states without words",
    ),
    pytest.param(
        "panel-threshold-rule",
        in_defaults("Step time", thresholds={"steps": [RED]}),
        24,
        id="a first step with a value",
    ),
    pytest.param(
        "panel-threshold-rule",
        in_defaults("Step time", thresholds={"steps": [GREEN, RED, ORANGE]}),
        24,
        id="steps that do not ascend",
    ),
    pytest.param(
        "panel-title-description-rule",
        on("Slow ranks", lambda item: item.update(title="Pace now")),
        3,
        id="a title twice",
    ),
    pytest.param(
        "panel-title-description-rule",
        on("Slow ranks", lambda item: item.update(description="")),
        3,
        id="no description",
    ),
    pytest.param(
        "panel-title-description-rule",
        on("Slow ranks", lambda item: item.update(description="One. Two. Three.")),
        3,
        id="a description of three sentences",
    ),
    pytest.param(
        "panel-transformation-rule",
        on("Suspects", lambda item: item["transformations"].append({"id": "joinBy"})),
        12,
        id="an unknown transformation",
    ),
    pytest.param(
        "panel-type-rule",
        on("Slow ranks", lambda item: item.update(type="singlestat")),
        3,
        id="a dead kind of panel",
    ),
    pytest.param(
        "panel-units-rule", in_defaults("Step time", unit="seconds"), 24, id="an unknown unit"
    ),
    pytest.param(
        "panel-units-rule", in_defaults("Suspects", unit="none"), 12, id="ranks with decimals"
    ),
    pytest.param(
        "panel-units-rule",
        on("Waiting by rank and time", lambda item: item["options"].update(cellValues={})),
        15,
        id="a heatmap without a unit",
    ),
    pytest.param(
        "panel-units-rule",
        on(
            "Suspects",
            lambda item: item["fieldConfig"]["overrides"][1]["properties"][0].update(value="%"),
        ),
        12,
        id="an unknown unit of a column",
    ),
    pytest.param(
        "string-null-rule",
        in_defaults("Step time", noValue="null"),
        None,
        id="the word null",
    ),
    pytest.param(
        "target-cluster-rule",
        in_query("Worst slowdown", 'max(paceline_rank_slowdown_ratio{run="$run"})'),
        2,
        id="all clusters",
    ),
    pytest.param(
        "target-cluster-rule",
        in_query("Worst slowdown", 'max(paceline_rank_slowdown_ratio{cluster!="$cluster"})'),
        2,
        id="all clusters but the chosen one",
    ),
    pytest.param(
        "target-counter-agg-rule",
        in_query("Worst slowdown", f"max(paceline_training_steps_total{{{SELECTOR}}})"),
        2,
        id="a raw counter",
    ),
    pytest.param(
        "target-legend-rule",
        in_query("Step time", SLOW, legendFormat="ratio"),
        24,
        id="many series of one name",
    ),
    pytest.param(
        "target-metric-rule",
        in_query("Worst slowdown", 'max(DCGM_FI_DEV_FAN{cluster="$cluster"})'),
        2,
        id="a metric outside the contract",
    ),
    pytest.param(
        "target-metric-rule",
        in_query("Worst slowdown", 'max({cluster="$cluster"})'),
        2,
        id="a selector without a metric",
    ),
    pytest.param(
        "target-metric-rule",
        in_query("Worst slowdown", 'max(paceline_node_state{cluster="$cluster", rank="1"})'),
        2,
        id="a label that the metric does not have",
    ),
    pytest.param(
        "target-promql-rule", in_query("Worst slowdown", "max("), 2, id="a query that is not PromQL"
    ),
    pytest.param(
        "target-promql-rule",
        in_query("Worst slowdown", f'max({SLOW}) * on(x) group_left() "$job"'),
        2,
        id="a variable that the board does not have",
    ),
    pytest.param(
        "target-rate-interval-rule",
        in_query("Pace now", f"sum(rate(paceline_training_steps_total{{{SELECTOR}}}[5m]))"),
        4,
        id="a fixed window of a rate",
    ),
    pytest.param(
        "target-topk-rule",
        in_query("Step time", f"topk(5, {SLOW})", legendFormat="{{rank}}"),
        24,
        id="topk at every step",
    ),
    pytest.param(
        "target-zero-fill-rule",
        in_query("Worst slowdown", f"max({SLOW}) or vector(0)"),
        2,
        id="nothing turned into zero",
    ),
    pytest.param(
        "template-datasource-rule",
        in_variable("datasource", label="Prometheus"),
        None,
        id="a data source under another label",
    ),
    pytest.param(
        "template-label-promql-rule", in_variable("run", query="up"), None, id="no variable's query"
    ),
    pytest.param(
        "template-label-promql-rule",
        in_variable("run", query="label_values(up{, run)"),
        None,
        id="a variable with broken PromQL",
    ),
    pytest.param(
        "template-label-promql-rule",
        in_variable("run", query='label_values(up{cluster="$cluster"}, run)'),
        None,
        id="a variable outside the contract",
    ),
    pytest.param(
        "template-label-promql-rule",
        in_variable("run", query="label_values(paceline_training_steps_total, run)"),
        None,
        id="a variable over all clusters",
    ),
    pytest.param(
        "template-label-promql-rule",
        in_variable("run", query="label_values(run)"),
        None,
        id="a variable without a selector",
    ),
    pytest.param(
        "template-on-time-change-reload-rule",
        in_variable("run", refresh=1),
        None,
        id="runs of now in a range of last week",
    ),
    pytest.param(
        "uneditable-dashboard",
        lambda board: board.update(editable=True),
        None,
        id="a board that people can edit",
    ),
]


@pytest.mark.parametrize(("rule", "fault", "place"), FAULTS)
def test_faults(boards: dict[str, Json], rule: str, fault: Fault, place: int | None) -> None:
    """A seeded fault is found by its rule, on its panel."""
    fault(boards[JOB])

    assert (rule, place) in {(finding.rule, finding.panel) for finding in check_boards(boards)}


def test_boards_are_clean() -> None:
    """The boards that we ship break no rule."""
    assert check_boards(TREES) == []


def test_every_rule_has_a_fault() -> None:
    """No rule is there that has never been seen to catch something."""
    assert {str(case.values[0]) for case in FAULTS} == set(RULES)


def test_left_out_rules_are_not_applied() -> None:
    """A rule is applied, or left out for a reason: never both."""
    assert not set(RULES) & set(LEFT_OUT)


def test_finding_as_a_line(boards: dict[str, Json]) -> None:
    """A finding says where, what, the way out, and by which rule."""
    panel(boards[JOB], "How to read this board")["options"]["mode"] = "html"
    boards[JOB]["editable"] = True

    assert [str(finding) for finding in check_boards(boards)] == [
        "aif-job panel 28: text in HTML mode; write Markdown [panel-html-rule]",
        "aif-job: the board can be edited in Grafana; set editable to false [uneditable-dashboard]",
    ]


def test_exemptions(boards: dict[str, Json]) -> None:
    """A breach that is meant, with its reason, is no finding."""
    boards[JOB]["editable"] = True
    meant = Exemption(board=JOB, panel=None, rule="uneditable-dashboard", reason="a playground")

    assert check_boards(boards, [meant]) == []


def test_titles_across_boards(boards: dict[str, Json]) -> None:
    """Two boards of one title are both named, since Grafana would block them both."""
    boards["aif-two"] = boards[JOB] | {"uid": "aif-two"}

    rules = [(finding.board, finding.rule) for finding in check_boards(boards)]

    assert rules == [("aif-job", "board-title-rule"), ("aif-two", "board-title-rule")]


def test_fixed_windows_where_they_belong(boards: dict[str, Json]) -> None:
    """Boards about windows may fix theirs."""
    uid = min(FIXED_WINDOW_BOARDS)
    board = boards.pop(JOB) | {"uid": uid}
    in_query("Pace now", f"sum(rate(paceline_training_steps_total{{{SELECTOR}}}[30d]))")(board)

    assert [f.rule for f in check_boards({uid: board}) if f.rule != "board-link-rule"] == []


def test_null_as_the_name_of_a_match_is_no_fault(boards: dict[str, Json]) -> None:
    """A mapping of null may name what it matches."""
    special = {"type": "special", "options": {"match": "null", "result": {"text": "-", "index": 0}}}
    in_defaults("Step time", mappings=[special])(boards[JOB])

    assert check_boards(boards) == []


def test_grey_by_a_mapping_alone(boards: dict[str, Json]) -> None:
    """A mapping of null and NaN to grey is enough for an empty answer to be grey."""
    in_defaults("Worst slowdown", thresholds={"steps": [GREEN, RED]})(boards[JOB])

    assert check_boards(boards) == []


def test_clusters_need_no_selector(boards: dict[str, Json]) -> None:
    """The choice of the cluster may offer every value of the label."""
    in_variable("cluster", query="label_values(cluster)", definition="")(boards[JOB])

    assert check_boards(boards) == []


def test_links_to_elsewhere_are_left_alone(boards: dict[str, Json]) -> None:
    """A link to a runbook is not a link to a board."""
    linked("https://runbooks.example/slow-rank")(boards[JOB])

    assert check_boards(boards) == []


def test_finding_is_plain_data() -> None:
    """Findings compare as whole values."""
    first = Finding(board="a", panel=1, rule="r", message="m")

    assert first == Finding(board="a", panel=1, rule="r", message="m")
