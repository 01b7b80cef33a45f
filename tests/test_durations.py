"""Spans of time as people type them."""

from datetime import timedelta

import pytest

from paceline.durations import NoDurationError, duration_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("30s", timedelta(seconds=30), id="seconds"),
        pytest.param(" 5m ", timedelta(minutes=5), id="minutes, with spaces around"),
        pytest.param("1.5h", timedelta(minutes=90), id="a part of an hour"),
        pytest.param("7d", timedelta(days=7), id="days"),
    ],
)
def test_durations(text: str, expected: timedelta) -> None:
    """A number and a unit are a span."""
    assert duration_of(text) == expected


@pytest.mark.parametrize("text", ["", "5", "m", "0s", "-5m", "5 m", "5w", "1e3s", "9999999999d"])
def test_no_durations(text: str) -> None:
    """Anything else says what a span looks like."""
    with pytest.raises(NoDurationError, match="such as 30s"):
        duration_of(text)
