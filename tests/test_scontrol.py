"""Records of scontrol: nodes and jobs, over many lines and on one."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.dialects import read_file
from collectors.readings import Reading
from collectors.slurm.scontrol import read_scontrol
from collectors.slurm.slurm_nodes import node_states
from collectors.sniffing import ReadOptions
from collectors.texts.plain_lines import plain_lines

Read = Callable[..., Reading]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """A reader of one text, through the choice of its dialect."""

    def reader(text: str, **options: Any) -> Reading:
        path = tmp_path / "scontrol.txt"
        path.write_text(text, encoding="utf-8")
        return read_file(path, path.name, ReadOptions(**options))

    return reader


NODE = """NodeName=hx8-044 Arch=x86_64 CPULoad=3.20
   OS=Linux 6.8.0-45-generic #45-Ubuntu SMP State=DOWN
   Gres=gpu:h100:8(S:0-1) State=MIXED+CLOUD ThreadsPerCore=2 FreeMem=1024
   GresUsed=gpu:h100:5(IDX:0-2,5,7) BootTime=2026-01-04T00:00:00
   Reason=two lines:
 the second State=IDLE [root@2026-01-05T04:05:00]
"""

ONE_LINE = (
    "NodeName=hx8-045 Arch=x86_64 OS=Linux 6.8 x State=DOWN*+DRAIN Gres=(null) BootTime=None "
    "CfgTRES=cpu=64,gres/gpu=8,gres/gpu:h100=8 Reason=gpu State=x [root@2026-01-05T04:05:00] "
    "Comment=a b"
)


def attributes(reading: Reading) -> list[dict[str, str]]:
    """Return the attributes of the node states of a reading."""
    states = reading.events.filter(pl.col("kind") == "node_state")
    return [
        {pair["key"]: pair["value"] for pair in pairs or ()}
        for pairs in states["attributes"].to_list()
    ]


def test_a_reason_may_go_on_below(read: Read) -> None:
    """A free text owns its line and what follows without a key."""
    reading = read(NODE)
    states = reading.events.select("time", "host", "kind", "code", "message")
    at = datetime(2026, 1, 5, 4, 5, tzinfo=UTC)
    assert (states.rows(), reading.lines_used, reading.rejects.height) == (
        [
            (at, "hx8-044", "node_state", "MIXED+CLOUD", "two lines:\nthe second State=IDLE"),
            (datetime(2026, 1, 4, tzinfo=UTC), "hx8-044", "boot", "slurm", "BootTime of the node"),
        ],
        6,
        0,
    )


def test_what_a_node_has(read: Read) -> None:
    """Devices, memory, load and starts are attributes; no value is no attribute."""
    assert attributes(read(f"{NODE}\n{ONE_LINE}\n")) == [
        {
            "base": "MIXED",
            "flags": "CLOUD",
            "unusable": "false",
            "reason_user": "root",
            "reason_time": "2026-01-05T04:05:00Z",
            "gpus": "8",
            "gpus_used": "5",
            "boot_time": "2026-01-04T00:00:00Z",
            "cpu_load": "3.20",
            "free_memory_bytes": "1073741824",
        },
        {
            "base": "DOWN",
            "flags": "DRAIN+NOT_RESPONDING",
            "unusable": "true",
            "reason_user": "root",
            "reason_time": "2026-01-05T04:05:00Z",
            "gpus": "8",
            "comment": "a b",
        },
    ]


@pytest.mark.parametrize(
    ("state", "unusable"),
    [
        pytest.param("State=DO", None, id="a torn word says nothing"),
        pytest.param("", None, id="a record torn before its state says nothing"),
        pytest.param("State=RESERVED", "false", id="a flag without a base is no fault"),
        pytest.param("State=NOT_RESPONDING+NEW_FLAG", "true", id="a flag of trouble is enough"),
        pytest.param(
            "State=IDLE+NEW_FLAG", "false", id="a flag of a later release changes nothing"
        ),
    ],
)
def test_whether_a_node_takes_work(state: str, unusable: str | None, read: Read) -> None:
    """A node is called well only by a word that is known."""
    told = attributes(read(f"NodeName=hx8-002 Arch=x86_64 {state}"))
    assert [one.get("unusable") for one in told] == [unusable]


JOB = """JobId=88213 ArrayJobId=88200 ArrayTaskId=4 JobName=llm abl=3 State=x
   UserId=alice(20114) GroupId=ml(5) MCS_label=N/A
   JobState=RUNNING Reason=None Dependency=(null)
   Requeue=1 Restarts=2 BatchFlag=1 Reboot=0 ExitCode=0:0
   RunTime=00:10:00 TimeLimit=1-00:00:00 TimeMin=N/A
   SubmitTime=2026-01-05T01:00:00 EligibleTime=2026-01-05T01:00:00
   StartTime=2026-01-05T01:02:00 EndTime=2026-01-06T01:02:00 Deadline=N/A
   NodeList=hx8-[001-002]
   Command=/home/alice/run me.sh

somebody typed this
"""


def test_a_running_job(read: Read) -> None:
    """A job's end is planned until it has ended."""
    reading = read(JOB)
    (row,) = reading.jobs.drop("source", "flags", "reason", "world", "gpus").to_dicts()
    assert (row, reading.rejects["text"].to_list()) == (
        {
            "run": "88200_4",
            "attempt": 2,
            "name": "llm abl=3 State=x",
            "user": "alice",
            "state": "RUNNING",
            "submit": datetime(2026, 1, 5, 1, tzinfo=UTC),
            "start": datetime(2026, 1, 5, 1, 2, tzinfo=UTC),
            "end": None,
            "elapsed_seconds": 600.0,
            "cpu_seconds": None,
            "hosts": ["hx8-001", "hx8-002"],
            "exit": "0:0",
        },
        ["somebody typed this"],
    )


@pytest.mark.parametrize(
    ("text", "base", "flags"),
    [
        pytest.param("IDLE+DRAIN+NOT_RESPONDING", "IDLE", ["DRAIN", "NOT_RESPONDING"], id="flags"),
        pytest.param("NOT_RESPONDING+DRAIN+IDLE", "IDLE", ["DRAIN", "NOT_RESPONDING"], id="order"),
        pytest.param("mixed-", "MIXED", ["PLANNED"], id="planned"),
        pytest.param("idle*", "IDLE", ["NOT_RESPONDING"], id="does not respond"),
        pytest.param("idle~", "IDLE", ["POWERED_DOWN"], id="powered down"),
        pytest.param("idle#", "IDLE", ["POWERING_UP"], id="powers up"),
        pytest.param("idle!", "IDLE", ["POWER_DOWN"], id="is to be powered down"),
        pytest.param("idle%", "IDLE", ["POWERING_DOWN"], id="powers down"),
        pytest.param("idle$", "IDLE", ["MAINTENANCE"], id="maintenance"),
        pytest.param("idle@", "IDLE", ["REBOOT_REQUESTED"], id="waits for a reboot"),
        pytest.param("reboot^", None, ["REBOOT_ISSUED"], id="reboots"),
        pytest.param("allocated+", "ALLOCATED", ["COMPLETING"], id="more flags are completing"),
        pytest.param("drained*", "IDLE", ["DRAIN", "NOT_RESPONDING"], id="drained is idle"),
        pytest.param("draining", "ALLOCATED", ["DRAIN"], id="draining is allocated"),
        pytest.param("inval", None, ["INVALID_REG"], id="registered with too little"),
        pytest.param("DOWN*+CLOUD", "DOWN", ["CLOUD", "NOT_RESPONDING"], id="a sign and a word"),
        pytest.param("unknown", "UNKNOWN", [], id="unknown"),
    ],
)
def test_states(text: str, base: str | None, flags: list[str]) -> None:
    """A state is a base and flags, however it is spelled."""
    found = pl.DataFrame({"text": [text]}).select(
        *(one.alias(name) for one, name in zip(node_states(pl.col("text")), "ab", strict=True))
    )
    assert found.rows() == [(base, flags)]


@settings(max_examples=40)
@given(
    lines=st.lists(
        st.one_of(
            st.sampled_from([*NODE.splitlines(), ONE_LINE, *JOB.splitlines(), "", "\x1b[31mx"]),
            st.binary(max_size=30).map(lambda data: data.decode("latin-1")),
        ),
        max_size=12,
    ),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_every_line_is_accounted_for(lines: list[str], end: str, tmp_path_factory: Any) -> None:
    """Torn, doubled, coloured or foreign: each line that is not blank is used or rejected."""
    data = end.join(lines).encode("utf-8")
    path = tmp_path_factory.mktemp("s") / "scontrol.txt"
    path.write_bytes(data)

    reading = read_scontrol(path, "scontrol.txt", ReadOptions())

    rejected = reading.rejects["count"].fill_null(1).sum()
    assert reading.lines_used + rejected == plain_lines(data).height
