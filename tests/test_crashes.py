"""What ended a job, from events and steps."""

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.frames import EVENTS, STEPS, SchemaError
from detectors.crashes import CrashParams, find_crashes
from detectors.placing import ROLES
from detectors.verdicts import Verdict, verdicts_of

START = datetime(2026, 1, 5, 0, 30, tzinfo=UTC)
HOSTS = ("a1", "a1", "b1", "b1", "c1", "c1", "d1", "d1")


def event(
    kind: str, code: str | None, rank: int | None, at: float | None, **more: Any
) -> dict[str, Any]:
    """An event of a rank, so many seconds after the start."""
    time = None if at is None else START + timedelta(seconds=at)
    row = {"kind": kind, "code": code, "rank": rank, "time": time, "run": "R", "source": "job.log"}
    return row | more


def oom(rank: int | None, at: float | None, **more: Any) -> dict[str, Any]:
    """A rank that runs out of GPU memory."""
    return event("oom", "out of memory", rank, at, **more)


def lost(rank: int, at: float | None) -> dict[str, Any]:
    """A rank that loses its peers."""
    return event("comm_error", "peer_closed", rank, at)


def step_rows(count: int, attempt: int = 0, first: float = 0.0) -> list[dict[str, Any]]:
    """Steps of ten seconds."""
    return [
        {
            "run": "R",
            "attempt": attempt,
            "step": at,
            "end_time": START + timedelta(seconds=first + 10 * at),
        }
        for at in range(count)
    ]


def judge(
    events: list[dict[str, Any]],
    steps: list[dict[str, Any]] | None = None,
    params: CrashParams | None = None,
) -> list[Verdict]:
    """The verdicts on a job of four hosts with two ranks each."""
    rows = [
        {"run": "R", "rank": rank, "host": host, "index": rank % 2}
        for rank, host in enumerate(HOSTS)
    ]
    return verdicts_of(
        find_crashes(
            pl.DataFrame(events, schema=EVENTS).lazy(),
            pl.DataFrame(steps or [], schema=STEPS).lazy(),
            pl.DataFrame(rows, schema=ROLES).lazy(),
            params or CrashParams(),
        )
    )


def who(verdict: Verdict) -> str:
    """The subject's fields but the run, in their order."""
    known = verdict.subject.known().items()
    return " ".join(f"{name}={value}" for name, value in known if name != "run")


def told(verdicts: list[Verdict]) -> list[tuple[str, str, str, str | None, str]]:
    """Kind, level, subject, cause and confidence of verdicts."""
    return [(v.kind, v.level, who(v), v.cause, v.confidence) for v in verdicts]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param([], [], id="no event is no crash"),
        pytest.param(
            [lost(0, 1.0), lost(1, 2.0), event("process_exit", "-15", 2, 3.0)],
            [],
            id="a cascade without a first fault accuses nobody",
        ),
        pytest.param(
            [oom(5, 10.0), lost(0, 9.0), event("process_exit", "-6", 1, 8.0)],
            [("crash", "rank", "host=c1 rank=5 gpu=1", "oom", "high")],
            id="the fault counts, not who complains first",
        ),
        pytest.param(
            [event("traceback", "ValueError", 3, 10.0), event("traceback", "KeyError", 6, 300.0)],
            [("crash", "rank", "host=b1 rank=3 gpu=1", "ValueError", "high")],
            id="across hosts the clearly earlier one is first",
        ),
        pytest.param(
            [event("traceback", "ValueError", 3, 10.0), event("traceback", "KeyError", 6, 30.0)],
            [("crash", "rank", "host=b1 rank=3 gpu=1", "ValueError", "medium")],
            id="within a minute the order of two clocks is less sure",
        ),
        pytest.param(
            [event("traceback", "ValueError", 3, 10.0), event("traceback", "KeyError", 6, 11.0)],
            [("unknown", "job", "", "ValueError", "low")],
            id="within the skew of their clocks none is first",
        ),
        pytest.param(
            [event("traceback", "ValueError", 3, 10.0), oom(6, 11.0)],
            [("crash", "rank", "host=d1 rank=6 gpu=0", "oom", "medium")],
            id="without order a device's own error is more telling than an exception",
        ),
        pytest.param(
            [event("traceback", "ValueError", 3, 10.0), event("traceback", "KeyError", 2, 10.1)],
            [("crash", "rank", "host=b1 rank=3 gpu=1", "ValueError", "high")],
            id="within a host the order is that of its clock",
        ),
        pytest.param(
            [oom(rank, 10.0) for rank in range(8)],
            [("crash", "job", "", "oom", "medium")],
            id="the same fault on most hosts is the job's",
        ),
        pytest.param(
            [event("traceback", "ValueError", None, None), event("traceback", "KeyError", 6, 1.0)],
            [("unknown", "job", "", "KeyError", "low")],
            id="a fault without a clock has no order",
        ),
        pytest.param(
            [
                event("traceback", "ValueError", 3, None),
                event("process_exit", "1", 3, 10.0),
                event("traceback", "KeyError", 6, 300.0),
            ],
            [("crash", "rank", "host=b1 rank=3 gpu=1", "ValueError", "high")],
            id="a fault without a clock has the time of its process' exit",
        ),
        pytest.param(
            [event("xid", "79", None, 5.0, host="c1", device="0", device_kind="gpu")],
            [("crash", "gpu", "host=c1 rank=4 gpu=0", "xid_79", "high")],
            id="a GPU that fell off the bus",
        ),
        pytest.param(
            [event("xid", "145", None, 5.0, host="c1", severity="critical", device_kind="gpu")],
            [("crash", "host", "host=c1", "xid_145", "high")],
            id="a link whose line says fatal",
        ),
        pytest.param(
            [
                event("xid", "145", None, 5.0, host="c1", severity="warning", device_kind="gpu"),
                event("xid", "149", None, 5.0, host="c1", severity="info", device_kind="gpu"),
                event("sxid", "24003", None, 5.0, host="c1", severity="warning"),
            ],
            [],
            id="links and switches whose lines say otherwise, or that were only tested",
        ),
        pytest.param(
            [event("sxid", "20034", None, 5.0, host="c1", severity="critical")],
            [("crash", "host", "host=c1", "sxid_20034", "high")],
            id="a switch between a host's GPUs that failed",
        ),
        pytest.param(
            [event("xid", "31", None, 5.0, host="c1", device="0", device_kind="gpu")],
            [],
            id="an application's own Xid ends nothing by itself",
        ),
        pytest.param(
            [
                event(
                    "cuda_error",
                    "unspecified launch failure",
                    None,
                    5.0,
                    host="z9",
                    device="0000:9b:00.0",
                    device_kind="gpu",
                )
            ],
            [("crash", "gpu", "host=z9 device=0000:9b:00.0", "cuda_error", "high")],
            id="a GPU known by its address",
        ),
        pytest.param(
            [
                event("process_exit", "-9", 3, 10.0),
                event("oom_kill", "1", None, 10.0, host=None),
            ],
            [("crash", "host", "host=b1", "host_oom", "high")],
            id="a memory kill without a host is that of the process killed",
        ),
        pytest.param(
            [event("process_exit", "-9", None, 10.0, device="3", device_kind="gpu")],
            [("crash", "gpu", "gpu=3", "killed", "medium")],
            id="a process known by its place on an unknown host",
        ),
        pytest.param(
            [event("process_exit", "-11", 3, 10.0), lost(0, 11.0)],
            [("crash", "rank", "host=b1 rank=3 gpu=1", "segfault", "high")],
            id="a segmentation fault leads",
        ),
        pytest.param(
            [event("process_exit", "1", 3, 10.0), event("process_exit", "1", 6, 90.0)],
            [("crash", "rank", "host=b1 rank=3 gpu=1", "exit_1", "medium")],
            id="a bare exit code is a weak lead",
        ),
        pytest.param(
            [event("process_exit", "1", 3, 5.0), event("traceback", "KeyError", 6, 10.0)],
            [("crash", "rank", "host=d1 rank=6 gpu=0", "KeyError", "high")],
            id="an exception tells more than another's exit code",
        ),
        pytest.param(
            [event("process_exit", "-6", 3, 10.0), lost(0, 11.0)],
            [],
            id="an abort among complaints is a victim",
        ),
        pytest.param(
            [event("process_exit", "-9", rank, None) for rank in range(8)] + [lost(0, 1.0)],
            [],
            id="kills without a clock, of all, are the clearing away",
        ),
        pytest.param(
            [event("dump_signal", "first", 0, 5.0), event("process_exit", "-9", 3, 60.0)],
            [],
            id="a kill after a hang only ended it",
        ),
        pytest.param(
            [event("process_exit", "-11", 4, 5.0), event("process_exit", "-9", 0, 6.0)],
            [("crash", "rank", "host=c1 rank=4 gpu=0", "segfault", "medium")],
            id="a kill right after another's end is clearing away",
        ),
        pytest.param(
            [event("process_exit", "-9", 0, 5.0), event("process_exit", "-11", 4, 6.0)],
            [("unknown", "job", "", "killed", "low")],
            id="a kill right before it is not",
        ),
        pytest.param(
            [event("process_exit", "-11", 4, None), event("process_exit", "-9", 0, None)],
            [("unknown", "job", "", "killed", "low")],
            id="without clocks nobody knows",
        ),
        pytest.param(
            [
                event("traceback", "ChildFailedError", None, 5.0),
                event("traceback", "UserWarning", 1, 5.0),
            ],
            [],
            id="an agent's summary and a warning are no faults",
        ),
        pytest.param(
            [event("traceback", "RuntimeError", 2, 5.0, message="NCCL communicator was aborted")],
            [],
            id="an exception that repeats another's end is none",
        ),
        pytest.param(
            [event("signal", "SIGSEGV", 2, 5.0)],
            [("crash", "rank", "host=b1 rank=2 gpu=0", "segfault", "high")],
            id="a signal of the process' own",
        ),
        pytest.param(
            [event("signal", "SIGINT", None, 5.0, host="b1"), lost(0, 6.0)],
            [("crash", "host", "host=b1", "operator", "high")],
            id="an interrupt on one host is an operator's",
        ),
        pytest.param(
            [event("signal", "SIGTERM", None, 5.0, host=host) for host in ("a1", "b1", "c1")],
            [("crash", "job", "", "operator", "medium")],
            id="the same signal on most hosts is the whole job's",
        ),
        pytest.param(
            [oom(5, 10.0), event("signal", "SIGTERM", None, 200.0, host="a1")],
            [("crash", "rank", "host=c1 rank=5 gpu=1", "oom", "high")],
            id="a signal after a fault clears it away",
        ),
        pytest.param(
            [event("job_cancelled", None, None, 5.0, host="a1")],
            [("crash", "job", "", "operator", "high")],
            id="a cancelled job is its user's",
        ),
        pytest.param(
            [event("job_cancelled", "TIME LIMIT", None, 5.0, host="a1")],
            [("crash", "job", "", "scheduler", "high")],
            id="a job out of time is the scheduler's",
        ),
        pytest.param(
            [event("job_cancelled", "NODE FAILURE", None, 5.0, host="a1")],
            [("crash", "host", "host=a1", "node_failure", "high")],
            id="a node that the scheduler lost is that node's",
        ),
        pytest.param(
            [event("job_cancelled", None, None, 5.0), event("run_end", "done", None, 1.0)],
            [],
            id="what comes after an announced end ends nothing",
        ),
        pytest.param(
            [event("traceback", None, None, None, source=None)],
            [("crash", "job", "", "exception", "high")],
            id="a fault of nobody in particular is the job's",
        ),
    ],
)
def test_what_ended_a_job(
    events: list[dict[str, Any]], expected: list[tuple[str, str, str, str | None, str]]
) -> None:
    """The end, its level, its subject, its cause and how sure that is."""
    assert told(judge(events)) == expected


@pytest.mark.parametrize(
    ("steps", "more", "expected"),
    [
        pytest.param(step_rows(20), [], [], id="training went on: nothing ended"),
        pytest.param(step_rows(6), [], [5], id="one more step under way is no going on"),
        pytest.param(
            step_rows(6) + step_rows(20, attempt=1, first=600.0),
            [],
            [5],
            id="a new attempt went on",
        ),
        pytest.param(
            step_rows(6) + step_rows(20, first=600.0),
            [event("restart", "2/3", None, 56.0)],
            [5],
            id="an announced restart is a new attempt",
        ),
        pytest.param([], [], [5], id="no steps are known"),
    ],
)
def test_a_fault_that_training_survived(
    steps: list[dict[str, Any]], more: list[dict[str, Any]], expected: list[int]
) -> None:
    """A fault ended something only if the same attempt did not go on."""
    found = judge([oom(5, 48.0), *more], steps)
    assert [v.subject.rank for v in found] == expected


def test_each_attempt_has_its_own_end() -> None:
    """Two attempts that crash are two verdicts."""
    steps = step_rows(6) + step_rows(6, attempt=1, first=600.0)
    found = judge([oom(5, 52.0), event("traceback", "KeyError", 2, 652.0)], steps)
    assert [(v.subject.rank, v.cause) for v in found] == [(5, "oom"), (2, "KeyError")]


def test_a_job_that_hung_was_merely_cancelled() -> None:
    """A cancel long after the last step ended a hang, and is no crash."""
    assert judge([event("job_cancelled", None, None, 3000.0)], step_rows(6)) == []


def test_a_verdict_quotes_and_lists() -> None:
    """The first line is quoted with its place; victims and rivals are listed."""
    events = [
        oom(5, 10.0, position=7, message="CUDA out of memory"),
        event("traceback", "KeyError", 4, 12.0, position=8, message="KeyError: 1"),
        event("traceback", "KeyError", 2, 30.0, position=9, message="KeyError: 2"),
        lost(0, 12.0),
        event("comm_error", "peer_closed", None, 12.0, host="d1"),
    ]
    (verdict,) = judge(events)
    seen = [(one.source, one.what) for one in verdict.evidence]
    assert seen == [("job.log:7", "CUDA out of memory"), ("job.log:8", "KeyError: 1")]
    assert verdict.victims == ("rank 0", "d1")
    assert verdict.alternatives == ("rank 2 on b1",)
    assert verdict.onset == START + timedelta(seconds=10)


def test_another_frame_is_refused() -> None:
    """A frame that lacks columns is refused at the door."""
    empty = pl.LazyFrame()
    with pytest.raises(SchemaError, match="time: wanted"):
        find_crashes(empty, empty, ROLES.to_frame().lazy(), CrashParams())


MIXED = [
    oom(5, 10.0, position=1),
    event("traceback", "KeyError", 4, 10.0, position=2),
    event("traceback", "KeyError", 2, 30.0, position=3),
    event("process_exit", "1", 5, 20.0, position=4),
    lost(0, 12.0),
    event("signal", "SIGTERM", None, 100.0, host="a1"),
]


@settings(max_examples=15, deadline=None)
@given(order=st.permutations(range(len(MIXED))), twice=st.sets(st.sampled_from(range(len(MIXED)))))
def test_neither_order_nor_doubled_lines_matter(order: list[int], twice: set[int]) -> None:
    """The verdict on who it was is the same for any order, and when some lines come twice."""
    rows = [MIXED[at] for at in order] + [MIXED[at] for at in sorted(twice)]
    assert told(judge(rows)) == told(judge(MIXED))
