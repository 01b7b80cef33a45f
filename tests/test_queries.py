"""Queries as people write them: what they count, and what is refused by name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slo.queries import Counted, QueryError, counted, is_zero, parse_expression
from slo.selectors import parse_selector


def count(query: str) -> Counted:
    """What a query counts."""
    return counted(parse_expression(query))


def told(query: str) -> tuple[str, str | None, tuple[str, ...] | None]:
    """Selector, function and groups of a query."""
    found = count(query)
    return found.selector.text, found.function, found.group_labels


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param("x_total", ("x_total", None, None), id="a bare selector"),
        pytest.param(" (\n x_total )", ("x_total", None, None), id="brackets and blanks"),
        pytest.param("rate(x_total[5m])", ("x_total", "rate", None), id="a rate"),
        pytest.param("sum(rate(x_total[5m]))", ("x_total", "rate", ()), id="a sum of rates"),
        pytest.param(
            "sum by (a, b) (increase(x_total[1h]))",
            ("x_total", "increase", ("a", "b")),
            id="a sum by labels",
        ),
        pytest.param(
            "sum(rate(x_total[5m])) by (a)", ("x_total", "rate", ("a",)), id="by behind the sum"
        ),
        pytest.param(
            "sum(rate(x_total[{{.window}}]))", ("x_total", "rate", ()), id="Sloth's window"
        ),
        pytest.param(
            "sum(rate(x_total[{{ .window }}]))", ("x_total", "rate", ()), id="with blanks inside"
        ),
        pytest.param(
            "sum(rate(x_total[$__rate_interval]))", ("x_total", "rate", ()), id="Grafana's window"
        ),
        pytest.param(
            "sum(rate(x_total[${__range}]))", ("x_total", "rate", ()), id="Grafana's other form"
        ),
        pytest.param(
            'sum(rate(x_total{code=~"5.."}[5m]))',
            ('x_total{code=~"5.."}', "rate", ()),
            id="a regular expression never groups",
        ),
        pytest.param(
            'sum(rate(x_bucket{le="1"}[5m])) by (le)',
            ('x_bucket{le=~"1(\\\\.0)?"}', "rate", ()),
            id="a bucket is no group, and both spellings of its bound are matched",
        ),
        pytest.param(
            "sum(sum by (a, b) (rate(x_total[5m]))) by (a)",
            ("x_total", "rate", ("a",)),
            id="a sum of sums",
        ),
        pytest.param(
            "sum(rate(x_total[5m])) or vector(0)", ("x_total", "rate", ()), id="or nothing"
        ),
        pytest.param(
            "sum(rate(x_total[5m])) OR on() vector(0)",
            ("x_total", "rate", ()),
            id="or nothing, as Sloth's examples have it",
        ),
        pytest.param(
            "sum by (a) (rate(x_total[5m])) or 0 * sum by (a) (rate(y_total[5m]))",
            ("x_total", "rate", ("a",)),
            id="or nothing in each group",
        ),
        pytest.param(
            'x_total{code="500",a="b"} + x_total{a="b",code="503"}',
            ('x_total{a="b",code=~"500|503"}', None, None),
            id="two values of one label are one selector",
        ),
        pytest.param(
            'sum(rate(x{c="a.b"}[5m])) + (sum(rate(x{c="d"}[5m])) + sum(rate(x{c="e"}[5m])))',
            ('x{c=~"a\\\\.b|d|e"}', "rate", ()),
            id="three values, one with a dot",
        ),
        pytest.param('{__name__="x_total",a="b"}', ('x_total{a="b"}', None, None), id="__name__"),
    ],
)
def test_counted(query: str, expected: tuple[str, str | None, tuple[str, ...] | None]) -> None:
    """What means the same names the same events."""
    assert told(query) == expected


def test_difference() -> None:
    """A difference is all events and those that are taken off."""
    found = count("sum by (a) (rate(x_count[5m])) - sum by (a) (rate(x_bucket[5m]))")
    inside = count("sum(x_count - x_bucket)")

    assert (found.selector.text, found.minus and found.minus.selector.text) == (
        "x_count",
        "x_bucket",
    )
    assert inside.minus == Counted(selector=parse_selector("x_bucket"), group_labels=())


@pytest.mark.parametrize(
    ("query", "message"),
    [
        pytest.param("x{", "wanted PromQL, found 'x{'", id="no PromQL"),
        pytest.param("irate(x[5m])", "irate.. sees two samples only; use rate", id="irate"),
        pytest.param("delta(x[5m])", "delta.. is for gauges", id="delta"),
        pytest.param("abs(x)", "abs.. has no meaning here", id="another function"),
        pytest.param(
            "histogram_quantile(0.9, x_bucket)", "a quantile is no count", id="a quantile"
        ),
        pytest.param("avg(x)", "avg.. is no sum of events", id="a mean"),
        pytest.param("sum without (a) (x)", "name the labels to keep", id="without"),
        pytest.param("sum by (b) (sum by (a) (x))", "b is summed away inside", id="a lost label"),
        pytest.param("sum by (b) (sum(x))", "b is summed away inside", id="no label left"),
        pytest.param("x + y", "may differ in one label's value only", id="two metrics"),
        pytest.param('x{a="1"} + x{a="1"}', "differ in one label's value", id="the same twice"),
        pytest.param('x{a=~"1"} + x{a=~"2"}', "differ in one label's value", id="patterns"),
        pytest.param('x{a="1"} + x{b="2"}', "differ in one label's value", id="two labels"),
        pytest.param("x or y", "no selector says 'or'", id="one or the other"),
        pytest.param("x * 2", r"no selector says '\*'", id="a product"),
        pytest.param("x - y - z", "no selector says '-'", id="two differences"),
        pytest.param("x - ignoring(a) y", "no selector says '-'", id="a matched difference"),
        pytest.param("sum(x) - y", "the same labels behind by", id="one side summed"),
        pytest.param("-x", "wanted a query that counts one metric", id="a sign"),
        pytest.param("rate((x + x)[5m:1m])", "record the inner query first", id="a subquery"),
        pytest.param("2", "wanted a query that counts one metric", id="a number"),
    ],
)
def test_refused(query: str, message: str) -> None:
    """What would count other events is refused by name."""
    with pytest.raises(QueryError, match=message):
        count(query)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("0", True),
        ("vector(0)", True),
        ("x * 0", True),
        ("0 * sum(x)", True),
        ("1", False),
        ("x", False),
        ("x + 0", False),
        ("x * y", False),
    ],
)
def test_zero(query: str, expected: bool) -> None:
    """A fallback is 0 wherever it is anything."""
    assert is_zero(parse_expression(query)) is expected


@given(
    function=st.sampled_from(["rate", "increase"]),
    window=st.sampled_from(["1m", "5m", "1h30m", "{{.window}}", "$__range"]),
    brackets=st.booleans(),
)
def test_same_events(function: str, window: str, brackets: bool) -> None:
    """Function, window and brackets say nothing about which series count."""
    query = f'sum by (g) ({function}(x_total{{a="b"}}[{window}]))'

    found = count(f"({query})" if brackets else query)

    assert (found.selector.text, found.group_labels) == ('x_total{a="b"}', ("g",))
