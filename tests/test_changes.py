"""Change tests against their definitions."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from detectors.changes import (
    HUBER_LIMIT,
    cusum_alarms,
    cusum_threshold,
    segment_bounds,
    shift_between,
)
from detectors.panels import Floats

SCORES = st.one_of(st.just(np.nan), st.floats(-6, 6, allow_nan=False))


def looped_cusum(line: Floats, reference: float, threshold: float) -> tuple[int, int]:
    """CUSUM by definition: first alarm, and where its sum left zero."""
    total, since = 0.0, 0
    for tick, score in enumerate(line):
        cut = min(max(score, -HUBER_LIMIT), HUBER_LIMIT) - reference
        total = max(0.0, total + (0.0 if np.isnan(score) else cut))
        since = tick + 1 if total == 0.0 else since
        if total > threshold:
            return tick, since
    return -1, -1


@settings(deadline=None)
@given(arrays(np.float64, (3, 25), elements=SCORES))
def test_cusum_alarms(scores: Floats) -> None:
    """All series side by side alarm as each would alone."""
    found = cusum_alarms(scores, reference=0.5, threshold=4.0)

    expected = [looped_cusum(line, 0.5, 4.0) for line in scores]
    assert list(zip(found.at.tolist(), found.since.tolist(), strict=True)) == expected


@settings(deadline=None)
@given(arrays(np.float64, (2, 25), elements=SCORES))
def test_stricter_threshold(scores: Floats) -> None:
    """A higher threshold never alarms earlier or more."""
    low = cusum_alarms(scores, reference=0.5, threshold=3.0).at
    high = cusum_alarms(scores, reference=0.5, threshold=6.0).at

    assert np.all((high == -1) | ((low >= 0) & (low <= high)))


def test_cusum_threshold() -> None:
    """One false alarm a day of 16,384 devices needs 16.5 deviations (methods reference)."""
    assert cusum_threshold(5760.0 * 16384.0, 0.5) == pytest.approx(16.5, abs=0.1)


def test_segment_bounds() -> None:
    """Levels are found where they change, and noise has none."""
    noise = np.random.default_rng(3).normal(0.0, 0.3, 90)
    levels = np.repeat([0.0, 3.0, 0.0], 30)

    assert segment_bounds(levels + noise, penalty=14.0, min_ticks=4) == [0, 30, 60, 90]
    assert segment_bounds(noise, penalty=14.0, min_ticks=4) == [0, 90]
    assert segment_bounds(noise[:5], penalty=1.0, min_ticks=4) == [0, 5]


@settings(deadline=None)
@given(
    st.lists(st.integers(-9, 9).map(float), min_size=1, max_size=9),
    st.lists(st.integers(-9, 9).map(float), min_size=1, max_size=9),
)
def test_shift_between(before: list[float], after: list[float]) -> None:
    """The shift is the median of all differences."""
    found = shift_between(np.array(before), np.array(after))

    assert found == np.median([late - early for early, late in product(before, after)])


def test_long_sides() -> None:
    """Long sides are thinned evenly, which keeps the shift."""
    rng = np.random.default_rng(4)

    assert shift_between(rng.normal(0, 1, 5000), rng.normal(2, 1, 5000)) == pytest.approx(
        2, abs=0.2
    )
