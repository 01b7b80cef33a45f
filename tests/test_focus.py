"""The online screen against its definition: the best of all starts, for each tick."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from detectors.changes import HUBER_LIMIT
from detectors.focus import FOCUS_THRESHOLDS, focus_statistics, focus_threshold, push, start
from detectors.panels import Floats

SCORES = st.one_of(st.just(np.nan), st.floats(-5, 5, allow_nan=False), st.sampled_from([-1.0, 1.0]))


def tried(line: Floats) -> list[float]:
    """The statistic after each tick, with every start tried."""
    sums, found, last = [0.0], [], 0.0
    for score in line:
        if not np.isnan(score):
            sums.append(sums[-1] + min(max(score, -HUBER_LIMIT), HUBER_LIMIT))
            gains = [(sums[-1] - one, len(sums) - 1 - at) for at, one in enumerate(sums[:-1])]
            last = max(max(gain, 0.0) ** 2 / (2 * width) for gain, width in gains)
        found.append(last)
    return found


@settings(deadline=None, max_examples=50)
@given(arrays(np.float64, (3, 40), elements=SCORES))
def test_focus_statistics(scores: Floats) -> None:
    """All series side by side score as each would with every start tried."""
    expected = np.array([tried(line) for line in scores])

    assert focus_statistics(scores) == pytest.approx(expected, abs=1e-9)


@settings(deadline=None, max_examples=50)
@given(arrays(np.float64, (2, 25), elements=SCORES), st.permutations([0, 1]))
def test_push(scores: Floats, order: list[int]) -> None:
    """Ticks one by one score as all at once, whatever the order of the series."""
    state, columns = start(2), []
    for tick in range(25):
        state, statistic, _ = push(state, scores[order, tick])
        columns.append(statistic)

    assert np.array(columns).T.tolist() == focus_statistics(scores)[order].tolist()


def test_since() -> None:
    """The start that scores best is told, and none where no sum rose."""
    scores = np.array([[-1.0] * 10 + [2.0] * 5, [-1.0] * 15, [0.0] * 5 + [np.nan] * 2 + [1.0] * 8])
    state = start(3)
    for column in scores[:, :-1].T:
        state, _, _ = push(state, column)

    _, statistic, since = push(state, scores[:, -1])

    assert since.tolist() == [10, -1, 5]
    assert statistic.tolist() == [10.0, 0.0, 4.0]


def test_unknown_tick() -> None:
    """A tick that is not known changes neither statistic nor start."""
    state, statistic, since = push(start(1), np.array([2.0]))
    after = push(state, np.array([np.nan]))

    assert (after[1].tolist(), after[2].tolist()) == (statistic.tolist(), since.tolist())
    assert (statistic.tolist(), since.tolist()) == ([2.0], [0])


def test_state_is_kept() -> None:
    """A state can be pushed twice: the first push leaves it as it was."""
    state, _, _ = push(start(1), np.array([1.0]))

    first, second = (push(state, np.array([2.0]))[1].tolist() for _ in range(2))

    assert first == second == [2.25]


def test_steady_rise() -> None:
    """Scores that rise all along keep every start in the race; thinned starts cost little."""
    scores = np.linspace(0.0, 2.9, 300)

    found = focus_statistics(scores[None, :])[0]

    assert found == pytest.approx(np.array(tried(scores)), rel=0.01)


def test_no_series() -> None:
    """A fleet of none has no statistic."""
    assert focus_statistics(np.zeros((0, 3))).shape == (0, 3)


@pytest.mark.parametrize(
    ("budget", "least", "most"),
    [
        pytest.param(FOCUS_THRESHOLDS[3][0], 7.0, 7.0, id="at a simulated point"),
        pytest.param(5000.0, 7.0, 8.0, id="between two"),
        pytest.param(5760.0 * 1000.0, 14.0, 15.0, id="one a thousand device-days is beyond them"),
        pytest.param(1.0, 4.0, 4.0, id="the least level"),
    ],
)
def test_focus_threshold(budget: float, least: float, most: float) -> None:
    """A rarer false alarm needs a higher level."""
    assert least <= focus_threshold(budget) <= most


def test_budget_holds() -> None:
    """Noise alone alarms about as often as the budget says."""
    level = focus_threshold(2000.0)

    over = focus_statistics(np.random.default_rng(4).normal(size=(2000, 400))) > level

    assert over.any(axis=1).mean() == pytest.approx(1.0 - np.exp(-400 / 2000.0), abs=0.04)
