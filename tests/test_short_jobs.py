"""Jobs that report too rarely for statistics."""

import polars as pl
import pytest

from detectors.pauses import JOB_PACES
from detectors.short_jobs import ShortJobParams, find_short_slow_jobs
from detectors.verdicts import verdicts_of


def paces(*seconds: float) -> pl.LazyFrame:
    """Reports of a job, by number."""
    rows = [
        {"run": "r", "attempt": 0, "step": step, "step_seconds": one, "paused": False}
        for step, one in enumerate(seconds, 1)
    ]
    return pl.LazyFrame(rows, schema=JOB_PACES)


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        pytest.param(paces(*[32.0] * 9), [], id="as fast as ever"),
        pytest.param(
            paces(32, 32, 33, 102, 104, 1100, 1090, 33, 32), [(4, 8, 2)], id="one spell, two levels"
        ),
        pytest.param(paces(32, 32, 33, 102, 104, 103), [(4, None, 1)], id="a spell that lasts"),
        pytest.param(paces(32, 32, 33, 102, 32, 32), [], id="a spike is no spell"),
        pytest.param(paces(90, 80, 70, 32, 32, 33), [], id="a slow start is warm-up"),
        pytest.param(paces(10, 20, 40, 80, 160), [], id="no pace was ever kept"),
        pytest.param(paces(32, 32), [], id="too few"),
        pytest.param(paces(*[32.0] * 30, *[100.0] * 10), [], id="enough for the statistics"),
    ],
)
def test_short_jobs(frame: pl.LazyFrame, expected: list[tuple[int, int | None, int]]) -> None:
    """Reports in a row that are plainly slower than the good pace are one spell."""
    found = verdicts_of(find_short_slow_jobs(frame, ShortJobParams()))

    assert [(one.onset_step, one.cleared_step, len(one.evidence)) for one in found] == expected


def test_levels() -> None:
    """Each level of a spell is told with its own ratio; who is at fault is not known."""
    frame = paces(32, 32, 33, 102, 104, 1100, 1090, 33, 32)
    (found,) = verdicts_of(find_short_slow_jobs(frame, ShortJobParams()))

    assert ([one.what for one in found.evidence], found.cause) == (
        [
            "steps 4 to 5: 103 s, x3.2 of its good 32 s",
            "steps 6 to 7: 1095 s, x34.2 of its good 32 s",
        ],
        None,
    )


def test_impossible_params() -> None:
    """A threshold that every job would pass is refused."""
    with pytest.raises(ValueError, match="min_slowdown must be above"):
        ShortJobParams(min_slowdown=1.0)
