"""Work that is uneven now here and now there is told at the job, and no device is named."""

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.frames import SchemaError, conform
from detectors.paces import PACES
from detectors.uneven_work import UnevenParams, find_uneven_work

Floats = npt.NDArray[np.float64]
START = datetime(2026, 1, 5, tzinfo=UTC)
RANKS, COUNT = 16, 400


def job(story: str, *, passes: bool = True, ranks: int = RANKS, count: int = COUNT) -> pl.DataFrame:
    """A job of 3 s a step, a third of it forward, with 1 % noise of each pass."""
    rng = np.random.default_rng(8)
    forward, backward = (
        seconds * (1.0 + 0.01 * rng.standard_normal((ranks, count))) for seconds in (1.0, 2.0)
    )
    STORIES[story](forward, backward, rng)
    columns: dict[str, Any] = {
        "run": "r",
        "attempt": 0,
        "rank": np.repeat(np.arange(ranks), count),
        "step": np.tile(np.arange(count), ranks),
        "end_time": [START + timedelta(seconds=3 * at) for at in range(count)] * ranks,
        "measure": "busy",
        "pace_seconds": (forward + backward).ravel(),
    }
    if passes:
        columns |= {"forward_seconds": forward.ravel(), "backward_seconds": backward.ravel()}
    return conform(pl.LazyFrame(columns), PACES).collect()


def nothing(_: Floats, __: Floats, ___: np.random.Generator) -> None:
    """A healthy job."""


def pauses(forward: Floats, _: Floats, rng: np.random.Generator) -> None:
    """Each rank pauses four times."""
    for row in forward:
        row[int(rng.integers(0, 100)) :: 100] += 0.3


def pauses_together(forward: Floats, _: Floats, __: np.random.Generator) -> None:
    """All pause at once, but every third one for longer."""
    forward[:, 50::100] += 0.3
    forward[::3, 50::100] += 0.3


def pauses_of_one(forward: Floats, _: Floats, __: np.random.Generator) -> None:
    """One rank pauses."""
    forward[3, 50::100] += 0.3


def pauses_of_all_sizes(forward: Floats, _: Floats, rng: np.random.Generator) -> None:
    """Noise with a heavy tail."""
    forward += np.where(rng.random(forward.shape) < 0.01, rng.exponential(0.3, forward.shape), 0.0)


def rare_pauses(forward: Floats, _: Floats, __: np.random.Generator) -> None:
    """Each rank pauses shortly, once."""
    forward[np.arange(forward.shape[0]), 7 * np.arange(forward.shape[0])] += 0.1


def lengths(forward: Floats, backward: Floats, rng: np.random.Generator) -> None:
    """Sequences differ in length."""
    load = 1.0 + 0.1 * np.abs(rng.standard_normal(forward.shape))
    forward *= load
    backward *= load


def one_is_slow(forward: Floats, backward: Floats, rng: np.random.Generator) -> None:
    """Lengths differ, and one rank is slowest in most steps."""
    lengths(forward, backward, rng)
    forward[3, 100:] *= 1.5
    backward[3, 100:] *= 1.5


def unlike_passes(forward: Floats, backward: Floats, rng: np.random.Generator) -> None:
    """Both passes scatter, but not together."""
    forward *= 1.0 + 0.1 * np.abs(rng.standard_normal(forward.shape))
    backward *= 1.0 + 0.1 * np.abs(rng.standard_normal(forward.shape))


def still_passes(forward: Floats, backward: Floats, rng: np.random.Generator) -> None:
    """The backward pass never moves."""
    lengths(forward, backward, rng)
    forward += backward - 2.0
    backward[:] = 2.0


STORIES = {
    story.__name__: story
    for story in (
        *(nothing, pauses, pauses_together, pauses_of_one, pauses_of_all_sizes, rare_pauses),
        *(lengths, one_is_slow, unlike_passes, still_passes),
    )
}


def told(frame: pl.DataFrame) -> list[tuple[str, str, str]]:
    """Kind, level and cause of each finding."""
    rows = find_uneven_work(frame.lazy(), UnevenParams()).to_dicts()
    return [(row["kind"], row["level"], row["cause"]) for row in rows]


PAUSES = [("imbalance", "job", "unsynchronised_pauses")]
LENGTHS = [("imbalance", "job", "sequence_lengths")]


@pytest.mark.parametrize(
    ("story", "expected"),
    [
        pytest.param("nothing", [], id="a healthy job"),
        pytest.param("pauses", PAUSES, id="each rank pauses at its own steps"),
        pytest.param("pauses_together", [], id="all pause at once"),
        pytest.param("pauses_of_one", [], id="one rank pauses"),
        pytest.param("pauses_of_all_sizes", [], id="a heavy tail is no pause"),
        pytest.param("rare_pauses", [], id="too little to tell"),
        pytest.param("lengths", LENGTHS, id="both passes of another rank in each step"),
        pytest.param("one_is_slow", [], id="the same rank in most steps is another matter"),
        pytest.param("unlike_passes", [], id="passes that do not move together"),
        pytest.param("still_passes", [], id="a pass that never moves"),
    ],
)
def test_uneven_work(story: str, expected: list[tuple[str, str, str]]) -> None:
    """The job is told what it loses to turns that its ranks take, by their cause."""
    assert told(job(story)) == expected


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        pytest.param(job("pauses", passes=False), PAUSES, id="pauses show in the whole work"),
        pytest.param(job("lengths", passes=False), [], id="lengths do not"),
        pytest.param(job("pauses", ranks=4), [], id="too few ranks"),
        pytest.param(job("pauses", count=60), [], id="too few steps"),
        pytest.param(
            job("lengths").filter((pl.col("rank") + pl.col("step")) % 5 > 0), LENGTHS, id="gaps"
        ),
    ],
)
def test_what_is_told(frame: pl.DataFrame, expected: list[tuple[str, str, str]]) -> None:
    """What sources leave out bounds what can be said."""
    assert told(frame) == expected


def test_effect() -> None:
    """The loss is that of the mean step."""
    rows = [
        find_uneven_work(job(story).lazy(), UnevenParams()).row(0, named=True)
        for story in ("pauses", "lengths")
    ]

    assert [row["slowdown"] for row in rows] == [
        pytest.approx(1.0 + 0.3 * (1 - 0.99**16) / 3, abs=0.003),
        pytest.approx(1.13, abs=0.03),
    ]


@settings(max_examples=15)
@given(st.integers(0, 99), st.integers(1, 2), st.sampled_from([1.0, 1000.0]))
def test_properties(seed: int, copies: int, unit: float) -> None:
    """Row order, duplicates and the unit of time change nothing."""
    rows = job("lengths", count=120).sample(fraction=1.0, shuffle=True, seed=seed)
    seconds = pl.col("pace_seconds", "forward_seconds", "backward_seconds")

    assert told(pl.concat([rows] * copies).with_columns(seconds * unit)) == LENGTHS


def test_the_door() -> None:
    """A frame that is no `PACES` is refused."""
    with pytest.raises(SchemaError, match="columns do not fit"):
        find_uneven_work(pl.LazyFrame({"run": ["r"]}), UnevenParams())
