"""Reads the queries of a board: fills in variables and macros, then parses the PromQL.

Source: Grafana's variable syntax (`$name`, `${name}`, `${name:format}`) and the global variables of
its Prometheus data source; parsing is promql-parser's.
"""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

import promql_parser

_Node = TypeVar("_Node", bound=promql_parser.Expr)

# What Grafana fills in by itself, and a value of the kind that it fills in.
MACROS: Mapping[str, str] = MappingProxyType(
    {
        "__interval": "1m",
        "__interval_ms": "60000",
        "__range": "6h",
        "__range_s": "21600",
        "__range_ms": "21600000",
        "__rate_interval": "5m",
        "__from": "0",
        "__to": "1",
    }
)
VARIABLE = re.compile(r"\$(?:\{(?P<braced>\w+)(?::\w+)?\}|(?P<bare>\w+))")
LABEL_IN_LEGEND = re.compile(r"\{\{\s*(\w+)\s*\}\}")
VARIABLE_QUERY = re.compile(
    r"label_values\((?:(?P<values_of>.+),\s*)?\w+\)"
    r"|label_names\((?P<names_of>.*)\)"
    r"|metrics\(.*\)"
    r"|query_result\((?P<result_of>.+)\)"
)
MANY_SERIES_OPERATORS = frozenset({"topk", "bottomk", "count_values"})
ONE_SERIES_FUNCTIONS = frozenset({"absent", "absent_over_time", "scalar", "time", "vector"})


class UnknownVariableError(KeyError):
    """A query names a variable that neither its board nor Grafana has."""


class QueryError(ValueError):
    """A query is not PromQL once its variables are filled in."""


def fill_in(text: str, values: Mapping[str, str]) -> str:
    """Return the text with each variable replaced by its value, or a macro's sample.

    Args:
        text: A query, with `$name`, `${name}` or `${name:format}` in it.
        values: Value by name; these win over `MACROS`.

    Raises:
        UnknownVariableError: The text names another variable.
    """

    def value_of(match: re.Match[str]) -> str:
        name = match["braced"] or match["bare"]
        if name not in values and name not in MACROS:
            known = ", ".join(sorted({*values, *MACROS}))
            raise UnknownVariableError(f"no variable ${name}; the board knows: {known}")
        return values[name] if name in values else MACROS[name]

    return VARIABLE.sub(value_of, text)


def parse_query(text: str) -> promql_parser.Expr:
    """Return the syntax tree of a query without variables.

    Raises:
        QueryError: The text is not PromQL.
    """
    try:
        return promql_parser.parse(text)
    except ValueError as error:
        raise QueryError(f"{error}; in {text!r}") from error


def nodes_of(expr: promql_parser.Expr, kind: type[_Node]) -> list[_Node]:
    """Return the tree's nodes of one kind, each before those below it."""
    nodes: list[promql_parser.Expr] = []
    promql_parser.walk(expr, nodes.append)
    return [node for node in nodes if isinstance(node, kind)]


def selectors_of(expr: promql_parser.Expr) -> list[promql_parser.VectorSelector]:
    """Return every selector of the query, those of ranges included."""
    return nodes_of(expr, promql_parser.VectorSelector)


def query_in_variable(query: str) -> str | None:
    """Return the PromQL inside a variable's query, and "" when there is none in it.

    Returns:
        None when the text is no query that a Prometheus variable can have.
    """
    match = VARIABLE_QUERY.fullmatch(query.strip())
    if match is None:
        return None
    return match["values_of"] or match["names_of"] or match["result_of"] or ""


def has_many_series(expr: promql_parser.Expr) -> bool:
    """Return whether the query can answer with more than one series."""
    answer = _MANY_BY_KIND.get(type(expr))
    return answer(expr) if answer else False


def _aggregate_has_many(expr: promql_parser.AggregateExpr) -> bool:
    if str(expr.op) in MANY_SERIES_OPERATORS:
        return has_many_series(expr.expr)
    return expr.modifier is not None


def _call_has_many(expr: promql_parser.Call) -> bool:
    if expr.func.name in ONE_SERIES_FUNCTIONS:
        return False
    return any(has_many_series(argument) for argument in expr.args)


_MANY_BY_KIND: Mapping[type, Callable[[Any], bool]] = MappingProxyType(
    {
        promql_parser.VectorSelector: lambda _: True,
        promql_parser.MatrixSelector: lambda _: True,
        promql_parser.AggregateExpr: _aggregate_has_many,
        promql_parser.Call: _call_has_many,
        promql_parser.BinaryExpr: lambda e: has_many_series(e.lhs) or has_many_series(e.rhs),
        promql_parser.ParenExpr: lambda e: has_many_series(e.expr),
        promql_parser.UnaryExpr: lambda e: has_many_series(e.expr),
        promql_parser.SubqueryExpr: lambda e: has_many_series(e.expr),
    }
)
