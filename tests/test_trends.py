"""Trends: a series that worsens all along, told from jumps, noise and calm."""

from math import exp, log
from typing import Any

import numpy as np
import polars as pl
import pytest

from collectors.frames import conform
from detectors.jobs import JobParams, find_slow_jobs
from detectors.pauses import JOB_PACES
from detectors.trends import TrendParams, find_trend

TICKS = np.arange(60, dtype=np.float64)
NOISE = 0.01 * np.random.default_rng(5).standard_normal(60)


@pytest.mark.parametrize(
    ("values", "rise"),
    [
        pytest.param(0.015 * TICKS, 0.015 * 59, id="a straight rise"),
        pytest.param(0.015 * TICKS + NOISE, 0.015 * 59, id="a rise in noise"),
        pytest.param(NOISE, None, id="noise alone"),
        pytest.param(np.where(TICKS < 30, 0.0, 0.6), None, id="a jump"),
        pytest.param(-0.015 * TICKS, None, id="a fall is no worsening"),
        pytest.param(0.003 * TICKS, None, id="too small a rise"),
        pytest.param(0.015 * TICKS[:19], None, id="too few ticks"),
        pytest.param(np.where(TICKS % 2 == 0, 0.02, 0.0) + 0.009 * TICKS, None, id="a saw"),
        pytest.param(np.repeat(0.015 * TICKS, 3), 0.015 * 59, id="more ticks than blocks"),
    ],
)
def test_trend(values: Any, rise: float | None) -> None:
    """A trend is a line that explains nearly all of a series, and rises by enough."""
    found = find_trend(values, TrendParams())
    assert (None if found is None else found.rise) == (
        None if rise is None else pytest.approx(rise, rel=0.05)
    )


def paces(seconds: Any, first: int = 0) -> pl.DataFrame:
    """Paces of one run, a step each."""
    steps = range(first, first + len(seconds))
    frame = pl.DataFrame({"run": "r", "attempt": 0, "step": steps, "step_seconds": seconds})
    return conform(frame.lazy(), JOB_PACES).collect()


@pytest.mark.parametrize(
    ("early", "onset"),
    [
        pytest.param([], 6, id="nothing before"),
        pytest.param([exp(0.015 * at) for at in range(6)], 0, id="the warm-up lies on the line"),
        pytest.param([90.0, *(exp(0.015 * at) for at in range(1, 6))], 1, id="but for compiling"),
        pytest.param([90.0] * 6, 6, id="the warm-up is of another kind"),
    ],
)
def test_where_a_trend_begins(early: list[float], onset: int) -> None:
    """A trend begins with the first step on its line, whether that was judged or not."""
    judged = paces([exp(0.015 * at) for at in range(6, 61)], first=6)
    whole = pl.concat([paces(early), judged])
    (found,) = find_slow_jobs(judged.lazy(), JobParams(), whole.lazy()).to_dicts()
    assert (found["kind"], found["onset_step"], found["slowdown"]) == (
        "degrading",
        onset,
        pytest.approx(exp(0.015 * (60 - onset)), rel=0.01),
    )


def test_a_rise_after_a_good_stretch() -> None:
    """A pace that grows worse later is degrading too, from where it began to."""
    values = [1.0] * 60 + [exp(log(1.8) * at / 60) for at in range(60)] + [1.8] * 40
    found = find_slow_jobs(paces(values).lazy(), JobParams()).to_dicts()
    assert [(one["kind"], 50 <= one["onset_step"] <= 70) for one in found] == [("degrading", True)]
