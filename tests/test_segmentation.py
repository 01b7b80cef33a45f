"""The exact search against trying every division."""

from itertools import combinations, pairwise
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from detectors.panels import Floats
from detectors.segmentation import Prices, best_bounds

SERIES = st.integers(1, 8).flatmap(
    lambda ticks: arrays(np.float64, ticks, elements=st.integers(-9, 9).map(float))
)


def piece_cost(piece: Floats, slope_price: float) -> float:
    """Squared error of a level, or of a line with the price of its slope."""
    level = float(np.sum((piece - piece.mean()) ** 2))
    if piece.size == 1:
        return level
    at = np.arange(piece.size, dtype=np.float64)
    line = np.polyval(np.polyfit(at, piece, 1), at)
    return min(level, float(np.sum((piece - line) ** 2)) + slope_price)


def total_cost(values: Floats, bounds: list[int], prices: Prices) -> float:
    """What a division costs, by definition."""
    spans = list(pairwise(bounds))
    errors = sum(piece_cost(values[start:stop], prices.slope) for start, stop in spans)
    return errors + prices.piece * (len(spans) - 1)


def cheapest(values: Floats, prices: Prices, min_ticks: int) -> float:
    """The least cost of all divisions with pieces that are long enough."""
    inner = range(1, values.size)
    divisions = (
        [0, *chosen, values.size]
        for count in range(values.size)
        for chosen in combinations(inner, count)
    )
    return min(
        total_cost(values, bounds, prices)
        for bounds in divisions
        if len(bounds) == 2 or min(np.diff(bounds)) >= min_ticks
    )


@settings(deadline=None, max_examples=60)
@given(
    SERIES, st.integers(1, 4), st.sampled_from([0.5, 3.0, 20.0]), st.sampled_from([1.0, 9.0, inf])
)
def test_cheapest(values: Floats, min_ticks: int, piece: float, slope: float) -> None:
    """No other division with pieces as long costs less, whatever was left out of the search."""
    prices = Prices(piece=piece, slope=slope)

    bounds = best_bounds(values, prices, min_ticks=min_ticks)

    assert len(bounds) <= 2 or min(np.diff(bounds)) >= min_ticks
    found = total_cost(values, bounds, prices)
    assert found == pytest.approx(cheapest(values, prices, min_ticks), abs=1e-6)


@pytest.mark.parametrize(
    ("values", "slope", "expected"),
    [
        pytest.param([0.0] * 6 + [5.0] * 6, 2.0, [0, 6, 12], id="a jump is two levels"),
        pytest.param(list(range(12)), 2.0, [0, 12], id="a steady rise is one line"),
        pytest.param(list(range(12)), inf, [0, 4, 8, 12], id="without slopes it is a staircase"),
        pytest.param([0] * 6 + [2, 4, 6, 8, 10, 12], 2.0, [0, 6, 12], id="a bend ends a level"),
        pytest.param([7.0], 2.0, [0, 1], id="one tick is one piece"),
    ],
)
def test_bounds(values: list[float], slope: float, expected: list[int]) -> None:
    """Levels and lines begin where the series says."""
    prices = Prices(piece=10.0, slope=slope)

    assert best_bounds(np.array(values, dtype=np.float64), prices, min_ticks=2) == expected


@settings(deadline=None)
@given(SERIES, st.floats(0.1, 50.0), st.floats(1.0, 3.0))
def test_stricter_price(values: Floats, piece: float, factor: float) -> None:
    """A higher price of a level never makes more of them."""
    cheap, dear = (
        len(best_bounds(values, Prices(piece=price), min_ticks=1))
        for price in (piece, piece * factor)
    )

    assert dear <= cheap


def test_prices() -> None:
    """A price below nothing is refused with what was given."""
    with pytest.raises(ValueError, match=r"0 or more, got -1\.0 and inf"):
        Prices(piece=-1.0)
