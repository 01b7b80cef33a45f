"""Queries are filled in as Grafana does it, and parsed."""

import pytest

from dashboards.queries import (
    QueryError,
    UnknownVariableError,
    fill_in,
    has_many_series,
    parse_query,
    query_in_variable,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param('up{run="$run"}', 'up{run="llama"}', id="a bare name"),
        pytest.param('up{run="${run}"}', 'up{run="llama"}', id="a name in braces"),
        pytest.param('up{run=~"${run:regex}"}', 'up{run=~"llama"}', id="a name with a format"),
        pytest.param("rate(a[$__rate_interval])", "rate(a[5m])", id="a macro"),
        pytest.param("rate(a[${__range}])", "rate(a[6h])", id="a macro in braces"),
        pytest.param("up", "up", id="nothing to fill in"),
    ],
)
def test_fill_in(text: str, expected: str) -> None:
    """Variables get their value and macros a sample."""
    assert fill_in(text, {"run": "llama"}) == expected


def test_a_value_wins_over_a_macro() -> None:
    """Whoever runs a query can say how long the range is."""
    assert fill_in("a[$__range]", {"__range": "1h"}) == "a[1h]"


def test_unknown_variable() -> None:
    """A variable that nobody fills in is named, with those that there are."""
    with pytest.raises(UnknownVariableError, match=r"no variable \$job; the board knows: .*run"):
        fill_in('up{job="$job"}', {"run": "llama"})


def test_no_promql() -> None:
    """A text that is not PromQL is refused with the text."""
    with pytest.raises(QueryError, match=r"'max\(up'"):
        parse_query("max(up")


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        pytest.param("up", "many", id="a selector"),
        pytest.param("rate(up[5m])", "many", id="a range"),
        pytest.param("sum(up)", "one", id="an aggregate of all"),
        pytest.param("sum by (node) (up)", "many", id="an aggregate by label"),
        pytest.param("topk(5, sum(up))", "one", id="the largest of one"),
        pytest.param("topk(5, up)", "many", id="the largest of many"),
        pytest.param("scalar(up)", "one", id="a scalar"),
        pytest.param("-(up)", "many", id="a sign and brackets"),
        pytest.param("max_over_time(up[5m:1m])", "many", id="a subquery"),
        pytest.param("sum(up) / 2", "one", id="one series and a number"),
        pytest.param("1", "one", id="a number"),
    ],
)
def test_has_many_series(query: str, answer: str) -> None:
    """Only a query that keeps labels can answer with several series."""
    assert has_many_series(parse_query(query)) is (answer == "many")


@pytest.mark.parametrize(
    ("query", "inner"),
    [
        pytest.param('label_values(up{a="b,c"}, run)', 'up{a="b,c"}', id="values of a selector"),
        pytest.param("label_values(run)", "", id="values of a label alone"),
        pytest.param("label_names()", "", id="names of labels"),
        pytest.param("metrics(up.*)", "", id="names of metrics"),
        pytest.param("query_result(max(up))", "max(up)", id="a query's result"),
        pytest.param("up", None, id="no form of a variable"),
    ],
)
def test_query_in_variable(query: str, inner: str | None) -> None:
    """The PromQL inside a variable's query is found in each form that Grafana has."""
    assert query_in_variable(query) == inner
