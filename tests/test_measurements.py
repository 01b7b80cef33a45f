"""Bad and total by every counting and method: samples, windowed totals, and slices."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Literal

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.frames import TIME
from slo.budgets import budget_left
from slo.burns import burn_rates
from slo.growth import BurnParams, Mode, event_growth
from slo.objectives import Counting, Method, Objective, SampleBound
from slo.promql import Semantics
from slo.selectors import Selector
from slo.slices import EmptySlice, Slices
from slo.windows import RECOMMENDED_WINDOWS

START = datetime(2026, 1, 5, tzinfo=UTC)
PARITY, PRODUCT = BurnParams(mode=Mode.PARITY), BurnParams()
OLD, NEW = Semantics.PROMETHEUS_2_42, Semantics.PROMETHEUS_3
NAN, INF = float("nan"), float("inf")

OBJECTIVE = Objective(
    name="o",
    title="O",
    description="",
    service="s",
    target_percent=Decimal("99.9"),
    period_seconds=86400,
    total=Selector(metric="all_total"),
    bad=Selector(metric="bad_total"),
    group_labels=(),
    windows=RECOMMENDED_WINDOWS[:1],
)
PROBE = replace(
    OBJECTIVE,
    total=Selector(metric="probe_ok"),
    bad=None,
    good=Selector(metric="probe_ok"),
    counting=Counting.SAMPLES,
)
WINDOWED = replace(OBJECTIVE, counting=Counting.WINDOWED)
SLICED = replace(OBJECTIVE, method=Method.TIMESLICES, slices=Slices(target_ratio=Decimal("0.95")))
AVERAGED = replace(OBJECTIVE, method=Method.RATIO_TIMESLICES, slices=Slices(seconds=300))


def at(*seconds: float) -> pl.Series:
    """Times after the start."""
    return pl.Series([START + timedelta(seconds=s) for s in seconds], dtype=TIME)


def samples(
    metric: str, gap: float, values: Sequence[float | None], first: float = 0
) -> pl.DataFrame:
    """One series at a steady gap."""
    times = at(*(first + gap * number for number in range(len(values))))
    return pl.DataFrame(
        {"metric": [metric] * len(values), "time": times, "value": values},
        schema={"metric": pl.String, "time": TIME, "value": pl.Float64},
    )


def counted(*slices: tuple[float, float], gap: float = 60) -> pl.DataFrame:
    """Counters whose growth in each gap is (bad, all)."""
    bad, total = [0.0], [0.0]
    for more_bad, more in slices:
        bad, total = [*bad, bad[-1] + more_bad], [*total, total[-1] + more]
    return pl.concat([samples("bad_total", gap, [*bad]), samples("all_total", gap, [*total])])


def grown(
    series: pl.DataFrame,
    objective: Objective,
    now: float,
    window: int,
    params: BurnParams = PRODUCT,
) -> list[tuple[object, ...]]:
    """Bad, total and ratio at one time: a list of one row, or of none."""
    found = event_growth(series, objective, at(now), range_seconds=window, params=params)
    return found.select("bad", "total", "error_ratio").rows()


@pytest.mark.parametrize(
    ("semantics", "expected"),
    [
        pytest.param(NEW, (1.0, 20.0, 0.05), id="left-open: 20 samples, 20/300 a second"),
        pytest.param(OLD, (1.0, 21.0, 1 / 21), id="closed: 21 samples"),
    ],
)
@pytest.mark.parametrize("mode", Mode)
def test_boolean_gauge(semantics: Semantics, mode: Mode, expected: tuple[float, ...]) -> None:
    """Case 23: the samples of a boolean gauge are counted, and never rated."""
    probe = samples("probe_ok", 15, [1.0] * 19 + [0.0] + [1.0] * 201)

    params = BurnParams(semantics=semantics, mode=mode)

    assert grown(probe, PROBE, 300, 300, params) == [expected]


@pytest.mark.parametrize(
    ("sign", "bad"),
    [
        pytest.param("<", 2.0, id="below"),
        pytest.param("<=", 1.0, id="at most"),
        pytest.param(">", 2.0, id="above"),
        pytest.param(">=", 1.0, id="at least"),
    ],
)
@pytest.mark.parametrize("told", ["good", "bad"])
def test_sample_bound(sign: Literal["<", "<=", ">", ">="], bad: float, told: str) -> None:
    """A sample is good where it meets its bound, whichever side the objective tells."""
    gauge = Selector(metric="g")
    bound = SampleBound(sign=sign, value=2.0)
    objective = replace(
        PROBE,
        total=gauge,
        good=gauge if told == "good" else None,
        bad=gauge if told == "bad" else None,
        sample_bound=bound,
    )

    found = grown(samples("g", 60, [1.0, 2.0, 3.0, NAN, None]), objective, 240, 300)

    assert found == [(bad, 3.0, bad / 3)]


def test_gauge_that_measured_nothing() -> None:
    """NaN and infinities are no samples for the product; rules in Prometheus count them."""
    probe = samples("probe_ok", 60, [1.0, 0.0, NAN, INF])

    assert grown(probe, PROBE, 180, 300) == [(1.0, 2.0, 0.5)]
    assert str(grown(probe, PROBE, 180, 300, PARITY)[0][2]) == "nan"


def test_beyond_any_bound() -> None:
    """An infinite sample is beyond any bound, and so a bad one."""
    bound = SampleBound(sign="<=", value=0.5)
    slow = samples("probe_ok", 60, [0.5, INF, 0.1, NAN])

    assert grown(slow, replace(PROBE, sample_bound=bound), 180, 300) == [(1.0, 3.0, 1 / 3)]


@pytest.mark.parametrize("metric", ["bad_total", "all_total"])
def test_windowed_no_number(metric: str) -> None:
    """A windowed total that is no number now is a fault, and no part of what was before."""
    both = pl.concat(
        samples(name, 60, [value, value, NAN if name == metric else value])
        for name, value in (("bad_total", 2.0), ("all_total", 100.0))
    )
    found = event_growth(both, WINDOWED, at(120), range_seconds=300, params=PRODUCT)
    (left,) = budget_left(both, WINDOWED, at(120), PRODUCT).rows(named=True)

    assert found.select("error_ratio", "fault").rows() == [(None, "not_a_number")]
    assert (left["bad"], left["total"]) == {"bad_total": (4.0, 300.0), "all_total": (6.0, 200.0)}[
        metric
    ]


def test_windowed_totals() -> None:
    """Gauges that are totals over a window already are taken as they are, in every window."""
    bad = samples("bad_total", 60, [3.0] * 10 + [5.0] * 10)
    total = samples("all_total", 60, [100.0] * 20)

    found = [grown(pl.concat([bad, total]), WINDOWED, 1140, window) for window in (300, 3600)]

    assert found == [[(5.0, 100.0, 0.05)]] * 2


def test_windowed_gone() -> None:
    """A windowed total that is older than the lookback says nothing any more."""
    both = pl.concat([samples("bad_total", 60, [3.0]), samples("all_total", 60, [100.0, None])])

    assert grown(both, WINDOWED, 30, 300) == [(3.0, 100.0, 0.03)]
    assert grown(both, WINDOWED, 61, 300, PARITY) == []


def test_windowed_budget() -> None:
    """Over the period windowed totals are added up on both sides: a ratio weighted by events."""
    bad = samples("bad_total", 60, [0.0] * 9 + [10.0])
    total = samples("all_total", 60, [1000.0] * 9 + [100.0])
    found = budget_left(pl.concat([bad, total]), WINDOWED, at(540), PRODUCT)

    assert found["error_ratio"].to_list() == [10 / 9100]


def test_mean_of_ratios() -> None:
    """Case 21: a quiet bad slice is nothing among events and much among slices, labelled so."""
    day = counted(*[(0, 10000)] * 287, (1, 1), gap=300)

    found = pl.concat(
        budget_left(day, replace(each, period_seconds=86400), at(86400), PRODUCT)
        for each in (OBJECTIVE, AVERAGED)
    )

    assert found.select("method", "error_ratio").rows() == [
        ("Occurrences", pytest.approx(1 / 2870001)),
        ("RatioTimeslices", pytest.approx(1 / 288)),
    ]
    assert found["budget_left_ratio"].round(4).to_list() == [0.9997, -2.4722]


def test_timeslices() -> None:
    """A slice is bad below its target, and not at it; the open one counts for nothing."""
    minutes = counted((5, 100), (6, 100), (0, 100), (100, 100))

    assert grown(minutes, SLICED, 180, 300) == [(1.0, 3.0, 1 / 3)]
    assert grown(minutes, SLICED, 239, 300) == [(1.0, 3.0, 1 / 3)]
    assert grown(minutes, SLICED, 240, 300) == [(2.0, 4.0, 0.5)]


def test_slices_of_a_window() -> None:
    """A window has the slices that ended inside: 5 of a minute in five minutes, never 6."""
    hour = counted(*[(100, 100)] * 60)

    assert [grown(hour, SLICED, now, 300)[0][1] for now in (3600, 3590)] == [5.0, 5.0]


@pytest.mark.parametrize(
    ("empty", "expected"),
    [
        pytest.param(EmptySlice.EXCLUDED, (1.0, 2.0), id="excluded"),
        pytest.param(EmptySlice.GOOD, (1.0, 3.0), id="good, where it is known to be empty"),
        pytest.param(EmptySlice.BAD, (5.0, 6.0), id="bad, seen or not"),
    ],
)
def test_empty_slices(empty: EmptySlice, expected: tuple[float, float]) -> None:
    """What a slice without events is, is said beside it; no data is never good."""
    slices = counted((0, 100), (50, 100), (0, 0))
    objective = replace(SLICED, slices=Slices(target_ratio=Decimal("0.95"), empty=empty))

    found = budget_left(slices, objective, at(360), PRODUCT)

    assert found.select("bad", "total", "empty_slices").rows() == [(*expected, empty.value)]


def test_nothing_but_empty_slices() -> None:
    """Without a slice that counts there is no row: neither healthy nor bad."""
    assert grown(counted((0, 0), (0, 0)), SLICED, 120, 300) == []


def test_errors_of_nothing() -> None:
    """A slice with bad events and no events at all is as bad as can be."""
    assert grown(counted((3, 0), (0, 100)), SLICED, 120, 300) == [(1.0, 2.0, 0.5)]


def test_own_target() -> None:
    """Slices without a target of their own are held to the objective's."""
    minutes = counted((1, 1000), (2, 1000))

    assert grown(minutes, replace(SLICED, slices=Slices()), 120, 300) == [(1.0, 2.0, 0.5)]


def test_good_slices() -> None:
    """Slices of good events are judged by what is not good."""
    series = pl.concat(
        [
            samples("good_total", 60, [0.0, 90.0, 190.0]),
            samples("all_total", 60, [0.0, 100.0, 200.0]),
        ]
    )
    objective = replace(SLICED, bad=None, good=Selector(metric="good_total"))

    assert grown(series, objective, 120, 300) == [(1.0, 2.0, 0.5)]


def test_slices_in_parity() -> None:
    """Rules grow each slice as increase does; a lone sample in one gives none."""
    half = pl.concat(
        [
            samples("bad_total", 30, [0.0] * 9),
            samples("all_total", 30, [10.0 * n for n in range(9)]),
        ]
    )
    old, new = (BurnParams(mode=Mode.PARITY, semantics=each) for each in (OLD, NEW))

    assert grown(half, SLICED, 240, 300, old) == [(0.0, 4.0, 0.0)]
    assert grown(counted(*[(0, 10)] * 4), SLICED, 240, 300, new) == []


def test_slices_burn() -> None:
    """Burn rates and states of slices follow as those of events do."""
    hour = counted(*[(100, 100)] * 60)
    (row,) = burn_rates(hour, SLICED, at(3600), PRODUCT).rows(named=True)

    assert (row["long_total"], row["short_total"], row["state"]) == (60.0, 5.0, "firing")
    assert (row["method"], row["long_burn_rate"]) == ("Timeslices", 1000.0)


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), min_size=1, max_size=30),
    st.integers(1, 30),
    st.sampled_from(EmptySlice),
)
def test_slices_by_hand(growth: list[tuple[int, int]], window: int, empty: EmptySlice) -> None:
    """Slices of a window are what counting them one by one gives, for both methods."""
    slices = [(min(bad, total), total) for bad, total in growth]
    series = counted(*((float(bad), float(total)) for bad, total in slices))
    inside = slices[-window:]
    kept = [each for each in inside if each[1] or empty is not EmptySlice.EXCLUDED]
    nothing = 1.0 if empty is EmptySlice.BAD else 0.0
    ratios = [bad / total if total else nothing for bad, total in kept]
    cut = Slices(target_ratio=Decimal("0.75"), empty=empty)

    found = [
        grown(series, replace(each, slices=cut), 60.0 * len(slices), 60 * window)
        for each in (SLICED, replace(SLICED, method=Method.RATIO_TIMESLICES))
    ]

    bad = [float(sum(ratio > 0.25 for ratio in ratios)), pytest.approx(sum(ratios), abs=1e-12)]
    expected = [[(each, float(len(kept)))] if kept else [] for each in bad]
    assert [[row[:2] for row in rows] for rows in found] == expected
