"""What a series does all the time is told from what happened to it."""

import numpy as np
import pytest

from detectors.habits import (
    season_ticks,
    swing_variance,
    wander_variance,
    without_season,
    without_spikes,
)
from detectors.panels import Floats


def noise(ticks: int, seed: int = 5) -> Floats:
    """Independent Gaussian values."""
    return np.random.default_rng(seed).normal(size=ticks)


def wandering(ticks: int, kept: float) -> Floats:
    """Noise in which each tick keeps a share of the one before."""
    steps, values = noise(ticks), np.zeros(ticks)
    for at in range(1, ticks):
        values[at] = kept * values[at - 1] + steps[at]
    return values


@pytest.mark.parametrize(
    ("off", "kept"),
    [
        pytest.param([20], [], id="one tick off is a spike"),
        pytest.param([20, 21], [], id="two ticks off are a spike"),
        pytest.param([0, 40], [], id="spikes at the ends are spikes"),
        pytest.param([20, 21, 22], [20, 21, 22], id="three ticks off are kept"),
    ],
)
def test_without_spikes(off: list[int], kept: list[int]) -> None:
    """Isolated outliers go, what lasts stays."""
    values = np.tile([0.0, 0.5, 0.2, -0.4], 11)[:41]
    values[off] = 30.0

    assert np.flatnonzero(without_spikes(values) > 10.0).tolist() == kept


def test_short_series_keep_their_spikes() -> None:
    """Without enough neighbours nothing is usual."""
    values = np.array([0.0, 9.0, 0.0])

    assert without_spikes(values).tolist() == values.tolist()


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param(np.tile([0, 1, 5, 2, 1, 0, 7.0], 12), 7, id="a pattern that comes back"),
        pytest.param(np.arange(90) / 3 + np.tile([0, 1, 5, 2, 8.0], 18), 5, id="on top of a trend"),
        pytest.param(noise(200), 0, id="noise has none"),
        pytest.param(np.repeat([0.0, 9.0], 50) + noise(100), 0, id="a jump is none"),
        pytest.param(np.zeros(80), 0, id="a series that never moves has none"),
        pytest.param(noise(12), 0, id="a short series has none"),
    ],
)
def test_season_ticks(values: Floats, expected: int) -> None:
    """A season is found by what its differences repeat."""
    assert season_ticks(values) == expected


def test_without_season() -> None:
    """The pattern goes, a change of level and the mean stay."""
    levels = np.repeat([0.0, 10.0], 42)
    values = levels + np.tile([0, 1, 5, 2, 1, -2, -7.0], 12)

    flat = without_season(values, 7)

    assert flat == pytest.approx(levels, abs=1e-9)
    assert without_season(values, 0).tolist() == values.tolist()


@pytest.mark.parametrize(
    ("values", "least", "most"),
    [
        pytest.param(noise(4000), 0.8, 1.25, id="independent noise is itself"),
        pytest.param(wandering(4000, 0.5), 3.0, 5.5, id="what wanders counts more"),
        pytest.param(np.repeat([0.0, 90.0], 2000) + noise(4000), 0.8, 1.25, id="a jump is none"),
        pytest.param(np.zeros(50), 0.0, 0.0, id="no movement is none"),
        pytest.param(np.repeat([0.0, 1.0], 30), 0.0, 0.0, id="one step without noise is none"),
        pytest.param(
            np.round(noise(4000) / 3) * 3, 0.5, 2.0, id="steps of a coarse meter are noise"
        ),
    ],
)
def test_wander_variance(values: Floats, least: float, most: float) -> None:
    """Noise counts by how much its sums vary."""
    assert least <= wander_variance(values) <= most


@pytest.mark.parametrize(
    ("values", "least", "most"),
    [
        pytest.param(noise(960), 0.3, 3.0, id="independent noise is itself"),
        pytest.param(np.repeat([0.0, 50.0], 480) + noise(960), 0.3, 3.0, id="one jump is no swing"),
        pytest.param(np.tile(np.repeat([0.0, 9.0], 20), 24), 50.0, 5000.0, id="to and fro swings"),
        pytest.param(noise(40), 0.0, 0.0, id="a short series tells nothing"),
    ],
)
def test_swing_variance(values: Floats, least: float, most: float) -> None:
    """Levels that come and go raise the variance, a change that stays does not."""
    assert least <= swing_variance(values) <= most
