"""What stands out from an entity's own wandering, and short runs that do."""

import numpy as np
import polars as pl
import pytest

from collectors.frames import conform
from detectors.clear_runs import Course, beyond_wander, with_clear_runs
from detectors.episodes import Episode, EpisodeParams
from detectors.paces import PACES
from detectors.panels import Floats
from detectors.stragglers import StragglerParams, find_stragglers

PARAMS = EpisodeParams(min_clear_ticks=4)
NOISE = np.random.default_rng(4).normal(0.0, 0.02, 300)
KNOWN_GAP = np.where(np.arange(300) == 99, np.nan, 0.0)


def raised(*spans: tuple[int, int, float]) -> Floats:
    """Noise that is raised in some spans."""
    values = NOISE.copy()
    for start, stop, ratio in spans:
        values[start:stop] += np.log(ratio)
    return values


def episode(start: int, stop: int) -> Episode:
    """A stretch that persists."""
    return Episode(
        start=start,
        stop=stop,
        detected=start,
        effect=0.3,
        runs=1,
        bad_ticks=stop - start,
        from_level=False,
        p_value=0.0,
    )


PEAK = raised((100, 104, 1.3))
SHOULDERS = raised((95, 120, 1.16), (100, 104, 1.2))


@pytest.mark.parametrize(
    ("values", "ratios", "spans"),
    [
        pytest.param(NOISE, NOISE, [], id="noise has none"),
        pytest.param(PEAK, PEAK, [(100, 104)], id="four clear ticks are one"),
        pytest.param(PEAK[:15], PEAK[:15], [], id="a series too short to have a middle"),
        pytest.param(raised((100, 103, 1.5)), raised((100, 103, 1.5)), [], id="three are a spike"),
        pytest.param(SHOULDERS, SHOULDERS, [(95, 120)], id="it lasts while it is slow around them"),
        pytest.param(NOISE, PEAK, [], id="peers became faster, it did not change"),
        pytest.param(PEAK, NOISE, [], id="peers slowed as well"),
        pytest.param(PEAK, PEAK - 0.3, [], id="it became as slow as its peers"),
        pytest.param(
            raised((296, 300, 1.4)), raised((296, 300, 1.4)), [(296, 300)], id="to the last tick"
        ),
        pytest.param(raised((0, 4, 1.4)), raised((0, 4, 1.4)), [(0, 4)], id="from the first tick"),
        pytest.param(PEAK + KNOWN_GAP, PEAK + KNOWN_GAP, [(100, 104)], id="positions count gaps"),
    ],
)
def test_clear_runs(values: Floats, ratios: Floats, spans: list[tuple[int, int]]) -> None:
    """A short run counts when it is clear of the entity's past and of its peers."""
    found = with_clear_runs([], Course(values, ratios, 0.02), PARAMS)

    assert [(one.start, one.stop) for one in found] == spans


def test_details() -> None:
    """A run's effect is that of its clear ticks; it is told when enough of them are there."""
    (one,) = with_clear_runs([], Course(PEAK, PEAK, 0.02), PARAMS)

    assert np.exp(one.effect) == pytest.approx(1.3, abs=0.03)
    assert (one.detected, one.bad_ticks, one.runs) == (103, 4, 1)
    assert one.p_value == pytest.approx(0.0, abs=1e-12)


def test_kept_episodes() -> None:
    """What was found stays, in time order, and a run inside of it is not told twice."""
    two = raised((50, 54, 1.4), (200, 204, 1.4))
    course, long = Course(two, two, 0.02), episode(190, 230)
    spans = [(one.start, one.stop) for one in with_clear_runs([long], course, PARAMS)]

    assert with_clear_runs([long], course, EpisodeParams()) == [long]
    assert spans == [(50, 54), (190, 230)]


@pytest.mark.parametrize(
    ("ratios", "least"),
    [
        pytest.param(NOISE, 1.08, id="noise of two per cent"),
        pytest.param(NOISE * 2, 1.17, id="it wanders by four per cent"),
        pytest.param(NOISE * 2 + np.log(3) * (np.arange(300) > 150), 1.17, id="slow for its half"),
        pytest.param(NOISE * 2 + KNOWN_GAP, 1.17, id="a tick is not known"),
        pytest.param(NOISE[:2], 1.10, id="too short to wander"),
    ],
)
def test_beyond_wander(ratios: Floats, least: float) -> None:
    """What counts lies four scales beyond the wandering, whatever is slow in the series."""
    assert beyond_wander(PARAMS, ratios).min_slowdown == pytest.approx(least, abs=0.06)


def job(seed: int, apart: int, *slow: tuple[int, int, int, float]) -> pl.LazyFrame:
    """Ten workers out of lockstep that wander, each point held twice; some slow for a while."""
    rng = np.random.default_rng(seed)
    paces = np.zeros((10, 300))
    for at in range(1, 300):
        paces[:, at] = 0.9 * paces[:, at - 1] + 0.02 * rng.standard_normal(10)
    paces += 0.05 * rng.standard_normal((10, 1)) + 0.01 * rng.standard_normal((10, 300))
    paces = np.repeat(paces[:, ::2], 2, axis=1)
    for worker, start, stop, ratio in slow:
        paces[worker, start:stop] += np.log(ratio)
    frame = pl.LazyFrame(
        {
            "run": "r",
            "attempt": 0,
            "rank": np.repeat(np.arange(10), 300),
            "step": np.tile(np.arange(300) * apart + 1, 10),
            "measure": "step",
            "pace_seconds": np.exp(paces).ravel(),
        }
    )
    return conform(frame, PACES)


def told(paces: pl.LazyFrame) -> list[tuple[str, int]]:
    """Kind and rank of each finding."""
    rows = find_stragglers(paces, StragglerParams()).to_dicts()
    return [(row["kind"], row["subject"]["rank"]) for row in rows]


@pytest.mark.parametrize(
    ("apart", "expected"),
    [
        pytest.param(10, [("slow", 3), ("slow", 7)], id="every tenth step is told"),
        pytest.param(1, [("slow", 7)], id="every step is told: four are too few"),
    ],
)
def test_cadence(apart: int, expected: list[tuple[str, int]]) -> None:
    """Four points of a worker count when each stands for many steps."""
    assert told(job(1, apart, (3, 40, 44, 1.6), (7, 150, 180, 1.6))) == expected


def test_wandering() -> None:
    """Workers that only wander are hardly ever named: once in 400 lives at most."""
    assert sum(len(told(job(seed, 10))) for seed in range(40)) <= 1


def test_slow_among_wandering() -> None:
    """A worker half as slow again for a while is named in nearly every job, and nobody else."""
    named = [told(job(seed, 10, (3, 100, 130, 1.5))) for seed in range(20)]

    assert sum(one == [("slow", 3)] for one in named) >= 19
