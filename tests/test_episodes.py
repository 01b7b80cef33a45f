"""Bad stretches of one series: found, verified, counted."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detectors.episodes import Episode, EpisodeParams, find_episodes
from detectors.panels import Floats

PARAMS = EpisodeParams()
NOISE = np.random.default_rng(6).normal(0.0, 0.02, 300)


def series(*spans: tuple[int, int, float], ticks: int = 300) -> Floats:
    """Log ratios that are raised in some spans."""
    values = NOISE[:ticks].copy()
    for start, stop, ratio in spans:
        values[start:stop] += np.log(ratio)
    return values


def found(values: Floats, params: EpisodeParams = PARAMS) -> list[Episode]:
    """Episodes of a series with the usual noise."""
    return find_episodes(values, 0.02, params)


@pytest.mark.parametrize(
    ("values", "spans"),
    [
        pytest.param(series(), [], id="noise"),
        pytest.param(series((100, 300, 1.2)), [(100, 300)], id="one that lasts"),
        pytest.param(series((100, 160, 1.2)), [(100, 160)], id="one that ends"),
        pytest.param(series((0, 300, 1.2)), [(0, 300)], id="bad throughout"),
        pytest.param(series((100, 108, 1.2)), [], id="too short for its effect"),
        pytest.param(series((100, 112, 1.5)), [(100, 112)], id="short but strong"),
        pytest.param(series((100, 300, 1.05)), [], id="too small"),
        pytest.param(series((100, 130, 1.2), (135, 170, 1.2)), [(100, 170)], id="a short relief"),
        pytest.param(series((50, 80, 1.3), (150, 190, 1.3)), [(50, 80), (150, 190)], id="two"),
        pytest.param(np.full(300, np.nan), [], id="nothing known"),
        pytest.param(np.zeros(300), [], id="all ties"),
    ],
)
def test_find_episodes(values: Floats, spans: list[tuple[int, int]]) -> None:
    """Stretches count when they are long and strong enough."""
    told = [(one.start, one.stop) for one in found(values)]

    assert len(told) == len(spans)
    assert np.allclose(told, spans, atol=2) if spans else told == []


def test_details() -> None:
    """An episode knows its effect, its bad ticks and when its persistence was complete."""
    (one,) = found(series((100, 160, 1.2)))

    assert np.exp(one.effect) == pytest.approx(1.2, abs=0.01)
    assert (one.runs, one.from_level, one.is_ramp, one.detected) == (1, False, False, 115)
    assert one.bad_ticks == pytest.approx(60, abs=2)
    assert one.p_value < 1e-12


def test_level() -> None:
    """A series bad throughout is judged against its peers."""
    (one,) = found(series((0, 300, 1.2)))

    assert (one.from_level, one.start, one.stop) == (True, 0, 300)


def test_flapping() -> None:
    """Three runs or more are one episode that counts them."""
    spans = [(start, start + 6, 1.6) for start in range(10, 280, 18)]
    (one,) = found(series(*spans))

    assert (one.runs, one.start, one.stop) == (15, 10, 268)


def test_unknown_ticks() -> None:
    """Positions count all ticks, known or not."""
    values = series((100, 300, 1.2))
    values[::5] = np.nan
    (one,) = found(values)

    assert (abs(one.start - 100) <= 2, one.stop) == (True, 300)


@settings(deadline=None)
@given(st.integers(40, 200), st.integers(30, 100), st.sampled_from([1.15, 1.3, 2.0]))
def test_stricter_threshold(start: int, length: int, ratio: float) -> None:
    """A stricter threshold never finds more."""
    values = series((start, start + length, ratio))
    strict = replace(PARAMS, min_slowdown=1.25, min_level=1.4)

    assert len(found(values, strict)) <= len(found(values))


@pytest.mark.parametrize("name", ["min_slowdown", "min_level", "strong_slowdown"])
def test_refused_thresholds(name: str) -> None:
    """A threshold that everything would pass is refused."""
    with pytest.raises(ValueError, match=f"{name} must be above 1.0, got 1.0"):
        replace(PARAMS, **{name: 1.0})
