"""What a scheduler's accounts tell of a run: attempts that are hidden, nodes held, moments."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from collectors.frames import EVENTS, JOBS, STEPS
from detectors.histories import find_hidden_attempts
from detectors.holds import HoldParams, add_holds
from detectors.job_moments import job_moments
from detectors.verdicts import Subject, Verdict, verdicts_of

NOON = datetime(2031, 2, 3, 12, tzinfo=UTC)


def minutes(count: float) -> datetime:
    """Return a moment so many minutes after noon."""
    return NOON + timedelta(minutes=count)


def jobs(*rows: dict[str, object]) -> pl.DataFrame:
    """Return `JOBS` of run 77 that began at noon, with changes."""
    usual = {"run": "77", "attempt": 0, "state": "RUNNING", "start": NOON, "source": "sacct"}
    return pl.DataFrame([usual | row for row in rows], schema=JOBS)


def marks(*positions: int, source: str = "log") -> pl.DataFrame:
    """Return run_start events of run 77 at lines of a log."""
    rows = [
        {"run": "77", "kind": "run_start", "source": source, "position": at} for at in positions
    ]
    return pl.DataFrame(rows, schema=EVENTS)


def steps(*positions: int | None, source: str = "log") -> pl.DataFrame:
    """Return steps of run 77 at lines of a log, one a minute after noon."""
    rows = [
        {"run": "77", "source": source, "position": at, "end_time": minutes(number)}
        for number, at in enumerate(positions)
    ]
    return pl.DataFrame(rows, schema=STEPS)


ROUND = {"flags": ["rendezvous"], "state": None}


@pytest.mark.parametrize(
    ("accounts", "starts", "done", "expected"),
    [
        pytest.param(
            jobs({"attempt": 0}),
            marks(1, 20, 40),
            steps(5, 25, 45),
            [(1, 3)],
            id="a log of three starts and one row of sacct",
        ),
        pytest.param(
            jobs({"attempt": 0}),
            marks(1, 2, 3),
            steps(5, 25, 45),
            [],
            id="marks in a row are one start",
        ),
        pytest.param(
            jobs({"attempt": 0}, {"attempt": 1}),
            marks(1, 20),
            steps(5, 25),
            [],
            id="as many rows as starts",
        ),
        pytest.param(
            jobs({"attempt": 2}),
            marks(),
            steps(),
            [(1, 3)],
            id="a row that says that it is the third attempt",
        ),
        pytest.param(
            jobs({"attempt": 0}, {"attempt": 1, "state": None, "start": None}),
            marks(),
            steps(),
            [(1, 2)],
            id="a count of restarts in the log's banner",
        ),
        pytest.param(
            jobs({"attempt": 0}, ROUND | {"attempt": 0}, ROUND | {"attempt": 1}),
            marks(1, 20),
            steps(5, 25),
            [],
            id="a restart that the elastic launcher made itself",
        ),
        pytest.param(
            jobs({"attempt": 0, "state": None}),
            marks(1, 20),
            steps(5, 25),
            [],
            id="without accounts nothing is missing from them",
        ),
        pytest.param(
            jobs({"attempt": 0}),
            marks(1, 20),
            steps(None, None),
            [],
            id="steps without a place part no marks",
        ),
    ],
)  # fmt: skip -- one case, one glance
def test_hidden_attempts(
    accounts: pl.DataFrame,
    starts: pl.DataFrame,
    done: pl.DataFrame,
    expected: list[tuple[int, int]],
) -> None:
    """A run that started more often than its scheduler shows has a history with holes."""
    found = verdicts_of(find_hidden_attempts(accounts.lazy(), starts.lazy(), done.lazy()))
    words = "history may be incomplete: {} of at least {} attempts have accounts"
    assert [(one.kind, one.cause, one.evidence[0].what) for one in found] == [
        ("telemetry_lost", "hidden_attempts", words.format(*counts)) for counts in expected
    ]


def crash(onset: datetime | None, run: str | None = "77") -> Verdict:
    """Return a crash of run 77."""
    subject = Subject(run=run, host="n3")
    return Verdict(kind="crash", level="host", subject=subject, confidence="high", onset=onset)


NOTHING = EVENTS.to_frame()
ENDED = jobs({"state": "TIMEOUT", "end": minutes(301), "world": 64})


@pytest.mark.parametrize(
    ("verdict", "accounts", "events", "done", "expected"),
    [
        pytest.param(
            crash(minutes(1)),
            ENDED,
            NOTHING,
            steps(1),
            ["dead but allocated for 18000 s since 12:01:00 UTC, 320.0 GPU-hours"],
            id="five hours until the time limit, of 64 GPUs",
        ),
        pytest.param(
            crash(minutes(1)),
            JOBS.to_frame(),
            pl.DataFrame(
                [{"run": "77", "kind": "job_cancelled", "time": minutes(61), "source": "log"}],
                schema=EVENTS,
            ),
            STEPS.to_frame(),
            ["dead but allocated for 3600 s since 12:01:00 UTC"],
            id="the log alone tells when the job was ended, and not how large it is",
        ),
        pytest.param(
            crash(minutes(299)),
            ENDED,
            NOTHING,
            steps(1),
            [],
            id="a job that ends soon after its crash held nothing",
        ),
        pytest.param(
            crash(minutes(1)),
            ENDED,
            NOTHING,
            steps(*range(10)),
            [],
            id="a run that steps on was not dead",
        ),
        pytest.param(
            crash(minutes(1)),
            jobs({"end": minutes(301), "start": minutes(60)}),
            NOTHING,
            steps(1),
            [],
            id="the end of a later attempt says nothing of this one",
        ),
        pytest.param(crash(None), ENDED, NOTHING, steps(1), [], id="a crash without a time"),
        pytest.param(
            crash(minutes(1), run=None), ENDED, NOTHING, steps(1), [], id="a crash of no run"
        ),
        pytest.param(
            Verdict(
                kind="hang",
                level="job",
                subject=Subject(run="77"),
                confidence="high",
                onset=minutes(1),
            ),
            ENDED,
            NOTHING,
            steps(1),
            [],
            id="a hang is no crash",
        ),
    ],
)  # fmt: skip -- one case, one glance
def test_nodes_held_after_a_crash(
    verdict: Verdict,
    accounts: pl.DataFrame,
    events: pl.DataFrame,
    done: pl.DataFrame,
    expected: list[str],
) -> None:
    """From the death of a process to the end of its job nodes were held for nothing."""
    (found,) = add_holds([verdict], accounts, events, done, HoldParams())
    assert [one.what for one in found.evidence] == expected


def test_moments_of_jobs() -> None:
    """A scheduler's starts and ends are events; what has not happened is none."""
    told = jobs(
        {"state": "COMPLETED", "end": minutes(5)},
        {"attempt": 1, "state": "PREEMPTED", "start": minutes(10), "end": minutes(15)},
        {"attempt": 2, "start": minutes(20)},
        {"attempt": 3, "state": None, "end": minutes(30)},
    )
    moments = job_moments(told.lazy()).collect()
    assert moments.select("kind", "code", "time", "run", "position").rows() == [
        ("run_start", None, NOON, "77", None),
        ("run_start", None, minutes(10), "77", None),
        ("run_start", None, minutes(20), "77", None),
        ("run_end", "done", minutes(5), "77", None),
        ("run_end", "PREEMPTED", minutes(15), "77", None),
    ]
