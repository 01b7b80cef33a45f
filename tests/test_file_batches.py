"""Tests of reading many small files at once."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from collectors.dialects import DIALECTS, read_file
from collectors.log_shapes import KnownHeads
from collectors.readings import FRAMES, Reading, join_readings
from collectors.sniffing import ReadOptions
from paceline.file_batches import (
    BATCH_BYTES,
    MAX_SMALL_BYTES,
    BatchReader,
    ReadFiles,
    SourceFile,
    batches_of,
)
from paceline.sources import find_files

LINES = (
    "hx8-017:4412:4680 [3] NCCL INFO Channel 00/0 : 3[3] -> 4[4] via P2P/CUMEM",
    (
        "hx8-017:4412:4680 [3] NCCL INFO ncclCommInitRank comm 0x55 rank 3 nranks 4 cudaDev 3 "
        "nvmlDev 3 busId 1000 commId 0xfeed - Init COMPLETE"
    ),
    (
        "hx8-017:4412:4680 [3] NCCL INFO AllReduce: opCount 1f sendbuff 0x1 recvbuff 0x2 count 512 "
        "datatype 7 op 0 root 0 comm 0x55 [nranks=4] stream 0x3"
    ),
    "hx8-017:4412:4681 [3] NCCL INFO Bootstrap : Using eth0:10.0.0.7<0>",
    (
        "hx8-018:9:9 [0] transport/net_ib.cc:93 NCCL WARN NET/IB : mlx5_0:1 Got async event : port "
        "error"
    ),
    (
        "[2025-11-04 02:10:58] hx8-018:9:9 [0] transport/net_ib.cc:2458 NCCL WARN NET/IB: Got "
        "completion from peer 10.77.3.21<48122> with status=12 opcode=0 len=0 vendor err 129 (Send)"
    ),
    "half a word hx8-017:4412:4680 [3] NCCL INFO Connected all trees",
    "glued9hx8-018:9:9 [0] NCCL INFO Connected all rings",
    (
        "[rank3]:[E1104 02:11:07.418220913 ProcessGroupNCCL.cpp:632] [Rank 3] Watchdog caught "
        "collective operation timeout: WorkNCCL(SeqNum=9120, OpType=ALLREDUCE, NumelIn=5, "
        "NumelOut=5, Timeout(ms)=600000) ran for 600044 milliseconds before timing out."
    ),
    (
        "[rank2]:[E1104 02:11:07.418220913 ProcessGroupNCCL.cpp:632] [Rank 1] Watchdog caught "
        "collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE) ran for 600026 "
        "milliseconds before timing out."
    ),
    (
        "[rank1]:[E ProcessGroupNCCL.cpp:1537] [PG 3 Rank 1] Timeout at NCCL work: 1, last "
        "enqueued NCCL work: 1, last completed NCCL work: 0."
    ),
    "#0 all_reduce from /x/distributed_c10d.py:2696",
    (
        " [2031-02-03 04:05:06.120034] iteration 40/ 9000 | consumed samples: 20480 | elapsed "
        "time per iteration (ms): 1873.4 | lm loss: 8.113204E+00 | loss scale: 1.0 |"
    ),
    " iteration   9/ 9 | elapsed time per iteration (s): 80.10 | learning",
    " rate: 5.0E-05 | global batch size: 1024 |",
    "[rank0]: Traceback (most recent call last):",
    '[rank0]:   File "train.py", line 25, in <module>',
    "[rank0]: RuntimeError: what it died of",
    "    at main()",
    "srun: error: n3: task 5: Aborted",
    "  exitcode  : -9 (pid: 4415)",
    "  rank      : 5 (local_rank: 1)",
    "2031-02-03 04:05:06 step:  1  loss:  3.21450  memory: 61.22GiB(77.31%)  tps: 6,512  mfu: N/A",
    "2031-02-03 04:05:08 step:  2  loss:  3.11450  memory: 61.22GiB(77.31%)  tps: 6,522  mfu: 4%",
    "[rank4]: step:  3  loss:  3.11450  memory: 61.22GiB(77.31%)  tps: 6,522  mfu: 41.66%",
    "[rank5]: step:  1  loss:  3.5  memory: 61.22GiB(77.31%)  tps: 6,522  mfu: 41.66%",
    "iter 0: loss 10.9000, time 41000.00ms, mfu -100.00%",
    "step:1/1750 train_loss:10.1000 train_time:150ms step_avg:150.0ms",
    "I0203 04:05:00.000000 139000 max_logging.py:20] completed step: 7, seconds: 0.610",
    "{'loss': 1.25, 'grad_norm': 0.5, 'learning_rate': 1e-05, 'epoch': 0.1}",
    '{"log":"hx8-002:71:71 [0] NCCL INFO x","stream":"stderr","time":"2025-11-04T02:11:07.42Z"}',
    "2025-11-04T02:11:07.420117330Z stderr P [rank9]:[E1104 10:11:07.418220913 Proc",
    "2025-11-04T02:11:07.420117330Z stderr F essGroup.cpp:1] x",
    "May 16, 2026 @ 20:46:57.892    [rank3]:[W516 12:46:57.891000001 ProcessGroupNCCL.cpp:1] x",
    "12: srun: error: n3: task 5: Aborted",
    "[12] iter 1: loss 10.9000, time 41000.00ms, mfu -100.00%",
    "n017: iter 2: loss 10.9000, time 41000.00ms, mfu -100.00%",
    "worker-3   | iter 3: loss 10.9000, time 41000.00ms, mfu -100.00%",
    "1001: iter 1: loss 10.9000, time 41000.00ms, mfu -100.00%",
    "1002: iter 2: loss 10.9000, time 41000.00ms, mfu -100.00%",
    "2025-11-04T02:11:07Z hello",
    "│ a text that fills the box it stands in, and is cut wi │",
    "│ thin a word                                           │",
    "\x1b[31mred\x1b[0m and step: 1  loss: 2.0",
    " 10%|#         | 10/100 [00:20<03:00,  2.00s/it]\r{'loss': '0.91', 'grad_norm': 1}",
    "Jan  5 04:03:02 hx8-017 kernel: NVRM: Xid (PCI:0000:9b:00): 79, pid=2290, GPU has fallen",
    "nobody's line",
    "\ufeffmarked",
    "a\0b",
    "",
    " ",
)
"""What logs hold; much of it depends on the lines around it."""

NAMES = ("x.log", "rank_3.log", "hx8-017.log", "out-n017-r2.txt")

TEXTS = st.tuples(
    st.lists(st.sampled_from(LINES), max_size=8),
    st.sampled_from(["\n", "\r\n", ""]),
    st.binary(max_size=3),
)


def text_of(parts: tuple[Sequence[str], str, bytes]) -> bytes:
    """Return a log of some lines, with or without an end, and some bytes that may be anything."""
    lines, end, tail = parts
    return "\n".join(lines).encode() + end.encode() + tail


def reader(options: ReadOptions) -> BatchReader:
    """Return what reads files at once."""
    log = next(one for one in DIALECTS if one.name == "log")
    return BatchReader(options=options, heads=KnownHeads(dialects=DIALECTS, log=log))


def together(files: Sequence[SourceFile]) -> Reading:
    """Return what files say that are read at once."""
    return join_readings(one.fold.reading for one in reader(ReadOptions()).read(files))


def names(parts: Sequence[ReadFiles]) -> list[list[str]]:
    """Return the names of the files that were read at once, without their folder."""
    return [[file.path.name for file in one.files] for one in parts]


def written(folder: Path, texts: Sequence[bytes]) -> list[SourceFile]:
    """Return files that hold the texts."""
    for at, text in enumerate(texts):
        (folder / f"{at:02}").mkdir()
        (folder / f"{at:02}" / NAMES[at % len(NAMES)]).write_bytes(text)
    return find_files([folder])


def torn(*picks: int) -> tuple[list[str], str, bytes]:
    """Return the parts of a text of some lines."""
    return [LINES[at] for at in picks], "\n", b""


@given(texts=st.lists(TEXTS, min_size=2, max_size=5))
@example(texts=[torn(*range(22)), torn(*range(22, len(LINES)))])
@settings(max_examples=25, deadline=None)
def test_files_read_at_once_say_what_each_says_alone(
    texts: list[tuple[list[str], str, bytes]],
) -> None:
    """No line of a file is seen beside those of another: all rows, counts and rejects are equal."""
    with tempfile.TemporaryDirectory() as place:
        files = written(Path(place), [text_of(one) for one in texts])
        alone = join_readings(read_file(one.path, one.name, ReadOptions()) for one in files)
        found = together(files)
    assert found.lines_used == alone.lines_used
    for name in FRAMES:
        # A column of one row is divided by a number in another way than a longer one.
        assert_frame_equal(found.frame(name), alone.frame(name), rel_tol=1e-14, abs_tol=0)


NCCL = "hx8-017:4412:4680 [3] NCCL INFO Connected all trees\n"
PAGE = '# TYPE DCGM_FI_DEV_GPU_TEMP gauge\nDCGM_FI_DEV_GPU_TEMP{gpu="3",Hostname="n7"} 61\n'
TIMEOUT = (
    "[rank3]:[E1104 02:11:07.418220913 ProcessGroupNCCL.cpp:632] [Rank 1] Watchdog caught "
    "collective operation timeout: WorkNCCL(SeqNum=5, OpType=ALLREDUCE) ran for 600013 "
    "milliseconds before timing out.\n"
)


def test_what_is_read_at_once(tmp_path: Path) -> None:
    """Logs that follow each other are, and empty files among them; all others are read alone."""
    texts = {
        "a.log": NCCL,
        "b.log": "",
        "c.log": NCCL,
        "d.prom": PAGE,
        "e.log": NCCL,
        "f.log": "2025-11-04T02:11:07Z stderr P the line goes on\n",
        "g.log": NCCL,
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    parts = reader(ReadOptions()).read(find_files([tmp_path]))
    rejects = join_readings(one.fold.reading for one in parts).rejects
    assert names(parts) == [
        ["a.log", "b.log", "c.log"],
        ["d.prom"],
        ["e.log"],
        ["f.log"],
        ["g.log"],
    ]
    assert rejects.select("text", "reason", "count").rows() == [
        ("", "empty file", 1),
        ("the line goes on", "no known format", 1),
    ]


def test_a_file_that_went_away(tmp_path: Path) -> None:
    """What cannot be opened any more is one reject, and the others are read."""
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_text(NCCL, encoding="utf-8")
    files = find_files([tmp_path])
    files[0].path.unlink()
    found = together(files)
    assert found.rejects["reason"].to_list() == ["cannot be opened: No such file or directory"]
    assert found.events.height == 1


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        pytest.param([1, 2, 3], [3], id="small files are one batch"),
        pytest.param([1, MAX_SMALL_BYTES + 1, 1, 1], [1, 1, 2], id="a large one is alone"),
        pytest.param([MAX_SMALL_BYTES] * 9, [8, 1], id="a batch that is full is followed by one"),
        pytest.param([0, MAX_SMALL_BYTES + 1, 0], [1, 1, 1], id="nothing is added to a large one"),
        pytest.param([0] * 7, [7], id="files of nothing take no room"),
    ],
)
def test_batches(tmp_path: Path, sizes: list[int], expected: list[int]) -> None:
    """Files are put together in order, up to about as much as is read at once."""
    assert MAX_SMALL_BYTES * 8 == BATCH_BYTES
    for at, size in enumerate(sizes):
        with (tmp_path / f"{at}.log").open("wb") as file:
            file.truncate(size)
    assert [len(one) for one in batches_of(find_files([tmp_path]))] == expected


def test_files_that_want_a_year_are_read_again(tmp_path: Path) -> None:
    """Of files read at once those are read anew that a year dates, and all keep their order."""
    for name, text in (("a.log", NCCL), ("b.log", TIMEOUT), ("c.log", NCCL), ("d.log", NCCL)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    dated = reader(ReadOptions(year=2026))
    [part] = reader(ReadOptions()).read(find_files([tmp_path]))
    parts = dated.read_dated(part)
    reading = join_readings(one.fold.reading for one in parts)
    assert names(parts) == [["a.log"], ["b.log"], ["c.log", "d.log"]]
    assert [time.year for time in reading.collectives["time"]] == [2026]
    assert (reading.events.height, reading.lines_used) == (3, 4)
    assert [dated.read_dated(one) for one in parts] == [[one] for one in parts]
