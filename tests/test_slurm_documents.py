"""Slurm's JSON as its releases write it."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.dialects import read_file
from collectors.readings import Reading
from collectors.slurm.slurm_document_values import clock_text, exit_text, number, states_text
from collectors.sniffing import ReadOptions

Read = Callable[[object], Reading]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """A reader of one document, through the choice of its dialect."""

    def reader(document: object) -> Reading:
        path = tmp_path / "slurm.json"
        text = document if isinstance(document, str) else json.dumps(document, indent=1)
        path.write_text(text, encoding="utf-8")
        return read_file(path, path.name, ReadOptions(time_zone="Europe/Berlin"))

    return reader


def told(value: float | None) -> dict[str, object]:
    """Return a number as releases since 23.02 write it."""
    return {"set": value is not None, "infinite": False, "number": value or 0}


def meta(parser: str) -> dict[str, object]:
    """Return the head of a document."""
    return {"plugin": {"data_parser": f"data_parser/{parser}"}, "slurm": {"release": "x"}}


MOMENTS = {"submission": 1767574800, "start": 1767574920, "end": 1767575520}

JOB = {"job_id": 88213, "name": "llm", "user": "alice", "nodes": "hx8-[001-002]"}

OLD = JOB | {
    "array": {"job_id": 0, "task_id": None},
    "state": {"current": "FAILED", "reason": "None"},
    "time": MOMENTS | {"elapsed": 600, "total": {"seconds": 41, "microseconds": 305000}},
    "exit_code": {"status": "ERROR", "return_code": 2},
}

MIDDLE = JOB | {
    "state": {"current": "FAILED", "reason": "None"},
    "time": MOMENTS | {"elapsed": 600, "total": {"seconds": 41, "microseconds": 305000}},
    "exit_code": {"status": "SUCCESS", "return_code": told(0)},
}

NEW = JOB | {
    "array": {"job_id": 0, "task_id": told(None)},
    "state": {"current": ["FAILED"], "reason": "None"},
    "time": MOMENTS
    | {"elapsed": 600, "planned": told(120), "total": {"seconds": 41, "microseconds": 305000}},
    "exit_code": {
        "status": ["ERROR"],
        "return_code": told(2),
        "signal": {"id": told(None), "name": ""},
    },
}


@pytest.mark.parametrize(
    ("parser", "job", "code"),
    [
        pytest.param("openapi", OLD, "2:0", id="plain numbers and words before 23.02"),
        pytest.param("v0.0.39", MIDDLE, None, id="23.02 says success for every normal exit"),
        pytest.param("v0.0.40", NEW, "2:0", id="lists and structs since 23.11"),
        pytest.param("v0.0.45", NEW, "2:0", id="and up to 26.05"),
    ],
)
def test_a_job_is_the_same_in_every_release(
    read: Read, parser: str, job: dict[str, Any], code: str | None
) -> None:
    """Each release tells one job, whatever its values are dressed in."""
    reading = read({"jobs": [job], "meta": meta(parser)})
    (row,) = reading.jobs.drop("source", "flags", "reason", "world", "gpus", "attempt").to_dicts()
    assert row == {
        "run": "88213",
        "name": "llm",
        "user": "alice",
        "state": "FAILED",
        "submit": datetime(2026, 1, 5, 1, tzinfo=UTC),
        "start": datetime(2026, 1, 5, 1, 2, tzinfo=UTC),
        "end": datetime(2026, 1, 5, 1, 12, tzinfo=UTC),
        "elapsed_seconds": 600.0,
        "cpu_seconds": 41.305,
        "hosts": ["hx8-001", "hx8-002"],
        "exit": code,
    }


def test_a_list_of_the_queue(read: Read) -> None:
    """Squeue's jobs stand flat, and what is not set is no value."""
    job = {
        "job_id": 91002,
        "name": "w",
        "user_name": "bob",
        "job_state": ["PENDING"],
        "state_reason": "Resources",
        "array_job_id": told(91000),
        "array_task_id": told(None),
        "array_task_string": "5-9%2",
        "submit_time": told(1767574800),
        "start_time": told(1767600000),
        "end_time": told(0),
        "exit_code": {"status": ["PENDING"], "return_code": told(None)},
        "restart_cnt": 1,
        "nodes": "",
    }
    (row,) = read({"jobs": [job], "meta": meta("v0.0.41")}).jobs.drop("source").to_dicts()
    known = {name: value for name, value in row.items() if value is not None}
    assert known == {
        "run": "91000_[5-9%2]",
        "attempt": 1,
        "name": "w",
        "user": "bob",
        "state": "PENDING",
        "submit": datetime(2026, 1, 5, 1, tzinfo=UTC),
        "reason": "Resources",
    }


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        pytest.param(
            {"job_state": ["RUNNING", "COMPLETING"]},
            ("88213", "RUNNING", ["COMPLETING"], None),
            id="flags stand beside the state",
        ),
        pytest.param(
            {"job_state": "FAILED", "flags": ["LAUNCH_FAILED", "OTHER"]},
            ("88213", "FAILED", ["LAUNCH_FAILED"], None),
            id="a launch that failed is a flag",
        ),
        pytest.param(
            {"state": {"current": ["CANCELLED"]}, "kill_request_user": "carol"},
            ("88213", "CANCELLED", None, "cancelled by carol"),
            id="somebody cancelled it",
        ),
        pytest.param(
            {"job_state": "RUNNING", "het_job_id": told(88210), "het_job_offset": told(3)},
            ("88210+3", "RUNNING", None, None),
            id="a part of a heterogeneous job",
        ),
        pytest.param(
            {"job_state": "RUNNING", "array": {"job_id": 88200, "task_id": 4}},
            ("88200_4", "RUNNING", None, None),
            id="a task of an array",
        ),
    ],
)
def test_states_and_numbers(read: Read, more: dict[str, Any], expected: tuple[Any, ...]) -> None:
    """A job has one number and one state with its flags."""
    jobs = read({"jobs": [{"job_id": 88213} | more], "meta": meta("v0.0.40")}).jobs
    assert jobs.select("run", "state", "flags", "reason").rows() == [expected]


@pytest.mark.parametrize(
    "nodes",
    [
        pytest.param("hx8-[001-002]", id="a text"),
        pytest.param({"count": 2, "list": "hx8-[001-002]"}, id="a struct with a text"),
        pytest.param({"count": 2, "list": ["hx8-001", "hx8-002"]}, id="a struct with a list"),
    ],
)
def test_nodes_of_a_job(read: Read, nodes: object) -> None:
    """The nodes among a job's resources changed their form."""
    job = {"job_id": 1, "job_state": ["RUNNING"], "job_resources": {"nodes": nodes}}
    assert read({"jobs": [job]}).jobs["hosts"].to_list() == [["hx8-001", "hx8-002"]]


def test_steps_and_lost_nodes(read: Read) -> None:
    """Steps are events of their job, and so is the node that it lost."""
    steps = [
        {
            "step": {"id": {"job_id": 88213, "step_id": 4294967291}, "name": "batch"},
            "state": ["FAILED"],
            "time": {"elapsed": 600, "start": told(1767574920), "end": told(1767575520)},
            "exit_code": {"return_code": told(0), "signal": {"id": told(9), "name": "KILL"}},
            "nodes": {"list": ["hx8-001"], "count": 1},
            "tasks": {"count": 8},
        },
        {"step": {"id": "88213.0", "name": "python"}, "state": "CANCELLED"},
    ]
    job = NEW | {"failed_node": "hx8-002", "state": {"current": ["NODE_FAIL"]}, "steps": steps}

    events = read({"jobs": [job], "meta": meta("v0.0.42")}).events

    pairs = [
        {one["key"]: one["value"] for one in row or []} for row in events["attributes"].to_list()
    ]
    assert (events.select("run", "host", "kind", "code").rows(), pairs) == (
        [
            ("88213", "hx8-001", "job_step", "FAILED"),
            ("88213", None, "job_step", "CANCELLED"),
            ("88213", "hx8-002", "node_failure", "NODE_FAIL"),
        ],
        [
            {
                "step": "batch",
                "exit": "0:9",
                "elapsed_seconds": "600",
                "tasks": "8",
                "hosts": "hx8-001",
            },
            {"step": "0"},
            {},
        ],
    )


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(
            {
                "nodes": [
                    {
                        "name": "hx8-044",
                        "boot_time": 0,
                        "state": "idle",
                        "state_flags": ["DRAIN"],
                        "reason": "xid 79",
                        "reason_changed_at": 1767585900,
                        "reason_set_by_user": "root",
                        "gres": "gpu:h100:8(S:0-1)",
                    }
                ]
            },
            id="a word and flags before 23.02",
        ),
        pytest.param(
            {
                "nodes": [
                    {
                        "name": "hx8-044",
                        "boot_time": told(0),
                        "state": ["IDLE", "DRAIN"],
                        "reason": "xid 79",
                        "reason_changed_at": told(1767585900),
                        "reason_set_by_user": "root",
                        "gres": "gpu:h100:8(S:0-1)",
                    }
                ],
                "meta": meta("v0.0.41"),
            },
            id="a list since",
        ),
    ],
)
def test_nodes(read: Read, document: object) -> None:
    """A node has a base state, flags and a reason with its time."""
    events = read(document).events
    assert events.select("time", "host", "kind", "code", "message").rows() == [
        (datetime(2026, 1, 5, 4, 5, tzinfo=UTC), "hx8-044", "node_state", "IDLE+DRAIN", "xid 79")
    ]


def test_groups_of_sinfo(read: Read) -> None:
    """Sinfo lists nodes in groups."""
    group = {
        "node": {"state": ["DOWN", "NOT_RESPONDING"]},
        "nodes": {"nodes": ["hx8-1", "hx8-2"], "total": 2},
        "reason": {"description": "dead", "user": "root", "time": 1767585900},
    }
    events = read({"meta": meta("v0.0.43"), "sinfo": [group]}).events
    assert events.select("host", "code", "message").rows() == [
        ("hx8-1", "DOWN+NOT_RESPONDING", "dead"),
        ("hx8-2", "DOWN+NOT_RESPONDING", "dead"),
    ]


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        pytest.param('{"jobs": [{"job_id": 1, "name"', "torn JSON", id="torn"),
        pytest.param(
            {"jobs": [], "meta": {"slurm": {}}, "errors": [{"error": "down"}]},
            "Slurm says: [{'error': 'down'}]",
            id="an error instead of jobs",
        ),
        pytest.param({"jobs": [], "meta": {"slurm": {}}}, "no jobs and no nodes in it", id="empty"),
    ],
)
def test_what_is_no_document_is_one_reject(read: Read, document: object, reason: str) -> None:
    """A document without rows says why."""
    rejects = read(document).rejects
    assert rejects["reason"].to_list() == [reason]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(600, 600, id="bare"),
        pytest.param(told(600), 600, id="set"),
        pytest.param(told(None), None, id="not set is not 0"),
        pytest.param({"set": True, "infinite": True, "number": 0}, None, id="infinite"),
        pytest.param("Infinity", None, id="infinite in a word"),
        pytest.param(4294967294, None, id="NO_VAL"),
        pytest.param(4294967295, None, id="INFINITE"),
        pytest.param(None, None, id="null"),
        pytest.param(True, None, id="a truth is no number"),
        pytest.param(float("nan"), None, id="NaN"),
    ],
)
def test_numbers(value: object, expected: float | None) -> None:
    """A number is one only if it is set."""
    assert number(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(256, "1:0", id="the status of wait"),
        pytest.param(9, "0:9", id="a signal in the status of wait"),
        pytest.param(told(256), "1:0", id="a status in a struct"),
        pytest.param({"return_code": 1, "signal": {"signal_id": 15}}, "1:15", id="older names"),
        pytest.param(None, None, id="null"),
        pytest.param({"status": ["PENDING"], "return_code": told(0)}, None, id="not yet"),
    ],
)
def test_exits(value: object, expected: str | None) -> None:
    """An exit is a code and a signal."""
    assert exit_text(value, hides_success=False) == expected


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["set", "infinite", "number", "current", "seconds", "id", "signal"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@given(json_values)
def test_no_value_raises(value: object) -> None:
    """Whatever a release writes, a value is read or it is none."""
    found = (number(value), states_text(value), clock_text(value))
    assert all(one is None or isinstance(one, int | float | str) for one in found)
    assert isinstance(exit_text(value, hides_success=True), str | None)
