"""What folders of RAS reports, Inspector files, tests and traces come to, from text to verdict."""

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from collectors.sniffing import ReadOptions
from detectors.verdicts import Verdict
from paceline.findings import DetectorParams, find_all
from paceline.sources import find_files, read_sources

Judge = Callable[[dict[str, str]], list[Verdict]]

EVEN = "    0         1         4         8        32        32   RUNNING      OK\n"
ODD = EVEN.replace("      OK", "MISMATCH")
SILENT = (
    "  Missing communicator data from 1 rank\n"
    "  Rank 0 -- GPU 0 managed by process 910 on node 10.77.3.51\n"
)
OWNERS = (
    "hx8-051:910:910 [0] NCCL INFO Bootstrap: Using eth0:10.77.3.51<0>\n"
    "hx8-019:6120:6120 [5] NCCL INFO Bootstrap: Using eth0:10.77.3.19<0>\n"
)
GARBAGE = """\
    2         1         1         8         0         8   RUNNING  INCOMPLETE
#2-0 (00000000deadbeef) INCOMPLETE
  Missing communicator data from 255 ranks
  Rank 1057455228 -- [process information not found]
"""
SKEW = """\
 Warning: negative travel times were observed across 3 connections,
 indicating that the system clocks are *not* synchronized.
  From node 10.77.3.5 process 71 to node 10.77.3.9 process 80: observed travel time of -41.200s
"""
PORT = (
    "[2025-07-07 10:00:50] hx8-005:71:90 [0] transport/net_ib.cc:199 NCCL WARN NET/IB : mlx5_1:1 "
    "Got async error event: port error\n"
)
EDGE = (
    "[2025-07-07 10:00:40] hx8-009:80:99 [0] transport/net_ib.cc:2458 NCCL WARN NET/IB: Got "
    "completion from peer 10.77.3.5<900> with status=12 opcode=0 len=0 vendor err 129 (Send) "
    "hca mlx5_1\n"
)
PAIRS = (
    "pairs busbw GB/s: 1-2 81 \N{MIDDLE DOT} 1-3 80 \N{MIDDLE DOT} 2-3 82 \N{MIDDLE DOT} "
    "1-4 41 \N{MIDDLE DOT} 2-4 40 \N{MIDDLE DOT} 3-4 41     sizes 1-2 GiB\n"
)


@pytest.fixture
def judge(tmp_path: Path) -> Judge:
    """What all detectors say of a folder of texts."""

    def verdicts(files: dict[str, str]) -> list[Verdict]:
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text, encoding="utf-8")
        reading = read_sources(find_files([tmp_path]), ReadOptions(year=2026), say_nothing)
        return find_all(reading, DetectorParams(), say_nothing)

    return verdicts


def say_nothing(_name: str, _done: int, _due: int) -> None:
    """Report no progress."""


def told(verdicts: list[Verdict]) -> list[tuple[object, ...]]:
    """Return kind, level, host, rank, cause and confidence of each finding."""
    return [
        (one.kind, one.level, one.subject.host, one.subject.rank, one.cause, one.confidence)
        for one in verdicts
    ]


def watchdogs(ranks: int) -> str:
    """Return the time-outs of as many ranks in one collective."""
    return "".join(
        f"[rank{rank}]:[E1104 02:11:07.{418220913 + rank} ProcessGroupNCCL.cpp:632] [Rank {rank}] "
        "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9120, OpType=ALLREDUCE, "
        "NumelIn=5, NumelOut=5, Timeout(ms)=600000) ran for 600044 milliseconds before timing "
        "out.\n"
        for rank in range(ranks)
    )


def dump(**more: Any) -> str:
    """Return a flight recorder dump of a rank that waits for the others."""
    entry = {
        "record_id": 11,
        "pg_id": 0,
        "process_group": ["0", "default_pg"],
        "collective_seq_id": 12,
        "p2p_seq_id": 0,
        "op_id": 12,
        "profiling_name": "nccl:all_reduce",
        "time_created_ns": 1_762_222_258_114_200_000,
        "input_sizes": [[4096]],
        "output_sizes": [[4096]],
        "state": "started",
        "retired": False,
        "timeout_ms": 600_000,
        "is_p2p": False,
    }
    group = {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]"}
    status = {
        "last_enqueued_collective": 12,
        "last_started_collective": 12,
        "last_completed_collective": 11,
    }
    whole = {"version": "2.10", "pg_config": {"0": group}, "pg_status": {"0": status}}
    return json.dumps({**whole, "entries": [entry], **more})


DUMPS = {f"comm_lib_trace_rank_{rank}": dump() for rank in (1, 2, 3)}


def counts(most: int, one: int) -> str:
    """Return a report in which rank 21 has launched `one`, all others `most`."""
    return f"""{ODD}
#0-0 (5f0c2a9be1774d03) MISMATCH
  Communicator ranks have different AllReduce operation counts
  31 ranks have launched up to operation {most}
  Rank 21 has launched up to operation {one} -- GPU 5 managed by process 6120 on node 10.77.3.19
"""


def test_even_reports_and_a_standing_job(judge: Judge) -> None:
    """All launched and none done accuses nobody, and says what would decide."""
    found = judge({"ras": EVEN * 2, "torch.log": watchdogs(32)})

    assert told(found) == [("hang", "job", None, None, None, "low")]
    assert found[0].needed is not None
    assert all(word in found[0].needed for word in ("network", "power", "flight recorder"))
    assert "all ranks have launched" in found[0].evidence[-1].what


def test_garbage_says_nothing(judge: Judge) -> None:
    """Numbers that cannot be give no verdict."""
    assert judge({"ras.txt": EVEN + GARBAGE}) == []


def test_garbage_beside_a_silent_rank(judge: Judge) -> None:
    """Other groups of a report with garbage are still used."""
    silent = "#0-0 (5f0c2a9be1774d03) INCOMPLETE\n" + SILENT

    found = judge({"ras.txt": EVEN + GARBAGE + silent, "nccl.log": OWNERS})

    assert told(found) == [("hang", "rank", "hx8-051", 0, "silent", "medium")]


def test_two_absences_agree(judge: Judge) -> None:
    """A dump that is not there and a rank that RAS misses are one finding, and sure."""
    found = judge({**DUMPS, "ras": SILENT, "nccl.log": OWNERS})

    assert told(found) == [("hang", "rank", "hx8-051", 0, "silent", "high")]
    assert found[0].subject.gpu == 0


def test_two_absences_without_a_map(judge: Judge) -> None:
    """Where nobody says whose the address is, the host is the address."""
    assert told(judge({**DUMPS, "ras": SILENT})) == [
        ("hang", "rank", "10.77.3.51", 0, "silent", "high")
    ]


def inspector(ranks: dict[int, tuple[int, str]], collectives: int = 25) -> dict[str, str]:
    """Return files of ranks of one group, each with its time and timing source."""
    return {
        f"hx8-017-pid{rank}.log": "".join(
            json.dumps(
                {
                    "header": {"id": "0xaa", "rank": rank, "n_ranks": 4, "nnodes": 1},
                    "metadata": {"dump_timestamp_us": 1_762_222_258_114_200, "hostname": "hx8-017"},
                    "coll_perf": {
                        "coll": "AllReduce",
                        "coll_sn": number,
                        "coll_msg_size_bytes": 1_048_576,
                        "coll_exec_time_us": micros + number % 3,
                        "coll_timing_source": source,
                    },
                }
            )
            + "\n"
            for number in range(collectives)
        )
        for rank, (micros, source) in ranks.items()
    }


ALL_WAIT_FOR_2 = {rank: (90 if rank == 2 else 2000, "kernel_gpu") for rank in range(4)}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param(
            inspector(ALL_WAIT_FOR_2),
            [("slow", "rank", "hx8-017", 2, "arrives_last", "medium")],
            id="the rank with the shortest time is the one whom all wait for",
        ),
        pytest.param(
            inspector({0: (90, "kernel_gpu"), 1: (31, "collective_cpu")}, 1),
            [],
            id="times of two sources are never compared",
        ),
        pytest.param(
            inspector({rank: ALL_WAIT_FOR_2[rank] for rank in (0, 1, 2)}),
            [],
            id="a rank that recorded nothing is no evidence, of it or of others",
        ),
        pytest.param(inspector(ALL_WAIT_FOR_2, 5), [], id="a few collectives are too few"),
    ],
)
def test_inspector(judge: Judge, files: dict[str, str], expected: list[tuple[object, ...]]) -> None:
    """Only like times of all ranks, often enough, name somebody."""
    files = {**files, "hx8-017-pid9.log": '{"header":{"id":"0xaa","rank":0,"n_ranks":4,"nno'}

    assert told(judge(files)) == expected


def run_of(hosts: tuple[str, str], rate: float) -> str:
    """Return the table of a test of two hosts."""
    devices = "".join(
        f"#  Rank {rank:2d} Group  0 Pid   4412 on {host:>10} device  0 [0000:9b:00] NVIDIA H100\n"
        for rank, host in enumerate(hosts)
    )
    return f"""\
# Collective test starting: all_reduce_perf
# Using devices
{devices}#
# size count type redop root time algbw busbw #wrong time algbw busbw #wrong
        1024           256     float     sum      -1   20.1  0.05  0.05  0 20.0  0.05  0.05  0
  1073741824  268435456  float  sum  -1   2411  {rate}  {rate}  0 2399 {rate}  {rate} 0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : {rate}
"""


HOSTS = [f"hx8-{number:03}" for number in range(1, 5)]


@pytest.mark.parametrize(
    ("files", "host"),
    [
        pytest.param({"pairs.txt": PAIRS}, "4", id="a bare line of pairs"),
        pytest.param(
            {
                f"{a}_{b}.log": run_of((a, b), 41.0 if b == "hx8-004" else 81.0)
                for a, b in itertools.combinations(HOSTS, 2)
            },
            "hx8-004",
            id="runs named by their device lines",
        ),
    ],
)
def test_pair_bisection(judge: Judge, files: dict[str, str], host: str) -> None:
    """The host all and only whose pairs are slow has the slow link, by this factor."""
    found = judge(files)

    assert told(found) == [("slow", "host", host, None, "slow_link", "high")]
    assert found[0].slowdown == pytest.approx(2.0, abs=0.05)


def test_corrupted_data(judge: Judge) -> None:
    """Values out of bounds come before what is only slow, and name no GPU."""
    slow = run_of(("hx8-001", "hx8-002"), 9.0).replace(": 9.0\n", ": 9.0 FAILED\n")
    found = judge({"a.log": slow.replace(": 0 OK", ": 4 FAILED")})

    assert told(found) == [
        ("numerical", "job", None, None, "data_corruption", "high"),
        ("slow", "job", None, None, "below_threshold", "medium"),
    ]
    assert found[0].subject.gpu is None
    assert found[0].alternatives == ("hx8-001", "hx8-002")


@pytest.mark.parametrize(
    "owners", ["", "hx8-005:71:71 [0] NCCL INFO Bootstrap : Using eth0:10.77.3.5<0>\n"]
)
def test_clocks_that_lie(judge: Judge, owners: str) -> None:
    """A message that came before it was sent puts the port's error before its victim's."""
    found = judge({"ras-v": SKEW, "hx8-005.log": owners + PORT, "hx8-009.log": EDGE})

    assert told(found) == [("link_fault", "nic", "hx8-005", None, "link_down", "high")]
    assert found[0].victims == ("hx8-009",)
    onset, edge = found[0].onset, found[0].evidence[-1].time
    assert onset is not None
    assert edge is not None
    assert (edge - onset).total_seconds() == pytest.approx(31.2)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param(
            {"ras_1.txt": counts(9120, 9119), "ras_2.txt": counts(9120, 9119), "n.log": OWNERS},
            [("hang", "rank", "hx8-019", 21, "behind", "high")],
            id="a difference that stays is a rank that is behind",
        ),
        pytest.param(
            {"ras_1.txt": counts(9120, 9119), "ras_2.txt": counts(9160, 9159)},
            [],
            id="numbers that move are a job that runs",
        ),
        pytest.param(
            {"ras_1.txt": counts(9120, 9119), "ras_2.txt": EVEN},
            [],
            id="a difference that is gone was the moment of the report",
        ),
        pytest.param(
            {"ras.txt": counts(9120, 9119)},
            [("unknown", "group", None, None, "launch_counts", "low")],
            id="one report and a difference of one decide nothing",
        ),
        pytest.param(
            {"ras.txt": counts(9120, 9101)},
            [("hang", "rank", "10.77.3.19", 21, "behind", "medium")],
            id="a large difference speaks at once",
        ),
        pytest.param(
            {"ras.txt": counts(9119, 9120) * 2},
            [("mismatch", "rank", "10.77.3.19", 21, "ahead", "high")],
            id="a minority that is ahead has called what the others did not",
        ),
        pytest.param(
            {
                "ras.txt": EVEN
                + "DEAD\n  1 job process is considered dead (unreachable via the RAS network)\n"
                "  Process 34 on node 10.77.3.18 managing GPU 5\n"
            },
            [("crash", "gpu", "10.77.3.18", None, "process_dead", "medium")],
            id="a process that is taken for dead",
        ),
        pytest.param(
            {"job.log": "hx8-018: Test NCCL failure common.cu:1012 'remote process exited'\n"},
            [("crash", "job", None, None, "benchmark_failed", "low")],
            id="a test that died names nobody",
        ),
    ],
)
def test_more_reports(
    judge: Judge, files: dict[str, str], expected: list[tuple[object, ...]]
) -> None:
    """What reports say alone, two of them, and failures of tests."""
    assert told(judge(files)) == expected
