"""Rounds of rendezvous of elastic jobs: how many there were, and why each began."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from collectors.readings import Reading
from collectors.sniffing import ReadOptions
from paceline.sources import find_files, read_sources

Read = Callable[[dict[str, str]], Reading]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """A reader of the logs of a folder."""

    def reader(logs: dict[str, str]) -> Reading:
        for name, text in logs.items():
            (tmp_path / name).write_text(text, encoding="utf-8")
        return read_sources(find_files([tmp_path]), ReadOptions(year=2031), lambda *_: None)

    return reader


OLD = "[2031-02-03 {},000] torch.distributed.elastic.agent.server.api: [INFO] [default] "
NEW = "I0203 {}.118000 4411 torch/distributed/elastic/agent/server/api.py:525] [default] "


def result(clock: str, restarts: int, rank: int = 0, world: int = 4, head: str = OLD) -> str:
    """Return the block of an agent with two workers."""
    first = 2 * rank
    return (
        f"{head.format(clock)}Rendezvous complete for workers. Result:\n"
        f"  restart_count={restarts}\n  master_addr=n1\n  master_port=29500\n"
        f"  group_rank={rank}\n  group_world_size={world // 2}\n  local_ranks=[0, 1]\n"
        f"  role_ranks=[{first}, {first + 1}]\n  global_ranks=[{first}, {first + 1}]\n"
        f"  role_world_sizes=[{world}, {world}]\n  global_world_sizes=[{world}, {world}]\n\n"
    )


FAILED = OLD + "Worker group FAILED. 3/3 attempts left; will restart worker group\n"
JOINED = OLD + "Detected 1 new nodes from group_rank=0; will restart worker group\n"

REPLACED = {
    "agent-a.log": result("04:00:00", 0)
    + FAILED.format("05:00:00")
    + result("05:00:10", 1)
    + JOINED.format("06:00:00")
    + result("06:00:10", 1, world=6),
    "agent-b.log": result("05:00:11", 0, rank=1) + result("06:00:12", 0, rank=1, world=6),
}

ONE_FAILURE_ONE_CHANGE = [(0, None, 4), (1, "failure", 4), (2, "membership change", 6)]


@pytest.mark.parametrize(
    ("logs", "expected"),
    [
        pytest.param(
            REPLACED,
            ONE_FAILURE_ONE_CHANGE,
            id="an agent that replaced another one counts from nothing, and three rounds are two "
            "restarts",
        ),
        pytest.param(
            {name: text.replace("[2031-02-03 ", "[") for name, text in REPLACED.items()},
            ONE_FAILURE_ONE_CHANGE,
            id="without a clock the last results belong together",
        ),
        pytest.param(
            {"all.log": "".join(REPLACED.values())},
            ONE_FAILURE_ONE_CHANGE,
            id="both agents in one file",
        ),
        pytest.param(
            {
                "a.log": result("04:00:00", 0, head=NEW) + result("05:00:00", 1, head=NEW),
                "b.log": result("04:00:02", 0, rank=1, head=NEW)
                + result("05:00:01", 0, rank=1, head=NEW),
            },
            [(0, None, 4), (1, "failure", 4)],
            id="the agent whose workers failed counts, the other one does not",
        ),
        pytest.param(
            {"a.log": result("04:00:00", 0) + result("04:30:00", 0)},
            [(0, None, 4), (1, "membership change", 4)],
            id="a round that nobody counts is a change of members",
        ),
        pytest.param({"a.log": result("04:00:00", 0)}, [(0, None, 4)], id="one round, no restart"),
    ],
)  # fmt: skip -- one case, one glance
def test_rounds(read: Read, logs: dict[str, str], expected: list[tuple[Any, ...]]) -> None:
    """Rounds are counted over all agents; a failure takes a restart of an agent, a change none."""
    jobs = read(logs).jobs.sort("attempt")
    assert jobs.select("attempt", "reason", "world").rows() == expected


def test_places(read: Read) -> None:
    """Ranks are on the host of the agent that tells them: its prefix, or the master's name."""
    logs = {
        "a.log": result("04:00:00", 0),
        "b.log": "".join(f"n2: {line}\n" for line in result("04:00:01", 0, 1).split("\n") if line),
    }
    placed = read(logs).placements.sort("rank")
    assert placed.select("attempt", "rank", "host", "index").rows() == [
        (0, 0, "n1", 0),
        (0, 1, "n1", 1),
        (0, 2, "n2", 0),
        (0, 3, "n2", 1),
    ]


def test_results_of_two_printers_in_one_log(read: Read) -> None:
    """Blocks whose lines lie between each other are told apart by who printed them."""
    a, b = result("04:00:00", 0).split("\n"), result("04:00:01", 0, rank=1).split("\n")
    mixed = [
        f"{host}: {line}"
        for pair in zip(a, b, strict=True)
        for host, line in zip(("n1", "n2"), pair, strict=True)
        if line
    ]  # fmt: skip -- one thought
    reading = read({"all.log": "\n".join(mixed)})
    assert (
        reading.events.select("kind", "code", "host", "position").rows(),
        reading.jobs.select("attempt", "world", "hosts").rows(),
        reading.rejects.height,
    ) == (
        [("rendezvous", "0", "n1", 1), ("rendezvous", "0", "n2", 2)],
        [(0, 4, ["n1", "n2"])],
        0,
    )


TABLE = """\
{host}: train.py FAILED
{host}: ------------------------------------------------------------
{host}: Root Cause (first observed failure):
{host}: [0]:
{host}:   time      : 2031-02-03_{clock}
{host}:   host      : {host}
{host}:   rank      : {rank} (local_rank: 1)
{host}:   exitcode  : {code} (pid: 4415)
{host}:   error_file: <N/A>
{host}:   traceback : Signal received by PID 4415
{host}: ============================================================
"""


def test_failure_tables_of_several_agents(read: Read) -> None:
    """Each agent's first failure is an exit with the time of its own table."""
    text = TABLE.format(host="n1", clock="04:05:09", rank=1, code=-15) + TABLE.format(
        host="n2", clock="04:05:06", rank=5, code=-9
    )
    exits = read({"job.log": text}).events.filter(kind="process_exit")
    assert exits.select("time", "host", "rank", "device", "code").sort("time").rows() == [
        (datetime(2031, 2, 3, 4, 5, 6, tzinfo=UTC), "n2", 5, "1", "-9"),
        (datetime(2031, 2, 3, 4, 5, 9, tzinfo=UTC), "n1", 1, "1", "-15"),
    ]


def test_a_failure_told_by_an_agent_and_its_table(read: Read) -> None:
    """The agent's line and the table are one failure, with the table's rank and host."""
    line = (
        "E0203 04:05:07.118000 77 torch/distributed/elastic/multiprocessing/api.py:870] failed "
        "(exitcode: -11) local_rank: 1 (pid: 4415) of binary: /usr/bin/python3\n"
    )
    table = TABLE.format(host="n2", clock="04:05:06", rank=5, code=-11).replace("n2: ", "")
    reading = read({"job.log": line + table})
    exits = reading.events.filter(kind="process_exit")
    assert (exits.select("host", "rank", "device", "code").rows(), reading.rejects.height) == (
        [("n2", 5, "1", "-11")],
        0,
    )


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param(
            FAILED.format("05:00:00"),
            ("restart", "3/3", None, [("reason", "failure")]),
            id="a failure, and how many are left before it is counted",
        ),
        pytest.param(
            JOINED.format("05:00:00"),
            ("restart", "1", None, [("reason", "membership change")]),
            id="a change of members",
        ),
        pytest.param(
            "W0203 04:05:06.118000 77 torch/x.py:1] Sending process 4415 closing signal SIGTERM",
            ("closing", "SIGTERM", "4415", None),
            id="an agent that closes its own process",
        ),
        pytest.param(
            "Unable to shutdown process 4415 via Signals.SIGTERM, forcefully exiting via "
            "Signals.SIGKILL",
            ("closing", "SIGKILL", "4415", None),
            id="a process that had to be killed",
        ),
        pytest.param(
            OLD.format("05:00:00") + "worker group successfully finished. Waiting 300 seconds",
            ("run_end", "done", None, None),
            id="a group that ended well",
        ),
        pytest.param(
            "The node 'n1_12_0' has failed to send a keep-alive heartbeat to the rendezvous 'x' "
            "due to an error of type RendezvousConnectionError.",
            ("store_lost", "rendezvous", None, None),
            id="an agent that lost the store",
        ),
        pytest.param(
            "mpirun noticed that process rank 5 with PID 4415 on node n3 exited on signal 11 "
            "(Segmentation fault).",
            ("process_exit", "-11", None, None),
            id="a process of MPI that a signal ended",
        ),
        pytest.param(
            "MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD with errorcode 1.",
            ("process_exit", "MPI_ABORT", None, None),
            id="a rank of MPI that gave up",
        ),
        pytest.param(
            "pdsh@head: n3: ssh exited with exit code 247",
            ("process_exit", "247", None, None),
            id="a remote shell that ended with an error",
        ),
        pytest.param(
            "[2031-02-03 04:00:21,789] [ERROR] [launch.py:322:sigkill_handler] ['python', 'x.py'] "
            "exits with return code = -9",
            ("process_exit", "-9", None, None),
            id="a process of DeepSpeed's launcher",
        ),
        pytest.param(
            "failed (exitcode: -9) local_rank: 3 (pid: 4415) of binary: /usr/bin/python3",
            ("process_exit", "-9", "3", None),
            id="a process that was killed",
        ),
    ],
)  # fmt: skip -- one case, one glance
def test_agents_lines(read: Read, line: str, expected: tuple[Any, ...]) -> None:
    """Each line of an agent is one event."""
    row = read({"a.log": f"{line}\n"}).events.select("kind", "code", "device", "attributes").row(0)
    labels = row[3] and [(one["key"], one["value"]) for one in row[3]]
    assert (*row[:3], labels) == expected
