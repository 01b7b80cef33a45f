"""Schemes of windows: by name, by Sloth's tables, and written out."""

from dataclasses import replace
from decimal import Decimal

import pytest

from slo.periods import PeriodError
from slo.schemes import SchemeError, single_window_lengths, windows_of
from slo.windows import RECOMMENDED_WINDOWS, BurnWindow, PeriodTooShortError

DAY = 86400


def factors(scheme: str, days: int) -> list[str]:
    """Factors of a scheme, to four digits."""
    return [f"{float(window.factor):.4g}" for window in windows_of(scheme, days * DAY, "x")]


@pytest.mark.parametrize(
    ("scheme", "days", "expected"),
    [
        pytest.param(
            "recommended", 7, ["14.4", "6", "3", "1"], id="recommended, whatever the period"
        ),
        pytest.param(
            "by-share", 28, ["13.44", "5.6", "2.8", "0.9333"], id="by share of the budget"
        ),
        pytest.param("by-period", 28, ["14", "7", "2", "1"], id="by share of the period"),
        pytest.param("sloth", 30, ["14.4", "6", "3", "1"], id="Sloth's 30 days"),
        pytest.param("sloth", 28, ["13.44", "5.6", "2.8", "0.9333"], id="Sloth's 28 days"),
        pytest.param("sloth", 7, ["13.44", "3.5", "1.4", "0.98"], id="Sloth's example of 7 days"),
    ],
)
def test_named(scheme: str, days: int, expected: list[str]) -> None:
    """A scheme has the factors of its source."""
    assert factors(scheme, days) == expected


def test_written_out() -> None:
    """Pairs may be written out, on lines or behind semicolons; the share they promise is real."""
    found = windows_of(
        "page long=30m short=2m factor=14.4; ticket long=36h short=3h factor=1 for=5m keep=10m\n",
        30 * DAY,
        "x",
    )

    assert found == (
        BurnWindow(
            severity="page",
            long_seconds=1800,
            short_seconds=120,
            factor=Decimal("14.4"),
            budget_ratio=Decimal("0.01"),
            for_seconds=0,
        ),
        BurnWindow(
            severity="ticket",
            long_seconds=36 * 3600,
            short_seconds=3 * 3600,
            factor=Decimal(1),
            budget_ratio=Decimal("0.05"),
            for_seconds=300,
            keep_firing_seconds=600,
        ),
    )


@pytest.mark.parametrize(
    ("scheme", "message"),
    [
        pytest.param("mine", "recommended, by-share, by-period, sloth or pairs", id="a name"),
        pytest.param("mail long=1h short=5m factor=2", "wanted a pair as in", id="a severity"),
        pytest.param("page long=1h factor=2", "wanted a pair as in", id="no short window"),
        pytest.param("page long=1h short=5m factor=2 x=1", "wanted a pair as in", id="a word"),
        pytest.param("page long=1h long=2h short=5m factor=2", "wanted a pair", id="a word twice"),
        pytest.param(
            "page long=1h short=5m factor=x",
            "a number as factor, as in 14.4, found 'x'",
            id="a factor",
        ),
        pytest.param(
            "page long=1h short=5m factor=NaN",
            "a number as factor",
            id="a factor that is no number",
        ),
    ],
)
def test_refused(scheme: str, message: str) -> None:
    """What is no scheme and no pair is refused."""
    with pytest.raises(SchemeError, match=message):
        windows_of(scheme, 30 * DAY, "x")


@pytest.mark.parametrize("seconds", [14 * DAY, 7 * DAY + 1])
def test_no_sloth_windows(seconds: int) -> None:
    """Sloth has windows for three periods."""
    with pytest.raises(SchemeError, match=r"Sloth has windows for .30d, 28d, 7d., found"):
        windows_of("sloth", seconds, "x")


def test_pair_backwards() -> None:
    """A short window that is not shorter is refused by the pair itself."""
    with pytest.raises(ValueError, match="0 < short < long"):
        windows_of("page long=5m short=5m factor=2", DAY, "x")


def test_pair_without_length() -> None:
    """A length that is none is refused."""
    with pytest.raises(PeriodError, match="found 'soon'"):
        windows_of("page long=soon short=5m factor=2", DAY, "x")


@pytest.mark.parametrize("seconds", [DAY, 3600])
def test_short_period(seconds: int) -> None:
    """Case 15: a period too short for shares of it is refused, naming the least possible."""
    with pytest.raises(PeriodTooShortError, match=r"at least 5.6 d \(483840 s\)"):
        windows_of("by-period", seconds, "x")


def test_single_window() -> None:
    """The short window of a spec that knows the long one is a twelfth of it, in whole minutes."""
    assert [single_window_lengths(s) for s in (3600, 6 * 3600, 300, 3700)] == [
        (3600, 300),
        (6 * 3600, 1800),
        (300, 60),
        (3700, 360),
    ]


def test_recommended_have_names() -> None:
    """Sloth's pairs are the workbook's, without a wait."""
    assert windows_of("sloth", 30 * DAY, "x") == tuple(
        replace(window, for_seconds=0) for window in RECOMMENDED_WINDOWS
    )
