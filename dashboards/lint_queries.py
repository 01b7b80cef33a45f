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
from slo.metrics import METRICS_BY_NAME

FIXED_WINDOW_BOARDS = frozenset({"aif-slo", "aif-lemon"})
"""Their windows are part of what they show, so `rate` may have a fixed one."""

SCRAPE_LABELS = frozenset({"instance", "job"})
COUNTER_FUNCTIONS = frozenset({"rate", "irate", "increase"})
RATE_WITH_WINDOW = re.compile(r"\bi?rate\s*\([^\[\]]*\[(?P<window>[^\]]*)\]")
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
        if selector.name not in METRICS_BY_NAME:
            yield Problem(message=f"variable {name}: {_unknown(selector.name)}")
        if name != "cluster" and not _selects_cluster(selector):
            yield Problem(message=f'variable {name} asks all clusters; add cluster="$cluster"')


def check_metrics(board: Board) -> Iterator[Problem]:
    """Metrics and their labels are those of the contract."""
    for target, expr in board.parsed():
        for selector in selectors_of(expr):
            metric = METRICS_BY_NAME.get(selector.name or "")
            if metric is None:
                yield _at(target, _unknown(selector.name))
                continue
            asked = {matcher.name for matcher in selector.matchers.matchers}
            for label in sorted(asked - {*metric.labels, *SCRAPE_LABELS}):
                known = ", ".join(metric.labels)
                yield _at(target, f"{metric.name} has no label {label!r}; it has {known}")


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
            if not all(_is_at_end(selector) for selector in selectors_of(pick)):
                message = f"{pick.op} is picked again at every step"
                yield _at(target, f"{message}; make it instant, or add @ end() inside it")


def check_zero_fill(board: Board) -> Iterator[Problem]:
    """Nothing is not turned into zero: what nobody measured is not well."""
    for target, expr in board.parsed():
        for choice in nodes_of(expr, promql_parser.BinaryExpr):
            filled = [call.func.name for call in nodes_of(choice.rhs, promql_parser.Call)]
            if str(choice.op).strip() == "or" and "vector" in filled:
                yield _at(target, "`or vector()` makes a number of no data; leave it out")


def _is_at_end(selector: promql_parser.VectorSelector) -> bool:
    return selector.at is not None and selector.at.type == promql_parser.AtModifierType.End


def _selects_cluster(selector: promql_parser.VectorSelector) -> bool:
    return any(
        matcher.name == "cluster"
        and matcher.value == sample_of("cluster")
        and matcher.op in (promql_parser.MatchOp.Equal, promql_parser.MatchOp.Re)
        for matcher in selector.matchers.matchers
    )


def _unknown(name: str | None) -> str:
    return f"metric {name!r} is not in the contract; add it to slo/metrics.py or use one of it"


def _at(target: Target, message: str) -> Problem:
    ref = target.tree.get("refId", "?")
    return Problem(message=f"query {ref}: {message}", panel=target.panel.get("id"))
