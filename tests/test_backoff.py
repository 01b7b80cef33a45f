"""Waits grow, are drawn apart, and respect what a receiver asks for."""

from datetime import UTC, datetime

import pytest

from alerts.delivery.backoff import RetryParams, rest_seconds, retry_seconds

NOW = datetime(2026, 1, 5, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("attempts", "draw", "expected"),
    [
        pytest.param(1, 0.0, 1.0, id="the first wait is at least half of the first"),
        pytest.param(1, 1.0, 2.0, id="and at most the first"),
        pytest.param(3, 1.0, 8.0, id="each further try doubles it"),
        pytest.param(9, 1.0, 120.0, id="up to the longest"),
        pytest.param(10_000, 0.5, 90.0, id="after any number of tries"),
    ],
)
def test_retry(attempts: int, draw: float, expected: float) -> None:
    """A wait lies between half and all of what doubles with each try."""
    assert retry_seconds(attempts, RetryParams(), draw=draw) == expected


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        pytest.param(None, None, id="nothing asked"),
        pytest.param(" 30 ", 30.0, id="seconds"),
        pytest.param("Mon, 05 Jan 2026 10:01:00 GMT", 60.0, id="a date"),
        pytest.param("Mon, 05 Jan 2026 10:01:00 -0000", 60.0, id="a date without a zone is UTC"),
        pytest.param("Mon, 05 Jan 2026 09:00:00 GMT", 0.0, id="a date that has passed"),
        pytest.param("soon", None, id="no time at all"),
        pytest.param("-5", None, id="less than no time"),
    ],
)
def test_rest(header: str | None, expected: float | None) -> None:
    """A receiver asks for a rest in seconds or by a date."""
    assert rest_seconds(header, now=NOW) == expected


def test_refused() -> None:
    """Waits that grow downwards are refused."""
    with pytest.raises(ValueError, match="first_seconds <= max_seconds"):
        RetryParams(first_seconds=5, max_seconds=1)
