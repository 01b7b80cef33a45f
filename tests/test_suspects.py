"""The common chain of all peer detectors: properties, and sizes of whole fleets."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detectors.episodes import EpisodeParams
from detectors.panels import Floats, Panel
from detectors.suspects import SuspectParams, find_suspects

PARAMS = SuspectParams()


def panel(values: Floats, sizes: list[int]) -> Panel:
    """A panel of groups of the given sizes."""
    groups = np.repeat(np.arange(len(sizes)), sizes).astype(np.int64)
    return Panel(
        entities=pl.DataFrame({"entity": np.arange(groups.size)}),
        groups=groups,
        ticks=np.arange(values.shape[1]),
        values=values,
    )


def noise(entities: int, ticks: int, seed: int = 7) -> Floats:
    """Logarithms of a healthy fleet."""
    rng = np.random.default_rng(seed)
    return rng.normal(0.0, 0.01, (entities, 1)) + rng.normal(0.0, 0.02, (entities, ticks))


def named(values: Floats, sizes: list[int], params: SuspectParams = PARAMS) -> list[int]:
    """Row numbers of the suspects."""
    return [one.entity for one in find_suspects(panel(values, sizes), params)]


@settings(deadline=None, max_examples=25)
@given(st.permutations(range(16)), st.integers(0, 15), st.floats(-5.0, 5.0))
def test_order_and_unit(order: list[int], culprit: int, unit: float) -> None:
    """Another order of entities names the same one, another unit changes nothing."""
    values = noise(16, 120)
    values[culprit, 60:] += np.log(1.2)

    assert named(values[order] + unit, [16]) == [order.index(culprit)]


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 15), st.floats(1.05, 2.0))
def test_stricter_threshold(culprit: int, ratio: float) -> None:
    """A stricter threshold never finds more."""
    values = noise(16, 120)
    values[culprit, 60:] += np.log(ratio)
    strict = replace(PARAMS, episodes=EpisodeParams(min_slowdown=1.4, min_level=1.4))

    assert set(named(values, [16], strict)) <= set(named(values, [16]))


@pytest.mark.parametrize(
    ("values", "sizes"),
    [
        pytest.param(np.zeros((0, 0)), [], id="nobody"),
        pytest.param(noise(16, 3), [16], id="three ticks"),
        pytest.param(np.full((8, 100), np.nan), [8], id="nothing known"),
        pytest.param(noise(1, 100), [1], id="alone"),
        pytest.param(np.zeros((8, 100)), [8], id="all ties"),
        pytest.param(np.where(np.arange(100) < 50, 0.0, 1.0) + noise(8, 100), [8], id="all move"),
    ],
)
def test_nobody(values: Floats, sizes: list[int]) -> None:
    """Who has no peers, no ticks, or moves with all others is no suspect."""
    assert named(values, sizes) == []


def test_peers_that_sped_up() -> None:
    """Who stays as it was while all peers get faster is not slow."""
    values = noise(8, 120)
    values[1:, 60:] -= np.log(1.3)

    assert named(values, [8]) == []


def test_two_groups_with_suspects() -> None:
    """A group with one suspect is judged once, one with several again, and both are told."""
    values = noise(24, 120)
    values[[2, 10, 11, 12], 60:] += np.log(1.25)
    found = find_suspects(panel(values, [8, 8, 8]), PARAMS)

    assert [one.entity for one in found] == [2, 10, 11, 12]
    assert [np.exp(one.episode.effect) for one in found] == pytest.approx([1.25] * 4, abs=0.02)


def test_trio() -> None:
    """Of three the one whose own past shows it is decided."""
    values = noise(3, 120)
    values[1, 60:] += np.log(1.25)

    told = [(one.entity, one.undecided) for one in find_suspects(panel(values, [3]), PARAMS)]

    assert told == [(1, False)]


def test_fleet() -> None:
    """Of 4,096 devices the sixteen planted are found, nobody else."""
    values = noise(4096, 240)
    planted = np.random.default_rng(8).choice(4096, 16, replace=False)
    values[planted, 120:] += np.log(1.2)

    assert named(values, [64] * 64) == sorted(planted.tolist())


@pytest.mark.parametrize(
    ("factors", "expected"),
    [
        pytest.param((0.75, 1.2), [3], id="it gains less than its peers"),
        pytest.param((0.75, 1.34), [], id="it gains nothing, so it has other work"),
        pytest.param((1.4, 1.2), [], id="all became slower, it more than others"),
        pytest.param((0.75, 1.08), [], id="hardly behind"),
    ],
)
def test_peers_that_moved(factors: tuple[float, float], expected: list[int]) -> None:
    """Where all become faster the work changed, and an entity is judged by where it is since."""
    values = noise(12, 300)
    values[:, 150:] += np.log(factors[0])
    values[3, 150:] += np.log(factors[1])

    assert named(values, [12]) == expected
