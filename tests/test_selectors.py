"""Selectors: from PromQL, to PromQL, and over a frame of series."""

import polars as pl
import pytest

from slo.selectors import Matcher, Selector, SelectorError, parse_selector, select_series

SERIES = pl.DataFrame(
    {
        "metric": ["up_total", "up_total", "up_total", "down_total"],
        "code": ["200", "503", None, "503"],
    }
)


def test_parse() -> None:
    """A selector keeps its metric and all its matchers, ordered by label."""
    found = parse_selector('up_total{d!="y",a="b",c=~"x.*",e!~"z"}')

    assert found == Selector(
        metric="up_total",
        matchers=(
            Matcher(label="a", sign="=", value="b"),
            Matcher(label="c", sign="=~", value="x.*"),
            Matcher(label="d", sign="!=", value="y"),
            Matcher(label="e", sign="!~", value="z"),
        ),
    )


@pytest.mark.parametrize(
    "query",
    [
        pytest.param("up_total", id="a bare metric"),
        pytest.param('up_total{a="b",c!~"d|e"}', id="matchers"),
        pytest.param('up_total{a="quote \\" slash \\\\ line \\n"}', id="characters to escape"),
    ],
)
def test_text(query: str) -> None:
    """A selector is written as it was read, and escapes what PromQL needs escaped."""
    assert parse_selector(query).text == query


@pytest.mark.parametrize(
    ("query", "message"),
    [
        pytest.param("rate(up_total[5m])", "leave rate", id="a function"),
        pytest.param("up_total[5m]", "leave rate", id="a range"),
        pytest.param('{a="b"}', "name the metric", id="no metric"),
        pytest.param("up_total offset 5m", "leave offset", id="an offset"),
        pytest.param("up_total @ 0", "leave offset", id="a fixed time"),
        pytest.param('up_total{a="b" or c="d"}', "leave offset", id="an or"),
        pytest.param("up_total{", "unexpected end", id="no PromQL at all"),
    ],
)
def test_refused(query: str, message: str) -> None:
    """Anything but the bare selector of one counter is refused, with what was found."""
    with pytest.raises(SelectorError, match=message) as error:
        parse_selector(query)

    assert repr(query) in str(error.value)


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        pytest.param("up_total", [0, 1, 2], id="a metric picks its series"),
        pytest.param('up_total{code="503"}', [1], id="equal"),
        pytest.param('up_total{code!="503"}', [0, 2], id="unequal takes an absent label too"),
        pytest.param('up_total{code=~"5.."}', [1], id="a regular expression"),
        pytest.param('up_total{code=~"5"}', [], id="a regular expression is anchored"),
        pytest.param('up_total{code!~"5.."}', [0, 2], id="no match takes an absent label too"),
        pytest.param('up_total{code=""}', [2], id="an absent label is empty"),
        pytest.param('up_total{zone=""}', [0, 1, 2], id="a label nobody has is empty"),
        pytest.param('up_total{zone="a"}', [], id="a label nobody has is not a"),
    ],
)
def test_select(query: str, rows: list[int]) -> None:
    """A selector picks the rows that Prometheus would."""
    picked = select_series(SERIES.with_row_index(), parse_selector(query))

    assert picked["index"].to_list() == rows
