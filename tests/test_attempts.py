"""How attempts of a run followed each other."""

from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest

from collectors.frames import JOBS
from paceline.attempt_output import attempts_json
from slo.attempts import run_attempts


def at(clock: str) -> datetime:
    """Return a time of the day of all tests."""
    return datetime.fromisoformat(f"2031-02-03T{clock}+00:00").astimezone(UTC)


def attempt(state: str | None, start: str, end: str | None, **more: Any) -> dict[str, Any]:
    """Return a row of `JOBS` of run 77."""
    told = {"run": "77", "state": state, "start": at(start), "end": at(end) if end else None}
    return told | more


REQUEUED = [
    attempt("NODE_FAIL", "00:00:00", "02:00:00", attempt=0),
    attempt("PREEMPTED", "02:10:00", "05:00:00", attempt=1),
    attempt("CANCELLED", "05:30:00", "06:00:00", attempt=2),
]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param(
            REQUEUED,
            [(None, 7200.0, "infra"), (600.0, 10200.0, "preempted"), (1800.0, 1800.0, "user")],
            id="a job that was requeued twice waited ten and thirty minutes",
        ),
        pytest.param(
            [attempt("COMPLETED", "01:00:00", "02:00:00", submit=at("00:45:00"))],
            [(900.0, 3600.0, "done")],
            id="a first attempt waits from its submission",
        ),
        pytest.param(
            [
                attempt("TIMEOUT", "00:00:00", "01:00:00"),
                attempt("RUNNING", "01:20:00", None, submit=at("01:05:00"), elapsed_seconds=60.0),
            ],
            [(None, 3600.0, "limit"), (900.0, 60.0, None)],
            id="a later submission is when the next wait begins",
        ),
        pytest.param(
            [
                attempt(None, "00:00:00", "01:00:00"),
                attempt("OUT_OF_MEMORY", "02:00:00", "03:00:00"),
            ],
            [(None, 3600.0, "failure")],
            id="rows that are no scheduler's are left out",
        ),
        pytest.param(REQUEUED[:1] * 2, [(None, 7200.0, "infra")], id="told twice is one attempt"),
    ],
)
def test_attempts(rows: list[dict[str, Any]], expected: list[tuple[Any, ...]]) -> None:
    """Waits lie between attempts, and the state says who ended each."""
    found = run_attempts(pl.DataFrame(rows, schema=JOBS).lazy()).collect()
    assert found.select("wait_seconds", "run_seconds", "ended_by").rows() == expected


def test_attempts_for_machines() -> None:
    """Attempts of a scheduler come with their waits, rounds of a launcher with why they began."""
    rows = [
        REQUEUED[1],
        {"run": "77", "attempt": 1, "flags": ["rendezvous"], "reason": "failure", "world": 8},
    ]
    assert attempts_json(pl.DataFrame(rows, schema=JOBS)) == [
        {
            "run": "77",
            "attempt": 1,
            "start": "2031-02-03T02:10:00Z",
            "end": "2031-02-03T05:00:00Z",
            "wait_seconds": None,
            "run_seconds": 10200.0,
            "state": "PREEMPTED",
            "ended_by": "preempted",
        },
        {"run": "77", "attempt": 1, "start": None, "world": 8, "began_by": "failure"},
    ]
