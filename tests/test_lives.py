"""When attempts lived: by a scheduler, by logs, or by their steps."""

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from collectors.readings import Reading, reading_of
from slo.lives import budget_lives

BEGIN = datetime(2031, 2, 3, tzinfo=UTC)


def at(hours: float) -> datetime:
    """A moment, in hours."""
    return BEGIN + timedelta(hours=hours)


def job(start: float, end: float | None, state: str | None, **more: Any) -> dict[str, Any]:
    """A row of `JOBS`."""
    moments = {"start": at(start), "end": None if end is None else at(end)}
    return {"run": "r", "attempt": 0, "state": state} | moments | more


def step(number: int, end: float, **more: Any) -> dict[str, Any]:
    """A row of `STEPS` of an hour."""
    told = {"run": "r", "attempt": 0, "step": number, "interval_steps": 1, "end_time": at(end)}
    return told | {"step_seconds": 3600.0} | more


def read(**frames: list[dict[str, Any]]) -> Reading:
    """What was read."""
    return reading_of(
        **{name: pl.DataFrame(rows, infer_schema_length=None) for name, rows in frames.items()}
    )


def hours(moment: datetime) -> float:
    """Hours since the beginning."""
    return (moment - BEGIN) / timedelta(hours=1)


@pytest.mark.parametrize(
    ("reading", "expected"),
    [
        pytest.param(
            read(jobs=[job(0, 2, "NODE_FAIL"), job(3, 5, "COMPLETED", attempt=1)]),
            [(0.0, 2.0, True, "infra"), (3.0, 5.0, True, "done")],
            id="a scheduler's accounts",
        ),
        pytest.param(
            read(jobs=[job(0, 2, "FAILED"), job(0, 2.01, "ended", source="log")]),
            [(0.0, 2.0, True, "failure")],
            id="a scheduler is believed beside a log",
        ),
        pytest.param(
            read(jobs=[job(0, 2, "ended"), job(0.1, 1.9, "ended", source="rank 1")]),
            [(0.0, 2.0, True, None)],
            id="processes that log apart are one attempt",
        ),
        pytest.param(
            read(jobs=[job(0, None, "RUNNING", elapsed_seconds=7200.0)]),
            [(0.0, 2.0, False, None)],
            id="a job that runs is seen until the end of its accounts",
        ),
        pytest.param(
            read(jobs=[job(0, None, "RUNNING"), job(1, 6, "COMPLETED", run="s")]),
            [(0.0, 6.0, False, None), (1.0, 6.0, True, "done")],
            id="or until the end of the data",
        ),
        pytest.param(
            read(jobs=[job(0, None, None), job(1, 6, "COMPLETED", run="s")]),
            [(1.0, 6.0, True, "done")],
            id="what only began is no life",
        ),
        pytest.param(
            read(steps=[step(1, 1), step(2, 2), step(2, 4, attempt=1)]),
            [(0.0, 2.0, True, "restart"), (3.0, 4.0, False, None)],
            id="steps alone tell that an attempt was followed by another",
        ),
        pytest.param(read(jobs=[job(5, 4, "FAILED")]), [(5.0, 5.0, True, "failure")], id="no time"),
    ],
)
def test_lives(reading: Reading, expected: list[tuple[float, float, bool, str | None]]) -> None:
    """Each attempt is told once, by who knows best."""
    found = budget_lives(reading)

    assert [
        (hours(start), hours(end), over, by)
        for start, end, over, by in found.select("start", "end", "is_over", "ended_by").rows()
    ] == expected


@pytest.mark.parametrize(
    ("reading", "expected"),
    [
        pytest.param(
            read(jobs=[job(0, 2, "FAILED", hosts=["b", "a"], world=16)]),
            (["a", "b"], 2, 16),
            id="accounts name nodes and size",
        ),
        pytest.param(
            read(
                jobs=[job(0, 2, "FAILED")],
                placements=[{"run": "r", "attempt": 0, "rank": n, "host": "a"} for n in range(8)],
            ),
            (["a"], 1, 8),
            id="placements do",
        ),
        pytest.param(
            read(jobs=[job(0, 2, "FAILED")], steps=[step(1, 1, rank=3, host="c")]),
            (["c"], 1, 1),
            id="reports of ranks do",
        ),
        pytest.param(read(jobs=[job(0, 2, "FAILED")]), (None, None, None), id="nothing does"),
    ],
)
def test_sizes(reading: Reading, expected: tuple[list[str] | None, int | None, int | None]) -> None:
    """How large an attempt was is null where nothing tells."""
    assert budget_lives(reading).select("hosts", "nodes", "ranks").row(0) == expected
