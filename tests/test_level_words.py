"""A stretch that came in steps is told step by step."""

from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest

from detectors.jobs import JobParams, find_slow_jobs
from detectors.level_words import level_evidence
from detectors.panels import Floats
from detectors.pauses import JOB_PACES
from detectors.verdicts import verdicts_of

FIRST = datetime(2026, 3, 1, tzinfo=UTC)


def paces(seconds: Floats) -> pl.DataFrame:
    """The steps of one run, numbered from 100."""
    count = len(seconds)
    ends = [FIRST + timedelta(seconds=float(at)) for at in np.cumsum(seconds)]
    return pl.DataFrame(
        {
            "run": ["a"] * count,
            "attempt": [0] * count,
            "step": range(100, 100 + count),
            "end_time": ends,
            "step_seconds": seconds,
            "paused": [False] * count,
            "ranks": [8] * count,
            "data_seconds": None,
        },
        schema=JOB_PACES,
    )


def noisy(*levels: float) -> Floats:
    """Forty steps a level, with 1 % of noise."""
    noise = np.random.default_rng(2).normal(0.0, 0.01, 40 * len(levels))
    return np.repeat(levels, 40) * np.exp(noise)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        pytest.param(noisy(1.0), [], id="one level needs no more words"),
        pytest.param(noisy(1.0, 1.05), [], id="a small change is no level"),
        pytest.param(
            np.repeat([1.0, 2.0, 1.5], 40),
            ["steps 100 to 139: 1 s", "steps 140 to 179: 2 s", "steps 180 to 219: 1.5 s"],
            id="each level is told with its steps",
        ),
        pytest.param(np.ones(3), [], id="a short stretch has one level"),
    ],
)
def test_level_evidence(seconds: Floats, expected: list[str]) -> None:
    """A level is told where it differs clearly from the one before."""
    assert [one.what for one in level_evidence(paces(seconds))] == expected


@pytest.mark.parametrize(
    ("levels", "kind", "expected"),
    [
        pytest.param(
            [1.0, 2.0, 1.5],
            "group_slow",
            ["steps 140 to 179: 2 s", "steps 180 to 219: 1.5 s"],
            id="a job that partly recovered",
        ),
        pytest.param(
            [1.0, 1.4, 2.0],
            "degrading",
            ["steps 124 to 139: 1 s", "steps 140 to 179: 1.4 s", "steps 180 to 219: 2 s"],
            id="a rise that came in two steps",
        ),
        pytest.param([1.0, 2.0, 2.0], "group_slow", [], id="a job that slowed once"),
    ],
)
def test_slow_job(levels: list[float], kind: str, expected: list[str]) -> None:
    """A job that slowed in steps is one finding that tells its levels."""
    found = verdicts_of(find_slow_jobs(paces(np.repeat(levels, 40)).lazy(), JobParams()))

    told = [(each.kind, [one.what for one in each.evidence[1:]]) for each in found]
    assert told == [(kind, expected)]
