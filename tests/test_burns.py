"""Multiwindow burn rates, their states, and how long the budget lasts."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.frames import TIME
from slo.burns import BURNS, burn_rates
from slo.growth import BurnParams, Mode
from slo.guards import Guard
from slo.objectives import Objective
from slo.promql import Semantics
from slo.selectors import Selector, parse_selector
from slo.windows import RECOMMENDED_WINDOWS, BurnWindow, windows_by_share

START = datetime(2026, 1, 5, tzinfo=UTC)
PARITY, PRODUCT = BurnParams(mode=Mode.PARITY), BurnParams()
DAY = 86400

OBJECTIVE = Objective(
    name="o",
    title="O",
    description="",
    service="s",
    target_percent=Decimal("99.9"),
    period_seconds=30 * DAY,
    total=Selector(metric="all_total"),
    bad=Selector(metric="bad_total"),
    group_labels=("c",),
    windows=RECOMMENDED_WINDOWS,
)
PAGE = replace(OBJECTIVE, windows=RECOMMENDED_WINDOWS[:1])


def seconds(*numbers: float) -> pl.Series:
    """Times after the start."""
    return pl.Series([START + timedelta(seconds=n) for n in numbers], dtype=TIME)


def series(*points: tuple[float, float, float], c: str = "a") -> pl.DataFrame:
    """Counters of (seconds, bad, all)."""
    times = seconds(*(at for at, _, _ in points))
    return pl.concat(
        pl.DataFrame({"metric": metric, "c": c, "time": times, "value": values})
        for metric, values in (
            ("bad_total", [float(bad) for _, bad, _ in points]),
            ("all_total", [float(all_) for _, _, all_ in points]),
        )
    )


def steady(bad: float, total: float, *, span: int = 3600, gap: int = 60) -> pl.DataFrame:
    """Counters that grow evenly by (bad, total) a scrape."""
    return series(*((gap * n, bad * n, total * n) for n in range(span // gap + 1)))


def test_every_column() -> None:
    """A row tells numerators, denominators, ratios, rates, coverage, budget, and whose sums."""
    (row,) = burn_rates(steady(2, 100), PAGE, seconds(3600), PRODUCT).rows(named=True)

    assert row == {
        "c": "a",
        "objective": "o",
        "time": START + timedelta(hours=1),
        "severity": "page",
        "long_seconds": 3600,
        "short_seconds": 300,
        "threshold_ratio": 0.0144,
        "long_bad": 120.0,
        "long_total": 6000.0,
        "short_bad": 10.0,
        "short_total": 500.0,
        "long_error_ratio": 0.02,
        "short_error_ratio": 0.02,
        "long_burn_rate": 20.0,
        "short_burn_rate": 20.0,
        "long_coverage_ratio": 1.0,
        "short_coverage_ratio": 1.0,
        "fault": None,
        "state": "firing",
        "fires": True,
        "budget_left_ratio": -19.0,
        "budget_coverage_ratio": pytest.approx(61 / 60 / 24 / 30),
        "exhaustion_seconds": 0.0,
        "method": "Occurrences",
        "semantics": "prometheus-2.42",
        "mode": "product",
    }


def test_schema() -> None:
    """Beside the group labels the columns are those of the schema, even without a row."""
    found = burn_rates(steady(2, 100), OBJECTIVE, seconds(-10), PRODUCT)

    assert found.is_empty()
    assert found.drop("c").schema == BURNS


@pytest.mark.parametrize(
    ("bad", "expected"),
    [
        pytest.param(1444, True, id="case 17: 14.44 is above 14.4"),
        pytest.param(1440, False, id="case 17: 14.4 is not above 14.4"),
        pytest.param(1441, True, id="one event more is enough"),
    ],
)
@pytest.mark.parametrize("params", [PARITY, PRODUCT], ids=["parity", "product"])
def test_edge(bad: int, *, expected: bool, params: BurnParams) -> None:
    """Rates are compared as they are, strictly, and never rounded before."""
    scraped = series(*((60 * n, bad * n / 4, 100000 * n / 4) for n in range(61)))

    assert burn_rates(scraped, PAGE, seconds(3600), params)["fires"].to_list() == [expected]


def test_both_windows() -> None:
    """A pair fires only while both of its windows burn."""
    scraped = series(
        *((60 * n, min(max(0, n - 60), 30), n) for n in range(240)),
    )
    fires = burn_rates(scraped, PAGE, seconds(*range(3600, 12001, 600)), PARITY)

    assert fires.filter("fires")["time"].to_list() == seconds(4200, 4800, 5400).to_list()


def test_no_traffic() -> None:
    """No events in the long window is no row; none in the short one is null there."""
    scraped = series(*((60 * n, 0, min(n, 30)) for n in range(200)))
    found = burn_rates(scraped, PAGE, seconds(3600, 9000), PRODUCT)

    assert found.select("time", "short_total", "short_error_ratio", "fires").rows() == [
        (START + timedelta(hours=1), None, None, False)
    ]


@pytest.mark.parametrize(
    ("params", "state"),
    [
        pytest.param(BurnParams(scrape_seconds=30.0), "warming_up", id="the product holds back"),
        pytest.param(
            BurnParams(scrape_seconds=30.0, mode=Mode.PARITY), "firing", id="parity pages"
        ),
        pytest.param(
            BurnParams(scrape_seconds=30.0, min_coverage_ratio=0.0), "firing", id="a guard of none"
        ),
    ],
)
def test_warming_up(params: BurnParams, state: str) -> None:
    """Case 47: with two samples after a downtime, one failed step of three pages nobody."""
    before = [(30 * n, 0, n) for n in range(20)]
    after = [(3 * 3600 + 600 + 30 * n, n, 3 * n + 100) for n in range(2)]
    found = burn_rates(series(*before, *after), PAGE, seconds(3 * 3600 + 630), params)

    assert found.select("state", "short_coverage_ratio").rows() == [(state, pytest.approx(0.2))]
    assert found["long_coverage_ratio"].item() == pytest.approx(0.02, abs=0.005)


@pytest.mark.parametrize(
    ("params", "state"),
    [
        pytest.param(PRODUCT, "fault", id="the product says fault"),
        pytest.param(PARITY, "quiet", id="the guarded rule says nothing"),
    ],
)
def test_fault(params: BurnParams, state: str) -> None:
    """Case 3: errors without events do not page."""
    scraped = series(*((60 * n, n, min(n, 20)) for n in range(120)))
    found = burn_rates(scraped, PAGE, seconds(5400), params)

    assert found.select("state", "fault").rows() == [(state, "bad_exceeds_total")]


def test_codes_add_up() -> None:
    """Case 31: codes that one regular expression picks burn one budget, which each would keep."""
    requests = pl.concat(
        pl.DataFrame(
            {"metric": "req", "code": code, "value": [float(each * n) for n in range(61)]}
        ).with_columns(time=seconds(*range(0, 3601, 60)))
        for code, each in {"200": 9984, "500": 8, "503": 8}.items()
    )
    total, bad = (parse_selector(query) for query in ("req", 'req{code=~"5.."}'))
    objective = replace(PAGE, total=total, bad=bad, group_labels=())
    found = burn_rates(requests, objective, seconds(3600), PARITY)

    assert found.select("long_error_ratio", "long_burn_rate").rows() == [(0.0016, 1.6)]


def test_no_number_is_not_quiet() -> None:
    """A counter whose newest sample is NaN is a fault: neither a page nor quiet."""
    counters = steady(1, 100).with_columns(
        value=pl.when(pl.col("time") < seconds(3600)).then("value").otherwise(float("nan"))
    )
    burns = burn_rates(counters, PAGE, seconds(3600), PRODUCT)

    assert burns.select("state", "long_burn_rate", "budget_left_ratio").rows() == [
        ("fault", None, None)
    ]


def test_replica_overlap_never_pages() -> None:
    """Case 41: what looks like two replicas in one series is a fault, not a page."""
    scraped = series(*((60 * n, 500 + n - (6 if n % 7 == 3 else 0), 2 * n) for n in range(61)))
    found = burn_rates(scraped, PAGE, seconds(3600), PRODUCT)

    assert found.select("state", "fault").rows() == [("fault", "replica_overlap")]


def test_ticket_below_one() -> None:
    """Case 13: at burn 0.95 a ticket with factor 0.9333 fires, with 1 it does not."""
    ticket = windows_by_share(28 * DAY)[-1]
    scraped = steady(0.95, 1000, span=3 * DAY, gap=600)
    objective = replace(OBJECTIVE, period_seconds=28 * DAY)

    found = [
        burn_rates(
            scraped, replace(objective, windows=(window,)), seconds(3 * DAY), PRODUCT
        ).select(pl.col("long_burn_rate").round(9), "fires", pl.col("budget_left_ratio").round(9))
        for window in (ticket, replace(ticket, factor=Decimal(1)))
    ]

    assert [frame.rows() for frame in found] == [[(0.95, True, 0.05)], [(0.95, False, 0.05)]]


def outage_edges(window: BurnWindow) -> tuple[float, float]:
    """When a pair begins and ends to fire, for 20 minutes of full outage, from its start on."""
    history = 4 * DAY
    gap = 30
    scraped = series(
        *(
            (at, min(max(0, at - history), 1200), at)
            for at in range(history - window.long_seconds - 600, history + 25000, gap)
        )
    )
    grid = seconds(*range(history - 60, history + 24000, 10))
    found = burn_rates(scraped, replace(OBJECTIVE, windows=(window,)), grid, PARITY)
    fires = found.filter("fires")["time"]
    on, off = fires.min(), fires.max()
    assert isinstance(on, datetime)
    assert isinstance(off, datetime)
    return (on - START).total_seconds() - history, (off - START).total_seconds() - history


@pytest.mark.parametrize(
    ("window", "on", "off"),
    [
        pytest.param(RECOMMENDED_WINDOWS[0], 52, 1200 + 296, id="page 1h/5m"),
        pytest.param(RECOMMENDED_WINDOWS[1], 130, 1200 + 1789, id="page 6h/30m"),
        pytest.param(RECOMMENDED_WINDOWS[2], 259, 1200 + 7178, id="ticket 1d/2h"),
        pytest.param(RECOMMENDED_WINDOWS[3], 259, 1200 + 21578, id="ticket 3d/6h"),
    ],
)
def test_four_tiers(window: BurnWindow, on: float, off: float) -> None:
    """Case 35: a tier goes on and off within two scrapes of its ideal times."""
    found_on, found_off = outage_edges(window)

    assert [found_on, found_off] == pytest.approx([on, off], abs=60)


@pytest.mark.parametrize(
    ("bad", "total", "left", "exhaustion"),
    [
        pytest.param(0.0, 1000, 1.0, None, id="nothing burns: it lasts"),
        pytest.param(0.5, 1000, 0.5, 0.5 * 30 * DAY / 0.5, id="half burnt at half the pace"),
        pytest.param(2.0, 1000, -1.0, 0.0, id="an overspent budget is negative, not clipped"),
    ],
)
def test_budget(bad: float, total: float, left: float, exhaustion: float | None) -> None:
    """The budget left and how long it lasts follow from the period's share of bad events."""
    found = burn_rates(steady(bad, total), PAGE, seconds(3600), PRODUCT)

    assert found.select(
        pl.col("budget_left_ratio").round(9), pl.col("exhaustion_seconds").round(3)
    ).rows() == [(left, exhaustion)]


@settings(max_examples=6, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(3, 9)), min_size=5, max_size=40),
    st.integers(0, 100),
    st.sampled_from(Semantics),
)
def test_row_order(growth: list[tuple[int, int]], seed: int, semantics: Semantics) -> None:
    """The order of rows changes nothing, nor does a sample that arrives twice."""
    bad = total = 0
    points: list[tuple[float, float, float]] = []
    for number, (more_bad, more) in enumerate(growth):
        bad, total = bad + more_bad, total + more
        points.append((60.0 * number, float(bad), float(total)))
    scraped = pl.concat([series(*points, c="a"), series(*points[2:], c="b")])
    shuffled = pl.concat([scraped, scraped[:3]]).sample(fraction=1.0, shuffle=True, seed=seed)
    params = BurnParams(semantics=semantics)

    found = [burn_rates(each, OBJECTIVE, seconds(900, 600), params) for each in (scraped, shuffled)]

    assert found[0].equals(found[1])


@settings(max_examples=6, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=5, max_size=40), st.sampled_from(list(Mode)))
def test_stricter(growth: list[int], mode: Mode) -> None:
    """A higher factor never fires where a lower one does not."""
    points = [(60.0 * n, float(sum(growth[:n])), 3.0 * n) for n in range(len(growth) + 1)]
    times = seconds(*(60 * n for n in range(len(growth) + 1)))
    strict, loose = (
        burn_rates(
            series(*points),
            replace(PAGE, windows=(replace(PAGE.windows[0], factor=Decimal(factor)),)),
            times,
            BurnParams(mode=mode),
        )["fires"].to_list()
        for factor in (20, 10)
    )

    assert all(more for less, more in zip(strict, loose, strict=True) if less)


@pytest.mark.parametrize(
    ("night", "fires"),
    [
        pytest.param(0, True, id="an even day: the hour spent 2 % of the real budget"),
        pytest.param(10**6, False, id="a quiet hour after a busy day did not"),
    ],
)
def test_guard_by_traffic(night: int, *, fires: bool) -> None:
    """A guard by traffic compares the window with the real traffic of the period."""
    before = [(60.0 * n, 0.0, 100.0 * n + night * min(n, 10)) for n in range(60)]
    last = before[-1]
    after = [(60.0 * n, 50.0 * (n - 59), last[2] + 100.0 * (n - 59)) for n in range(60, 120)]
    objective = replace(PAGE, guard=Guard(by_traffic=True), period_seconds=86400)

    found = burn_rates(series(*before, *after), objective, seconds(7140), PARITY)

    assert found["fires"].to_list() == [fires]
