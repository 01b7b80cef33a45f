"""Burn-rate windows: thresholds in decimal, detection and reset times, other periods."""

from decimal import Decimal

import pytest

from slo.windows import (
    RECOMMENDED_WINDOWS,
    BurnWindow,
    PeriodTooShortError,
    burn_detection_seconds,
    burn_reset_seconds,
    burn_threshold,
    duration,
    exact,
    open_duration,
    spent_budget,
    windows_by_period,
    windows_by_share,
)

DAY = 86400


def window(factor: str, long_seconds: int = 3600, short_seconds: int = 300) -> BurnWindow:
    """A page with a factor."""
    return BurnWindow(
        severity="page",
        long_seconds=long_seconds,
        short_seconds=short_seconds,
        factor=Decimal(factor),
        budget_ratio=Decimal("0.02"),
        for_seconds=0,
    )


def test_recommended_windows() -> None:
    """The table is the workbook's: two pages, two tickets, short windows a twelfth of the long."""
    assert [(w.name, w.factor, w.budget_ratio) for w in RECOMMENDED_WINDOWS] == [
        ("page 1h/5m", Decimal("14.4"), Decimal("0.02")),
        ("page 6h/30m", Decimal(6), Decimal("0.05")),
        ("ticket 1d/2h", Decimal(3), Decimal("0.1")),
        ("ticket 3d/6h", Decimal(1), Decimal("0.1")),
    ]


@pytest.mark.parametrize(
    ("target", "factor", "expected"),
    [
        pytest.param("99.9", "14.4", "0.0144", id="three nines have no digit of noise"),
        pytest.param("99.9999", "14.4", "0.0000144", id="six nines are not rounded to zero"),
        pytest.param("90", "16.8", "1.68", id="a threshold above one is kept, for the lint"),
        pytest.param("99", "6", "0.06", id="the objective of training steps"),
    ],
)
def test_threshold(target: str, factor: str, expected: str) -> None:
    """A threshold is computed in decimal from the objective's text, and is exact."""
    assert burn_threshold(window(factor), Decimal(target)) == Decimal(expected)


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        pytest.param(0.0144, "0.0144", id="a short number stays short"),
        pytest.param(0.144, "0.14399999999999999", id="all digits of a double are kept"),
        pytest.param(Decimal("0.0000144"), "1.4399999999999999e-05", id="a small one is not zero"),
    ],
)
def test_exact_text(number: float | Decimal, expected: str) -> None:
    """A threshold is emitted with 17 significant digits and reads back as the same double."""
    assert (exact(number), float(exact(number))) == (expected, float(number))


def test_outage_times() -> None:
    """Case 35: a full outage of 1200 s turns the four tiers on and off at the ideal times."""
    target = Decimal("99.9")
    times = [
        (
            burn_detection_seconds(
                w.long_seconds, float(burn_threshold(w, target)), error_ratio=1.0
            ),
            burn_reset_seconds(w.short_seconds, float(burn_threshold(w, target)), error_ratio=1.0),
        )
        for w in RECOMMENDED_WINDOWS
    ]

    assert times == [
        (pytest.approx(51.84), pytest.approx(295.68)),
        (pytest.approx(129.6), pytest.approx(1789.2)),
        (pytest.approx(259.2), pytest.approx(7178.4)),
        (pytest.approx(259.2), pytest.approx(21578.4)),
    ]


@pytest.mark.parametrize(
    ("error_ratio", "before_ratio", "traffic_ratio", "expected"),
    [
        pytest.param(0.15, 0.0, 1.0, 345.6, id="15 percent errors take 5.76 minutes"),
        pytest.param(0.0144, 0.0, 1.0, None, id="an error ratio at the threshold is never seen"),
        pytest.param(1.0, 0.0072, 1.0, 26.1079774, id="errors before it make it sooner"),
        pytest.param(1.0, 0.5, 1.0, 0.0, id="what burnt before burns at once"),
        pytest.param(1.0, 0.0, 0.5, 102.2082019, id="half the traffic after it takes longer"),
    ],
)
def test_detection(
    error_ratio: float, before_ratio: float, traffic_ratio: float, expected: float | None
) -> None:
    """Detection follows from how fast a full window fills with errors."""
    found = burn_detection_seconds(
        3600,
        0.0144,
        error_ratio=error_ratio,
        before_ratio=before_ratio,
        traffic_ratio=traffic_ratio,
    )

    assert found == (None if expected is None else pytest.approx(expected, rel=1e-6))


@pytest.mark.parametrize(
    ("error_ratio", "after_ratio", "expected"),
    [
        pytest.param(1.0, 0.0, 295.68, id="a full outage leaves when its tail does"),
        pytest.param(1.0, 0.02, None, id="a recovery above the threshold never resets"),
        pytest.param(0.01, 0.0, 0.0, id="what never fired needs no reset"),
    ],
)
def test_reset(error_ratio: float, after_ratio: float, expected: float | None) -> None:
    """The short window alone decides when a pair lets go."""
    found = burn_reset_seconds(300, 0.0144, error_ratio=error_ratio, after_ratio=after_ratio)

    assert found == (None if expected is None else pytest.approx(expected))


def test_windows_by_share() -> None:
    """Case 13: 28 days with the same shares of budget give 13.44, 5.6, 2.8 and 0.9333."""
    factors = [f"{w.factor:.5g}" for w in windows_by_share(28 * DAY)]

    assert factors == ["13.44", "5.60", "2.8", "0.93333"]


def test_windows_by_period() -> None:
    """Fixed shares of 28 days are the windows that Pyrra makes."""
    windows = windows_by_period(28 * DAY, scrape_seconds=15)

    assert [(w.name, w.factor, w.for_seconds) for w in windows] == [
        ("page 1h/5m", 14, 120),
        ("page 6h/30m", 7, 900),
        ("ticket 1d/2h", 2, 3600),
        ("ticket 4d/8h", 1, 10800),
    ]


@pytest.mark.parametrize(
    ("period_seconds", "scrape_seconds", "least"),
    [
        pytest.param(DAY, 15, "5.6 d (483840 s)", id="case 15: one day is too short"),
        pytest.param(3600, 15, "5.6 d (483840 s)", id="case 15: one hour is too short"),
        pytest.param(7 * DAY, 30, "11.2 d (967680 s)", id="rare scrapes want a longer period"),
        pytest.param(483839, 5, "5.6 d (483840 s)", id="under a minute is refused at any scrape"),
    ],
)
def test_period_too_short(period_seconds: int, scrape_seconds: int, least: str) -> None:
    """A period too short for its windows is refused with the least that works, never as [0s]."""
    with pytest.raises(PeriodTooShortError) as error:
        windows_by_period(period_seconds, scrape_seconds=scrape_seconds)

    assert f"a period of at least {least}" in str(error.value)


def test_least_period_works() -> None:
    """The least period that a refusal names is accepted."""
    assert windows_by_period(8064 * 60, scrape_seconds=15)[0].short_seconds == 60


def test_spent_budget() -> None:
    """Case 19: 14.4 over an hour of a 7-day period is 8.57 percent, not 2."""
    assert f"{spent_budget(RECOMMENDED_WINDOWS[0], 7 * DAY):.4f}" == "0.0857"


@pytest.mark.parametrize(
    ("factor", "long_seconds", "short_seconds", "message"),
    [
        pytest.param("1", 300, 300, "0 < short < long", id="equal windows"),
        pytest.param("1", 300, 0, "0 < short < long", id="an empty short window"),
        pytest.param("0", 3600, 300, "factor must be above 0", id="a factor of nothing"),
    ],
)
def test_impossible_window(
    factor: str, long_seconds: int, short_seconds: int, message: str
) -> None:
    """A pair that could not be loaded or never burns is refused when it is built."""
    with pytest.raises(ValueError, match=message):
        window(factor, long_seconds, short_seconds)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        pytest.param(259200, "3d", id="days"),
        pytest.param(21600, "6h", id="hours"),
        pytest.param(5400, "90m", id="an hour and a half in minutes"),
        pytest.param(90, "90s", id="seconds"),
    ],
)
def test_duration(seconds: int, expected: str) -> None:
    """A duration is written in the largest unit that is whole."""
    assert duration(seconds) == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        pytest.param(1, "999ms", id="less than a second"),
        pytest.param(60, "59s999ms", id="a minute"),
        pytest.param(61, "1m999ms", id="a minute and a second"),
        pytest.param(300, "4m59s999ms", id="five minutes"),
        pytest.param(2592000, "29d23h59m59s999ms", id="thirty days"),
    ],
)
def test_open_duration(seconds: int, expected: str) -> None:
    """An open duration is a millisecond short, in units that Prometheus reads."""
    assert open_duration(seconds) == expected
