"""Generated promtool tests: which alerts they expect, and which matchers they can satisfy."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
import yaml

from slo.example_series import NoExampleError
from slo.guards import Guard
from slo.objectives import Objective
from slo.rule_tests import burn_rule_tests
from slo.selectors import parse_selector
from slo.specs import load_ready

LIBRARY = load_ready()


def expected(objective: Objective, suffix: str) -> dict[str, list[tuple[str, str]]]:
    """What the first test expects to fire under a name, by time."""
    tests: list[dict[str, Any]] = yaml.safe_load(burn_rule_tests(objective, rules_file="r.yml"))[
        "tests"
    ]
    return {
        check["eval_time"]: [
            (alert["exp_labels"].get("tier", ""), alert["exp_labels"].get("long", ""))
            for alert in check["exp_alerts"]
        ]
        for check in tests[0]["alert_rule_test"]
        if check["alertname"].endswith(suffix)
    }


def test_expectations() -> None:
    """Slow steps page, raise tickets, and let the pages go soon after they end."""
    pages = [("page", "1h"), ("page", "6h")]
    tickets = [("ticket", "1d"), ("ticket", "3d")]

    assert expected(LIBRARY, "BudgetBurn") == {
        "32m": [],
        "33m": pages[1:],
        "35m": pages[1:],
        "36m": pages,
        "44m": pages,
        "45m": pages + tickets,
        "63m": pages + tickets,
        "64m": pages[1:] + tickets,
        "87m": pages[1:] + tickets,
        "88m": tickets,
        "99m": tickets,
    }


def test_one_page() -> None:
    """Case 35: one page, as long as any of its pairs fires, and its labels never change."""
    tests = yaml.safe_load(burn_rule_tests(LIBRARY, rules_file="r.yml"))["tests"]
    checks = [
        (check["eval_time"], [alert["exp_labels"] for alert in check["exp_alerts"]])
        for check in tests[0]["alert_rule_test"]
        if check["alertname"] == "TrainingStepsPage"
    ]
    page = {
        "cluster": "cluster-a",
        "run": "run-a",
        "objective": "training-steps",
        "severity": "page",
    }

    assert checks == [
        (time, [page] if time not in {"32m", "88m", "99m"} else []) for time, _ in checks
    ]


@pytest.mark.parametrize(
    ("query", "series"),
    [
        pytest.param('x_total{a="b"}', 'x_total{a="b"}', id="an equal value"),
        pytest.param('x_total{a!="other"}', 'x_total{a="500"}', id="another value"),
        pytest.param('x_total{a=~"5.."}', 'x_total{a="500"}', id="a common value that matches"),
        pytest.param('x_total{a=~"err|bad"}', 'x_total{a="err"}', id="an alternative"),
        pytest.param('x_total{a!~"o.*"}', 'x_total{a="500"}', id="a value that does not match"),
    ],
)
def test_example(query: str, series: str) -> None:
    """A label value is found that the matcher accepts."""
    objective = replace(LIBRARY, bad=parse_selector(query), group_labels=())
    document = yaml.safe_load(burn_rule_tests(objective, rules_file="r.yml"))

    assert document["tests"][0]["input_series"][1]["series"] == series


@pytest.mark.parametrize(
    ("bad", "total"),
    [
        pytest.param('x_total{a=~"q{7}[0-9]+"}', "y_total", id="an involved regular expression"),
        pytest.param('x_total{a="b",a!="b"}', "y_total", id="a contradiction"),
        pytest.param("x_total", "x_total", id="a part that is the whole"),
        pytest.param('x_total{a="b"}', 'x_total{a="b"}', id="a part that is all of the matched"),
    ],
)
def test_no_example(bad: str, total: str) -> None:
    """Matchers too involved to guess for are refused with the way out."""
    objective = replace(LIBRARY, bad=parse_selector(bad), total=parse_selector(total))

    with pytest.raises(NoExampleError, match="write the promtool test by hand"):
        burn_rule_tests(objective, rules_file="r.yml")


def test_unreachable_bound() -> None:
    """A lower bound that few events cannot reach is not tried with few events."""
    objective = replace(
        LIBRARY,
        target_percent=Decimal(94),
        windows=LIBRARY.windows[:1],
        group_labels=(),
        guard=Guard(min_bad_count=1, confidence_ratio=0.9999999999),
    )
    tests = yaml.safe_load(burn_rule_tests(objective, rules_file="r.yml"))["tests"]
    tried = [test["name"].split(": ")[2] for test in tests if ": page 1h/5m: " in test["name"]]

    assert tried == [
        "both windows just above",
        "the long window just below",
        "the short window just below",
        "bad events just too few",
        "bad events just enough",
    ]
