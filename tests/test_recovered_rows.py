"""Rows that a trace has lost, told from what is before them, beside them and behind them."""

import numpy as np
import pytest

from detectors.recovered_rows import with_recovered_rows
from detectors.traced_arrays import OPERATIONS, Trace

LENGTHS = {
    "params-all-gather": 1.0,
    "forward-compute": 3.0,
    "backward-compute": 5.0,
    "layernorm-grads-all-reduce": 0.5,
    "embedding-grads-all-reduce": 2.0,
    "grads-reduce-scatter": 4.0,
    "optimizer-clip-main-grad": 1.0,
    "optimizer": 3.0,
}
"""Seconds, one after the other with a gap of 0.25 s."""

WAITED = ("embedding-grads-all-reduce", 7.0)
"""What takes so many seconds longer in the first of the steps."""

Rows = list[tuple[str, int]]


def trace() -> Trace:
    """Two stages of one replica that do the same in three steps; no transfers."""
    empty = np.empty((0, 2, 1, 3))
    starts = dict.fromkeys(OPERATIONS, empty)
    ends = dict.fromkeys(OPERATIONS, empty)
    now = np.zeros((1, 2, 1, 3))
    for name, seconds in LENGTHS.items():
        starts[name] = now
        ends[name] = now + seconds
        if name == WAITED[0]:
            ends[name][..., 0] += WAITED[1]
        now = ends[name] + 0.25
    numbers = np.arange(3)
    return Trace(
        run="r",
        attempt=0,
        starts=starts,
        ends=ends,
        chunks={},
        stages=numbers[:2],
        replicas=numbers[:1],
        steps=numbers,
        ranks=numbers[:2, None],
    )


def without(rows: Rows, step: int = 0) -> Trace:
    """The trace that lost rows of a step: their operation and stage."""
    lost = trace()
    for name, stage in rows:
        for clocks in (lost.starts, lost.ends):
            clocks[name] = clocks[name].copy()
            clocks[name][:, stage, :, step] = np.nan
    return lost


def holes(rows: Rows, step: int = 0) -> set[str]:
    """The operations whose rows are not what they were."""
    whole, found = trace(), with_recovered_rows(without(rows, step))
    return {
        name
        for name in LENGTHS
        if not (
            np.allclose(found.starts[name], whole.starts[name])
            and np.allclose(found.ends[name], whole.ends[name])
        )
    }


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param([], set(), id="nothing is lost"),
        pytest.param([("optimizer", 1)], set(), id="the last operation"),
        pytest.param([("layernorm-grads-all-reduce", 0)], set(), id="one that waits for nobody"),
        pytest.param([(WAITED[0], 0)], set(), id="a member of a collective"),
        pytest.param([(WAITED[0], 0), (WAITED[0], 1)], set(), id="all members of a collective"),
        pytest.param(
            [(WAITED[0], 0), (WAITED[0], 1), ("grads-reduce-scatter", 1)],
            set(),
            id="all members and what one of them did next",
        ),
        pytest.param(
            [("backward-compute", 0), ("layernorm-grads-all-reduce", 0)],
            {"backward-compute"},
            id="what follows a micro-batch that is lost as well: only the former",
        ),
        pytest.param(
            [(name, stage) for name in list(LENGTHS)[4:6] for stage in (0, 1)],
            {WAITED[0], "grads-reduce-scatter"},
            id="two waits in a row of which nobody tells: the wait lies between them somewhere",
        ),
    ],
)
def test_recovered_rows(rows: Rows, expected: set[str]) -> None:
    """Each row that its neighbours or its group tell of is back as it was."""
    assert holes(rows) == expected


def test_whole_trace() -> None:
    """A trace that lost nothing is handed back as it is."""
    whole = trace()

    assert with_recovered_rows(whole) is whole


def test_no_such_operation() -> None:
    """What a worker never does is not made up."""
    lost = without([(WAITED[0], 1)])
    for clocks in (lost.starts, lost.ends):
        clocks[WAITED[0]][:, 1] = np.nan
        clocks["optimizer"][:, 0, :, 2] = np.nan
    found = with_recovered_rows(lost)

    assert np.isnan(found.starts[WAITED[0]][:, 1]).all()
    assert np.isnan(found.ends[WAITED[0]][:, 1]).all()
    assert not np.isnan(found.ends["optimizer"]).any()
