"""Tests of numbers that are none."""

from math import inf, nan

import polars as pl
import pytest

from collectors.frames import EVENTS, STEPS, conform
from detectors.numerical import find_numerical
from detectors.verdicts import verdicts_of


def steps(*rows: tuple[int, float | None, float | None, str | None]) -> pl.LazyFrame:
    """Return steps: number, loss, gradient norm, loss state."""
    names = ("step", "loss", "grad_norm", "loss_state")
    data = [{"run": "r", "attempt": 0, **dict(zip(names, row, strict=True))} for row in rows]
    return pl.LazyFrame(data, schema=STEPS)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param([(1, 2.0, 1.0, "printed")], [], id="numbers are fine"),
        pytest.param(
            [(1, 2.0, 1.0, "printed"), (2, nan, 1.0, "printed")],
            [(2, "not_a_number")],
            id="a NaN loss is found at its step",
        ),
        pytest.param(
            [(3, 2.0, inf, None)],
            [(3, "not_a_number")],
            id="an infinite gradient norm is no number",
        ),
        pytest.param(
            [(3, 2.0, inf, None), (4, 1.9, 1.0, None)],
            [(3, "infinite_gradient")],
            id="training that goes on skipped the step",
        ),
        pytest.param(
            [(4, None, nan, "not_printed")],
            [(4, "not_a_number")],
            id="a loss that the source leaves out is found by its absence",
        ),
        pytest.param(
            [(3, 2.0, 1.0, "printed"), (4, None, 1.0, "not_printed")],
            [(4, "loss_not_printed")],
            id="a loss left out beside gradients that are numbers may be a negative one",
        ),
        pytest.param(
            [(4, None, None, "not_printed")],
            [(4, "not_a_number")],
            id="without gradient norms a loss left out is most likely none",
        ),
        pytest.param(
            [(5, None, None, "all_skipped")],
            [],
            id="skipped steps while the loss scale falls are warm-up",
        ),
        pytest.param([(6, None, None, None)], [], id="a loss nobody asked for is no finding"),
        pytest.param(
            [(7, 0.0, nan, "printed")],
            [(7, "collapsed")],
            id="a loss of zero with a NaN gradient is a collapse, not the best loss",
        ),
        pytest.param(
            [(9, nan, 1.0, None), (8, nan, 1.0, None)],
            [(8, "not_a_number")],
            id="the first step counts, in any row order",
        ),
    ],
)
def test_numerical(
    rows: list[tuple[int, float | None, float | None, str | None]],
    expected: list[tuple[int, str]],
) -> None:
    """A loss or gradient norm that is no number is a finding at its first step."""
    found = verdicts_of(find_numerical(steps(*rows)))

    assert [(one.onset_step, one.cause) for one in found] == expected


@pytest.mark.parametrize(
    ("step", "action"),
    [
        pytest.param(
            30,
            "stop the run and restore the checkpoint of step 20, the last from before step 30",
            id="the last save from before it",
        ),
        pytest.param(
            20,
            "stop the run and restore the last checkpoint from before step 20",
            id="a save of the step itself holds the fault",
        ),
        pytest.param(
            None,
            "stop the run and restore the last checkpoint from before it",
            id="no step is told",
        ),
    ],
)
def test_way_back(step: int | None, action: str) -> None:
    """The finding says which checkpoint is from before it."""
    rows = pl.LazyFrame(
        [{"run": "r", "attempt": 0, "step": step, "loss": nan, "loss_state": "printed"}], STEPS
    )
    events = conform(pl.LazyFrame({"run": "r", "kind": "checkpoint", "code": ["20"]}), EVENTS)

    assert [one.action for one in verdicts_of(find_numerical(rows, events))] == [action]
