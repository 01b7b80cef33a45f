"""The workbook's six ways to alert on an SLO, and four tiers at once, replayed on even traffic.

Source: The Site Reliability Workbook, chapter 5, at 99.9 % over 30 days; pyrra-dev/pyrra issues
1883 and 1884 for the tiers of one outage.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import polars as pl
import pytest

from collectors.frames import TIME
from slo.alert_states import burn_alerts
from slo.burns import burn_rates
from slo.growth import BurnParams, Mode, event_growth
from slo.objectives import Objective
from slo.page_routes import routed_pages
from slo.promql import above
from slo.selectors import Selector
from slo.windows import (
    DAY_SECONDS,
    HOUR_SECONDS,
    MINUTE_SECONDS,
    RECOMMENDED_WINDOWS,
    burn_detection_seconds,
    burn_reset_seconds,
    burn_threshold,
)

START = datetime(2026, 1, 5, tzinfo=UTC)
TARGET = Decimal("99.9")
BUDGET = 0.001
PERIOD_SECONDS = 30 * DAY_SECONDS
OBJECTIVE = Objective(
    name="o",
    title="O",
    description="",
    service="s",
    target_percent=TARGET,
    period_seconds=PERIOD_SECONDS,
    total=Selector(metric="all_total"),
    bad=Selector(metric="bad_total"),
    group_labels=(),
    windows=tuple(replace(one, for_seconds=0) for one in RECOMMENDED_WINDOWS),
)
PARITY = BurnParams(mode=Mode.PARITY)


def series(*outages: tuple[float, float], until: float, gap: float = 1.0) -> pl.DataFrame:
    """One event a second; all bad in the outages. Scrapes before 0 s are rarer, farther back.

    The oldest window edge must lie on a scrape or near one: what a window misses there, it takes
    for a higher ratio.
    """
    far, near, last = -4 * DAY_SECONDS, -25_200, -7200
    early = [*range(far, near, 60), *range(near, last, 10), *range(last, 0)]
    at = [*early, *(gap * n for n in range(int(until / gap) + 1))]
    bad = [sum(max(0.0, min(now, end) - start) for start, end in outages) * 1.0 for now in at]
    times = pl.Series([START + timedelta(seconds=now) for now in at], dtype=TIME)
    values = {"bad_total": bad, "all_total": [4.0 * DAY_SECONDS + now for now in at]}
    return pl.concat(
        pl.DataFrame({"metric": name, "time": times, "value": pl.Series(value, dtype=pl.Float64)})
        for name, value in values.items()
    )


def grid(*seconds: float) -> pl.Series:
    """Moments after the start."""
    return pl.Series("time", [START + timedelta(seconds=one) for one in seconds], dtype=TIME)


def ratio(frame: pl.DataFrame, window_seconds: int, *seconds: float) -> list[float]:
    """The error ratio over one window at some moments; 0 where there is none."""
    grown = event_growth(
        frame, OBJECTIVE, grid(*seconds), range_seconds=window_seconds, params=PARITY
    )
    return grown.sort("time")["error_ratio"].to_list()


ON_SECONDS = (52, 130, 260, 260)
"""Whole seconds at which 51.84, 129.6, 259.2 and 259.2 have passed."""
OFF_SECONDS = (296, 1790, 7179, 21579)
"""Whole seconds at which 295.68, 1789.2, 7178.4 and 21578.4 have passed."""


def test_four_tiers_of_one_outage() -> None:
    """A full outage of 20 min turns each tier on and off at its ideal second, and pages once."""
    outage = 1200
    edges = [*ON_SECONDS, *(outage + off for off in OFF_SECONDS)]
    moments = sorted({0, outage, *(edge + step for edge in edges for step in (-2, -1, 0, 1))})
    frame = series((0, outage), until=outage + OFF_SECONDS[-1] + 5)
    alerts = burn_alerts(
        burn_rates(frame, OBJECTIVE, grid(*moments), PARITY), OBJECTIVE, grid(*moments)
    )
    order = alerts.sort("long_seconds")
    seconds = [(one - START).total_seconds() for one in order["fired_at"]]
    resets = [(one - START).total_seconds() - outage for one in order["resolved_at"]]
    routed = routed_pages(alerts.with_columns(peak_bad=0.0), ())

    assert (seconds, resets) == (list(ON_SECONDS), list(OFF_SECONDS))
    assert routed["severity"].to_list() == ["page", "ticket"]


@pytest.mark.parametrize(
    ("window", "expected"),
    list(zip(OBJECTIVE.windows, (51.84, 129.6, 259.2, 259.2), strict=True)),
    ids=["1h/5m", "6h/30m", "1d/2h", "3d/6h"],
)
def test_ideal_detection_is_that_of_the_replay(window: object, expected: float) -> None:
    """The closed form of the detection time is the second that the replay shows."""
    (pair,) = [one for one in OBJECTIVE.windows if one is window]
    threshold = float(burn_threshold(pair, TARGET))

    assert burn_detection_seconds(pair.long_seconds, threshold, error_ratio=1.0) == pytest.approx(
        expected
    )
    assert burn_reset_seconds(pair.short_seconds, threshold, error_ratio=1.0) == pytest.approx(
        pair.short_seconds * (1 - threshold)
    )


@pytest.mark.parametrize(
    ("window_seconds", "factor", "expected"),
    [
        pytest.param(10 * MINUTE_SECONDS, 1, (0.6, 599.4), id="1: ratio over 10 minutes"),
        pytest.param(36 * HOUR_SECONDS, 1, (129.6, 129470.4), id="2: ratio over 36 hours"),
        pytest.param(HOUR_SECONDS, 36, (129.6, 3470.4), id="4: one burn rate of 36 over an hour"),
    ],
)
def test_single_windows(window_seconds: int, factor: int, expected: tuple[float, float]) -> None:
    """One window alone sees a full outage after theta * W and forgets it after (1 - theta) * W."""
    threshold = factor * BUDGET

    assert (
        burn_detection_seconds(window_seconds, threshold, error_ratio=1.0),
        burn_reset_seconds(window_seconds, threshold, error_ratio=1.0),
    ) == (pytest.approx(expected[0]), pytest.approx(expected[1]))


def test_first_approach_alerts_144_times_a_day() -> None:
    """Ten minutes that are just over the budget fire, and a day of them spends no more than it."""
    spikes = [(600.0 * n, 600.0 * n + 0.61) for n in range(3)]
    frame = series(*spikes, until=1800)
    fires = [one >= BUDGET for one in ratio(frame, 600, 600, 1200, 1800)]
    spent = 144 * 30 * 0.6 / (BUDGET * PERIOD_SECONDS)

    assert (fires, spent) == ([True] * 3, pytest.approx(1.0))


def test_third_approach_misses_spikes() -> None:
    """With `for: 1h` five bad minutes in every ten never fire, and a full outage takes an hour."""
    slow = replace(RECOMMENDED_WINDOWS[0], for_seconds=3600)
    waiting = replace(
        OBJECTIVE,
        windows=(replace(slow, long_seconds=300, short_seconds=299, factor=Decimal(1)),),
    )
    spikes = [(600.0 * n, 600.0 * n + 300.0) for n in range(12)]
    moments = grid(*(60.0 * n for n in range(121)))
    fired = [
        burn_alerts(burn_rates(frame, waiting, moments, PARITY), waiting, moments)["fired_at"]
        for frame in (series(*spikes, until=7200, gap=10), series((0, 7200), until=7200, gap=10))
    ]

    assert fired[0].to_list() == []
    assert [(one - START).total_seconds() for one in fired[1]] == [3600.0 + 60.0]
    assert pytest.approx(1.389, abs=1e-3) == HOUR_SECONDS / (BUDGET * PERIOD_SECONDS)


def test_fourth_approach_has_a_blind_spot() -> None:
    """A burn of 35 never exceeds 36, and empties the month in 20.5 hours."""
    frame = series((0, 36_000), until=36_000, gap=60)
    diluted = frame.with_columns(
        value=pl.when(pl.col("metric") == "bad_total")
        .then(pl.col("value") * 0.035)
        .otherwise("value")
    )
    moments = [3600.0 * n for n in range(1, 11)]
    fires = pl.DataFrame({"e": ratio(diluted, 3600, *moments)}).select(
        above(pl.col("e"), 36 * BUDGET).any()
    )

    assert fires.item() is False
    assert pytest.approx(20.57, abs=0.01) == PERIOD_SECONDS / 35 / 3600


def test_fifth_approach_resets_late() -> None:
    """Several burn rates with one window each see as fast, and hold on for their whole windows."""
    resets = [
        burn_reset_seconds(one.long_seconds, OBJECTIVE.threshold(one), error_ratio=1.0)
        for one in OBJECTIVE.windows
    ]

    assert [round(one or 0) for one in resets] == [3548, 21470, 86141, 258941]


def test_sixth_approach_resets_with_the_short_window() -> None:
    """With two windows each tier lets go after its short window: a twelfth of the time."""
    resets = [
        burn_reset_seconds(one.short_seconds, OBJECTIVE.threshold(one), error_ratio=1.0)
        for one in OBJECTIVE.windows
    ]

    assert [round(one or 0) for one in resets] == [296, 1789, 7178, 21578]
