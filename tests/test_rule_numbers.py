"""No number in a rule can change by one part in a million without a generated test failing."""

import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml

from slo.guards import Guard
from slo.objectives import Counting, Method, Objective, SampleBound
from slo.rule_tests import burn_rule_tests
from slo.rules import burn_rules
from slo.selectors import parse_selector
from slo.slices import Slices
from slo.specs import load_ready
from slo.windows import RECOMMENDED_WINDOWS
from slo.yaml_text import dump_yaml

LIBRARY = load_ready()
GAUGE = parse_selector("gpu_celsius")
GOOD = replace(LIBRARY, bad=None, good=parse_selector("good_total"), group_labels=())
# The ready objectives differ in their series and windows only: one of each form stands for all.
SHAPES = [
    *(load_ready(name) for name in ("training-steps", "inference-first-token", "fabric-pause")),
    replace(GOOD, name="good"),
    replace(
        LIBRARY,
        name="counted",
        windows=RECOMMENDED_WINDOWS[:1],
        guard=Guard(min_bad_count=5, by_traffic=True),
    ),
    replace(
        LIBRARY,
        name="doubted",
        windows=RECOMMENDED_WINDOWS[:1],
        guard=Guard(confidence_ratio=0.95),
    ),
    replace(
        GOOD,
        name="bounded",
        windows=RECOMMENDED_WINDOWS[:1],
        good=GAUGE,
        total=GAUGE,
        counting=Counting.SAMPLES,
        sample_bound=SampleBound(sign="<=", value=85.5),
    ),
    replace(
        LIBRARY,
        name="sliced",
        windows=RECOMMENDED_WINDOWS[:1],
        method=Method.TIMESLICES,
        slices=Slices(target_ratio=Decimal("0.95")),
    ),
]
# Not in names, in windows such as [5m], or in label values; 0 has no part in a million.
NUMBER = re.compile(r'"[^"]*"|\[[^\]]*\]|[a-zA-Z_:][\w:]*|\d+(?:\.\d+)?(?:e[-+]?\d+)?')

# A lower bound above the threshold means a ratio above it: lowering the latter changes nothing.
IMPLIED = {"doubted-9-1.yml"}

Document = dict[str, Any]


def changed(expression: str, factor: Decimal) -> Iterator[str]:
    """The expression with one of its numbers changed, for each of them."""
    for found in NUMBER.finditer(expression):
        if found[0][0].isdigit() and float(found[0]):
            number = format(Decimal(found[0]) * factor, "f")
            yield f"{expression[: found.start()]}{number}{expression[found.end() :]}"


def rules_of(objective: Objective) -> list[tuple[Document, list[Document]]]:
    """Each rule with the records of its group."""
    groups: list[Document] = yaml.safe_load(burn_rules(objective))["groups"]
    return [
        (rule, [other for other in group["rules"] if "record" in other and other is not rule])
        for group in groups
        for rule in group["rules"]
    ]


def checks_of(rule: Document, tests: list[Document]) -> list[Document]:
    """The generated tests that are about the numbers of a rule, without their other checks."""
    name = rule.get("alert", f"{rule.get('record')}{{")
    labels = rule["labels"]
    pair = f"{labels.get('tier')} {labels.get('long')}/{labels.get('short')}:"
    about = pair if "long" in labels else "a fault"
    return [
        test | {kind: checks}
        for test in tests
        for kind, key in (("alert_rule_test", "alertname"), ("promql_expr_test", "expr"))
        if "record" in rule or about in test["name"]
        if (checks := [check for check in test.get(kind, []) if check[key].startswith(name)])
    ]


def write(folder: Path, name: str, rules: list[Document], tests: list[Document]) -> str:
    """A rule file and its tests; the name of the latter."""
    group = {"name": "g", "rules": rules}
    (folder / f"{name}.rules.yml").write_text(dump_yaml({"groups": [group]}), "utf-8")
    document = {
        "rule_files": [f"{name}.rules.yml"],
        "evaluation_interval": "1m",
        "tests": tests,
    }
    (folder / f"{name}.yml").write_text(dump_yaml(document), "utf-8")
    return f"{name}.yml"


def variants(folder: Path, objective: Objective) -> Iterator[tuple[str, bool]]:
    """Test files for each rule with a number: as it is, and with one number changed."""
    tests = yaml.safe_load(burn_rule_tests(objective, rules_file="r.yml"))["tests"]
    for place, (rule, records) in enumerate(rules_of(objective)):
        expressions = [
            text
            for factor in (Decimal("0.999999"), Decimal("1.000001"))
            for text in changed(rule["expr"], factor)
        ]
        if not expressions:
            continue
        for number, expression in enumerate([rule["expr"], *expressions]):
            name = f"{objective.name}-{place}-{number}"
            rules = [*records, rule | {"expr": expression}]
            yield write(folder, name, rules, checks_of(rule, tests)), number == 0


def test_every_number_counts(promtool: str, tmp_path: Path) -> None:
    """Each number of each ready objective's rules, changed either way, fails a generated test."""
    expected = {
        name: passes for objective in SHAPES for name, passes in variants(tmp_path, objective)
    }
    done = subprocess.run(
        [promtool, "test", "rules", *expected],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    blocks = done.stdout.split("Unit Testing:")[1:]
    found = {block.split()[0]: block.split()[1] == "SUCCESS" for block in blocks}

    assert len(expected) > 100
    assert {name for name in expected if found[name] != expected[name]} == IMPLIED
