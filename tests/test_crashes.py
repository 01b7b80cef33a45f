"""Tracebacks and launchers: what ended a process, whose it was, and who only fell with it."""

from datetime import UTC, datetime
from typing import Any

import pytest

from collectors.envelope import read_lines
from collectors.launchers import read_launchers
from collectors.line_reading import LineReading
from collectors.sniffing import ReadOptions
from collectors.tracebacks import read_tracebacks

OPTIONS = ReadOptions(year=2026)


def traced(text: str) -> LineReading:
    """Return what the traceback dialect makes of a text."""
    return read_tracebacks(read_lines(text.encode()), OPTIONS)


def launched(text: str) -> LineReading:
    """Return what the launcher dialect makes of a text."""
    return read_launchers(read_lines(text.encode()), OPTIONS)


def events(reading: LineReading, *columns: str) -> list[tuple[Any, ...]]:
    """Return columns of a reading's events."""
    return reading.reading.events.select(columns).rows()


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        pytest.param("ValueError: bad", ("traceback", "ValueError", None), id="any exception"),
        pytest.param("KeyError", ("traceback", "KeyError", None), id="one without a message"),
        pytest.param(
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB",
            ("oom", "out of memory", None),
            id="memory of a GPU",
        ),
        pytest.param(
            "RuntimeError: CUDA error: device-side assert triggered",
            ("cuda_error", "device-side assert triggered", None),
            id="a GPU's own fault",
        ),
        pytest.param(
            "RuntimeError: [/x/gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 15000ms "
            "for recv operation to complete",
            ("comm_error", "timeout", None),
            id="a rank that waited in vain",
        ),
        pytest.param(
            "RuntimeError: [/x/gloo/transport/tcp/pair.cc:553] Connection closed by peer "
            "[127.0.0.1]:21942. This is typically caused by a remote worker crashing.",
            ("comm_error", "peer_closed", "127.0.0.1"),
            id="a rank whose peer is gone",
        ),
        pytest.param(
            "RuntimeError: Rank 3 failed to pass monitoredBarrier in 30000 ms",
            ("comm_error", "barrier", "3"),
            id="a barrier names who is missing",
        ),
        pytest.param(
            "torch.distributed.DistBackendError: NCCL error in: x, unhandled system error",
            ("comm_error", "backend", None),
            id="the backend",
        ),
        pytest.param("KeyboardInterrupt", ("signal", "SIGINT", None), id="an operator"),
    ],
)
def test_last_lines(last: str, expected: tuple[str, str, str | None]) -> None:
    """The last line of a traceback tells its kind, with and without the lines before it."""
    text = f'Traceback (most recent call last):\n  File "x", line 1\n    call()\n{last}\n'
    alone = events(traced(last), "kind", "code", "peer")
    assert (events(traced(text), "kind", "code", "peer"), alone) == ([expected], [expected])


def test_ranks_that_crash_at_once() -> None:
    """Tracebacks that ranks print line by line into one another are told apart."""
    text = (
        "[rank0]: Traceback (most recent call last):\n"
        "[rank1]: Traceback (most recent call last):\n"
        '[rank0]:   File "x"\n'
        '[rank1]:   File "x"\n'
        "[rank1]: ValueError: one\n"
        "[rank0]: KeyError: zero\n"
        "[rank0]: after\n"
    )
    reading = traced(text)
    assert (events(reading, "rank", "message", "position"), sorted(reading.claimed)) == (
        [(0, "KeyError: zero", 1), (1, "ValueError: one", 2)],
        [0, 1, 2, 3, 4, 5],
    )


def test_a_chain_of_tracebacks() -> None:
    """Each exception of a chain is an event, and the line that links them is claimed."""
    text = (
        'Traceback (most recent call last):\n  File "x"\nValueError: bad\n\n'
        "During handling of the above exception, another exception occurred:\n\n"
        'Traceback (most recent call last):\n  File "y"\nKeyError\n'
    )
    reading = traced(text)
    assert (events(reading, "code"), reading.claimed.len()) == (
        [("ValueError",), ("KeyError",)],
        7,
    )


def test_a_traceback_cut_short() -> None:
    """Without its last line a traceback still is an event."""
    text = 'Traceback (most recent call last):\n  File "x", line 1\n'
    assert events(traced(text), "kind", "message") == [("traceback", 'File "x", line 1')]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "E1104 02:11:09.104000 812 torch/distributed/elastic/multiprocessing/api.py:897] "
            "failed (exitcode: -9) local_rank: 3 (pid: 4415) of binary: /usr/bin/python3",
            ("process_exit", "-9", None, "3"),
            id="torchrun's agent",
        ),
        pytest.param(
            "srun: error: n3: task 5: Exited with exit code 1",
            ("process_exit", "1", "n3", None),
            id="srun, an exit code",
        ),
        pytest.param(
            "srun: error: n3: tasks 5-7: Segmentation fault (core dumped)",
            ("process_exit", "-11", "n3", None),
            id="srun, a signal in words",
        ),
        pytest.param(
            "srun: error: n4: task 5: Aborted",
            ("process_exit", "-6", "n4", None),
            id="srun, another",
        ),
        pytest.param(
            "slurmstepd: error: Detected 1 oom_kill event in StepId=77.0",
            ("oom_kill", "1", None, None),
            id="memory of a host",
        ),
        pytest.param(
            "slurmstepd: error: *** STEP 77.0 ON n3 CANCELLED AT 2031-02-03T04:05:06 DUE TO TIME "
            "LIMIT ***",
            ("job_cancelled", "TIME LIMIT", "n3", None),
            id="a limit",
        ),
        pytest.param(
            "slurmstepd: error: *** STEP 77.0 ON n3 CANCELLED AT 2031-02-03T04:05:06 ***",
            ("job_cancelled", None, "n3", None),
            id="a user",
        ),
        pytest.param(
            "W0203 02:11:09.104000 8 torch/distributed/elastic/agent/server/api.py:704] Received "
            "Signals.SIGINT death signal, shutting down workers",
            ("signal", "SIGINT", None, None),
            id="an operator's signal",
        ),
        pytest.param(
            "Worker group FAILED. 2/3 attempts left; will restart worker group",
            ("restart", "2/3", None, None),
            id="a restart after a failure",
        ),
        pytest.param(
            "Detected 1 new nodes from group_rank=0; will restart worker group",
            ("restart", "1", None, None),
            id="a restart for a new member",
        ),
        pytest.param("  restart_count=1", ("rendezvous", "1", None, None), id="a rendezvous"),
        pytest.param(
            "2031-02-03 04:00:00 PULSE: tr is running",
            ("heartbeat", None, None, None),
            id="a pulse",
        ),
        pytest.param(
            "Invalidate trace cache @ step 41: expected module 310, but got module 322",
            ("divergence", None, None, None),
            id="a control flow of one's own",
        ),
        pytest.param(
            "Fatal Python error: Segmentation fault",
            ("signal", "-11", None, None),
            id="Python's last words",
        ),
        pytest.param(
            "srun: Job step aborted: Waiting up to 32 seconds",
            ("launcher", None, None, None),
            id="anything else that a launcher says",
        ),
    ],
)
def test_launchers(text: str, expected: tuple[str | None, ...]) -> None:
    """Each launcher's line has a kind, a code and a place."""
    assert events(launched(text), "kind", "code", "host", "device") == [expected]


def test_a_job_and_its_step_are_cancelled_once() -> None:
    """The line of the job repeats the line of its step."""
    tail = "ON n3 CANCELLED AT 2031-02-03T04:05:06 DUE TO PREEMPTION ***"
    text = f"slurmstepd: error: *** STEP 77.0 {tail}\nslurmstepd: error: *** JOB 77 {tail}\n"
    found = events(launched(text), "time", "code", "count")
    assert found == [(datetime(2031, 2, 3, 4, 5, 6, tzinfo=UTC), "PREEMPTION", 2)]


TABLE = """============================================================
train.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2031-02-03_04:05:07
  host      : N3
  rank      : 9 (local_rank: 1)
  exitcode  : -6 (pid: 4416)
  error_file: <N/A>
  traceback : Signal 6 (SIGABRT) received by PID 4416
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2031-02-03_04:05:06
  host      : n3
  rank      : 5 (local_rank: 0)
  exitcode  : -9 (pid: 4415)
  error_file: <N/A>
  traceback : Signal 9 (SIGKILL) received by PID 4415
============================================================
"""


def test_a_table_of_failures() -> None:
    """Torchrun's table is one event a process, the first observed one marked; all is claimed."""
    reading = launched(TABLE)
    columns = ("time", "host", "rank", "device", "code", "severity")
    second = datetime(2031, 2, 3, 4, 5, 7, tzinfo=UTC)
    first = datetime(2031, 2, 3, 4, 5, 6, tzinfo=UTC)
    assert (events(reading, *columns), reading.claimed.len()) == (
        [(second, "n3", 9, "1", "-6", "error"), (first, "n3", 5, "0", "-9", "critical")],
        len(TABLE.splitlines()),
    )
