"""TFLOP/s that begin to count something else."""

import polars as pl
import pytest

from collectors.frames import EVENTS, STEPS, conform
from detectors.throughput_changes import find_throughput_changes
from detectors.verdicts import verdicts_of


def steps(before: float | None, after: float | None) -> pl.LazyFrame:
    """Five reports on either side of line 6, with their seconds."""
    seconds = [before] * 5 + [after] * 5
    rows = [
        {"source": "x", "position": at, "step": at, "step_seconds": one, "samples": 512.0}
        for at, one in enumerate(seconds, 1)
    ]
    return conform(pl.LazyFrame(rows), STEPS)


CHANGE = {"source": "x", "run": "r", "kind": "throughput_changed", "code": "410.0->352.0"}


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        pytest.param(steps(6.0, 6.01), [6], id="the same speed: another formula"),
        pytest.param(steps(6.0, 12.0), [], id="half the speed: the job was resized"),
        pytest.param(steps(6.0, None), [], id="no time after: not known"),
    ],
)
def test_throughput_changes(frame: pl.LazyFrame, expected: list[int]) -> None:
    """A note at the step, never a slowdown."""
    events = conform(pl.LazyFrame([CHANGE | {"position": 6}]), EVENTS)
    found = verdicts_of(find_throughput_changes(events, frame))

    assert [one.onset_step for one in found] == expected
    assert {(one.kind, one.cause, one.slowdown) for one in found} <= {
        ("config_drift", "throughput_definition", None)
    }


def test_nothing_changed() -> None:
    """Without a change there is nothing to say."""
    found = find_throughput_changes(EVENTS.to_frame().lazy(), steps(6.0, 6.0))

    assert found.is_empty()
