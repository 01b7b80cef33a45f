"""Queries as people write them, and the selectors that they count.

Source: Prometheus, "Querying basics", read by promql-parser; the queries of Sloth's, Pyrra's and
OpenSLO's examples. A query says which series count and by which labels; over which window and in
which order is ours to say, so `sum(rate(x[5m]))`, `sum(increase(x[{{.window}}]))` and `x` name the
same events. What would mean other events is refused by name. A matcher never groups, whichever its
sign: only `by` does.
"""

import re
from dataclasses import dataclass
from typing import Final

import promql_parser

from slo.selectors import Matcher, Selector, selector_of

GROWTHS: Final = ("rate", "increase")
"""Functions that count the events of a counter."""
SAMPLE_COUNTS: Final = ("sum_over_time", "count_over_time")
"""Functions that count the samples of a gauge."""
_TEMPLATE: Final = re.compile(r"\[\s*(?:\{\{[^}]*\}\}|\$\{?\w+\}?|<\w+>)\s*(?=[\]:])")
"""A window that the writer leaves to a generator or a dashboard."""
_SUBSTITUTE: Final = "[5m"
_OWN_LABELS: Final = frozenset({"le"})
"""Labels of a bucket, which no group can be made of."""


class QueryError(ValueError):
    """A query counts something that no selector says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What a query counts.

    Attributes:
        selector: The series.
        function: What is taken of each series over the window; null for its bare value.
        window: The window that the query names; null for none.
        group_labels: Labels that the query groups by; null where it does not aggregate.
        minus: What is taken off; null for nothing.
    """

    selector: Selector
    function: str | None = None
    window: str | None = None
    group_labels: tuple[str, ...] | None = None
    minus: "Counted | None" = None


def parse_expression(query: str) -> promql_parser.Expr:
    """Return the syntax tree of a query, with any window that was left open filled in.

    Raises:
        QueryError: The text is no PromQL.
    """
    try:
        return bare(promql_parser.parse(_TEMPLATE.sub(_SUBSTITUTE, query.strip())))
    except ValueError as error:
        raise QueryError(f"wanted PromQL, found {query!r}: {error}") from error


def bare(expression: promql_parser.Expr) -> promql_parser.Expr:
    """Return an expression without the brackets around it."""
    while isinstance(expression, promql_parser.ParenExpr):
        expression = expression.expr
    return expression


def counted(expression: promql_parser.Expr) -> Counted:
    """Return what an expression counts.

    Raises:
        QueryError: No selector says it.
        SelectorError: A selector looks at another time, or names no metric.
    """
    found = bare(expression)
    if isinstance(found, promql_parser.VectorSelector):
        return Counted(selector=selector_of(found, _refusal(found)))
    if isinstance(found, promql_parser.Call):
        return _over_time(found)
    if isinstance(found, promql_parser.AggregateExpr):
        return _summed(found)
    if isinstance(found, promql_parser.BinaryExpr):
        return _combined(found)
    raise QueryError(_refusal(found))


def is_zero(expression: promql_parser.Expr) -> bool:
    """Return whether an expression is 0 wherever it is anything, as a fallback is."""
    found = bare(expression)
    if isinstance(found, promql_parser.NumberLiteral):
        return found.val == 0
    if isinstance(found, promql_parser.Call) and found.func.name == "vector":
        return is_zero(found.args[0])
    if isinstance(found, promql_parser.BinaryExpr) and str(found.op) == "*":
        return is_zero(found.lhs) or is_zero(found.rhs)
    return False


def _refusal(expression: promql_parser.Expr, because: str = "") -> str:
    """Return the text that refuses a part of a query."""
    return (
        'wanted a query that counts one metric, as in up_total{a="b"} or '
        f"sum by (g) (rate(up_total[5m])), found {expression.prettify()!r}"
        + (f"; {because}" if because else "")
    )


def _over_time(call: promql_parser.Call) -> Counted:
    """Return what a function over a range counts."""
    name = call.func.name
    if name not in (*GROWTHS, *SAMPLE_COUNTS):
        hint = {
            "irate": "irate() sees two samples only; use rate()",
            "delta": "delta() is for gauges; use increase()",
            "histogram_quantile": "a quantile is no count; name the bucket at your bound",
            "histogram_fraction": "name the bucket at your bound, and the count",
        }.get(name, f"{name}() has no meaning here")
        raise QueryError(_refusal(call, hint))
    (span,) = call.args
    if not isinstance(span, promql_parser.MatrixSelector):
        raise QueryError(_refusal(call, "record the inner query first, and name the record"))
    selector = selector_of(span.vector_selector, _refusal(call))
    return Counted(
        selector=selector,
        function=name,
        window=promql_parser.display_duration(span.range),
    )


def _summed(aggregate: promql_parser.AggregateExpr) -> Counted:
    """Return what a sum counts, and by which labels."""
    by = aggregate.modifier
    if str(aggregate.op) != "sum":
        raise QueryError(_refusal(aggregate, f"{aggregate.op}() is no sum of events"))
    if by is not None and by.type is promql_parser.AggModifierType.Without:
        raise QueryError(_refusal(aggregate, "name the labels to keep, with by"))
    inner = counted(aggregate.expr)
    labels = tuple(label for label in by.labels if label not in _OWN_LABELS) if by else ()
    lost = sorted(set(labels) - set(labels if inner.group_labels is None else inner.group_labels))
    if lost:
        raise QueryError(_refusal(aggregate, f"{', '.join(lost)} is summed away inside"))
    minus = inner.minus and _regrouped(inner.minus, labels)
    return _regrouped(inner, labels, minus=minus)


def _regrouped(inner: Counted, labels: tuple[str, ...], *, minus: Counted | None = None) -> Counted:
    """Return the same events by other labels."""
    return Counted(
        selector=inner.selector,
        function=inner.function,
        window=inner.window,
        group_labels=labels,
        minus=minus,
    )


def _combined(expression: promql_parser.BinaryExpr) -> Counted:
    """Return what two expressions count together."""
    sign = str(expression.op)
    if sign == "or" and is_zero(expression.rhs):
        # That no series means no event is added for each group anyway.
        return counted(expression.lhs)
    if sign == "+":
        return _united(expression, [counted(term) for term in _terms(expression)])
    if sign == "-" and expression.modifier is None:
        whole, part = counted(expression.lhs), counted(expression.rhs)
        if whole.minus is None and part.minus is None:
            return _regrouped_difference(whole, part, expression)
    raise QueryError(_refusal(expression, f"no selector says {sign!r}; record it first"))


def _regrouped_difference(
    whole: Counted, part: Counted, expression: promql_parser.BinaryExpr
) -> Counted:
    """Return a difference whose two sides are grouped alike."""
    if whole.group_labels != part.group_labels:
        raise QueryError(_refusal(expression, "both sides want the same labels behind by"))
    return Counted(
        selector=whole.selector,
        function=whole.function,
        window=whole.window,
        group_labels=whole.group_labels,
        minus=part,
    )


def _terms(expression: promql_parser.Expr) -> list[promql_parser.Expr]:
    """Return what a chain of sums adds up."""
    found = bare(expression)
    if isinstance(found, promql_parser.BinaryExpr) and str(found.op) == "+":
        return [*_terms(found.lhs), *_terms(found.rhs)]
    return [found]


def _united(expression: promql_parser.Expr, terms: list[Counted]) -> Counted:
    """Return terms of one metric that differ in the value of one label as one selector."""
    first = terms[0]
    matchers = [frozenset(term.selector.matchers) for term in terms]
    varying = frozenset[Matcher]().union(*matchers) - matchers[0].intersection(*matchers)
    labels = {matcher.label for matcher in varying}
    alike = {(t.selector.metric, t.function, t.window, t.group_labels, t.minus) for t in terms}
    values = [matcher.value for matcher in varying]
    is_disjoint = len(labels) == 1 and len(values) == len(terms)
    if len(alike) > 1 or not is_disjoint or any(m.sign != "=" for m in varying):
        raise QueryError(
            _refusal(expression, "terms may differ in one label's value only; record the sum first")
        )
    one_of = Matcher(
        label=labels.pop(), sign="=~", value="|".join(re.escape(value) for value in sorted(values))
    )
    kept = [matcher for matcher in first.selector.matchers if matcher not in varying]
    ordered = tuple(sorted([*kept, one_of], key=lambda m: (m.label, m.sign, m.value)))
    return Counted(
        selector=Selector(metric=first.selector.metric, matchers=ordered),
        function=first.function,
        window=first.window,
        group_labels=first.group_labels,
    )
