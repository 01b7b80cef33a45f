"""Kernels tell why a rank does not come."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from collectors.frames import EVENTS, SchemaError
from detectors.hang_hosts import told_by_kernels
from detectors.placing import ROLES
from detectors.verdicts import Evidence, Subject, Verdict

ONSET = datetime(2026, 1, 5, 0, 30, tzinfo=UTC)
OPEN = Verdict(
    kind="hang",
    level="job",
    subject=Subject(run="a"),
    confidence="low",
    onset=ONSET,
    detected=ONSET + timedelta(minutes=10),
    evidence=(Evidence(source="job.log:1", what="8 of 8 ranks heard"),),
)
RANK = replace(OPEN, level="rank", subject=Subject(run="a", rank=11), confidence="high")


def said(
    kind: str = "task_blocked", host: str | None = "h2", minutes: float | None = 2, **more: Any
) -> dict[str, Any]:
    """A kernel's line, so long after the onset."""
    time = None if minutes is None else ONSET + timedelta(minutes=minutes)
    row = {"kind": kind, "host": host, "time": time, "source": "kern.log", "position": 7}
    return row | {"message": "blocked for more than 120 seconds"} | more


def places(*hosts: str) -> pl.LazyFrame:
    """Ranks of the run, each on the host given."""
    rows = [{"run": "a", "rank": rank, "host": host} for rank, host in enumerate(hosts)]
    return pl.LazyFrame(rows, ROLES)


def told(
    hang: Verdict, events: list[dict[str, Any]], roles: pl.LazyFrame | None = None
) -> tuple[str, str | None, str | None]:
    """Level, host and cause of what becomes of a hang."""
    (found,) = told_by_kernels(
        [hang], pl.LazyFrame(events, EVENTS), places() if roles is None else roles
    )
    return (found.level, found.subject.host, found.cause)


@pytest.mark.parametrize(
    ("hang", "events", "expected"),
    [
        pytest.param(OPEN, [], ("job", None, None), id="no kernel says anything"),
        pytest.param(OPEN, [said()], ("host", "h2", "task_blocked"), id="one holds a task"),
        pytest.param(
            OPEN, [said("storage_stall")] * 2, ("host", "h2", "storage"), id="or waits for storage"
        ),
        pytest.param(OPEN, [said("cpu_stuck")], ("host", "h2", "cpu_stuck"), id="or stands still"),
        pytest.param(
            OPEN, [said(), said(host="h3")], ("job", None, None), id="kernels of two hosts do"
        ),
        pytest.param(OPEN, [said(host=None)], ("job", None, None), id="nobody says of which host"),
        pytest.param(OPEN, [said(minutes=-20)], ("job", None, None), id="that was long before"),
        pytest.param(OPEN, [said(minutes=20)], ("job", None, None), id="that came after"),
        pytest.param(OPEN, [said(minutes=None)], ("host", "h2", "task_blocked"), id="no clock"),
        pytest.param(OPEN, [said(run="b")], ("job", None, None), id="that is another run's"),
        pytest.param(
            replace(OPEN, onset=None, detected=None),
            [said()],
            ("host", "h2", "task_blocked"),
            id="the hang has no clock",
        ),
        pytest.param(
            replace(OPEN, cause="storage"), [said()], ("job", None, "storage"), id="it has a cause"
        ),
        pytest.param(
            replace(OPEN, kind="unknown"), [said()], ("job", None, None), id="it is no hang"
        ),
        pytest.param(RANK, [said()], ("rank", None, "task_blocked"), id="a rank of no known host"),
        pytest.param(
            replace(RANK, subject=Subject(run="a", rank=11, host="h2")),
            [said()],
            ("rank", "h2", "task_blocked"),
            id="a rank of that host",
        ),
        pytest.param(
            replace(RANK, subject=Subject(run="a", rank=11, host="h1")),
            [said()],
            ("rank", "h1", None),
            id="a rank of another host",
        ),
    ],
)
def test_kernels(
    hang: Verdict, events: list[dict[str, Any]], expected: tuple[str, str | None, str | None]
) -> None:
    """The one host whose kernel complains at the time explains who is named, or is the lead."""
    assert told(hang, events) == expected


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        pytest.param(places("h1", "h2"), ("host", "h2", "task_blocked"), id="one of its hosts"),
        pytest.param(places("h1", "h3"), ("job", None, None), id="none of them"),
    ],
)
def test_members(roles: pl.LazyFrame, expected: tuple[str, str | None, str | None]) -> None:
    """A host without a rank of the run has no part in its hang."""
    assert told(OPEN, [said()], roles) == expected


def test_both_are_quoted() -> None:
    """The kernel's line leads where it alone names somebody, and supports where another does."""
    events = pl.LazyFrame([said()], EVENTS)
    found = told_by_kernels([OPEN, RANK], events, places())
    assert [[one.source for one in v.evidence] for v in found] == [
        ["kern.log:7", "job.log:1"],
        ["job.log:1", "kern.log:7"],
    ]


def test_another_frame_is_refused() -> None:
    """A frame that lacks columns is refused at the door."""
    with pytest.raises(SchemaError, match="wanted"):
        told_by_kernels([OPEN], pl.LazyFrame(), places())
