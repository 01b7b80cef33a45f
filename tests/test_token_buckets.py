"""The rate limit: a pause fills the bucket, a clock that steps back neither gives nor takes."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alerts.service.token_buckets import Rate, full_bucket, take

START = datetime(2026, 1, 5, tzinfo=UTC)
RATE = Rate(per_second=2.0, burst=3)


def waits(*seconds: float) -> list[int]:
    """Return how long each request of a row has to wait, by the seconds since the start."""
    bucket, told = full_bucket(RATE, START), list[int]()
    for second in seconds:
        bucket, wait = take(bucket, RATE, START + timedelta(seconds=second))
        told.append(wait)
    return told


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        pytest.param([0, 0, 0], [0, 0, 0], id="a burst passes at once"),
        pytest.param([0, 0, 0, 0], [0, 0, 0, 1], id="one more has to wait"),
        pytest.param([0, 0, 0, 0.4], [0, 0, 0, 1], id="a part of a request is none"),
        pytest.param([0, 0, 0, 0.5], [0, 0, 0, 0], id="a pause lets the next one pass"),
        pytest.param([0, 0, 0, 99, 99, 99, 99], [0] * 6 + [1], id="a long pause fills no more"),
        pytest.param([9, 9, 9, 0, 0.5], [0, 0, 0, 1, 0], id="a clock set back is followed"),
    ],
)
def test_waits(seconds: list[float], expected: list[int]) -> None:
    """A request passes while the bucket holds one, and else says how long to wait."""
    assert waits(*seconds) == expected


@given(st.lists(st.floats(0, 50), max_size=60))
def test_never_more_than_the_rate(seconds: list[float]) -> None:
    """However requests fall, no more pass than a burst and what the time since then adds."""
    passed = waits(*sorted(seconds)).count(0)

    assert passed <= RATE.burst + max(seconds, default=0.0) * RATE.per_second + 1e-6


@pytest.mark.parametrize(
    ("per_second", "burst"),
    [pytest.param(0.0, 1, id="no rate"), pytest.param(1.0, 0, id="no burst")],
)
def test_useless_rates(per_second: float, burst: int) -> None:
    """A rate at which nothing would ever pass is refused."""
    with pytest.raises(ValueError, match="a rate needs"):
        Rate(per_second=per_second, burst=burst)
