"""What is doubtful about Prometheus rule files, ours and those of other generators.

Sources: Prometheus, "Recording rules" and its rule manager; own trials on 2.42, which reads the
first document of a file only and says nothing. promtool finds what one expression has wrong; here
is what it lets pass.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final, cast

import promql_parser

from slo.documents import load_yaml
from slo.lints import Lint

Rule = dict[str, object]

MANIFEST_KIND: Final = "PrometheusRule"
"""A resource of Kubernetes, of which a file may hold several."""


def is_rule_file(parts: list[object]) -> bool:
    """Return whether the documents of a file hold rules: `groups`, or a PrometheusRule."""
    found = [_fields(part) for part in parts if part is not None]
    return bool(found) and all(
        one.get("kind") == MANIFEST_KIND or ("groups" in one and "apiVersion" not in one)
        for one in found
    )


def is_rule_test(parts: list[object]) -> bool:
    """Return whether the documents of a file are promtool's tests, which promtool looks after."""
    found = [_fields(part) for part in parts if part is not None]
    return bool(found) and all("rule_files" in one and "tests" in one for one in found)


def lint_rule_file(text: str, source: str) -> list[Lint]:
    """Return every message about a rule file.

    Args:
        text: YAML; a rule file, or manifests of kind PrometheusRule.
        source: What messages call it.

    Raises:
        DocumentError: No YAML.
    """
    parts = [_fields(part) for part in load_yaml(text, source) if part is not None]
    groups = [_groups(part) for part in parts]
    lints = list(_lint_documents(parts, groups))
    named = [group for some in groups for group in some]
    rules = [rule for group in named for rule in _rules(group)]
    lints += _lint_twins([str(group.get("name")) for group in named], rules)
    return lints + [lint for rule in rules for lint in _lint_rule(rule)]


def _fields(part: object) -> dict[str, object]:
    """Return the fields of a part; a part that has none is empty."""
    return cast("dict[str, object]", part) if isinstance(part, dict) else {}


def _list(part: object) -> list[dict[str, object]]:
    """Return the parts of a list; anything else is empty."""
    items = cast("list[object]", part) if isinstance(part, list) else []
    return [_fields(item) for item in items]


def _groups(part: dict[str, object]) -> list[dict[str, object]]:
    """Return the groups of a document."""
    holder = _fields(part.get("spec")) if part.get("kind") == MANIFEST_KIND else part
    return _list(holder.get("groups"))


def _rules(group: dict[str, object]) -> list[Rule]:
    """Return the rules of a group."""
    return _list(group.get("rules"))


def _name(rule: Rule) -> str:
    """Return what a rule records or alerts."""
    return str(rule.get("record", rule.get("alert")))


def _lint_documents(
    parts: list[dict[str, object]], groups: list[list[dict[str, object]]]
) -> Iterator[Lint]:
    """Yield an error where Prometheus would read a part of the file only."""
    if len(parts) < 2 or any(part.get("kind") == MANIFEST_KIND for part in parts):  # noqa: PLR2004
        return
    counts = [sum(len(_rules(group)) for group in some) for some in groups]
    yield Lint(
        code="many-documents",
        level="error",
        text=f"{len(parts)} documents with {' and '.join(map(str, counts))} rules: Prometheus "
        f"reads the first, {counts[0]} of {sum(counts)} rules, and 2.x does not say so; write "
        "one document, or a file each",
    )


def _lint_twins(groups: list[str], rules: list[Rule]) -> Iterator[Lint]:
    """Yield an error for each group, and each rule, that is there twice."""
    for name, count in sorted(Counter(groups).items()):
        if count > 1:
            yield Lint(
                code="same-group",
                level="error",
                text=f"{count} groups are called {name!r}, and a file may hold one; rename one",
            )
    keys = Counter((_name(rule), tuple(sorted(_labels(rule).items()))) for rule in rules)
    for (name, labels), count in sorted(keys.items()):
        if count > 1:
            shown = ", ".join(f"{key}={value!r}" for key, value in labels) or "no labels"
            yield Lint(
                code="same-rule",
                level="error",
                text=f"{count} rules make {name!r} with {shown}: one result overwrites the other; "
                "tell them apart by a label",
            )


def _labels(rule: Rule) -> dict[str, str]:
    """Return the labels that a rule sets."""
    return {str(key): str(value) for key, value in _fields(rule.get("labels")).items()}


def _lint_rule(rule: Rule) -> Iterator[Lint]:
    """Yield what is wrong with one rule."""
    name = _name(rule)
    for label in _labels(rule):
        if "-" in label:
            yield Lint(
                code="label-name",
                level="error",
                text=f"{name}: Prometheus 2 loads no label {label!r}; write "
                f"{label.replace('-', '_')!r}",
            )
    try:
        expression = promql_parser.parse(str(rule.get("expr", "")))
    except ValueError as error:
        zero = "range" in str(error) or "duration" in str(error)
        yield Lint(
            code="zero-range" if zero else "no-promql",
            level="error",
            text=f"{name}: {error}; "
            + ("lengthen the period or use fixed windows" if zero else "mend the expression"),
        )
        return
    lost = sorted(_kept_labels(expression) & set(_labels(rule)))
    if lost:
        yield Lint(
            code="label-collision",
            level="error",
            text=f"{name}: groups by {', '.join(lost)} and sets it too: all groups get the same "
            "labels and the whole rule fails; rename the rule's label",
        )


def _kept_labels(expression: promql_parser.Expr) -> set[str]:
    """Return the labels that the result of an expression is grouped by, as far as it says."""
    if isinstance(expression, promql_parser.ParenExpr):
        return _kept_labels(expression.expr)
    if isinstance(expression, promql_parser.BinaryExpr):
        return _kept_labels(expression.lhs)
    if isinstance(expression, promql_parser.AggregateExpr) and expression.modifier is not None:
        by = expression.modifier.type is promql_parser.AggModifierType.By
        return set(expression.modifier.labels) if by else set()
    return set()
