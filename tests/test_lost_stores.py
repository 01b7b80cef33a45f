"""A store that is gone while nothing tells why."""

from typing import Any

import polars as pl
import pytest

from collectors.frames import EVENTS, STEPS
from detectors.lost_stores import lost_stores


def said(kind: str, rank: int | None = None, **more: Any) -> dict[str, Any]:
    """An event of the run."""
    row = {"run": "a", "kind": kind, "rank": rank, "source": "job.log", "position": 1}
    return row | {"message": kind} | more


LOST = [said("store_lost", rank) for rank in (2, 1, 3)]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param([], [], id="nobody lost it"),
        pytest.param(LOST, [("ranks 1 to 3",)], id="all but the one that keeps it"),
        pytest.param([*LOST, said("store_lost", 0)], [], id="its keeper lives and lost it too"),
        pytest.param([*LOST, said("run_end", code="done")], [], id="the job had ended"),
        pytest.param([*LOST, said("comm_end", 0)], [], id="communicators had ended"),
        pytest.param([*LOST, said("process_exit", 0, code="0")], [], id="its keeper had ended"),
        pytest.param([*LOST, said("oom", 0)], [], id="its keeper died, which is told elsewhere"),
        pytest.param([*LOST, said("oom", 0, run="b")], [("ranks 1 to 3",)], id="in another run"),
        pytest.param([said("store_lost")], [], id="nobody says who lost it"),
    ],
)
def test_lost_stores(events: list[dict[str, Any]], expected: list[tuple[str, ...]]) -> None:
    """Who lost the store of a run of whose end nothing is known."""
    found = lost_stores(pl.LazyFrame(events, EVENTS), STEPS.to_frame().lazy())
    assert [one.victims for one in found] == expected
    assert all(
        (one.kind, one.level, one.cause) == ("unknown", "job", "store_lost") for one in found
    )


def test_noise_after_the_last_step() -> None:
    """Of a run that trained, and that nobody calls hung or crashed, the end takes the store."""
    steps = pl.LazyFrame([{"run": "a", "step": 7}], STEPS)
    assert lost_stores(pl.LazyFrame(LOST, EVENTS), steps) == []
