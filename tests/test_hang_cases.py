"""Jobs that stand, in logs of public shape, from text to verdict."""

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from collectors.communication.flight_recorder import read_flight_recorder
from collectors.readings import join_readings
from collectors.sniffing import ReadOptions
from detectors.hangs import HangParams, find_hangs
from detectors.placing import ROLES
from detectors.verdicts import Verdict


def caught(rank: int, call: str, *, local: int | None = None, timeout: int = 600_000) -> str:
    """A watchdog's time-out, without a group in its head, as torch 2.4 prints it."""
    place = rank if local is None else local
    return (
        f"[rank{rank}]:[E816 01:45:40.183009389 ProcessGroupNCCL.cpp:607] [Rank {place}] Watchdog "
        f"caught collective operation timeout: WorkNCCL({call}, Timeout(ms)={timeout}) ran for "
        f"{timeout + 26} milliseconds before timing out.\n"
    )


def status(rank: int, head: str, work: int, enqueued: int, completed: int) -> str:
    """The status line behind a time-out."""
    return (
        f"[rank{rank}]:[E816 01:45:40.184373931 ProcessGroupNCCL.cpp:1664] [{head}] Exception "
        f"(either an error or timeout) detected by watchdog at work: {work}, last enqueued NCCL "
        f"work: {enqueued}, last completed NCCL work: {completed}.\n"
    )


def both(ranks: Iterable[int], head: str, call: str, work: int) -> str:
    """Time-outs and their status, the same for some ranks of the group that holds all."""
    return "".join(
        caught(rank, call) + status(rank, head.format(rank), work, work, work - 1) for rank in ranks
    )


IN_STEP = "".join(
    caught(rank, "SeqNum=9120, OpType=ALLREDUCE, NumelIn=5, NumelOut=5") for rank in range(32)
)
CALLS = """\
hx8-001:10:10 [0] NCCL INFO AllGather: opCount 1f {0}
hx8-001:10:10 [0] NCCL INFO AllReduce: opCount 20 {0}
hx8-001:11:11 [1] NCCL INFO AllGather: opCount 1f {0}
hx8-001:11:11 [1] NCCL INFO AllReduce: opCount 20 {0}
hx8-001:12:12 [2] NCCL INFO AllGather: opCount 1f {0}
hx8-001:12:12 [2] NCCL INFO Broadcast: opCount 20 {0}
hx8-001:13:13 [3] NCCL INFO AllReduce: opCount 20 {0}
""".replace(
    "{0}",
    "sendbuff 0x7f02 recvbuff 0x7f04 count 512 datatype 7 op 0 root 0 comm 0xa [nranks=4] "
    "stream 0x5581",
)
TWO_GROUPS = (
    caught(8, "SeqNum=5, OpType=ALLREDUCE, NumelIn=1, NumelOut=1", local=0)
    + status(8, "PG ID 4 PG GUID 31(DATA_PARALLEL_GROUP) Rank 0", 5, 5, 4)
    + caught(12, "SeqNum=77, OpType=BROADCAST, NumelIn=8, NumelOut=8", local=0)
    + status(12, "PG ID 4 PG GUID 33(TENSOR_MODEL_PARALLEL_GROUP) Rank 0", 77, 77, 76)
)
OTHER_CALL = both(
    range(7),
    "PG 0 (default_pg) Rank {}",
    "SeqNum=80078, OpType=ALLREDUCE, NumelIn=2106881, NumelOut=2106881",
    80078,
) + both(
    [7],
    "PG 0 (default_pg) Rank {}",
    "SeqNum=80078, OpType=BROADCAST, NumelIn=5056, NumelOut=5056",
    80078,
)
ALIKE = "".join(
    f"[{80746 + rank}] {line}\n"
    for rank in range(8)
    for line in (
        caught(rank, "SeqNum=1580, OpType=ALLREDUCE, NumelIn=466119168, NumelOut=466119168")
        + status(rank, f"PG 1 Rank {rank}", 1580, 1582, 1579)
    ).splitlines()
)
HEAD = "PG ID 0 PG GUID 0(default_pg) Rank"
BEHIND = "".join(
    f"[rank{rank}]:[E816 01:45:40.1843739{rank}1 ProcessGroupNCCL.cpp:1785] [{HEAD} {rank}]  "
    "failure detected by watchdog at work sequence id: 2205 PG status: last enqueued work: 2205, "
    "last completed work: 2204\n"
    for rank in (0, 1, 2, 4, 5, 6, 7)
) + (
    f"[rank3]:[E816 01:45:41.184373931 ProcessGroupNCCL.cpp:1683] [{HEAD} 3] Observed flight "
    "recorder dump signal from another rank via TCPStore.\n"
    f"[rank3]:[E816 01:45:41.194373931 ProcessGroupNCCL.cpp:1683] [{HEAD} 3] Received a dump "
    "signal due to a collective timeout from  rank 5 and we will try our best to dump the debug "
    "info. Last enqueued NCCL work: 2204, last completed NCCL work: 2204.This is most likely "
    "caused by incorrect usages of collectives\n"
)
FROZEN_STORAGE = "".join(
    f"[rank{rank}]:[E816 01:45:40.184373931 ProcessGroupNCCL.cpp:1484] [{HEAD} {rank}] "
    "ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress in monitoring "
    "enqueued collectives. Last enqueued NCCL work: -1, last completed NCCL work: -1.\n"
    for rank in range(16)
)
GARBAGE = (
    "[rank1]:[E ProcessGroupNCCL.cpp:1537] [PG 3 Rank 1] Timeout at NCCL work: 1, last enqueued "
    "NCCL work: 1, last completed NCCL work: 76280750235782912.\n"
)
TRIPLE_PREFIX = """\
(WorkerDict pid=8841, ip=10.77.3.12) [2025-05-10 00:18:21] [rank15]:[E510 00:18:21.555000111 \
ProcessGroupNCCL.cpp:629] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(\
SeqNum=900, OpType=ALLREDUCE, NumelIn=5, NumelOut=5, Timeout(ms)=600000) ran for 600026 \
milliseconds before timing out.
[default7]:[rank15]:[E510 00:18:21.555900111 ProcessGroupNCCL.cpp:2168] [PG ID 3 PG GUID \
22(mesh_tp) Rank 1]  failure detected by watchdog at work sequence id: 900 PG status: last \
enqueued work: 900, last completed work: 899
"""
DIVERGED = (
    "[rank2]: Invalidate trace cache @ step 41: expected module 310, but got module 322\n"
    + "".join(
        caught(rank, "SeqNum=7001, OpType=_ALLGATHER_BASE, NumelIn=1048576, NumelOut=8388608")
        for rank in (0, 1, 3, 4, 5, 6, 7)
    )
    + caught(2, "SeqNum=7001, OpType=_ALLGATHER_BASE, NumelIn=524288, NumelOut=4194304")
)
UNEVEN_DATA = (
    "[rank3]: epoch done, 410 batches\n[rank0]: epoch step 411\n"
    "[rank0]: RuntimeError: Rank 3 failed to pass monitoredBarrier in 30000 ms\n"
    + caught(0, "SeqNum=1233, OpType=ALLREDUCE, NumelIn=1, NumelOut=1")
)
OLD_TORCH = "".join(
    f"[E ProcessGroupNCCL.cpp:474] [Rank {rank}] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=88, OpType=ALLREDUCE, NumelIn=5, NumelOut=5, Timeout(ms)=1800000) ran for "
    "1800055 milliseconds before timing out.\n"
    for rank in (0, 1, 3)
)
BARRED = (
    "[rank0]: RuntimeError: Ranks 3, 5 failed to pass monitoredBarrier in 30000 ms\n"
    + "".join(f"[rank{rank}]: ready\n" for rank in range(1, 8))
)
DESYNC = (
    f"[rank0]:[E816 01:45:40.184373931 ProcessGroupNCCL.cpp:1785] [{HEAD} 0] \n"
    """\
\t - [0] Timeout at collective: ALLREDUCE, #311
\t - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:
\t   - [0, 1, 2] joined but didn't finish collective #311 (count from 1)
\t     [3] finished collective #310, but didn't join collective #311 (count from 1)
\t - Snapshot of ranks' latest states:
\t   #311 started ranks:
\t     [0,1,2] started ALLREDUCE
\t   #310 finished ranks:
\t     [3] finished ALLREDUCE
"""
    f"[rank1]:[E816 01:45:41.184373931 ProcessGroupNCCL.cpp:1785] [{HEAD} 1]  Failed to retrieve "
    "TORCH_NCCL_DESYNC_DEBUG report.  Please file an issue. Error: traceMap[thisSeq][myRank]."
    "second == kEventStart INTERNAL ASSERT FAILED at TraceUtils.h:120\n"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(IN_STEP, [("hang", "job", None, "low")], id="all in step accuses nobody"),
        pytest.param(
            CALLS,
            [("mismatch", "rank", 2, "high")],
            id="the rank that calls another operation at the same count differs, a lost line not",
        ),
        pytest.param(
            TWO_GROUPS,
            [("hang", "job", None, "low")],
            id="groups with the same local number and rank are not compared",
        ),
        pytest.param(
            OTHER_CALL,
            [("mismatch", "rank", 7, "high")],
            id="one broadcast against seven reductions is the odd one",
        ),
        pytest.param(ALIKE, [("hang", "job", None, "low")], id="eight of eight alike: undecided"),
        pytest.param(
            BEHIND,
            [("hang", "rank", 3, "high")],
            id="the one behind is guilty, the first reporter a victim",
        ),
        pytest.param(
            FROZEN_STORAGE,
            [("hang", "job", None, "low")],
            id="watchdogs stuck before any collective point outside of them",
        ),
        pytest.param(GARBAGE, [("hang", "job", None, "low")], id="garbage is not far ahead"),
        pytest.param(
            TRIPLE_PREFIX, [("hang", "job", None, "low")], id="one member heard decides nothing"
        ),
        pytest.param(
            DIVERGED,
            [("mismatch", "rank", 2, "high")],
            id="another size at the same number is a divergence",
        ),
        pytest.param(
            UNEVEN_DATA,
            [("hang", "rank", 3, "high")],
            id="a monitored barrier names who did not come",
        ),
        pytest.param(
            OLD_TORCH,
            [("hang", "rank", 2, "high")],
            id="a number that is missing among the ranks is a member that nobody heard",
        ),
        pytest.param(
            BARRED,
            [("hang", "rank", 3, "high"), ("hang", "rank", 5, "high")],
            id="a monitored barrier may name several",
        ),
        pytest.param(
            DESYNC,
            [("hang", "rank", 3, "high")],
            id="who did not join is the suspect, who did not finish a victim",
        ),
    ],
)
def test_hang_cases(
    log_verdicts: Callable[[dict[str, str]], list[Verdict]],
    text: str,
    expected: list[tuple[str, str, int | None, str]],
) -> None:
    """The kind, the level, the rank that is named and how sure that is."""
    found = log_verdicts({"train.log": text})
    assert [(v.kind, v.level, v.subject.rank, v.confidence) for v in found] == expected


def test_the_first_reporter_is_a_victim(
    log_verdicts: Callable[[dict[str, str]], list[Verdict]],
) -> None:
    """Whoever is named by a dump signal waited; eight of eight that were heard are told."""
    (behind,) = log_verdicts({"train.log": BEHIND})
    assert behind.victims == tuple(f"rank {rank}" for rank in (0, 1, 2, 4, 5, 6, 7))
    (alike,) = log_verdicts({"train.log": ALIKE})
    assert "8 of 8 ranks heard" in alike.evidence[0].what


def dump(standings: dict[str, tuple[int, int]], entries: list[tuple[str, int, str, int]]) -> str:
    """A dump: (enqueued, completed) by group; entries are (group, number, state, record)."""
    groups = {"0": "[0, 1, 2, 3]", "5": "[0, 1]"}
    return json.dumps(
        {
            "version": "2.10",
            "pg_config": {
                name: {"name": name, "desc": "", "ranks": ranks} for name, ranks in groups.items()
            },
            "pg_status": {
                name: {
                    "last_enqueued_collective": enqueued,
                    "last_started_collective": -1,
                    "last_completed_collective": completed,
                }
                for name, (enqueued, completed) in standings.items()
            },
            "entries": [
                {
                    "record_id": record,
                    "pg_id": int(group),
                    "process_group": [group, ""],
                    "collective_seq_id": number,
                    "profiling_name": "nccl:all_reduce",
                    "input_sizes": [[8]],
                    "output_sizes": [[8]],
                    "state": state,
                    "time_created_ns": 1_760_000_000_000_000_000 + record,
                    "is_p2p": False,
                }
                for group, number, state, record in entries
            ],
        }
    )


CHAIN = {
    "comm_lib_trace_rank_0": dump({"5": (400, 399)}, [("5", 400, "started", 8000)]),
    "comm_lib_trace_rank_1": dump(
        {"5": (399, 399), "0": (12, 11)},
        [("5", 399, "completed", 200), ("0", 12, "started", 201)],
    ),
    "comm_lib_trace_rank_2": dump({"0": (12, 11)}, [("0", 12, "started", 90)]),
}


def test_a_chain_of_groups_ends_at_the_rank_without_a_dump(
    log_verdicts: Callable[[dict[str, str]], list[Verdict]],
) -> None:
    """Rank 0 waits for rank 1 in one group, rank 1 for rank 3 in another: rank 3 is the end."""
    found = log_verdicts(CHAIN)
    assert [(v.kind, v.subject.rank, v.confidence) for v in found] == [("hang", 3, "high")]


@pytest.mark.parametrize(
    ("scenario", "culprits"), [("gpu_error_1st", [12, 14]), ("lock_gil_1st", [9, 14])]
)
def test_injected_faults_are_found_exactly(scenario: str, culprits: list[int]) -> None:
    """The ranks into which a fault was injected, and no others, hold up real jobs."""
    data = os.environ.get("PACELINE_DATA")
    if data is None:
        pytest.skip("not run: PACELINE_DATA names no folder of evaluation data")
    dumps = sorted((Path(data) / "flight-recorder" / scenario).glob("_dump_*"))
    reading = join_readings(read_flight_recorder(one, one.name, ReadOptions()) for one in dumps)
    frames = (reading.steps.lazy(), reading.collectives.lazy(), reading.events.lazy())
    found = find_hangs(*frames, ROLES.to_frame().lazy(), HangParams())
    assert found["subject"].struct.field("rank").to_list() == culprits
