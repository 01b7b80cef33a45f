"""Attempts of one run hang for themselves."""

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from collectors.frames import COLLECTIVES, EVENTS, STEPS
from detectors.endings import EndingParams
from detectors.hang_attempts import hang_attempts

START = datetime(2026, 1, 5, 0, 30, tzinfo=UTC)


def at(minutes: float) -> datetime:
    """A time."""
    return START + timedelta(minutes=minutes)


def wait(rank: int, sequence: int, minutes: float | None, **more: Any) -> dict[str, Any]:
    """A rank that waited ten minutes in a collective, until then."""
    time = None if minutes is None else at(minutes)
    row = {"run": "a", "rank": rank, "group": "0", "sequence": sequence, "state": "timed_out"}
    return row | {"time": time, "running_seconds": 600.0, "source": "job.log"} | more


def event(kind: str, minutes: float | None, **more: Any) -> dict[str, Any]:
    """An event of the run."""
    time = None if minutes is None else at(minutes)
    return {"run": "a", "kind": kind, "time": time, "source": "job.log"} | more


def parts(
    collectives: list[dict[str, Any]],
    events: list[dict[str, Any]] | None = None,
    steps: list[dict[str, Any]] | None = None,
) -> list[tuple[list[int], int, int]]:
    """Of each attempt the sequence numbers, how many events it has, and how many steps."""
    found = hang_attempts(
        pl.LazyFrame(steps or [], STEPS),
        pl.LazyFrame(collectives, COLLECTIVES),
        pl.LazyFrame(events or [], EVENTS),
        EndingParams(),
    )
    return [
        (
            one.collectives.collect()["sequence"].sort().to_list(),
            one.events.collect().height,
            one.steps.collect().height,
        )
        for one in found
    ]


TWICE = [wait(0, 90, 10), wait(1, 90, 10), wait(0, 30, 60), wait(2, 30, 60)]


@pytest.mark.parametrize(
    ("collectives", "events", "expected"),
    [
        pytest.param([], [], [(list[int](), 0, 0)], id="nobody waited"),
        pytest.param(
            TWICE[:2], [event("restart", 11)], [([90, 90], 1, 0)], id="nobody waited after"
        ),
        pytest.param(
            [wait(0, 90, 10), wait(2, 30, 60)],
            [event("restart", 11)],
            [([90], 1, 0), ([30], 0, 0)],
            id="a restart is between them",
        ),
        pytest.param(
            [wait(0, 90, 10), wait(2, 30, 60)],
            [],
            [([30, 90], 0, 0)],
            id="nobody says so, and no rank waited twice: one may have come late",
        ),
        pytest.param(
            TWICE, [], [([90, 90], 0, 0), ([30, 30], 0, 0)], id="a rank that times out once more"
        ),
        pytest.param(
            [wait(0, 90, 10), wait(0, 7, 19.5)],
            [],
            [([7, 90], 0, 0)],
            id="in two groups at a time a rank waits once",
        ),
        pytest.param(
            [*TWICE, wait(3, 31, None)],
            [event("comm_error", 9, code="timeout"), event("note", None)],
            [([90, 90], 1, 0), ([30, 30, 31], 1, 0)],
            id="what nothing dates is of the last",
        ),
        pytest.param(
            [
                wait(0, 90, 10, position=1),
                wait(0, 30, 60, position=9),
                wait(1, 8, None, position=3),
            ],
            [],
            [([8, 90], 0, 0), ([30], 0, 0)],
            id="what has no clock is of the attempt of the line above it",
        ),
        pytest.param(
            [
                *TWICE,
                wait(5, 29, 40, state="completed", source="dump_5", running_seconds=None),
                wait(5, 30, 50, state="started", source="dump_5", running_seconds=None),
                wait(5, 28, 5, state="completed", source="dump_5", running_seconds=None),
            ],
            [event("flight_dump", 50, source="dump_5")],
            [([90, 90], 0, 0), ([28, 29, 30, 30, 30], 1, 0)],
            id="a dump is of one process, however old its entries",
        ),
        pytest.param(
            [wait(0, 90, 10), wait(1, 0, 30, operation="init", state="started")],
            [event("restart", 11)],
            [([0, 90], 1, 0)],
            id="a communicator that was not made yet is no wait",
        ),
        pytest.param(
            [*TWICE, wait(9, 1, 10, run="b")],
            [],
            [([90, 90], 0, 0), ([1, 30, 30], 0, 0)],
            id="another run is told whole, with the last",
        ),
        pytest.param(
            [wait(0, 90, 10), wait(0, 30, 90)],
            [event("restart", 11), event("restart", 40), event("note", 30)],
            [([90], 0, 0), ([30], 0, 0)],
            id="an attempt between them in which nobody waited is left out",
        ),
    ],
)
def test_attempts(
    collectives: list[dict[str, Any]],
    events: list[dict[str, Any]],
    expected: list[tuple[list[int], int, int]],
) -> None:
    """What each attempt in which somebody waited tells, the earliest first."""
    assert parts(collectives, events) == expected


def test_steps_are_of_their_attempt() -> None:
    """Steps that ended before the restart are of the attempt before it."""
    steps = [{"run": "a", "step": at_step, "end_time": at(at_step)} for at_step in (1, 2, 30)]
    found = parts([wait(0, 90, 10), wait(0, 30, 60)], [event("restart", 11)], steps)
    assert found == [([90], 0, 2), ([30], 0, 1)]
