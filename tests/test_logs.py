"""The log reader as a whole: nothing raises, nothing is lost, records find their dialect."""

import gzip
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.lines import LINE_DIALECTS
from collectors.logs import read_log_lines, read_logs, wants_logs
from collectors.readings import Reading
from collectors.sniffing import Head, ReadOptions
from collectors.texts.envelope import read_lines
from collectors.texts.torn_records import split_records

OPTIONS = ReadOptions(year=2026)

SNIPPETS = (
    "hx8-017:4412:4680 [3] NCCL INFO Channel 00/0 : 3[3] -> 4[4] via P2P/CUMEM",
    (
        "[2025-11-04 02:10:58] hx8-017:4412:4680 [0] transport/net_ib.cc:2458 NCCL WARN "
        "NET/IB: Got completion from peer 10.77.3.21<48122> with status=12 opcode=0 "
        "len=0 vendor err 129 (Send)"
    ),
    "hx8-001:1:1 [0] NCCL INFO comm 0x55 rank 0 nranks 999999999 cudaDev 0 busId 1000 - Init START",
    (
        "hx8-001:10:10 [0] NCCL INFO AllReduce: opCount 1f sendbuff 0x1 recvbuff 0x2 count 512 "
        "datatype 7 op 0 root 0 comm 0xa [nranks=4] stream 0x3"
    ),
    "hx8-031:9:44 [0] NCCL WARN socketFinalizeAccept: wrong magic zz != 5d21",
    (
        "[rank3]:[E1104 02:11:07.418220913 ProcessGroupNCCL.cpp:632] [Rank 3] Watchdog caught "
        "collective operation timeout: WorkNCCL(SeqNum=9120, OpType=ALLREDUCE, NumelIn=5, "
        "NumelOut=5, Timeout(ms)=600000) ran for 600044 milliseconds before timing out."
    ),
    (
        "[rank1]:[E ProcessGroupNCCL.cpp:1537] [PG 3 Rank 1] Timeout at NCCL work: 1, last "
        "enqueued NCCL work: 1, last completed NCCL work: 76280750235782912."
    ),
    "\t - [0] Timeout at collective: ALLREDUCE, #311",
    "\t   #311 started ranks:",
    "\t     [0,1,2] started ALLREDUCE",
    (
        " [2031-02-03 04:05:06.120034] iteration       40/    9000 | consumed samples:        "
        "20480 | elapsed time per iteration (ms): 1873.4 | "
        "lm loss: 8.113204E+00 | loss scale: 1.0 |"
    ),
    " iteration   9/ 9 | elapsed time per iteration (s): 80.10 | learning",
    " rate: 5.0E-05 | global batch size: 1024 |",
    "[rank0]: Traceback (most recent call last):",
    '[rank0]:   File "train.py", line 25, in <module>',
    (
        "[rank0]: RuntimeError: [/x/gloo/transport/tcp/pair.cc:553] Connection closed by peer "
        "[127.0.0.1]:21942."
    ),
    "torch.OutOfMemoryError: CUDA out of memory.",
    "Root Cause (first observed failure):",
    "  exitcode  : -9 (pid: 4415)",
    "  rank      : 5 (local_rank: 1)",
    "srun: error: n3: task 5: Aborted",
    "slurmstepd: error: *** STEP 77.0 ON n3 CANCELLED AT 2031-02-03T04:05:06 DUE TO TIME LIMIT ***",
    "times across ranks (ms):",
    "  forward-compute:",
    "     rank  0: 510.00",
    "[2031-02-03 04:06:00] | MnRtt/Rnk: 803.12ms/9 | MnPwr/Rnk: 412000.00W/3",
    (
        '0: :::MLLOG {"key": "tracked_stats", "time_ms": 1900000012345, "value": '
        '{"train_step_time": 6.41}, "metadata": {"step": 4608}}'
    ),
    ':::MLLOG {"key": ',
    (
        "[..] epoch=0/micro_step=400/global_step=100, RunningAvgSamplesPerSec=-inf, "
        "CurrSamplesPerSec=100.0"
    ),
    " 10%|#         | 10/100 [00:20<03:00,  2.00s/it]\r{'loss': '0.91', 'grad_norm': nan}",
    "step: 1,000  loss:  3.21450  grad_norm:  1.2031  memory: 61.22GiB(77.31%)  tps: 6,512",
    "iter 0: loss 10.9000, time 41000.00ms, mfu -100.00%",
    "step:1/1750 train_loss:10.1000 train_time:150ms step_avg:150.0ms",
    "I0203 04:05:00.000000 139000 max_logging.py:20] completed step: 7, seconds: 0.610",
    '{"log":"hx8-002:71:71 [0] NCCL INFO x","stream":"stderr","time":"2025-11-04T02:11:07.42Z"}',
    "2025-11-04T02:11:07.420117330Z stderr P [rank9]:[E1104 10:11:07.418220913 Proc",
    "May 16, 2026 @ 20:46:57.892    [rank3]:[W516 12:46:57.891000001 ProcessGroupNCCL.cpp:1] x",
    "(Actor pid=88, ip=10.77.3.12) hello [repeated 14x across cluster]",
    "[1,12]<stdout>:",
    "9" * 40 + "/" + "9" * 40 + " iteration 99999999999999999999/99999999999999999999 | ",
)
"""One line of each producer, and some that are broken on purpose."""

LINES = st.one_of(st.sampled_from(SNIPPETS), st.text(max_size=40))


def read(text: str, name: str = "x.log") -> Reading:
    """Return the reading of a log's text."""
    return read_log_lines(text.encode(), name, name, OPTIONS)


@given(st.lists(LINES, max_size=12), st.sampled_from(["\n", "\r\n", "\r", "", " "]))
@settings(max_examples=60, deadline=None)
def test_each_line_is_accounted_for(parts: list[str], between: str) -> None:
    """Whatever is glued to whatever, each logical line is claimed by a dialect or rejected."""
    data = between.join(parts).encode("utf-8", errors="replace")
    starts = [dialect.start for dialect in LINE_DIALECTS if dialect.start]
    lines = split_records(read_lines(data), starts)
    claimed: set[int] = set()
    hinted = [one for one in LINE_DIALECTS if lines["text"].str.contains(one.hint).any()]
    for dialect in hinted:
        rest = lines.filter(~pl.col("line").is_in(list(claimed)))
        part = dialect.read(rest, OPTIONS)
        assert set(part.claimed) <= set(rest["line"])
        claimed |= set(part.claimed)
    rejects = read_log_lines(data, "x.log", "x", OPTIONS).rejects
    unclaimed = lines.filter(~pl.col("line").is_in(list(claimed)))
    expected = unclaimed["position"].to_list() if claimed else [None]
    assert rejects["position"].to_list() == expected


@given(st.binary(max_size=400))
@settings(max_examples=60, deadline=None)
def test_bytes_never_raise(data: bytes) -> None:
    """Any bytes at all give a reading."""
    assert isinstance(read_log_lines(data, "rank3.out", "x", OPTIONS), Reading)


@given(st.sampled_from(SNIPPETS), st.integers(0, 200), st.integers(0, 255))
@settings(max_examples=60, deadline=None)
def test_a_changed_byte_never_raises(snippet: str, at: int, byte: int) -> None:
    """A record with one byte changed gives a reading."""
    data = bytearray(snippet.encode())
    data[at % len(data)] = byte
    assert isinstance(read_log_lines(bytes(data), "x.log", "x", OPTIONS), Reading)


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_each_snippet_reads_alone(snippet: str) -> None:
    """Each producer's line gives a reading on its own."""
    assert isinstance(read(snippet), Reading)


def test_a_text_that_is_no_log_is_one_reject() -> None:
    """Without a known line the file is rejected once, not line by line."""
    assert read("trial_name: AR\ndp: 4\n").rejects.rows() == [
        ("x.log", None, "trial_name: AR", "no known format", 2)
    ]


def test_junk_in_a_log_is_rejected_by_line() -> None:
    """In a log, each line that nobody knows is a reject with its place."""
    text = f"{SNIPPETS[0]}\n<html>502</html>\n"
    assert read(text).rejects.drop("count").rows() == [
        ("x.log", 2, "<html>502</html>", "unrecognised line")
    ]


@pytest.mark.parametrize(
    ("name", "rank", "host"),
    [
        pytest.param("rank3.out", 3, None, id="a file called after a rank is that rank's"),
        pytest.param(
            "hx8-017.log", None, "hx8-017", id="a file called after a host is that host's"
        ),
        pytest.param("slurm-1832552.out", None, None, id="a job's number is no host"),
    ],
)
def test_what_a_file_is_called_after(name: str, rank: int | None, host: str | None) -> None:
    """A name fills in what the lines do not say."""
    events = read("ValueError: bad\n", name).events
    assert events.select("rank", "host").row(0) == (rank, host)


def test_ranks_with_a_host_are_placed() -> None:
    """A line that names rank and host places the rank there, with its local number."""
    text = "[default3]:[rank11]: ValueError: bad\n"
    placements = read(text, "hx8-002.log").placements
    assert placements.select("rank", "host", "index").rows() == [(11, "hx8-002", 3)]


def test_a_torn_gzip_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    """The tail that is missing costs only itself."""
    packed = gzip.compress("\n".join(SNIPPETS[:2] * 500).encode())
    path = tmp_path / "a.log.gz"
    path.write_bytes(packed[:-20])
    events = read_logs(path, "a", OPTIONS).events
    assert {"channel", "net_error"} <= set(events["kind"])


def test_a_gzip_of_nothing_is_rejected(tmp_path: Path) -> None:
    """A gzip that cannot be unpacked at all is one reject."""
    path = tmp_path / "a.gz"
    path.write_bytes(b"\x1f\x8b\xff\xff\xff")
    assert read_logs(path, "a", OPTIONS).rejects["reason"].to_list() == ["no known format"]


def test_steps_are_numbered_by_attempt() -> None:
    """A step number that goes back begins an attempt, whoever printed it."""
    text = "\n".join(f"iter {step}: loss 1.0, time 5.00ms" for step in (1, 2, 2, 1))
    assert read(text).steps["attempt"].to_list() == [0, 0, 0, 1]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(b"text", 0.05, id="any text may be a log"),
        pytest.param(b"\x00\x01\x02\x03", 0.0, id="binary is none"),
    ],
)
def test_who_wants_a_log(data: bytes, expected: float) -> None:
    """The log reader takes what nobody else is surer of."""
    assert wants_logs(Head(name="x", data=data)) == expected
