"""Time that is lost between steps."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from collectors.frames import STEPS, conform
from detectors.between_steps import BetweenParams, find_between_steps
from detectors.jobs import JobParams
from detectors.verdicts import verdicts_of

START = datetime(2031, 2, 3, 4, tzinfo=UTC)


def steps(
    intervals: list[tuple[float, float]], apart: int = 10, rank: int | None = None
) -> pl.LazyFrame:
    """Reports: the seconds of a step that each tells, and those lost between two steps."""
    clock, rows = START, list[dict[str, object]]()
    for at, (told, lost) in enumerate(intervals, 1):
        clock += timedelta(seconds=apart * (told + lost))
        rows.append(
            {
                "run": "r",
                "attempt": 0,
                "rank": rank,
                "step": apart * at,
                "interval_steps": apart,
                "end_time": clock,
                "step_seconds": told,
                "time_kind": "interval_mean",
                "source": "x",
            }
        )
    return conform(pl.LazyFrame(rows, schema_overrides={"rank": pl.Int32}), STEPS)


CALM = [(2.0, 0.0)] * 50


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        pytest.param(steps(CALM * 2), [], id="nothing lost"),
        pytest.param(steps([*CALM, *[(2.0, 1.0)] * 50]), [(510, None)], id="half a step lost"),
        pytest.param(
            steps([*CALM, *[(2.0, 1.0)] * 30, *CALM]), [(510, 810)], id="lost for a while"
        ),
        pytest.param(
            steps([*CALM, *[(3.0, 0.0)] * 50]), [], id="steps that are slow themselves are others'"
        ),
        pytest.param(
            steps([*CALM, (2.0, 30.0), *CALM]), [], id="a single long pause is no stretch"
        ),
        pytest.param(
            steps([(0.2, 0.0)] * 50 + [(0.2, 0.1)] * 50, apart=1),
            [],
            id="stamps of seconds cannot tell of tenths",
        ),
        pytest.param(steps([*CALM, *[(2.0, 1.0)] * 50], rank=3), [], id="ranks tell of phases"),
        pytest.param(steps([(2.0, 0.0)]), [], id="a report alone"),
    ],
)
def test_between_steps(frame: pl.LazyFrame, expected: list[tuple[int, int | None]]) -> None:
    """Where steps take as long as before but stamps lie further apart, time is lost between."""
    found = verdicts_of(find_between_steps(frame, JobParams(), BetweenParams()))

    assert [(one.onset_step, one.cleared_step) for one in found] == expected
    assert {one.cause for one in found} <= {"between_steps"}


def test_slow_throughout() -> None:
    """Without steps outside the stretch nothing tells that they were not slow."""
    slow = [(2.0 + at / 20, 1.0 + at / 20) for at in range(100)]
    found = verdicts_of(find_between_steps(steps(slow), JobParams(), BetweenParams()))

    assert {one.cause for one in found} <= {"between_steps"}
