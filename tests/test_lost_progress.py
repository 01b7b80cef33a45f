"""Restarts that begin at nothing."""

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from collectors.frames import EVENTS, STEPS, conform
from detectors.lost_progress import find_lost_progress
from detectors.verdicts import verdicts_of

START = datetime(2031, 2, 3, 4, tzinfo=UTC)


def step(number: int, line: int, source: str = "x", minute: int | None = None) -> dict[str, Any]:
    """A report at a line of a log."""
    end = None if minute is None else START + timedelta(minutes=minute)
    return {"run": "r", "source": source, "position": line, "step": number, "end_time": end}


def steps(*rows: dict[str, Any]) -> pl.LazyFrame:
    """A frame of reports."""
    return conform(pl.LazyFrame(list(rows), schema_overrides=dict(STEPS)), STEPS)


SCRATCH = {
    "run": "r",
    "source": "x",
    "position": 10,
    "kind": "from_scratch",
    "message": "WARNING: could not find the metadata file /x/latest",
}


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        pytest.param(steps(step(1, 20), step(2, 30)), [], id="a first start has nothing to lose"),
        pytest.param(
            steps(step(500, 5), step(1, 20)), [(1, None)], id="the same log had come further"
        ),
        pytest.param(steps(step(500, 5)), [(None, None)], id="before its first step already"),
        pytest.param(steps(step(500, 5), step(501, 20)), [], id="steps that go on lost nothing"),
        pytest.param(
            steps(step(500, 5, "w", minute=0), step(1, 20, minute=9)),
            [(1, START + timedelta(minutes=9))],
            id="the log of an earlier attempt had come further",
        ),
        pytest.param(
            steps(step(500, 5, "w", minute=30), step(1, 20, minute=9)),
            [],
            id="a later log tells not",
        ),
        pytest.param(steps(step(500, 5, "w"), step(1, 20)), [], id="nor does one without a clock"),
    ],
)
def test_lost_progress(
    frame: pl.LazyFrame, expected: list[tuple[int | None, datetime | None]]
) -> None:
    """A start from scratch is found where the run had steps before it."""
    events = conform(pl.LazyFrame([SCRATCH]), EVENTS)
    found = verdicts_of(find_lost_progress(events, frame))

    assert [(one.onset_step, one.onset) for one in found] == expected
    assert {one.cause for one in found} <= {"started_from_scratch"}


@pytest.mark.parametrize(
    ("minute", "expected"),
    [
        pytest.param(0, [1], id="a checkpoint that was saved before is progress"),
        pytest.param(30, [], id="one that is saved later is not"),
    ],
)
def test_checkpoints(minute: int, expected: list[int]) -> None:
    """What the list of saves tells of a run counts as its steps do."""
    saved = {"run": "r", "source": "progress.txt", "position": 2, "kind": "checkpoint"}
    rows = [SCRATCH, saved | {"code": "500", "time": START + timedelta(minutes=minute)}]
    events = conform(pl.LazyFrame(rows, schema_overrides={"time": EVENTS["time"]}), EVENTS)
    found = verdicts_of(find_lost_progress(events, steps(step(1, 20, minute=9))))

    assert [one.onset_step for one in found] == expected


def test_no_start_from_scratch() -> None:
    """Without such a line there is nothing to say."""
    assert find_lost_progress(EVENTS.to_frame().lazy(), steps(step(1, 2))).is_empty()
