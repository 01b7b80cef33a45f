"""Events of an indicator: from the queries of a spec to good, bad and all."""

import pytest

from slo.events import Events, histogram_events, ratio_events, raw_events, threshold_events
from slo.objectives import Counting, SampleBound
from slo.queries import QueryError
from slo.selectors import SelectorError, parse_selector


def bad(part: str, total: str, *, is_counter: bool | None = None) -> Events:
    """Events of a query of bad ones."""
    return ratio_events(part, total, part_is_bad=True, is_counter=is_counter, where="x")


def test_bad() -> None:
    """Bad events over all events, grouped as both queries say."""
    found = bad('sum by (g) (rate(x_total{code=~"5.."}[5m]))', "sum by (g) (rate(x_total[5m]))")

    assert found == Events(
        total=parse_selector("x_total"),
        bad=parse_selector('x_total{code=~"5.."}'),
        group_labels=("g",),
    )


def test_good() -> None:
    """Good events over all events."""
    found = ratio_events("good_total", "all_total", part_is_bad=False, is_counter=True, where="x")

    assert found == Events(total=parse_selector("all_total"), good=parse_selector("good_total"))


def test_all_but_good() -> None:
    """Bad events that are all but the good ones are given as the good ones."""
    found = bad(
        '(sum(rate(x_count[{{.window}}])) - sum(rate(x_bucket{le="0.4"}[{{.window}}])))',
        "sum(rate(x_count[{{.window}}]))",
    )

    assert found == Events(
        total=parse_selector("x_count"), good=parse_selector('x_bucket{le="0.4"}')
    )


def test_all_but_bad() -> None:
    """Good events that are all but the bad ones are given as the bad ones."""
    found = ratio_events(
        "sum(x_total) - sum(y_total)",
        "sum(x_total)",
        part_is_bad=False,
        is_counter=True,
        where="x",
    )

    assert found.bad == parse_selector("y_total")


@pytest.mark.parametrize(
    ("part", "total", "is_counter", "expected"),
    [
        pytest.param("a_total", "b_total", None, Counting.COUNTER, id="names say counters"),
        pytest.param("a", "b", True, Counting.COUNTER, id="the field says counters"),
        pytest.param("a", "b", False, Counting.WINDOWED, id="the field says windowed totals"),
        pytest.param(
            "sum(rate(a[5m]))", "sum(rate(b[5m]))", False, Counting.COUNTER, id="rates say counters"
        ),
        pytest.param(
            "sum(sum_over_time(up[5m]))",
            "sum(count_over_time(up[5m]))",
            None,
            Counting.SAMPLES,
            id="samples of a gauge",
        ),
    ],
)
def test_counting(part: str, total: str, is_counter: bool | None, expected: Counting) -> None:
    """How series become events follows from the queries, and from the field where they are bare."""
    assert bad(part, total, is_counter=is_counter).counting is expected


@pytest.mark.parametrize(
    ("part", "total", "message"),
    [
        pytest.param("a", "b", "x: wanted counter: true or false for a and b", id="nobody says"),
        pytest.param(
            "rate(a[5m])", "increase(b[5m])", "the same function and window", id="two functions"
        ),
        pytest.param("rate(a[5m])", "rate(b[1h])", r"rate\(b\[1h\]\)", id="two windows"),
        pytest.param("rate(a[5m])", "b_total", "over b_total", id="a rate over a counter"),
        pytest.param(
            "sum_over_time(a[5m])",
            "count_over_time(b[5m])",
            "of one gauge",
            id="samples of two gauges",
        ),
        pytest.param(
            "sum by (g) (rate(a[5m]))",
            "sum by (h) (rate(a[5m]))",
            "they would not match",
            id="two groupings",
        ),
        pytest.param("rate(a[5m])", "rate(b[5m]) - rate(c[5m])", "record it", id="a cut total"),
        pytest.param(
            "rate(c[5m]) - rate(a[5m])", "rate(b[5m])", "from all events .b.", id="another whole"
        ),
        pytest.param("avg(a)", "b_total", "x: wanted a query that counts", id="no sum"),
    ],
)
def test_refused(part: str, total: str, message: str) -> None:
    """Queries that do not count the same kind of events are refused."""
    with pytest.raises(QueryError, match=message):
        bad(part, total)


def test_refused_time() -> None:
    """A selector that looks at another time is refused with its place."""
    with pytest.raises(SelectorError, match=r"x: wanted .* leave offset"):
        bad("rate(a_total[5m] offset 1h)", "rate(b_total[5m])")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param(
            "sum(rate(a_total[5m])) / sum(rate(b_total[5m]))", ("a_total", None), id="a quotient"
        ),
        pytest.param(
            "sum(rate(a_total[5m])) / (sum(rate(b_total[5m])) > 0)",
            ("a_total", None),
            id="a divisor that is guarded",
        ),
        pytest.param(
            "1 - (sum(rate(a_total[5m])) / sum(rate(b_total[5m])))",
            (None, "a_total"),
            id="one less the good share",
        ),
        pytest.param("1 - avg_over_time(b_total[5m])", (None, "b_total"), id="a mean over time"),
    ],
)
def test_raw(query: str, expected: tuple[str | None, str | None]) -> None:
    """A quotient is taken apart into its events."""
    found = raw_events(query, is_bad=True, where="x")

    assert (found.bad and found.bad.text, found.good and found.good.text) == expected
    assert found.total.text == "b_total"


@pytest.mark.parametrize(
    ("query", "message"),
    [
        pytest.param("job:errors:ratio", "name its two counters", id="a recorded ratio"),
        pytest.param("2 - a / b", "name its two counters", id="two less a ratio"),
        pytest.param("a - b", "name its two counters", id="a difference"),
        pytest.param("avg(a) / avg(b)", "no sum of events", id="means"),
        pytest.param("rate(a[5m]) / (rate(b[5m]) > 5)", "no selector says '>'", id="a floor"),
    ],
)
def test_raw_refused(query: str, message: str) -> None:
    """A ratio that cannot be taken apart is refused with the reason."""
    with pytest.raises(QueryError, match=message):
        raw_events(query, is_bad=True, where="x")


def test_threshold() -> None:
    """Samples of a gauge are events, good where they meet the bound."""
    gauge = parse_selector('temperature{a="b"}')

    assert threshold_events('temperature{a="b"}', "lt", 90.5, "x") == Events(
        total=gauge,
        good=gauge,
        counting=Counting.SAMPLES,
        sample_bound=SampleBound(sign="<", value=90.5),
    )


def test_threshold_refused() -> None:
    """A threshold on anything but a gauge's own samples is refused."""
    with pytest.raises(QueryError, match=r"bare selector of a gauge.*record the query first"):
        threshold_events("avg(temperature)", "lt", 90, "x")


@pytest.mark.parametrize("query", ["h_seconds", "h_seconds_bucket", "h_seconds_count"])
def test_histogram(query: str) -> None:
    """A histogram's bucket over its count, by either spelling of the bound."""
    found = histogram_events(f'{query}{{a="b"}}', "lte", "1", "x")
    above = histogram_events(query, "gt", "0.5", "x")

    assert (found.good and found.good.text, found.total.text) == (
        'h_seconds_bucket{a="b",le=~"1(\\\\.0)?"}',
        'h_seconds_count{a="b"}',
    )
    assert (above.bad and above.bad.text, above.good) == ('h_seconds_bucket{le="0.5"}', None)


def test_histogram_refused() -> None:
    """A bucket holds its own bound, so `below` cannot be said."""
    with pytest.raises(QueryError, match=r"wanted op lte .or gt. for a histogram.*found lt"):
        histogram_events("h", "lt", "1", "x")
