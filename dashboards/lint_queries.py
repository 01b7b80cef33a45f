"""Rules about what a board asks: PromQL, the metric contract, legends, and no false zeros."""

import re
from collections import Counter
from collections.abc import Iterator

import promql_parser

from dashboards.jsontree import variables_of
from dashboards.linted import Board, Problem, Target, sample_of
from dashboards.queries import (
    LABEL_IN_LEGEND,
    QueryError,
    UnknownVariableError,
    has_many_series,
    nodes_of,
    query_in_variable,
    selectors_of,
)

FIXED_WINDOW_BOARDS = frozenset({"aif-slo", "aif-lemon"})
"""Their windows are part of what they show, so `rate` may have a fixed one."""

SCRAPE_LABELS = frozenset({"instance", "job"})
COUNTER_FUNCTIONS = frozenset({"rate", "irate", "increase"})
RATE_WITH_WINDOW = re.compile(r"\bi?rate\s*\([^\[\]]*\[(?P<window>[^\]]*)\]")
OR_NONE = "|"
"""Ends a pattern that also selects series without the label, as objectives of servers have none."""
PICKING_OPERATORS = frozenset({"topk", "bottomk"})


def check_promql(board: Board) -> Iterator[Problem]:
    """Every query is PromQL once its variables are filled in."""
    for target in board.targets:
        if target.error:
            yield _at(target, target.error)


def check_variable_queries(board: Board) -> Iterator[Problem]:
    """Choices are asked for in a form that a Prometheus variable has, with valid PromQL in it."""
    for name, variable in variables_of(board.tree).items():
        if variable.get("type") != "query":
            continue
        inner = query_in_variable(str(variable.get("query", "")))
        if inner is None:
            yield Problem(message=f"variable {name} must ask label_values(<selector>, <label>)")
        elif inner:
            yield from _check_inner(board, name, inner)
        elif name != "cluster":
            yield Problem(message=f"variable {name} asks all clusters; name a selector")


def _check_inner(board: Board, name: str, inner: str) -> Iterator[Problem]:
    try:
        expr = board.parse(inner)
    except (QueryError, UnknownVariableError) as error:
        yield Problem(message=f"variable {name}: {error.args[0]}")
        return
    for selector in selectors_of(expr):
        if selector.name not in board.known:
            yield Problem(message=f"variable {name}: {_unknown(selector.name)}")
        if name != "cluster" and not _selects_cluster(selector):
            yield Problem(message=f'variable {name} asks all clusters; add cluster="$cluster"')


def check_metrics(board: Board) -> Iterator[Problem]:
    """Series and their labels are those of the contract, of the rules or of an exporter."""
    for target, expr in board.parsed():
        for selector in selectors_of(expr):
            labels = board.known.get(selector.name or "")
            if labels is None:
                yield _at(target, _unknown(selector.name))
                continue
            asked = {matcher.name for matcher in selector.matchers.matchers}
            for label in sorted(asked - {*labels, *SCRAPE_LABELS}):
                known = ", ".join(sorted(labels))
                yield _at(target, f"{selector.name} has no label {label!r}; it has {known}")


def check_clusters(board: Board) -> Iterator[Problem]:
    """Every selector asks the chosen cluster alone."""
    for target, expr in board.parsed():
        for selector in selectors_of(expr):
            if not _selects_cluster(selector):
                yield _at(target, f'{selector.name} of all clusters; add cluster="$cluster"')


def check_rate_intervals(board: Board) -> Iterator[Problem]:
    """Rates use the window that Grafana fits to the scrape interval and the zoom."""
    if board.uid in FIXED_WINDOW_BOARDS:
        return
    for target in board.targets:
        for match in RATE_WITH_WINDOW.finditer(target.tree.get("expr", "")):
            if match["window"] not in {"$__rate_interval", "${__rate_interval}"}:
                yield _at(target, f"rate over [{match['window']}]; use [$__rate_interval]")


def check_counters(board: Board) -> Iterator[Problem]:
    """A counter is only ever shown as a growth."""
    for target, expr in board.parsed():
        asked = Counter(selector.name for selector in selectors_of(expr))
        for name in sorted((asked - _grown(expr)).keys(), key=str):
            if name and name.endswith("_total"):
                yield _at(target, f"{name} is a counter; put it into increase() or rate()")


def _grown(expr: promql_parser.Expr) -> Counter[str | None]:
    return Counter(
        argument.vector_selector.name
        for call in nodes_of(expr, promql_parser.Call)
        if call.func.name in COUNTER_FUNCTIONS
        for argument in call.args
        if isinstance(argument, promql_parser.MatrixSelector)
    )


def check_legends(board: Board) -> Iterator[Problem]:
    """Several series in one picture can be told apart."""
    for target, expr in board.parsed():
        legend = target.tree.get("legendFormat", "")
        if target.tree.get("format") == "table" or not has_many_series(expr):
            continue
        if not LABEL_IN_LEGEND.search(legend):
            yield _at(target, f"legend {legend!r} for several series; name a label, {{{{node}}}}")


def check_topk(board: Board) -> Iterator[Problem]:
    """The worst are picked once: now, or at the end of the range."""
    for target, expr in board.parsed():
        for pick in nodes_of(expr, promql_parser.AggregateExpr):
            if str(pick.op) not in PICKING_OPERATORS or target.tree.get("instant"):
                continue
            if not _is_picked_once(pick):
                message = f"{pick.op} is picked again at every step"
                yield _at(target, f"{message}; make it instant, or add @ end() inside it")


def check_zero_fill(board: Board) -> Iterator[Problem]:
    """Nothing is not turned into zero: what nobody measured is not well."""
    for target, expr in board.parsed():
        for choice in nodes_of(expr, promql_parser.BinaryExpr):
            filled = [call.func.name for call in nodes_of(choice.rhs, promql_parser.Call)]
            if str(choice.op).strip() == "or" and "vector" in filled:
                yield _at(target, "`or vector()` makes a number of no data; leave it out")


def _is_picked_once(pick: promql_parser.AggregateExpr) -> bool:
    """Return whether each selector is read at the end, or stands in a subquery that is."""
    pinned = [
        selector
        for subquery in nodes_of(pick, promql_parser.SubqueryExpr)
        if _is_at_end(subquery)
        for selector in selectors_of(subquery)
    ]
    pinned += [selector for selector in selectors_of(pick) if _is_at_end(selector)]
    return len(pinned) == len(selectors_of(pick))


def _is_at_end(node: promql_parser.VectorSelector | promql_parser.SubqueryExpr) -> bool:
    return node.at is not None and node.at.type == promql_parser.AtModifierType.End


def _selects_cluster(selector: promql_parser.VectorSelector) -> bool:
    return any(
        matcher.name == "cluster"
        and matcher.value.removesuffix(OR_NONE) == sample_of("cluster")
        and matcher.op in (promql_parser.MatchOp.Equal, promql_parser.MatchOp.Re)
        for matcher in selector.matchers.matchers
    )


def _unknown(name: str | None) -> str:
    return (
        f"metric {name!r} is neither in the contract nor in a table of an exporter; add it to "
        "slo/metrics.py or dashboards/exporters, or use one of them"
    )


def _at(target: Target, message: str) -> Problem:
    ref = target.tree.get("refId", "?")
    return Problem(message=f"query {ref}: {message}", panel=target.panel.get("id"))
