"""Peer statistics, each against the plain loop that defines it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from detectors.panels import Floats, Ints
from detectors.peers import (
    known_median,
    peer_medians,
    robust_scale,
    tick_noise,
    unbiased_scale,
)

VALUES = st.one_of(st.just(np.nan), st.integers(-9, 9).map(float))


def looped_medians(values: Floats, groups: Ints, *, left_out: bool) -> Floats:
    """Leave-one-out medians by definition."""
    result = np.full_like(values, np.nan)
    for row, tick in np.ndindex(*values.shape):
        others = [
            values[peer, tick]
            for peer in range(values.shape[0])
            if groups[peer] == groups[row] and peer != row and not np.isnan(values[peer, tick])
        ]
        if others and (left_out or not np.isnan(values[row, tick])):
            result[row, tick] = np.median(others)
    return result


@settings(deadline=None)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.data(), st.booleans())
def test_peer_medians(sizes: list[int], data: st.DataObject, left_out: bool) -> None:
    """Medians of the others are those of a loop, ties and gaps included."""
    groups = np.repeat(np.arange(len(sizes)), sizes).astype(np.int64)
    values = data.draw(arrays(np.float64, (groups.size, 3), elements=VALUES))

    found = peer_medians(values, groups, left_out=left_out)

    np.testing.assert_array_equal(found, looped_medians(values, groups, left_out=left_out))


def test_no_entities() -> None:
    """Of nobody there is no median."""
    assert peer_medians(np.zeros((0, 3)), np.zeros(0, dtype=np.int64)).shape == (0, 3)


@settings(deadline=None)
@given(arrays(np.float64, (4, 5), elements=VALUES), st.sampled_from([0, 1]))
def test_known_median(values: Floats, axis: int) -> None:
    """The median of what is known is that of a loop."""
    lines = values if axis == 1 else values.T
    expected = [
        np.median(line[~np.isnan(line)]) if not np.isnan(line).all() else np.nan for line in lines
    ]

    np.testing.assert_array_equal(known_median(values, axis), expected)


def test_median_of_nothing() -> None:
    """An empty axis has no median."""
    assert np.isnan(known_median(np.zeros((2, 0)), 1)).all()


def test_robust_scale() -> None:
    """The scale of Gaussian noise is its standard deviation, and outliers do not move it."""
    values = np.random.default_rng(1).normal(0.0, 2.0, (1, 10_000))
    values[0, :500] = 1e6

    assert robust_scale(values)[0] == pytest.approx(2.0, rel=0.15)


@pytest.mark.parametrize(
    ("count", "scale"),
    [
        pytest.param(2, 2.0, id="a pair shows half of its spread"),
        pytest.param(8, 1.1236, id="eight show most of it"),
        pytest.param(5000, 1.0, id="many show all of it"),
    ],
)
def test_unbiased_scale(count: int, scale: float) -> None:
    """Small groups show less spread than they have."""
    assert unbiased_scale(1.0, count) == pytest.approx(scale, abs=1e-4)


def test_tick_noise() -> None:
    """Noise is that of neighbouring ticks: a shift or a drift is none, and it has a floor."""
    rng = np.random.default_rng(2)
    noise = rng.normal(0.0, 0.1, (1, 4000))
    shifted = noise + np.where(np.arange(4000) > 2000, 5.0, 0.0) + np.arange(4000) * 1e-3

    assert tick_noise(shifted, 0.01)[0] == pytest.approx(0.1, rel=0.1)
    assert tick_noise(np.zeros((2, 9)), 0.01).tolist() == [0.01, 0.01]
    assert tick_noise(np.zeros((2, 2)), 0.01).tolist() == [0.01, 0.01]
