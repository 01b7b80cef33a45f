"""The end of jobs in logs of public shape, from text to verdict."""

from collections.abc import Callable

import pytest

from detectors.verdicts import Verdict

LOCAL_OOM = """\
hx8-026:444:470 [5] transport/p2p.cc:240 NCCL WARN Cuda failure 2 'out of memory'
hx8-026:444:470 [5] NCCL INFO transport/p2p.cc:331 -> 1
hx8-026:440:466 [1] misc/socket.cc:58 NCCL WARN socketProgress: Connection closed by remote peer \
hx8-026<33100>
hx8-026:441:467 [2] misc/socket.cc:58 NCCL WARN socketProgress: Connection closed by remote peer \
hx8-026<33100>
"""
CTRL_C = {
    "hx8-001.log": """\
W1104 10:15:00.104000 812 torch/distributed/elastic/agent/server/api.py:704] Received \
Signals.SIGINT death signal, shutting down workers
""",
    "hx8-002.log": """\
[rank8]:[E1104 10:45:03.418220913 ProcessGroupNCCL.cpp:632] [Rank 8] Watchdog caught collective \
operation timeout: WorkNCCL(SeqNum=77, OpType=ALLREDUCE, NumelIn=5, NumelOut=5, \
Timeout(ms)=1800000) ran for 1800041 milliseconds before timing out.
""",
}
BROWSER_CLOCK = """\
May 16, 2026 @ 20:46:57.892    [rank3]:[W516 12:46:57.891000001 ProcessGroupNCCL.cpp:1783] \
[PG ID 0 PG GUID 0 Rank 3] Failed to check the "should dump" flag on TCPStore, (maybe TCPStore \
server has shut down too early), with error: Broken pipe
May 16, 2026 @ 20:46:41.100    [rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to \
allocate 2.10 GiB.
"""
ABORTED = "srun: error: n3: task 5: Aborted\n"


def who(verdict: Verdict) -> str:
    """The subject's fields but the run, in their order."""
    known = verdict.subject.known().items()
    return " ".join(f"{name}={value}" for name, value in known if name != "run")


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param(
            {"job.log": LOCAL_OOM},
            [("crash", "gpu", "host=hx8-026 gpu=5", "oom", "high")],
            id="out of memory on one GPU comes before the peers it takes along",
        ),
        pytest.param(
            CTRL_C,
            [("crash", "host", "host=hx8-001", "operator", "high")],
            id="an interrupt half an hour before the time-outs is the operator's",
        ),
        pytest.param(
            {"export.log": BROWSER_CLOCK},
            [("crash", "rank", "rank=0", "oom", "high")],
            id="store noise after an error of rank 0 follows it, whatever the export's order",
        ),
        pytest.param(
            {"job.log": ABORTED},
            [("crash", "host", "host=n3", "abort", "medium")],
            id="an abort that nobody waited for leads",
        ),
    ],
)
def test_crash_cases(
    log_verdicts: Callable[[dict[str, str]], list[Verdict]],
    files: dict[str, str],
    expected: list[tuple[str, str, str, str, str]],
) -> None:
    """The end, its level, its subject, its cause and how sure that is."""
    found = log_verdicts(files)
    told = [(v.kind, v.level, who(v), v.cause, v.confidence) for v in found]
    assert [one for one in told if one[0] != "hang"] == expected
