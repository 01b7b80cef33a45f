"""A log read in blocks says what it says in one."""

import gzip
import io
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import polars as pl
import pytest
from backports import zstd
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.dialects import read_file
from collectors.lines import LINE_DIALECTS
from collectors.log_blocks import LogReader, log_name
from collectors.logs import read_logs
from collectors.readings import Reading, join_readings
from collectors.sniffing import ReadOptions
from collectors.texts.prefetching import worked_ahead
from collectors.texts.text_blocks import line_blocks

TRACEBACK = (
    "[rank0]: Traceback (most recent call last):",
    '[rank0]:   File "train.py", line 25, in <module>',
    "[rank0]:     step(batch)",
    "[rank0]: RuntimeError: what it died of",
)
TIMEOUT = (
    "[rank2]:[E1104 02:11:07.418220913 ProcessGroupNCCL.cpp:632] [Rank 2] Watchdog caught "
    "collective operation timeout: WorkNCCL(SeqNum={0}, OpType=ALLREDUCE, NumelIn=5, "
    "NumelOut=5, Timeout(ms)=600000) ran for 600044 milliseconds before timing out."
)
ITERATION = (
    " [2031-02-03 04:05:06] iteration {0:8d}/ 9000 | consumed samples: 20480 | elapsed time per "
    "iteration (ms): 1873.4 | global batch size: 512 | lm loss: 8.1E+00 | loss scale: 1.0 | "
    "number of skipped iterations: 0 | number of nan iterations: 0 |"
)
PORT = "hx8-048:340:341 [0] transport/net_ib.cc:93 NCCL WARN NET/IB : Got async event : port error"
STEP = "[default0]: step: {0}  loss:  3.21450  memory: 61.22GiB(77.31%)  tps: 6,512"

RECORDS = (
    TRACEBACK,
    (TIMEOUT,),
    (ITERATION,),
    ("  successfully saved checkpoint from iteration {0:7d} to /ckpt/run",),
    (STEP,),
    ("hx8-017:4412:4680 [3] NCCL INFO Connected all trees",),
    (PORT,),
    ("nobody's line {0}",),
    ("srun: error: n3: task {0}: Aborted",),
    ("2025-11-04T02:11:07Z stderr P a line in ", "2025-11-04T02:11:07Z stderr F two parts"),
)
"""What logs hold, some of several lines."""


def log_of(picks: Sequence[int]) -> bytes:
    """A log of the picked records, numbered."""
    lines = [one.format(at) for at, pick in enumerate(picks) for one in RECORDS[pick]]
    return "".join(f"{line}\n" for line in lines).encode()


def read(data: bytes, block_bytes: int, around: int = 12) -> Reading:
    """What is said of a log that is read in blocks of some length."""
    reader = LogReader(
        name=log_name("x.log", "x"),
        options=ReadOptions(year=2025),
        dialects=LINE_DIALECTS,
        around=around,
    )
    return join_readings(reader.read(line_blocks(io.BytesIO(data), block_bytes)))


def rows(reading: Reading, name: str) -> list[str]:
    """The rows of a frame in one order, whatever order they came in."""
    return sorted(str(row) for row in reading.frame(name).rows())


@given(picks=st.lists(st.integers(0, len(RECORDS) - 1), max_size=60), size=st.integers(200, 3000))
@settings(max_examples=40, deadline=None)
def test_blocks_say_what_the_whole_says(picks: list[int], size: int) -> None:
    """Wherever a log is cut, each line is read once and no record is torn."""
    data = log_of(picks)
    whole, parts = read(data, len(data) + 1), read(data, size)
    assert parts.lines_used == whole.lines_used
    for name in ("steps", "collectives", "placements", "rejects"):
        assert rows(parts, name) == rows(whole, name)
    count = pl.col("count").sum()
    by_kind = [one.events.group_by("kind").agg(count).sort("kind") for one in (parts, whole)]
    assert by_kind[0].equals(by_kind[1])


@pytest.mark.parametrize("size", [30, 10**6])
def test_lines_that_are_only_a_prefix(size: int) -> None:
    """A labelled empty line is part of what its printer says, and counted."""
    text = "[rank0]: iteration 1/ 9 | elapsed time per iteration (ms): 1.0 |\n[rank0]: \n" * 3
    reading = read(text.encode(), size)
    assert (reading.lines_used, reading.rejects.height) == (6, 0)


def test_the_local_rank_may_stand_on_another_line() -> None:
    """A rank's number on its host is known from any line that tells it."""
    text = (
        "(Actor pid=1, ip=10.77.3.12) [rank15]: x\n"
        "[default7]:[rank15]: iteration 1/ 9 | elapsed time per iteration (ms): 1.0 |\n"
    )
    placed = read(text.encode(), 10**6).placements
    assert placed.select("rank", "host", "index").rows() == [(15, "10.77.3.12", 7)]


def test_attempts_go_on_over_blocks() -> None:
    """A restart in one block still counts in all later ones, for each rank on its own."""
    picks = [2] * 40
    data = log_of(picks) + log_of(picks) + log_of(picks[:7])
    steps = read(data, 1000).steps
    assert steps["attempt"].to_list() == [0] * 40 + [1] * 40 + [2] * 7


@pytest.mark.parametrize("seen", [0, 1, 7, 30])
def test_lines_that_were_told_before(seen: int) -> None:
    """Lines in front are seen and not told again."""
    data = log_of([2] * 30)
    reader = LogReader(name=log_name("x.log", "x"), options=ReadOptions(), dialects=LINE_DIALECTS)
    told = join_readings(reader.read([data], seen))
    assert told.steps["position"].to_list() == list(range(seen + 1, 31))


@pytest.mark.parametrize(
    "pack", [gzip.compress, zstd.compress, bytes], ids=["gzip", "zstd", "plain"]
)
def test_packed_logs(tmp_path: Path, pack: type[bytes]) -> None:
    """A packed log says what it says unpacked."""
    data = log_of([2, 7, 0, 6] * 5)
    path = tmp_path / "x.log"
    path.write_bytes(pack(data))
    found, whole = read_logs(path, "x", ReadOptions()), read(data, 10**6)

    assert found.lines_used == whole.lines_used
    assert all(rows(found, name) == rows(whole, name) for name in ("steps", "rejects"))


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress], ids=["gzip", "zstd"])
def test_torn_packed_files(tmp_path: Path, pack: type[bytes]) -> None:
    """Of a torn packed log what can be unpacked is read; torn at its start it is a reject."""
    data = log_of(list(range(len(RECORDS))) * 200)
    path = tmp_path / "x.log"
    path.write_bytes(pack(data)[:-40])
    some = read_file(path, "x.log", ReadOptions())
    path.write_bytes(pack(data)[:6])
    none = read_file(path, "x.log", ReadOptions())

    assert 0 < some.lines_used <= read(data, 10**7).lines_used
    assert none.rejects["reason"].to_list() == [
        "packed file that is torn before anything can be unpacked"
    ]


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress], ids=["gzip", "zstd"])
def test_packed_files_of_nothing(tmp_path: Path, pack: type[bytes]) -> None:
    """A packed file that holds nothing is empty, and not torn."""
    path = tmp_path / "x.log"
    path.write_bytes(pack(b""))
    assert read_file(path, "x.log", ReadOptions()).rejects["reason"].to_list() == ["empty file"]


def test_every_frame_that_has_a_place_has_its_source() -> None:
    """What a log says names the log."""
    reading = read(log_of(range(len(RECORDS))), 10**6)
    named = ("events", "steps", "collectives", "rejects")
    assert all(set(reading.frame(name)["source"]) == {"x"} for name in named)


def numbers(count: int) -> Iterator[int]:
    """Some numbers and a fault."""
    yield from range(count)
    raise ValueError("broken")


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_working_ahead_keeps_the_order_and_the_errors(count: int) -> None:
    """Results come in the order of their items; a fault of making one comes behind all of them."""
    coming = worked_ahead(lambda number: 10 * number, numbers(count))
    assert list(islice(coming, count)) == [10 * number for number in range(count)]
    with pytest.raises(ValueError, match="broken"):
        next(coming)


def test_a_fault_of_the_work_comes_in_its_place() -> None:
    """What came before it is there."""
    coming = worked_ahead(lambda number: 12 // number, iter([3, 0, 4]))
    assert next(coming) == 4
    with pytest.raises(ZeroDivisionError):
        next(coming)
