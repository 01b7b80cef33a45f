"""Lints of rule files: what Prometheus lets pass and should not."""

import pytest
import yaml

from slo.documents import DocumentError, load_yaml
from slo.lints import Lint
from slo.rule_file_lints import is_rule_file, is_rule_test, lint_rule_file


def rule(name: str = "r", expr: str = "x", **parts: object) -> dict[str, object]:
    """A recording rule."""
    return {"record": name, "expr": expr, **parts}


def groups(*rules: dict[str, object], name: str = "g") -> dict[str, object]:
    """A rule file of one group."""
    return {"groups": [{"name": name, "rules": list(rules)}]}


def lint(*documents: object) -> list[Lint]:
    """Messages about documents."""
    return lint_rule_file(yaml.safe_dump_all(documents), "x.yml")


def test_many_documents() -> None:
    """Case 45: of two documents Prometheus reads one, and the counts say how much is lost."""
    halves = [groups(*(rule(f"{half}{n}") for n in range(17)), name=half) for half in ("a", "b")]

    (found,) = lint(*halves)

    assert found == Lint(
        code="many-documents",
        level="error",
        text="2 documents with 17 and 17 rules: Prometheus reads the first, 17 of 34 rules, and "
        "2.x does not say so; write one document, or a file each",
    )


def test_manifests() -> None:
    """Of manifests of Kubernetes, each is applied."""
    manifests = [
        {"kind": "PrometheusRule", "spec": groups(rule(name), name=name)} for name in ("a", "b")
    ]

    assert lint(*manifests) == []


def test_empty_documents() -> None:
    """A document that says nothing is none."""
    assert lint_rule_file(f"---\n{yaml.safe_dump(groups(rule()))}---\n", "x.yml") == []


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        pytest.param(groups(rule()), [], id="fine"),
        pytest.param(
            groups(rule(), {"alert": "r", "expr": "x > 1"}, rule(labels={"a": "b"})),
            ["same-rule"],
            id="one name and no labels, twice",
        ),
        pytest.param(
            groups(rule(labels={"a": "b"}), rule(labels={"a": "b"})),
            ["same-rule"],
            id="one name and the same labels",
        ),
        pytest.param(
            {"groups": [{"name": "g", "rules": [rule("a")]}, {"name": "g", "rules": [rule("b")]}]},
            ["same-group"],
            id="a group that is there twice",
        ),
        pytest.param(groups(rule(labels={"a-b": "c"})), ["label-name"], id="a label with a dash"),
        pytest.param(groups(rule(expr="rate(x[0s])")), ["zero-range"], id="case 15: no range"),
        pytest.param(groups(rule(expr="sum(")), ["no-promql"], id="no PromQL"),
        pytest.param(groups({"record": "r"}), ["no-promql"], id="no expression"),
        pytest.param(
            groups(rule(expr="(sum by (severity) (x)) > 1", labels={"severity": "page"})),
            ["label-collision"],
            id="a label that groups and is set",
        ),
        pytest.param(
            groups(rule(expr="sum without (severity) (x)", labels={"severity": "page"})),
            [],
            id="a label that is summed away",
        ),
        pytest.param(groups(rule(expr="sum(x)", labels={"a": "b"})), [], id="no groups"),
        pytest.param({"groups": None}, [], id="no groups at all"),
        pytest.param({"groups": ["x"]}, [], id="a group that is none"),
    ],
)
def test_codes(document: object, expected: list[str]) -> None:
    """Each mistake has its message, and what is fine has none."""
    assert [found.code for found in lint(document)] == expected


@pytest.mark.parametrize(
    ("text", "rules", "tests"),
    [
        pytest.param("groups: []", True, False, id="a rule file"),
        pytest.param("kind: PrometheusRule", True, False, id="a manifest"),
        pytest.param("rule_files: []\ntests: []", False, True, id="tests of promtool"),
        pytest.param("apiVersion: openslo/v1\ngroups: []", False, False, id="another document"),
        pytest.param("", False, False, id="nothing"),
        pytest.param("- groups", False, False, id="a list"),
    ],
)
def test_kind(text: str, rules: bool, tests: bool) -> None:
    """A file says by its fields whether it holds rules, or their tests."""
    parts = load_yaml(text, "x.yml")

    assert (is_rule_file(parts), is_rule_test(parts)) == (rules, tests)


def test_no_yaml() -> None:
    """What is no YAML is refused."""
    with pytest.raises(DocumentError, match="wanted YAML"):
        lint_rule_file("a: [", "x.yml")
