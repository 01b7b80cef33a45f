"""Generated promtool tests: which alerts they expect, and which matchers they can satisfy."""

from dataclasses import replace
from typing import Any

import pytest
import yaml

from slo.objectives import Objective
from slo.specs import load_ready
from slo.rule_tests import NoExampleError, burn_rule_tests
from slo.selectors import parse_selector

LIBRARY = load_ready()


def expected(objective: Objective) -> dict[str, list[tuple[str, str]]]:
    """What the first test expects to fire, by time."""
    tests: list[dict[str, Any]] = yaml.safe_load(burn_rule_tests(objective, rules_file="r.yml"))[
        "tests"
    ]
    return {
        check["eval_time"]: [
            (alert["exp_labels"]["severity"], alert["exp_labels"]["long"])
            for alert in check["exp_alerts"]
        ]
        for check in tests[0]["alert_rule_test"]
    }


def test_expectations() -> None:
    """An hour of slow steps pages, raises tickets, and lets the pages go soon after it ends."""
    pages = [("page", "1h"), ("page", "6h")]
    tickets = [("ticket", "1d"), ("ticket", "3d")]

    assert expected(LIBRARY) == {
        "120m": [],
        "129m": [],
        "130m": pages[1:],
        "131m": pages,
        "136m": pages,
        "137m": pages + tickets[1:],
        "138m": pages + tickets[1:],
        "139m": pages + tickets,
        "184m": pages + tickets,
        "185m": pages[1:] + tickets,
        "208m": pages[1:] + tickets,
        "209m": tickets,
        "270m": tickets,
    }


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
