"""Guards at low traffic: by count, by traffic, by confidence, and the bound of a single failure."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from collectors.frames import TIME
from slo.burns import burn_rates
from slo.growth import BurnParams, Mode
from slo.guard_conditions import (
    PERIOD_TOTAL,
    guard_allows,
    max_lone_failure_rate,
    wilson_lower,
)
from slo.guards import Guard
from slo.objectives import Objective
from slo.selectors import Selector
from slo.windows import DAY_SECONDS, RECOMMENDED_WINDOWS, spent_budget, windows_by_share

START = datetime(2026, 1, 5, tzinfo=UTC)
OBJECTIVE = Objective(
    name="o",
    title="O",
    description="",
    service="s",
    target_percent=Decimal("99.9"),
    period_seconds=30 * DAY_SECONDS,
    total=Selector(metric="all_total"),
    bad=Selector(metric="bad_total"),
    group_labels=(),
    windows=RECOMMENDED_WINDOWS,
)
PAGE = RECOMMENDED_WINDOWS[0]


def allowed(
    guard: Guard,
    bad: float | None,
    total: float | None,
    period: float | None = 1e6,
    *,
    objective: Objective = OBJECTIVE,
) -> bool:
    """Whether the first page of an objective may fire on these counts."""
    row = pl.DataFrame(
        {
            "severity": ["page"],
            "long_seconds": [3600],
            "short_seconds": [300],
            "long_bad": [bad],
            "long_total": [total],
            PERIOD_TOTAL: [period],
        },
        schema_overrides={"long_bad": pl.Float64, "long_total": pl.Float64},
    )
    return bool(row.select(guard_allows(replace(objective, guard=guard))).item())


@pytest.mark.parametrize(
    ("guard", "bad", "expected"),
    [
        pytest.param(Guard(), 0.0, True, id="no guard asks for nothing"),
        pytest.param(Guard(), None, True, id="no guard asks for no count either"),
        pytest.param(Guard(min_bad_count=3), 2.9, False, id="fewer bad events than asked"),
        pytest.param(Guard(min_bad_count=3), 3.0, True, id="as many bad events as asked"),
        pytest.param(Guard(min_bad_count=3), None, False, id="an unknown count is not enough"),
        pytest.param(Guard(min_bad_count=3), float("nan"), False, id="NaN is no large count"),
        pytest.param(Guard(by_traffic=True), 20.0, False, id="exactly 2 % of the real budget"),
        pytest.param(Guard(by_traffic=True), 20.1, True, id="above 2 % of the real budget"),
        pytest.param(Guard(confidence_ratio=0.95), 3.0, False, id="3 of 100 may be luck"),
        pytest.param(Guard(confidence_ratio=0.95), 4.0, True, id="4 of 100 are none"),
        pytest.param(Guard(confidence_ratio=0.5), 1.4, False, id="even odds ask the ratio itself"),
        pytest.param(Guard(confidence_ratio=0.5), 1.5, True, id="even odds let the ratio fire"),
        pytest.param(
            Guard(min_bad_count=4, confidence_ratio=0.95), 3.5, False, id="every guard must agree"
        ),
    ],
)
def test_guards(guard: Guard, bad: float | None, *, expected: bool) -> None:
    """A guard lets 1 h / 5 m fire at 100 events in the hour and a million in the period, or not."""
    assert allowed(guard, bad, 100.0) is expected


@pytest.mark.parametrize(
    ("total", "period"),
    [
        pytest.param(100.0, None, id="an unknown period"),
        pytest.param(100.0, 0.0, id="an empty period"),
    ],
)
def test_unknown_traffic(total: float, period: float | None) -> None:
    """Without the period's traffic its guard holds back, even where nothing was bad."""
    assert allowed(Guard(by_traffic=True), 0.0, total, period) is False


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        pytest.param({"min_bad_count": -1}, "must not be below 0, found -1", id="a negative count"),
        pytest.param({"confidence_ratio": 0.4}, "from 0.5 to below 1, found 0.4", id="below even"),
        pytest.param({"confidence_ratio": 1.0}, "from 0.5 to below 1, found 1.0", id="certainty"),
    ],
)
def test_refusals(asked: dict[str, float], message: str) -> None:
    """A guard that could never mean anything is refused when it is built."""
    with pytest.raises(ValueError, match=message):
        Guard(**asked)  # type: ignore[arg-type]  # one table holds counts and confidences


def test_other_pair() -> None:
    """A row of a pair that is none of the objective's is left alone."""
    other = replace(OBJECTIVE, windows=windows_by_share(DAY_SECONDS)[1:])

    assert allowed(Guard(min_bad_count=9), 1.0, 100.0, objective=other) is True


COUNTS = st.integers(1, 10**6)


@given(total=COUNTS, share=st.floats(0, 1), confidence=st.floats(0.5, 0.9999))
def test_wilson_is_that_of_statsmodels(total: int, share: float, confidence: float) -> None:
    """The bound is statsmodels' two-sided one at twice the error, to 1e-9."""
    bad = round(total * share)
    ours = pl.select(wilson_lower(pl.lit(float(bad)), pl.lit(float(total)), confidence)).item()
    theirs = proportion_confint(bad, total, alpha=2 * (1 - confidence), method="wilson")[0]

    assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("bad", "total", "expected"),
    [
        pytest.param(5.0, 0.0, None, id="no events give no bound"),
        pytest.param(5.0, None, None, id="unknown events give no bound"),
        pytest.param(-1.0, 10.0, 0.0, id="fewer than none are none"),
    ],
)
def test_wilson_edges(bad: float, total: float | None, expected: float | None) -> None:
    """Where nothing can be bounded there is null, and counts beyond a share are clipped."""
    counts = pl.DataFrame({"bad": [bad], "n": [total]}, schema={"bad": pl.Float64, "n": pl.Float64})

    assert counts.select(wilson_lower(pl.col("bad"), pl.col("n"), 0.95)).item() == expected


@given(bad=st.integers(0, 500), total=COUNTS, period=st.integers(1, 10**8))
def test_traffic_guard_is_slothes_correction(bad: int, total: int, period: int) -> None:
    """By traffic, a pair fires where the ratio times r_W / r_P exceeds the threshold (Sloth)."""
    window_rate, period_rate = total / 3600, period / OBJECTIVE.period_seconds
    corrected = bad / total * (window_rate / period_rate)
    threshold = OBJECTIVE.threshold(PAGE)
    if corrected != pytest.approx(threshold, rel=1e-12):
        assert allowed(Guard(by_traffic=True), bad, total, period) is (corrected > threshold)


@given(bad=st.integers(0, 500), total=COUNTS, period=st.integers(1, 10**8))
def test_traffic_guard_is_a_moved_threshold(bad: int, total: int, period: int) -> None:
    """By traffic, a pair fires where the ratio exceeds c * beta * N_P / N_L (Pyrra)."""
    share = float(spent_budget(PAGE, OBJECTIVE.period_seconds) * OBJECTIVE.budget)
    moved = share * period / total
    if bad / total != pytest.approx(moved, rel=1e-12):
        assert allowed(Guard(by_traffic=True), bad, total, period) is (bad / total > moved)


@pytest.mark.parametrize(
    ("guard", "expected"),
    [
        pytest.param(Guard(), 1000 / 14.4, id="a single failure pages below 69 events per hour"),
        pytest.param(Guard(min_bad_count=1), 1000 / 14.4, id="one bad event asks for no more"),
        pytest.param(Guard(min_bad_count=2), None, id="two bad events are never one"),
        pytest.param(Guard(by_traffic=True), 1000 / 14.4, id="even traffic spends the same share"),
    ],
)
def test_lone_failure(guard: Guard, expected: float | None) -> None:
    """The bound is 1 / theta events in the long window, and none where one is never enough."""
    assert max_lone_failure_rate(replace(OBJECTIVE, guard=guard), PAGE) == pytest.approx(expected)


def test_lone_failure_of_the_unreachable() -> None:
    """At 90 % nothing reaches 14.4, so neither does a single failure."""
    low = replace(OBJECTIVE, target_percent=Decimal(90))

    assert max_lone_failure_rate(low, PAGE) is None


@given(confidence=st.floats(0.5, 0.999))
def test_lone_failure_by_confidence(confidence: float) -> None:
    """Just below the bound one bad event is enough for Wilson, just above it is not."""
    guard = Guard(confidence_ratio=confidence)
    events = max_lone_failure_rate(replace(OBJECTIVE, guard=guard), PAGE)

    assert events is not None
    assert (allowed(guard, 1.0, events * 0.999), allowed(guard, 1.0, events * 1.001)) == (
        True,
        False,
    )


def counters(bad_at: int, per_minute: float, minutes: int) -> pl.DataFrame:
    """One bad event at a minute, and even traffic, scraped each minute."""
    times = pl.Series([START + timedelta(minutes=n) for n in range(minutes + 1)], dtype=TIME)
    bad = [float(n >= bad_at) for n in range(minutes + 1)]
    total = [per_minute * n for n in range(minutes + 1)]
    return pl.concat(
        pl.DataFrame({"metric": name, "time": times, "value": values})
        for name, values in (("bad_total", bad), ("all_total", total))
    )


@pytest.mark.parametrize(
    ("guard", "expected"),
    [
        pytest.param(Guard(), ["firing"], id="no guard: one failure of 60 steps pages"),
        pytest.param(Guard(min_bad_count=2), ["quiet"], id="one failure is not two"),
        pytest.param(Guard(confidence_ratio=0.95), ["quiet"], id="one failure of 60 may be luck"),
        pytest.param(Guard(by_traffic=True), ["firing"], id="the real budget is small as well"),
    ],
)
@pytest.mark.parametrize("mode", Mode)
def test_burns_are_held_back(guard: Guard, expected: list[str], mode: Mode) -> None:
    """In burn rates, a pair that its guard holds back is quiet."""
    objective = replace(OBJECTIVE, windows=(PAGE,), guard=guard)
    at = pl.Series([START + timedelta(minutes=63)], dtype=TIME)
    burns = burn_rates(counters(60, 1.0, 63), objective, at, BurnParams(mode=mode))

    assert burns["state"].to_list() == expected
    assert PERIOD_TOTAL not in burns.columns
