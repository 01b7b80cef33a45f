"""Bad and total events of a window: missing, faulty and partial data have defined answers."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import polars as pl
import pytest

from collectors.frames import TIME
from slo.growth import BurnParams, Mode, event_growth
from slo.indicators import MissingColumnError
from slo.objectives import Objective, TooManyGroupsError
from slo.promql import Semantics
from slo.selectors import Selector
from slo.windows import RECOMMENDED_WINDOWS

START = datetime(2026, 1, 5, tzinfo=UTC)
PARITY, PRODUCT = BurnParams(mode=Mode.PARITY), BurnParams()
HOUR = 3600

BAD = Objective(
    name="o",
    title="O",
    description="",
    service="s",
    target_percent=Decimal("99.9"),
    period_seconds=2592000,
    total=Selector(metric="all_total"),
    bad=Selector(metric="bad_total"),
    group_labels=("c",),
    windows=RECOMMENDED_WINDOWS,
)
GOOD = replace(BAD, bad=None, good=Selector(metric="good_total"))


def minute(*numbers: float) -> pl.Series:
    """Times in minutes after the start."""
    return pl.Series([START + timedelta(minutes=n) for n in numbers], dtype=TIME)


def counter(metric: str, values: list[float], *, c: str = "a", first: float = 0) -> pl.DataFrame:
    """A counter scraped every minute."""
    return pl.DataFrame(
        {
            "metric": metric,
            "c": c,
            "time": minute(*(first + n for n in range(len(values)))),
            "value": [float(value) for value in values],
        }
    )


def climb(step: float, count: int = 60, start: float = 0.0) -> list[float]:
    """Values of `start+step x count`, as promtool writes it."""
    return [start + step * n for n in range(count + 1)]


def ratios(
    series: list[pl.DataFrame],
    *,
    objective: Objective = BAD,
    params: BurnParams = PRODUCT,
    now: float = 60,
    seconds: int = HOUR,
) -> list[tuple[str, float | None, str | None]]:
    """Group, error ratio and fault at one time."""
    found = event_growth(
        pl.concat(series), objective, minute(now), range_seconds=seconds, params=params
    )
    return found.select("c", "error_ratio", "fault").rows()


@pytest.mark.parametrize("params", [PARITY, PRODUCT], ids=["parity", "product"])
def test_no_error_ever(params: BurnParams) -> None:
    """Case 1: without a series of bad events the error ratio is 0 in every window."""
    series = [counter("all_total", climb(100))]
    found = [ratios(series, params=params, seconds=s) for s in (300, 1800, HOUR)]

    assert found == [[("a", 0.0, None)]] * 3


@pytest.mark.parametrize("params", [PARITY, PRODUCT], ids=["parity", "product"])
def test_groups_without_errors(params: BurnParams) -> None:
    """Case 7: a group without bad events keeps its row beside one that has them."""
    series = [
        counter("all_total", climb(100), c="a"),
        counter("all_total", climb(100), c="b"),
        counter("bad_total", climb(1), c="a"),
    ]

    assert ratios(series, params=params) == [("a", 0.01, None), ("b", 0.0, None)]


STANDING = [
    counter("bad_total", climb(1)),
    counter("all_total", [*climb(100, 19), *[2000.0] * 11, *climb(100, 29, 2100)]),
]


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        pytest.param(PARITY, float("inf"), id="parity divides as Prometheus does"),
        pytest.param(PRODUCT, None, id="the product has nothing to divide by"),
    ],
)
def test_total_stands_still(params: BurnParams, expected: float | None) -> None:
    """Case 3: errors without events are +Inf in parity mode and a data fault in both."""
    found = ratios(STANDING, params=params, now=28, seconds=300)

    assert found == [("a", expected, "bad_exceeds_total")]


def test_total_moves_again() -> None:
    """Case 3: once the window has events again the ratio is finite, without fault."""
    assert ratios(STANDING, now=50, seconds=2400) == [
        ("a", pytest.approx(40 / 3000, rel=1e-12), None)
    ]


def test_bad_without_total() -> None:
    """Bad events of a group without any total are a fault; Prometheus says nothing of them."""
    series = [counter("all_total", climb(100)), counter("bad_total", climb(1), c="b")]

    assert ratios(series) == [("a", 0.0, None), ("b", None, "bad_exceeds_total")]
    assert ratios(series, params=PARITY) == [("a", 0.0, None)]


def test_more_bad_than_all() -> None:
    """Clearly more bad events than events are a fault, and the ratio stays a share."""
    series = [counter("all_total", climb(100)), counter("bad_total", climb(120))]

    assert ratios(series) == [("a", 1.0, "bad_exceeds_total")]
    assert ratios(series, params=PARITY) == [("a", 1.2, "bad_exceeds_total")]


def test_bad_born_late() -> None:
    """A series of bad events that is born inside the window is no fault for being extrapolated."""
    series = [
        counter("all_total", [100.0] * 31 + climb(1, 29, 101)),
        counter("bad_total", climb(1, 29, 1), first=31),
    ]

    assert ratios(series) == [("a", pytest.approx(1.0, rel=0.1), None)]


@pytest.mark.parametrize("params", [PARITY, PRODUCT], ids=["parity", "product"])
def test_more_good_than_all(params: BurnParams) -> None:
    """Case 5: more good events than events are no negative ratio, and a fault."""
    series = [counter("all_total", climb(100)), counter("good_total", climb(103))]

    assert ratios(series, objective=GOOD, params=params) == [("a", 0.0, "good_exceeds_total")]


def test_excess_is_told() -> None:
    """Case 5: by how much the good events exceed all is left in the numerator."""
    series = pl.concat([counter("all_total", climb(100)), counter("good_total", climb(103))])
    found = event_growth(series, GOOD, minute(60), range_seconds=HOUR, params=PRODUCT)

    assert found.select(pl.col("bad") / pl.col("total")).item() == pytest.approx(-0.03)


def test_good_events() -> None:
    """What is not good is bad; a group without good events is bad throughout."""
    series = [
        counter("all_total", climb(100), c="a"),
        counter("all_total", climb(100), c="b"),
        counter("good_total", climb(99), c="a"),
    ]

    assert ratios(series, objective=GOOD) == [
        ("a", pytest.approx(0.01), None),
        ("b", 1.0, None),
    ]


def test_good_without_total() -> None:
    """Good events of a group without any total are a fault: they are a part of nothing."""
    series = [counter("all_total", climb(100)), counter("good_total", climb(1), c="b")]

    assert ratios(series, objective=GOOD)[1:] == [("b", None, "good_exceeds_total")]


@pytest.mark.parametrize("params", [PARITY, PRODUCT], ids=["parity", "product"])
def test_no_traffic(params: BurnParams) -> None:
    """Without events there is no row: neither healthy nor bad."""
    assert ratios([counter("all_total", [5.0] * 61)], params=params) == []


def test_not_a_number() -> None:
    """A NaN counter has no share to show."""
    series = [counter("all_total", [*climb(1, 59), float("nan")])]
    ((group, ratio, _),) = ratios(series, params=PARITY)

    assert (group, str(ratio)) == ("a", "nan")


@pytest.mark.parametrize(
    ("metric", "last"),
    [
        pytest.param("all_total", float("nan"), id="a total of NaN"),
        pytest.param("all_total", float("inf"), id="an infinite total"),
        pytest.param("bad_total", float("nan"), id="bad events of NaN"),
        pytest.param("bad_total", float("inf"), id="infinitely many bad events"),
    ],
)
def test_no_number_is_a_fault(metric: str, last: float) -> None:
    """The product knows no share of what is no number, and says that it does not."""
    values = {"all_total": climb(100), "bad_total": climb(1)}
    values[metric][-1] = last
    series = [counter(name, points) for name, points in values.items()]

    assert ratios(series) == [("a", None, "not_a_number")]


def test_replica_overlap() -> None:
    """Case 41: two replicas in one series are named, for no rate can be trusted."""
    values = climb(6, 60, 1000)
    values[30] -= 13

    assert ratios([counter("all_total", values)]) == [("a", 0.0, "replica_overlap")]


def test_no_groups() -> None:
    """Without group labels all series are one."""
    series = pl.concat(
        [counter("all_total", climb(100), c=c) for c in ("a", "b")]
        + [counter("bad_total", climb(4))]
    )

    found = event_growth(
        series,
        replace(BAD, group_labels=()),
        minute(60),
        range_seconds=HOUR,
        params=PRODUCT,
    )

    assert found.select("bad", "total", "error_ratio").rows() == [(240.0, 12000.0, 0.02)]


@pytest.mark.parametrize(
    ("count", "scrape_seconds", "seconds", "expected"),
    [
        pytest.param(2, 30.0, 300, 0.2, id="two samples half a minute apart, as told"),
        pytest.param(4, None, 300, 0.8, id="the interval is read off the samples"),
        pytest.param(61, None, HOUR, 1.0, id="a full window is no more than full"),
        pytest.param(61, None, 7200, 61 / 120, id="half a window"),
    ],
)
def test_coverage(count: int, scrape_seconds: float | None, seconds: int, expected: float) -> None:
    """Coverage is the share of the samples due in the window that were there."""
    series = counter("all_total", climb(1, count - 1))
    params = BurnParams(scrape_seconds=scrape_seconds)

    found = event_growth(series, BAD, minute(count - 1), range_seconds=seconds, params=params)

    assert found["coverage_ratio"].item() == pytest.approx(expected)


def test_semantics() -> None:
    """A left-open range holds one aligned sample fewer."""
    series = counter("all_total", climb(1))
    found = [
        event_growth(
            series,
            BAD,
            minute(60),
            range_seconds=300,
            params=BurnParams(semantics=semantics, scrape_seconds=30.0),
        )["coverage_ratio"].item()
        for semantics in Semantics
    ]

    assert found == [pytest.approx(0.6), pytest.approx(0.5)]


def test_missing_column() -> None:
    """A frame that cannot be grouped is refused, with what was wanted and found."""
    with pytest.raises(MissingColumnError, match=r"missing \['c'\]"):
        event_growth(
            counter("all_total", [1.0]).drop("c"),
            BAD,
            minute(0),
            range_seconds=60,
            params=PRODUCT,
        )


@pytest.mark.parametrize("share", [-0.1, 1.1])
def test_impossible_coverage(share: float) -> None:
    """A least coverage that is no share is refused."""
    with pytest.raises(ValueError, match="from 0 to 1"):
        BurnParams(min_coverage_ratio=share)


def test_replica_overlap_in_a_group() -> None:
    """One torn series of several is enough for its group to be named."""
    values = climb(6, 60, 1000)
    values[30] -= 13
    torn = counter("all_total", values).with_columns(instance=pl.lit("x"))
    whole = counter("all_total", climb(6)).with_columns(instance=pl.lit("y"))

    assert ratios([torn, whole]) == [("a", 0.0, "replica_overlap")]


@pytest.mark.parametrize("semantics", Semantics)
def test_sum_of_series(semantics: Semantics) -> None:
    """Series are added from the left at 2.42, and with what was lost since 2.54."""
    series = [
        counter("all_total", climb(step)).with_columns(instance=pl.lit(str(number)))
        for number, step in enumerate([1e16 / 60, 0.4 / 60, 0.4 / 60, 0.4 / 60])
    ]
    params = BurnParams(semantics=semantics, mode=Mode.PARITY)
    found = event_growth(pl.concat(series), BAD, minute(60), range_seconds=HOUR, params=params)

    expected = 1e16 if semantics is Semantics.PROMETHEUS_2_42 else 1e16 + 1.2
    assert found["total"].item() == pytest.approx(expected, abs=1.0, rel=0)


def test_total_is_no_number() -> None:
    """Of a total that is no number no share is known, in any group without bad events."""
    series = [counter("all_total", [*climb(1, 59), float("inf")])]

    assert str(ratios(series, params=PARITY)[0][1]) == "nan"


def test_too_many_groups() -> None:
    """More groups than the objective allows are refused, and not silently many."""
    series = [counter("all_total", climb(100), c=name) for name in "abc"]
    bounded = replace(BAD, max_group_count=2)

    assert len(ratios(series[:2], objective=bounded)) == 2
    with pytest.raises(TooManyGroupsError, match="at most 2 groups by c, found 3; group by fewer"):
        ratios(series, objective=bounded)
