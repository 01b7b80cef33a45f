"""Changes for good are found, and what only looks like one is not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detectors.change_points import ChangePoint, ChangePointParams, find_change_points
from detectors.panels import Floats

DEFAULTS = ChangePointParams()


def noise(ticks: int, seed: int = 8) -> Floats:
    """Independent Gaussian values of scale one."""
    return np.random.default_rng(seed).normal(size=ticks)


def places(values: Floats, params: ChangePointParams = DEFAULTS) -> list[int]:
    """Where the changes are."""
    return [one.at for one in find_change_points(values, params)]


def with_spike(values: Floats, at: int) -> Floats:
    """The values with one tick far off."""
    changed = values.copy()
    changed[at] += 60.0
    return changed


STEP = np.repeat([0.0, 8.0], 60) + noise(120)
RISE = np.arange(200) / 5.0


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param(STEP, [60], id="a step is one change"),
        pytest.param(np.repeat([0, 9, 3, 12.0], 50) + noise(200), [50, 100, 150], id="several"),
        pytest.param(noise(300), [], id="noise has none"),
        pytest.param(RISE + noise(200), [], id="a steady drift is not a staircase"),
        pytest.param(with_spike(noise(200), 90), [], id="a spike is none"),
        pytest.param(with_spike(STEP, 30), [60], id="a spike hides no step"),
        pytest.param(np.tile([0, 1, 9, 2, 1, 5.0], 40), [], id="a season is none"),
        pytest.param(
            np.tile([0, 1, 9, 2, 1, 5.0], 40) + np.repeat([0.0, 12.0], 120),
            [120],
            id="a step over a season is one",
        ),
        pytest.param(
            np.tile(np.repeat([0.0, 9.0], 12), 20) + noise(480), [], id="to and fro is none"
        ),
        pytest.param(np.repeat([0.0, np.nan, 8.0], 40), [80], id="a gap is no tick"),
        pytest.param(np.full(50, 3.7), [], id="a series that never moves has none"),
        pytest.param(np.array([0.0, 9.0, 9.0]), [], id="a short series tells nothing"),
        pytest.param(np.full(9, np.nan), [], id="a series that is not known tells nothing"),
        pytest.param(np.zeros(0), [], id="an empty series tells nothing"),
    ],
)
def test_places(values: Floats, expected: list[int]) -> None:
    """Only what stays changed is a change, at its first tick."""
    assert places(values) == expected


def test_bend() -> None:
    """A level that turns into a drift changes where it turns."""
    values = np.concatenate([np.zeros(100), np.arange(100) / 2.0]) + noise(200)

    assert places(values) == pytest.approx([100], abs=5)


def test_shift() -> None:
    """A change says by how much, in the unit of the values."""
    values = np.repeat([2.0, 5.0], 20)

    assert find_change_points(values, DEFAULTS) == [ChangePoint(at=20, shift=3.0)]


def test_min_shift() -> None:
    """What is smaller than asked for goes first, and the rest keeps its place."""
    values = np.repeat([0.0, 5.0, 9.0, 0.0], 40)

    found = {
        least: places(values, ChangePointParams(price_factor=0.3, min_shift=least))
        for least in (0, 4.5, 8, 99)
    }

    assert found == {0: [40, 80, 120], 4.5: [40, 120], 8: [], 99: []}


def test_long_series() -> None:
    """A long series is looked at by blocks, and its changes lie at their edges."""
    values = np.repeat([0.0, 6.0], [300, 303]) + noise(603)

    assert places(values, ChangePointParams(max_ticks=100)) == [301]


@settings(deadline=None, max_examples=40)
@given(
    st.integers(0, 10_000),
    st.integers(20, 130),
    st.floats(0.0, 12.0),
    st.sampled_from([0.25, 1.0, 64.0]),
)
def test_unit(seed: int, at: int, height: float, unit: float) -> None:
    """Another unit, and another sign, leave the places and scale the shifts."""
    values = noise(150, seed) + height * (np.arange(150) >= at)

    found = find_change_points(values, DEFAULTS)

    scaled = [ChangePoint(at=one.at, shift=-unit * one.shift) for one in found]
    assert find_change_points(-unit * values, DEFAULTS) == scaled


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.floats(0.0, 9.0), st.floats(0.0, 3.0), st.floats(0.0, 3.0))
def test_stricter_shift(seed: int, height: float, least: float, more: float) -> None:
    """A larger shift asked for finds some of the same places."""
    values = noise(150, seed) + np.repeat([0.0, height, height / 3], 50)

    loose = places(values, ChangePointParams(min_shift=least))

    assert set(places(values, ChangePointParams(min_shift=least + more))) <= set(loose)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.lists(st.integers(0, 150), max_size=30))
def test_unknown_ticks(seed: int, gaps: list[int]) -> None:
    """Ticks that are not known move the places along, and change nothing else."""
    values = noise(150, seed) + np.repeat([0.0, 5.0], 75)
    torn = np.insert(values, gaps, np.nan)
    known = np.flatnonzero(~np.isnan(torn))

    moved = [int(known[at]) for at in places(values)]

    assert places(torn) == moved


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        pytest.param({"price_factor": 0.0}, "above 0, got 0.0", id="changes for nothing"),
        pytest.param({"min_ticks": 0}, "from 1 to max_ticks 2000, got 0", id="pieces of no tick"),
        pytest.param({"max_ticks": 4}, "from 1 to max_ticks 4, got 5", id="fewer than a piece"),
    ],
)
def test_refused(fields: dict[str, float], message: str) -> None:
    """Parameters that cannot be are refused with what was given."""
    with pytest.raises(ValueError, match=message):
        ChangePointParams(**fields)  # type: ignore[arg-type]  # the table holds fields of two types
