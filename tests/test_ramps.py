"""Rises are told from jumps."""

import numpy as np
import pytest

from detectors.ramps import find_ramp

NOISE = np.random.default_rng(5).normal(0.0, 0.02, 400)


@pytest.mark.parametrize("stop", [250, 400], ids=["to a plateau", "to the end"])
def test_rise(stop: int) -> None:
    """A rise is found from where it begins, with its full height."""
    shape = np.clip((np.arange(400) - 100) / (stop - 100), 0.0, 1.0) * 0.3
    found = find_ramp(shape + NOISE)

    assert found is not None
    assert abs(found.start - 100) <= 12
    assert found.rise == pytest.approx(0.3, abs=0.02)


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(NOISE, id="noise"),
        pytest.param(np.where(np.arange(400) < 200, 0.0, 0.3) + NOISE, id="a jump"),
        pytest.param(np.linspace(0.3, 0.0, 400) + NOISE, id="a fall"),
        pytest.param(np.linspace(0.0, 1.0, 20), id="too short"),
        pytest.param(np.zeros(100), id="all ties"),
    ],
)
def test_no_rise(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> None:
    """What jumped, fell, stayed or is too short is no rise."""
    assert find_ramp(values) is None
