"""Buckets of histograms: one bound in every spelling, and intervals where there is none."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import polars as pl
import pytest

from collectors.frames import TIME
from slo.bucket_bounds import INTERVALS, NoBoundError, error_intervals
from slo.buckets import bound_of
from slo.growth import BurnParams, Mode, event_growth
from slo.objectives import Objective
from slo.promql import Semantics
from slo.selectors import parse_selector
from slo.windows import RECOMMENDED_WINDOWS

START = datetime(2026, 1, 5, tzinfo=UTC)
NOW = pl.Series([START + timedelta(hours=1)], dtype=TIME)
PRODUCT = BurnParams()

OBJECTIVE = Objective(
    name="latency",
    title="Latency",
    description="",
    service="s",
    target_percent=Decimal(99),
    period_seconds=2592000,
    total=parse_selector("x_count"),
    good=parse_selector('x_bucket{le="1"}'),
    group_labels=(),
    windows=RECOMMENDED_WINDOWS,
)


def counter(metric: str, le: str | None, values: list[float], *, first: int = 0) -> pl.DataFrame:
    """A counter scraped every minute."""
    times = [START + timedelta(minutes=first + number) for number in range(len(values))]
    return pl.DataFrame(
        {"metric": metric, "le": le, "time": times, "value": values},
        schema={"metric": pl.String, "le": pl.String, "time": TIME, "value": pl.Float64},
    )


def climb(step: float, count: int = 60, start: float = 0.0) -> list[float]:
    """Values of `start+step x count`."""
    return [start + step * number for number in range(count + 1)]


ALL = counter("x_count", None, climb(100))
RENAMED = pl.concat(
    [
        ALL,
        counter("x_bucket", "1", climb(99, 30)),
        counter("x_bucket", "1.0", climb(99, 29, 3069), first=31),
    ]
)


def ratio(series: pl.DataFrame, params: BurnParams = PRODUCT) -> list[tuple[object, ...]]:
    """Error ratio and fault over the last hour."""
    found = event_growth(series, OBJECTIVE, NOW, range_seconds=3600, params=params)
    return found.select("error_ratio", "fault").rows()


@pytest.mark.parametrize("semantics", Semantics)
@pytest.mark.parametrize("mode", Mode)
def test_respelt(semantics: Semantics, mode: Mode) -> None:
    """Case 37: a bound that became 1.0 is the same bound, and the upgrade burns nothing."""
    found = ratio(RENAMED, BurnParams(semantics=semantics, mode=mode))

    assert found == [(pytest.approx(0.01, abs=1e-9), None)]


def test_both_spellings() -> None:
    """Two scrapes of one bucket in both spellings are never both counted."""
    twice = [counter("x_bucket", le, climb(99)) for le in ("1", "1.0")]

    assert ratio(pl.concat([ALL, *twice])) == [(pytest.approx(0.01), None)]


def test_later_scrape_of_one_bound() -> None:
    """Of two values of one bound at one time the larger is kept: it counted a little longer."""
    twice = [counter("x_bucket", le, climb(99, start=s)) for le, s in (("1", 0), ("1.0", 5))]

    assert ratio(pl.concat([ALL, *twice])) == [(pytest.approx(0.01), None)]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        pytest.param(Mode.PRODUCT, (None, "no_such_bucket"), id="the product names the fault"),
        pytest.param(Mode.PARITY, (1.0, None), id="a rule calls all of it bad"),
    ],
)
def test_no_such_bucket(mode: Mode, expected: tuple[float | None, str | None]) -> None:
    """A bound that the histogram does not have is a fault, not an outage."""
    series = pl.concat([ALL, counter("x_bucket", "2", climb(99))])

    assert ratio(series, BurnParams(mode=mode)) == [expected]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param('x{le="1"}', 1.0, id="a whole bound"),
        pytest.param('x{le="0.5"}', 0.5, id="a fraction"),
        pytest.param('x{le=~"1|1.0"}', 1.0, id="both spellings by hand"),
        pytest.param('x{le=~"1|2"}', None, id="two bounds"),
        pytest.param('x{le=~".+"}', None, id="any bound"),
        pytest.param('x{le!="1"}', None, id="all but one bound"),
        pytest.param('x{job="a",le="+Inf"}', float("inf"), id="infinity"),
        pytest.param("x", None, id="no bound"),
    ],
)
def test_bound_of(query: str, expected: float | None) -> None:
    """The bound of a bucket is read off its selector as a number."""
    assert bound_of(parse_selector(query)) == expected


def buckets(**counts: float) -> pl.DataFrame:
    """A histogram of 100 events a minute with some buckets, named like `le_0_5`."""
    texts = {name.removeprefix("le_").replace("_", "."): step for name, step in counts.items()}
    return pl.concat([ALL, *(counter("x_bucket", le, climb(step)) for le, step in texts.items())])


@pytest.mark.parametrize(
    ("series", "expected"),
    [
        pytest.param(buckets(le_0_5=90, le_2_5=98), (0.5, 2.5, 0.02, 0.1), id="between two"),
        pytest.param(buckets(le_1=95, le_2=99), (1.0, 1.0, 0.05, 0.05), id="there it is"),
        pytest.param(buckets(le_2=98), (None, 2.0, 0.02, 1.0), id="none below: all may be bad"),
        pytest.param(buckets(le_0_5=90), (0.5, None, 0.0, 0.1), id="none above: none may be bad"),
        pytest.param(ALL.drop("le"), (None, None, 0.0, 1.0), id="no bucket at all"),
    ],
)
def test_intervals(series: pl.DataFrame, expected: tuple[float | None, ...]) -> None:
    """Without an exact bucket the ratio lies between those of the next lower and higher bound."""
    found = error_intervals(series, OBJECTIVE, NOW, range_seconds=3600, params=PRODUCT)

    assert found.schema == INTERVALS
    (row,) = found.drop("objective", "time").rows()
    assert row == pytest.approx(expected)


def test_bad_intervals() -> None:
    """Events that are bad at or below a bound are the interval the other way round."""
    objective = replace(OBJECTIVE, good=None, bad=OBJECTIVE.good)
    found = error_intervals(
        buckets(le_0_5=90, le_2_5=98), objective, NOW, range_seconds=3600, params=PRODUCT
    )

    assert found.select("min_error_ratio", "max_error_ratio").row(0) == pytest.approx((0.9, 0.98))


def test_no_bound() -> None:
    """Events that are no bucket have no bound to look beside."""
    objective = replace(OBJECTIVE, good=parse_selector("good_total"))

    with pytest.raises(NoBoundError, match="that are a bucket"):
        error_intervals(ALL, objective, NOW, range_seconds=3600, params=PRODUCT)
