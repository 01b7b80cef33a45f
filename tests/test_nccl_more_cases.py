"""More tricky logs of NCCL and PyTorch: what a folder of them says in the end."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from paceline.main import app

MAP = "".join(
    f"hx8-{n:03}:1:1 [0] NCCL INFO Bootstrap: Using eth0:10.77.3.{n}<0>\n" for n in range(1, 61)
)
"""Who has which bootstrap address."""

STAMP = "[2025-11-04 02:10:58] "


def warn(host: str, message: str, *, pid: int = 4412, stamp: str = STAMP) -> str:
    """A warning of the third GPU's process, as 2.26 and later stamp it."""
    return f"{stamp}{host}:{pid}:{pid + 200} [3] transport/net_ib.cc:1 NCCL WARN {message}\n"


def info(host: str, message: str, *, pid: int = 4412, device: int = 3) -> str:
    """A line of information, which has no stamp."""
    return f"{host}:{pid}:{pid + 200} [{device}] NCCL INFO {message}\n"


def life(rank: int, what: str, world: int = 8, comm_id: str = "0x7e1f55aa") -> str:
    """A communicator's start or end on one of four GPUs a host, behind Slurm's label."""
    message = (
        f"ncclCommInitRankConfig comm 0x55{rank:02x} rank {rank} nranks {world} cudaDev {rank % 4} "
        f"nvmlDev {rank % 4} busId {rank % 4 + 1}b000 commId {comm_id} - Init {what}"
    )
    host = f"hx8-{rank // 4 + 1:03}"
    return f"{rank}: " + info(host, message, pid=100 + rank, device=rank % 4)


def call(rank: int, count: int, name: str = "AllReduce") -> str:
    """A logged operation of the same ranks."""
    message = (
        f"{name}: opCount {count:x} sendbuff 0x7 recvbuff 0x8 count 512 datatype 7 op 0 root 0 "
        f"comm 0x55{rank:02x} [nranks=8] stream 0x5"
    )
    host = f"hx8-{rank // 4 + 1:03}"
    return f"{rank}: " + info(host, message, pid=100 + rank, device=rank % 4)


def channels(via: dict[int, str], usual: str, gpus: int = 2) -> str:
    """One channel a GPU of four hosts, which run over `usual` but on the hosts in `via`."""
    return "".join(
        info(
            f"hx8-{host:03}",
            f"Channel 00/0 : {8 * host + gpu}[{gpu}] -> {8 * host + 8 + gpu}[{gpu}] [send] via "
            + via.get(host, usual).format(gpu),
            pid=10 + gpu,
            device=gpu,
        )
        for host in (1, 2, 3, 4)
        for gpu in range(gpus)
    )


C10 = "E311 04:00:10.000000900 ProcessGroupNCCL.cpp:1785"
WORLD = "PG ID 0 PG GUID 0(default_pg) Rank"


def caught(
    rank: int, call: str, *, place: int | None = None, ran: int = 600_013, prefix: str = ""
) -> str:
    """A watchdog's time-out."""
    local = rank if place is None else place
    return (
        f"{prefix}[rank{rank}]:[{C10}] [Rank {local}] Watchdog caught collective operation "
        f"timeout: WorkNCCL({call}, Timeout(ms)=600000) ran for {ran} milliseconds before timing "
        "out.\n"
    )


def standing(rank: int, work: int, *, head: str | None = None, prefix: str = "") -> str:
    """The status behind a time-out, as torch 2.6 prints it."""
    return (
        f"{prefix}[rank{rank}]:[{C10}] [{head or f'{WORLD} {rank}'}]  failure detected by watchdog "
        f"at work sequence id: {work} PG status: last enqueued work: {work}, last completed work: "
        f"{work - 1}\n"
    )


def waiting(ranks: Iterable[int], work: int, call: str, **more: str) -> str:
    """Time-outs of ranks of the group that holds all."""
    seen = f"SeqNum={work}, {call}"
    return "".join(caught(r, seen, **more) + standing(r, work, **more) for r in ranks)  # type: ignore[arg-type]  # prefix only


TENSOR = "TENSOR_MODEL_PARALLEL_GROUP"

REDUCE = "OpType=ALLREDUCE, NumelIn=5, NumelOut=5"


def verdicts(folder: Path, files: dict[str, str]) -> list[tuple[Any, ...]]:
    """Return kind, level, subject, cause and confidence of what the command line finds."""
    for name, text in files.items():
        path = folder / "case" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    result = CliRunner().invoke(app, ["analyze", str(folder / "case"), "--format", "json"])
    assert result.exit_code == 0, result.output
    return [
        (
            one["kind"],
            one["level"],
            " ".join(f"{k}={v}" for k, v in one["subject"].items() if k not in {"run", "attempt"}),
            one["cause"],
            one["confidence"],
        )
        for one in json.loads(result.stdout)["verdicts"]
    ]


RETRY = (
    "with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0) reqSize=4096 vendor_err=129 "
    "req_type=Send hca mlx5_3"
)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param(
            {
                "job.log": "".join(
                    info(
                        f"hx8-{n:03}", f"NET/IB : Using [0]mlx5_0:1/IB; OOB eth0:fd00::{n}%eth0<0>"
                    )
                    for n in (17, 18, 21)
                )
                + "".join(
                    warn(host, f"NET/IB: Got completion from peer fd00::21%eth0<48122> {RETRY}")
                    for host in ("hx8-017", "hx8-018")
                )
            },
            [("link_fault", "host", "host=hx8-021", "unreachable", "medium")],
            id="an address of IPv6 with its zone is mapped to its host",
        ),
        pytest.param(
            {
                "pod-a-0.log": "2025-11-04T02:11:07.420117330Z stdout P "
                "pod-a-0:1:9 [0] net_ib.cc:1 NCCL WARN NET/IB : mlx5_3:1 Got non-fatal as\n"
                "2025-11-04T02:11:07.420117331Z stdout F ync event: port error(10)\n"
            },
            [("link_fault", "nic", "host=pod-a-0 device=mlx5_3", "link_down", "high")],
            id="a record in two pieces of a container's log",
        ),
        pytest.param(
            {
                "job.log": warn("hx8-003", "NET/IB : mlx5_2:1 Got async error event: port error")
                + warn(
                    "hx8-003",
                    "NET/IB : mlx5_2:1 Got async error event: port active",
                    stamp="[2025-11-04 02:11:03] ",
                )
            },
            [("link_fault", "nic", "host=hx8-003 device=mlx5_2", "flap", "medium")],
            id="a port that is back in five seconds has flapped",
        ),
        pytest.param(
            {
                "job.log": "".join(
                    warn(f"hx8-{n:03}", "NET/IB : mlx5_2:1 Got async error event: port error")
                    for n in (3, 4, 9)
                )
            },
            [("link_fault", "group", "group=rail mlx5_2", "switch", "medium")],
            id="ports of three hosts that go down together share a switch",
        ),
        pytest.param(
            {
                "job.log": MAP
                + "".join(
                    warn(
                        f"hx8-{n:03}",
                        "NET/IB: Got completion from peer 10.77.3.9<4> with status=13 opcode=0 "
                        "len=0 vendor err 130 (Send) hca mlx5_2",
                    )
                    for n in (3, 4)
                )
            },
            [("link_fault", "host", "host=hx8-009", "receiver_not_ready", "medium")],
            id="a receiver that posts no buffers is alive",
        ),
        pytest.param(
            {
                "job.log": MAP
                + warn(
                    "hx8-003",
                    "NET/IB: Got completion from peer 10.77.3.9<4> with status=10 opcode=0 len=0 "
                    "vendor err 136 (Send) hca mlx5_2",
                )
                + warn(
                    "hx8-009",
                    "NET/IB : mlx5_2:1 async fatal event on QP (0x7f12): local access violation "
                    "work queue error",
                    stamp="[2025-11-04 02:10:57] ",
                )
            },
            [("link_fault", "nic", "host=hx8-009 device=mlx5_2", "device_fatal", "high")],
            id="the side that refused has the queue pair's own error",
        ),
        pytest.param(
            {"job.log": channels({3: "NET/IB/{0}"}, "NET/IB/{0}/GDRDMA")},
            [("config_drift", "host", "host=hx8-003", "gpudirect", "medium")],
            id="one host whose NICs do not read the GPUs directly",
        ),
        pytest.param(
            {"job.log": channels({2: "NET/Socket/{0}"}, "NET/IB/{0}/GDRDMA")},
            [("config_drift", "host", "host=hx8-002", "network_plugin", "high")],
            id="sockets where the others have InfiniBand",
        ),
        pytest.param(
            {"job.log": channels({2: "NET/IB/0/GDRDMA"}, "NET/IB/{0}/GDRDMA")},
            [("config_drift", "host", "host=hx8-002", "shared_nic", "medium")],
            id="two GPUs on one NIC where the others have one each",
        ),
        pytest.param(
            {"job.log": channels({2: "SHM/direct/direct"}, "P2P/CUMEM/read")},
            [("config_drift", "host", "host=hx8-002", "peer_to_peer", "medium")],
            id="host memory where the others go from GPU to GPU",
        ),
        pytest.param(
            {
                "job.log": "".join(
                    info(f"hx8-{n:03}", f"NCCL version 2.{21 if n == 2 else 27}.5+cuda12.4")
                    for n in (1, 2, 3, 4)
                )
            },
            [("config_drift", "host", "host=hx8-002", "nccl_version", "high")],
            id="another release on one host",
        ),
        pytest.param(
            {
                f"hx8-{n:03}.log": info(
                    f"hx8-{n:03}",
                    f"{8 if n == 3 else 16} coll channels, 16 p2p channels",
                )
                for n in (1, 2, 3, 4)
            },
            [("config_drift", "host", "host=hx8-003", "channel_count", "medium")],
            id="fewer channels on one host",
        ),
        pytest.param(
            {
                "job.log": MAP
                + warn(
                    "hx8-003",
                    "NET/IB: Got completion from peer 10.77.3.9<4> with status=12 opcode=0 len=0 "
                    "vendor err 129 (Se",
                ).rstrip("\n")
                + warn(
                    "hx8-004",
                    "NET/IB: Got completion from peer 10.77.3.9<4> with status=12 opcode=0 len=0 "
                    "vendor err 129 (Send) hca mlx5_1",
                    stamp="",
                )
            },
            [("link_fault", "host", "host=hx8-009", "unreachable", "medium")],
            id="a torn completion still names its peer",
        ),
        pytest.param(
            {
                "job.log": MAP
                + "".join(
                    warn(
                        f"hx8-{n:03}",
                        "socketPollConnect: connect to 10.77.3.21<40011> returned Connection "
                        "refused, exceeded error retry count after 34 attempts",
                    )
                    for n in (3, 4, 5)
                )
            },
            [("crash", "host", "host=hx8-021", "not_listening", "medium")],
            id="a host on which nobody listens",
        ),
        pytest.param(
            {
                "job.log": warn("hx8-003", "Cuda failure 700 'an illegal memory access'")
                + warn(
                    "hx8-004",
                    "socketProgress: Connection closed by remote peer hx8-003.cl.example<40011>",
                )
            },
            [("crash", "gpu", "host=hx8-003 gpu=3", "cuda_error", "high")],
            id="a fault on a GPU comes before the peers that lost it",
        ),
        pytest.param(
            {
                "job.log": "11/04 02:10:58 hx8-003:1:2 [0] transport/net_ib.cc:93 NCCL WARN "
                "NET/IB : mlx5_0:1 Got async error event: port error\n"
            },
            [("link_fault", "nic", "host=hx8-003 device=mlx5_0", "link_down", "high")],
            id="a stamp in the user's own format is passed over",
        ),
        pytest.param(
            {
                "job.log": MAP
                + "".join(
                    warn(
                        f"hx8-{one:03}",
                        f"NET/IB: Got completion from peer 10.77.3.{other}<48122> {RETRY}",
                    )
                    for one in (1, 2, 3, 4)
                    for other in (1, 2, 3, 4)
                    if one != other
                )
            },
            [("config_drift", "job", "", "every_pair", "low")],
            id="no pair of hosts works: all are set up so, whoever comes first",
        ),
        pytest.param(
            {
                "job.log": MAP
                + warn(
                    "hx8-003",
                    "NET/IB: Got completion from peer 10.77.3.9<4> with status=13 opcode=0 "
                    "len=0 vendor err 130 (Send) hca mlx5_2",
                )
            },
            [("link_fault", "host", "host=hx8-009", "receiver_not_ready", "low")],
            id="one alone says that the other end lives and posts no buffers",
        ),
        pytest.param(
            {
                "job.log": MAP
                + "[rank8]: RuntimeError: CUDA error: an illegal memory access was encountered\n"
                + "".join(
                    warn(host, f"NET/IB: Got completion from peer 10.77.3.2<48122> {RETRY}")
                    for host in ("hx8-001", "hx8-003")
                )
            },
            [("crash", "rank", "rank=8", "cuda_error", "high")],
            id="nobody answers for a process that died, wherever it ran",
        ),
        pytest.param(
            {
                "job.log": MAP
                + warn("hx8-003", "socketFinalizeAccept from 10.77.3.9<41000>: wrong type 4 != 3")
            },
            [("config_drift", "job", "", "nccl_version", "medium")],
            id="another build at one of two ends: who says so need not be the odd one",
        ),
        pytest.param(
            {
                "job.log": MAP
                + "".join(
                    warn(
                        f"hx8-{one:03}",
                        f"socketPollConnect: connect to 10.77.3.{one % 4 + 1}<40011> returned "
                        "Connection timed out, exceeded error retry count after 35 attempts",
                    )
                    for one in (1, 2, 3, 4)
                )
            },
            [("config_drift", "job", "", "no_route", "low")],
            id="hosts that find no way to each other: a firewall, and nobody's fault",
        ),
        pytest.param(
            {
                "job.log": warn(
                    "hx8-003",
                    "Mismatched NCCL version detected : rank 0 version 21805 rank 3 version 22105",
                )
            },
            [("config_drift", "job", "", "nccl_version", "medium")],
            id="two releases, told by one end",
        ),
        pytest.param(
            {
                "job.log": MAP
                + warn(
                    "hx8-003",
                    "Error while creating shared memory segment /dev/shm/nccl-a (size 9637888)",
                )
            },
            [("config_drift", "host", "host=hx8-003", "shared_memory", "high")],
            id="shared memory that a host has too little of",
        ),
    ],
)
def test_networks(
    tmp_path: Path, files: dict[str, str], expected: list[tuple[str, str, str, str, str]]
) -> None:
    """What NCCL's lines tell of networks and settings, over the command line."""
    assert verdicts(tmp_path, files) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "".join(life(rank, "START") for rank in range(8) if rank != 5),
            [("hang", "rank", "rank=5", None, "high")],
            id="who never started is the first suspect",
        ),
        pytest.param(
            "".join(life(rank, "START") for rank in range(8))
            + "".join(life(rank, "COMPLETE") for rank in range(8) if rank != 5),
            [("hang", "rank", "host=hx8-002 rank=5 gpu=1", "stuck", "medium")],
            id="one that started and is not ready while all others are",
        ),
        pytest.param(
            "".join(life(rank, "COMPLETE") for rank in range(8))
            + "".join(call(rank, count) for count in (30, 31, 32) for rank in range(8)),
            [],
            id="operations that nobody follows to their end are no hang",
        ),
        pytest.param(
            "".join(life(rank, "COMPLETE") for rank in range(8))
            + "".join(
                call(rank, count, "Broadcast" if (rank, count) == (6, 31) else "AllReduce")
                for count in (30, 31, 32)
                for rank in range(8)
            ),
            [("mismatch", "rank", "host=hx8-002 rank=6 gpu=2", None, "high")],
            id="another operation at the same count of one communicator",
        ),
        pytest.param(
            waiting(
                [0, 1, 2, 3, 4, 5, 7], 70, "OpType=_REDUCE_SCATTER_BASE, NumelIn=64, NumelOut=8"
            )
            + waiting([6], 70, "OpType=_REDUCE_SCATTER_BASE, NumelIn=32, NumelOut=4"),
            [("mismatch", "rank", "rank=6", None, "high")],
            id="another size of a scatter",
        ),
        pytest.param(
            "".join(
                waiting([rank], 70, f"OpType=ALLTOALL, NumelIn={rank}, NumelOut={rank}")
                for rank in range(1, 9)
            )
            + waiting([0], 70, "OpType=ALLTOALL, NumelIn=9, NumelOut=9"),
            [("hang", "job", "", None, "low")],
            id="uneven parts of an all-to-all are right",
        ),
        pytest.param(
            f"[rank5]:[{C10}] [{WORLD} 5] Process group watchdog thread terminated with exception: "
            "CUDA error: an illegal memory access was encountered\n"
            + waiting([0, 1, 2, 3, 4, 6, 7], 70, REDUCE),
            [("crash", "rank", "rank=5", "cuda_error", "high")],
            id="an error of a GPU that its watchdog tells is no hang",
        ),
        pytest.param(
            waiting(range(8), 70, REDUCE)
            + f"[rank2]:[{C10}] [{WORLD} 2] Could not acquire GIL within 300 ms on exit, possible "
            "GIL induced hang\n",
            [("hang", "rank", "rank=2", "gil", "medium")],
            id="all in step, and one that cannot take its lock",
        ),
        pytest.param(
            "".join(
                f"[rank{rank}]:[{C10}] [{WORLD} {rank}] ProcessGroupNCCL's watchdog got stuck for "
                "480 seconds without making progress in monitoring enqueued collectives.\n"
                for rank in range(4)
            )
            + f"[rank2]:[{C10}] [{WORLD} 2] Could not acquire GIL within 300 ms on exit, possible "
            "GIL induced hang\n",
            [("hang", "rank", "rank=2", "gil", "medium")],
            id="watchdogs that stand still, and one that cannot take its lock",
        ),
        pytest.param(
            f"[rank0]:[{C10}] [{WORLD} 0] \n"
            "\t - [0] Timeout at collective: ALLREDUCE, #311\n"
            "\t - To our best knowledge, ranks [5] are the lagging ranks that caused this timeout. "
            "They never joined any collectives\n"
            "\t - Snapshot of ranks' latest states:\n"
            "\t   #311 started ranks:\n"
            "\t     [0,1,2,3,4,6,7] started ALLREDUCE\n",
            [("hang", "rank", "rank=5", None, "high")],
            id="a rank that joined nothing, by a desync report",
        ),
        pytest.param(
            "".join(
                waiting([rank], 90, REDUCE, prefix=f"{rank}: [default{rank % 4}]:")
                for rank in range(8)
                if rank != 6
            )
            + f"6: [default2]:[rank6]:[{C10}] [{WORLD} 6] Received a dump signal due to a "
            "collective timeout from  rank 0 and we will try our best to dump the debug info. "
            "Last enqueued NCCL work: 89, last completed NCCL work: 89.This is most likely\n",
            [("hang", "rank", "rank=6", None, "high")],
            id="labels of two launchers before each line",
        ),
        pytest.param(
            "".join(
                waiting(
                    [rank],
                    80078,
                    "OpType=BROADCAST, NumelIn=9, NumelOut=9" if rank == 3 else REDUCE,
                    prefix="Epoch 1:  37%|###  | 410/1108",
                )
                for rank in range(8)
            ),
            [("mismatch", "rank", "rank=3", None, "high")],
            id="a progress bar without a newline before each record",
        ),
        pytest.param(
            waiting([0, 1, 2, 3, 5, 6, 7], 70, REDUCE)
            + caught(4, f"SeqNum=70, {REDUCE}", ran=1_900_000)
            + standing(4, 70),
            [("hang", "rank", "rank=4", "frozen", "medium")],
            id="a watchdog far later than its time-out was frozen itself",
        ),
        pytest.param(
            "[rank2]: Invalidate trace cache @ step 41 and module 322: cache has only 310 modules\n"
            + waiting(range(8), 7001, "OpType=_ALLGATHER_BASE, NumelIn=8, NumelOut=64"),
            [("hang", "job", "", None, "low")],
            id="a trace that is dropped with all in step accuses nobody",
        ),
        pytest.param(
            f"[rank0]:[{C10}] [PG ID 2 PG GUID 9(tp) Rank 0] \n"
            "\t - [0] Timeout at collective: ALLREDUCE, #311\n"
            "\t - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync "
            "are:\n"
            "\t   - [0, 1, 2] joined but didn't finish collective #311 (count from 1)\n"
            "\t     [3] finished collective #310, but didn't join collective #311 (count from 1)\n",
            [("hang", "group", "group=9", None, "high")],
            id="a report's ranks count inside its group, however alone it is",
        ),
        pytest.param(
            waiting(range(16), 70, REDUCE)
            + "[0]:\n  time      : 2025-03-11_04:00:20\n  host      : hx8-002\n"
            "  rank      : 11 (local_rank: 3)\n  exitcode  : -6 (pid: 4415)\n"
            "  error_file: <N/A>\n  traceback : Signal 6 (SIGABRT) received by PID 4415\n",
            [("hang", "job", "", None, "low")],
            id="a watchdog's own abort is a victim's",
        ),
        pytest.param(
            "╭"
            + "─" * 102
            + "╮\n"
            + "".join(
                f"│ {line[at : at + 100]:100} │\n"
                for line in waiting([0, 1, 3], 70, REDUCE).splitlines()
                for at in range(0, len(line), 100)
            ),
            [("hang", "rank", "rank=2", None, "high")],
            id="a box that cuts its lines inside words",
        ),
        pytest.param(
            "".join(
                json.dumps({"log": f"{line}\n", "stream": "stderr", "time": "2025-03-11T04:00:11Z"})
                + "\n"
                for line in waiting([0, 1, 3], 70, REDUCE).splitlines()
            ),
            [("hang", "rank", "rank=2", None, "high")],
            id="docker's lines with blanks in them",
        ),
    ],
)
def test_hangs(
    tmp_path: Path, text: str, expected: list[tuple[str, str, str, str | None, str]]
) -> None:
    """What watchdogs and communicators tell of a standing job, over the command line."""
    assert verdicts(tmp_path, {"train.log": text}) == expected


def test_a_peer_that_died_of_its_own(tmp_path: Path) -> None:
    """An error about the other end leads to the exception there, in another file."""
    files = {
        "a.log": f"[rank0]:[{C10}] [{WORLD} 0] Process group watchdog thread terminated with "
        "exception: NCCL error: remote process exited or there was a network error\n"
        "ncclRemoteError: A call failed possibly due to a network error.\n"
        "Last error:\nsocketProgress: Connection closed by remote peer hx8-002<40011>\n",
        "b.log": "[rank8]: Traceback (most recent call last):\n"
        '[rank8]:   File "train.py", line 5, in <module>\n'
        "[rank8]: ValueError: bad batch\n",
    }
    assert verdicts(tmp_path, files) == [("crash", "rank", "rank=8", "ValueError", "high")]


GROUPS = {"0": "[0, 1, 2, 3]", "1": "[0, 1]", "2": "[2, 3]", "3": "[0, 2]", "4": "[1, 3]"}


def dump(standings: dict[str, tuple[int, int]], *entries: tuple[str, int, str]) -> str:
    """A dump as JSON writes it, numbers as text: (enqueued, completed) by group."""
    return json.dumps(
        {
            "version": "2.10",
            "pg_config": {n: {"name": n, "desc": "", "ranks": r} for n, r in GROUPS.items()},
            "pg_status": {
                name: {
                    "last_enqueued_collective": str(enqueued),
                    "last_started_collective": "-1",
                    "last_completed_collective": str(completed),
                }
                for name, (enqueued, completed) in standings.items()
            },
            "entries": [
                {
                    "record_id": at,
                    "pg_id": int(group),
                    "process_group": [group, ""],
                    "collective_seq_id": number,
                    "profiling_name": operation,
                    "input_sizes": [[8]],
                    "output_sizes": [[8]],
                    "state": "scheduled",
                    "time_created_ns": 1_760_000_000_000_000_000 + at,
                }
                for at, (group, number, operation) in enumerate(entries)
            ],
        }
    )


ALL = "nccl:all_reduce"


@pytest.mark.parametrize(
    ("dumps", "expected"),
    [
        pytest.param(
            [
                dump({"0": (11 if r == 2 else 12, 11)}, *([] if r == 2 else [("0", 12, ALL)]))
                for r in range(4)
            ],
            [("hang", "rank", "rank=2", None, "high")],
            id="an empty ring and a standing one behind",
        ),
        pytest.param(
            [
                dump({"0": (12, 11)}, ("0", 12, "nccl:_all_gather_base" if r == 1 else ALL))
                for r in range(4)
            ],
            [("mismatch", "rank", "rank=1", None, "high")],
            id="another operation at the same number",
        ),
        pytest.param(
            [dump({"0": (12, 11)}, ("0", 12, ALL)) for _ in range(4)],
            [("hang", "job", "", None, "low")],
            id="all in step",
        ),
        pytest.param(
            [
                dump({"1": (50, 49), "3": (7, 7)}, ("1", 50, ALL)),
                dump({"1": (49, 49), "4": (8, 7)}, ("4", 8, ALL)),
                dump({"2": (50, 49), "3": (7, 7)}, ("2", 50, ALL)),
                dump({"2": (49, 49), "4": (7, 7)}),
            ],
            [("hang", "rank", "rank=3", None, "high")],
            id="a chain through two groups ends at the rank that waits in none",
        ),
        pytest.param(
            [
                dump({"1": (5, 4)}, ("1", 5, ALL)),
                dump({"1": (4, 4), "4": (8, 7)}, ("1", 4, ALL), ("4", 8, ALL)),
                dump({"2": (4, 4), "3": (8, 7)}, ("2", 4, ALL), ("3", 8, ALL)),
                dump({"2": (5, 4), "4": (7, 7)}, ("4", 7, ALL), ("2", 5, ALL)),
            ],
            [("hang", "job", "", None, "low")],
            id="a ring of waits with a member of which nothing is known accuses nobody",
        ),
        pytest.param(
            [
                dump({"1": (5, 4), "3": (7, 7)}, ("3", 7, ALL), ("1", 5, ALL)),
                dump({"1": (4, 4), "4": (8, 7)}, ("1", 4, ALL), ("4", 8, ALL)),
                dump({"2": (4, 4), "3": (8, 7)}, ("2", 4, ALL), ("3", 8, ALL)),
                dump({"2": (5, 4), "4": (7, 7)}, ("4", 7, ALL), ("2", 5, ALL)),
            ],
            [("mismatch", "job", "", "order", "medium")],
            id="groups that wait for each other in a ring call in another order",
        ),
        pytest.param(
            [
                dump({"0": (12, 11)}, ("0", 12, ALL))[: -40 if rank == 2 else None]
                for rank in range(4)
            ],
            [("hang", "job", "", None, "low")],
            id="a dump that is torn is no silence",
        ),
    ],
)
def test_dumps(
    tmp_path: Path, dumps: list[str], expected: list[tuple[str, str, str, str | None, str]]
) -> None:
    """What the dumps of all ranks tell, over the command line."""
    files = {f"comm_lib_trace_rank_{rank}": text for rank, text in enumerate(dumps)}
    assert verdicts(tmp_path, files) == expected


def test_a_member_that_only_the_sizes_tell(tmp_path: Path) -> None:
    """Output and input tell how large a group is, and one rank of all was never heard."""
    text = "".join(
        caught(rank, "SeqNum=70, OpType=ALLGATHER, NumelIn=4, NumelOut=8", place=rank % 2)
        + standing(
            rank, 70, head=f"PG ID {rank // 2} PG GUID {20 + rank // 2}({TENSOR}) Rank {rank % 2}"
        )
        for rank in range(8)
        if rank != 5
    )
    assert verdicts(tmp_path, {"train.log": text}) == [("hang", "rank", "rank=5", None, "medium")]


def test_a_gap_in_the_ranks_of_a_group(tmp_path: Path) -> None:
    """Ranks 0, 2 and 3 of a group, all with the same global number, miss rank 1."""
    text = "".join(
        f"[rank{rank}]:[E ProcessGroupNCCL.cpp:1537] [PG 3 Rank {rank}] Timeout at NCCL work: 7, "
        "last enqueued NCCL work: 7, last completed NCCL work: 6.\n"
        for rank in (0, 2, 3)
    )
    assert verdicts(tmp_path, {"train.log": text}) == [("hang", "rank", "rank=1", None, "medium")]
