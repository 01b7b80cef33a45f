"""Rates of failures with their exact intervals."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slo.failure_rates import NoExposureError, failure_rate, per_1000_node_days


@pytest.mark.parametrize(
    ("count", "low", "high"),
    [
        pytest.param(0, 0.0, 2.9957, id="none: one-sided, the rule of three"),
        pytest.param(1, 0.0253, 5.5716, id="one"),
        pytest.param(10, 4.7954, 18.3904, id="ten"),
        pytest.param(100, 81.3640, 121.6268, id="a hundred"),
    ],
)
def test_intervals(count: int, low: float, high: float) -> None:
    """The interval of a count is Garwood's, as printed tables have it."""
    found = failure_rate(count, 1.0)

    assert (found.low, found.high) == (pytest.approx(low, abs=1e-4), pytest.approx(high, abs=1e-4))


def test_nothing_failed() -> None:
    """Without a failure there is no estimate, and a lower bound of the time to failure only."""
    found = failure_rate(0, 30.0)

    assert (found.rate, found.mean_time, found.max_mean_time) == (None, None, math.inf)
    assert found.min_mean_time == pytest.approx(10.0, abs=0.02)


def test_node_days() -> None:
    """13 failures in 2000 node-days are 6.5 in a thousand; its time is in thousands of days."""
    found = per_1000_node_days(failure_rate(13, 2000.0))

    assert (found.rate, found.mean_time) == (pytest.approx(6.5), pytest.approx(2 / 13))
    assert found.min_mean_time < 2 / 13 < found.max_mean_time < math.inf


@pytest.mark.parametrize(
    ("count", "exposure", "coverage", "error"),
    [
        pytest.param(1, 0.0, 0.95, NoExposureError, id="nothing ran"),
        pytest.param(1, math.nan, 0.95, NoExposureError, id="an exposure that is no number"),
        pytest.param(-1, 1.0, 0.95, ValueError, id="a count below 0"),
        pytest.param(1, 1.0, 1.0, ValueError, id="certainty"),
    ],
)
def test_refusals(count: int, exposure: float, coverage: float, error: type[ValueError]) -> None:
    """What cannot be is refused."""
    with pytest.raises(error):
        failure_rate(count, exposure, coverage)


@given(count=st.integers(0, 500), exposure=st.floats(0.1, 1e6), factor=st.floats(0.01, 100.0))
def test_units(count: int, exposure: float, factor: float) -> None:
    """The interval holds the rate, more coverage is wider, and another unit only scales it."""
    found, wider = failure_rate(count, exposure), failure_rate(count, exposure, 0.99)
    other = failure_rate(count, exposure * factor)

    assert wider.low <= found.low <= (found.rate or 0.0) <= found.high <= wider.high
    assert (found.scaled(factor).low, found.scaled(factor).high) == pytest.approx(
        (other.low, other.high)
    )
