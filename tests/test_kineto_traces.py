"""Traces of PyTorch's profiler: steps, kernels, collectives; whole, cut, old, odd."""

import io
import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.readings import Reading
from collectors.sniffing import Head, ReadOptions
from collectors.training.chrome_events import BLOCK_BYTES, TraceText
from collectors.training.kineto_traces import read_kineto_traces, wants_kineto_traces
from paceline.findings import DetectorParams, find_all
from paceline.sources import find_files, read_sources

OPTIONS = ReadOptions()
BASE = datetime(2031, 2, 3, 4, tzinfo=UTC)
ANY = re.compile("")

Event = dict[str, Any]


def span(name: str, category: str, start: float, length: float, **args: object) -> Event:
    """A complete event, times in milliseconds."""
    told = {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 7}
    return told | {"ts": start * 1e3, "dur": length * 1e3} | ({"args": args} if args else {})


def step(number: int, start: float, length: float = 100.0, kind: str = "user_annotation") -> Event:
    """The annotation of a step."""
    return span(f"ProfilerStep#{number}", kind, start, length)


def nccl(start: float, length: float, **args: object) -> Event:
    """A kernel of a collective."""
    return span("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)", "kernel", start, length, **args)


def text_of(events: list[Event], **head: object) -> str:
    """A trace of these events."""
    return json.dumps({"schemaVersion": 1, **head, "traceEvents": events, "traceName": "x"})


def read(folder: Path, text: str, name: str = "trace_rank3.json") -> Reading:
    """The reading of a trace of that text."""
    (folder / name).write_text(text, encoding="utf-8")
    return read_kineto_traces(folder / name, "t", OPTIONS)


HEAD = {
    "distributedInfo": {"backend": "nccl", "rank": 5, "world_size": 8},
    "baseTimeNanoseconds": int(BASE.timestamp()) * 10**9,
}
META = {
    "Collective name": "_allgather_base",
    "Group size": 4,
    "Process Group Name": "7",
    "In msg nelems": 1000,
    "dtype": "BFloat16",
    "Seq": 12,
}
ONE = [
    step(10, 0.0),
    span("gemm", "kernel", 5.0, 40.0),
    span("gelu", "kernel", 25.0, 30.0),
    nccl(55.0, 40.0, **META),
    span("aten::linear", "cpu_op", 1.0, 2.0),
]


def test_a_step(tmp_path: Path) -> None:
    """Kernels that overlap count once; rank and clock are in the trace's head."""
    names = ("rank", "step", "step_seconds", "compute_seconds", "comm_seconds", "data_seconds")
    steps = read(tmp_path, text_of(ONE, **HEAD)).steps

    assert steps.select(names).rows() == [(5, 10, 0.1, 0.05, 0.04, pytest.approx(0.01))]
    assert steps["end_time"].to_list() == [BASE + timedelta(milliseconds=100)]


def test_a_collective(tmp_path: Path) -> None:
    """An NCCL kernel is a transfer, its wait included; bytes are of the input."""
    names = ("rank", "group", "world", "operation", "sequence", "bytes", "seconds", "timing")

    assert read(tmp_path, text_of(ONE, **HEAD)).transfers.select(names).rows() == [
        (5, "7", 4, "AllGather", 12, 2000, 0.04, "kernel_gpu")
    ]


@pytest.mark.parametrize(
    ("kernel", "args", "expected"),
    [
        pytest.param("ncclDevKernel_AllGather_RING_LL", {}, "AllGather", id="new kernel"),
        pytest.param("ncclKernel_ReduceScatter_RING", {}, "ReduceScatter", id="old kernel"),
        pytest.param(
            "ncclDevKernel_SendRecv",
            {"Collective name": "send"},
            "Send",
            id="what PyTorch calls it says more",
        ),
        pytest.param("nccl:odd", {"Collective name": "new_one"}, "new_one", id="unknown"),
    ],
)
def test_operations(tmp_path: Path, kernel: str, args: Event, expected: str) -> None:
    """An operation is what PyTorch calls it, else what its kernel is called after."""
    text = text_of([step(1, 0.0), span(kernel, "kernel", 1.0, 2.0, **args)])

    assert read(tmp_path, text).transfers["operation"].to_list() == [expected]


@pytest.mark.parametrize(
    ("name", "rank", "host"),
    [
        pytest.param("rank12.pt.trace.json", 12, None, id="rank in the name"),
        pytest.param("N-07_4711.17123.pt.trace.json", None, "n-07", id="host in the name"),
        pytest.param("profile.json", None, None, id="nothing in the name"),
    ],
)
def test_names_of_files(tmp_path: Path, name: str, rank: int | None, host: str | None) -> None:
    """Older traces do not tell their rank: the file's name may."""
    steps = read(tmp_path, text_of([step(1, 0.0)]), name).steps

    assert steps.select("rank", "host", "end_time").rows() == [(rank, host, None)]


def test_stamps_since_1970(tmp_path: Path) -> None:
    """Older stamps are whole microseconds of the host's clock, and need no base."""
    event = step(1, BASE.timestamp() * 1e3)
    text = text_of([{**event, "ts": int(event["ts"]), "dur": 100_000}])

    assert read(tmp_path, text).steps["end_time"].to_list() == [BASE + timedelta(milliseconds=100)]


def test_kernels_belong_to_the_step_of_the_gpu(tmp_path: Path) -> None:
    """A kernel that runs after the host went on counts where the GPU's annotation says."""
    events = [
        step(1, 0.0),
        step(2, 100.0),
        step(1, 50.0, kind="gpu_user_annotation"),
        step(2, 150.0, kind="gpu_user_annotation"),
        span("early", "kernel", 10.0, 9.0),
        span("gemm", "kernel", 110.0, 20.0),
        span("gemm", "Kernel", 160.0, 30.0),
    ]
    steps = read(tmp_path, text_of(events)).steps

    assert steps.select("step", "compute_seconds", "comm_seconds").rows() == [
        (1, 0.02, None),
        (2, 0.03, None),
    ]


def test_only_the_gpu_tells_steps(tmp_path: Path) -> None:
    """Without annotations of the host those of the GPU are the steps."""
    text = text_of([step(4, 0.0, 80.0, kind="gpu_user_annotation")])

    assert read(tmp_path, text).steps.select("step", "step_seconds").rows() == [(4, 0.08)]


def test_waiting_for_data(tmp_path: Path) -> None:
    """The wait for a batch is told where it is more than the GPU's own."""
    loader = span("enumerate(DataLoader)#_Iter.__next__", "user_annotation", 2.0, 30.0)
    steps = read(tmp_path, text_of([step(1, 0.0), loader, span("g", "kernel", 1.0, 95.0)])).steps

    assert steps["data_seconds"].to_list() == [0.03]


def test_a_cut_trace(tmp_path: Path) -> None:
    """What was written is read; how long kernels ran in the last step is not known."""
    late = [step(11, 100.0), span("gemm", "kernel", 105.0, 50.0), nccl(155.0, 45.0)]
    text = text_of([*ONE, *late, step(12, 200.0)])
    reading = read(tmp_path, text[: text.rindex('"ProfilerStep#12"') + 30])

    assert reading.steps.select("step", "step_seconds", "compute_seconds").rows() == [
        (10, 0.1, pytest.approx(0.05)),
        (11, 0.1, None),
    ]
    assert reading.rejects["reason"].to_list() == ["cut or broken trace: what follows is not read"]


@pytest.mark.parametrize("indent", [None, 2], ids=["on one line", "one key a line"])
def test_blocks_change_nothing(indent: int | None) -> None:
    """Events are the same however they are spaced, over the seams of blocks too."""
    many = [span("gemm", "kernel", at, 1.0, pad="ä" * 4000) for at in range(1200)]
    odd = [{"cat": "kernel", "ph": "i"}, 7, span('}, {"ph": "x', "kernel", 1.0, 2.0), *many[:2]]
    whole = json.dumps({"traceEvents": [*many, *odd], "x": 1}, indent=indent, ensure_ascii=False)
    assert len(whole.encode()) > 2 * BLOCK_BYTES

    text = TraceText(stream=io.BytesIO(whole.encode()), wanted=ANY)
    assert list(text.events()) == [one for one in (*many, *odd) if isinstance(one, dict)]
    assert (text.torn, '"x": 1' in text.around) == (False, True)


def test_what_is_not_wanted_is_counted() -> None:
    """Events without a word of interest are left out, not lost."""
    data = text_of([*ONE, *ONE]).encode()
    text = TraceText(stream=io.BytesIO(data), wanted=re.compile("Profiler"))

    assert [one["name"] for one in text.events()] == ["ProfilerStep#10"] * 2
    assert text.event_count == 10


@pytest.mark.parametrize(
    ("data", "torn"),
    [
        pytest.param(b'[{"a": 1}, {"a": NaN}]', False, id="a bare list, with NaN"),
        pytest.param(
            b'{"traceEvents": [{"p": 1}, {"p": 2}, {"p": NaN}, {"p": 4}]}',
            False,
            id="NaN among many",
        ),
        pytest.param(b'{"traceEvents": []}', False, id="no events"),
        pytest.param(b'{"x": 1}', True, id="no list of events"),
        pytest.param(b'{"traceEvents": [{"a": 1} oops', True, id="something else"),
        pytest.param(b"", True, id="nothing"),
        pytest.param(b"[" * 100_000, True, id="too deep"),
    ],
)
def test_odd_traces(data: bytes, *, torn: bool) -> None:
    """Any text ends somewhere, and says whether it ended well."""
    text = TraceText(stream=io.BytesIO(data), wanted=ANY)

    assert all(one for one in text.events())
    assert text.torn is torn


@given(at=st.integers(0, 2000), noise=st.binary(max_size=20))
def test_torn_anywhere(tmp_path_factory: pytest.TempPathFactory, at: int, noise: bytes) -> None:
    """Whatever happens to a trace, it is read as far as it goes, and the rest is said."""
    data = text_of(ONE, **HEAD).encode()
    path = tmp_path_factory.mktemp("k") / "rank1.json"
    place = at % data.rindex(b"]")
    path.write_bytes(data[:place] + noise)
    reading = read_kineto_traces(path, "k", OPTIONS)

    assert reading.rejects.height == 1
    assert reading.steps.height <= 1


@pytest.mark.parametrize(
    ("event", "why"),
    [
        pytest.param({"name": "ProfilerStep#1", "ts": 1}, "no length", id="no length"),
        pytest.param({"name": "ProfilerStep#1", "dur": 1}, "no start", id="no start"),
        pytest.param({"name": "ProfilerStep#1", "ts": "a", "dur": 1}, "text", id="a text"),
        pytest.param(
            {"name": "ProfilerStep#1", "ts": 10**400, "dur": 1},
            "no float holds it",
            id="long start",
        ),
        pytest.param({"cat": "kernel", "ts": 1, "dur": 1, "args": 7}, "no step", id="odd args"),
        pytest.param({"cat": "gpu_x", "name": "DataLoader", "ts": 1, "dur": 1}, "gpu", id="gpu"),
    ],
)
def test_odd_events(tmp_path: Path, event: Event, why: str) -> None:
    """Events without their figures are no steps."""
    assert read(tmp_path, text_of([event])).steps.is_empty(), why


def test_a_number_without_end(tmp_path: Path) -> None:
    """An event whose number Python does not read ends the trace like a torn one."""
    text = text_of([step(1, 0.0), step(2, 200.0)]).replace("200000.0", "9" * 5000)
    reading = read(tmp_path, text)

    assert (reading.steps.height, reading.rejects.height) == (1, 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(text_of(ONE), 0.96, id="a trace"),
        pytest.param('{"schemaVersion": 1, "deviceProperties": [{"id": 0', 0.96, id="its head"),
        pytest.param(json.dumps(ONE), 0.96, id="a bare list"),
        pytest.param('{"traceEvents": [{"ph": "B", "cat": "x"}]}', 0.0, id="another program's"),
        pytest.param("ProfilerStep#1", 0.0, id="a line of a log"),
    ],
)
def test_wants(text: str, expected: float) -> None:
    """PyTorch's traces are told by their head, or by the categories of their events."""
    assert wants_kineto_traces(Head(name="x", data=text.encode())) == expected


@pytest.mark.parametrize(
    ("compute", "late", "with_kernels"),
    [
        pytest.param(85.0, 0.0, True, id="it computes longer"),
        pytest.param(60.0, 25.0, True, id="its host is late"),
        pytest.param(60.0, 25.0, False, id="only collectives are traced"),
    ],
)
@pytest.mark.parametrize("steps", [3, 10, 25])
def test_who_waits_least(
    tmp_path: Path, compute: float, late: float, steps: int, *, with_kernels: bool
) -> None:
    """All steps take as long; the rank whose NCCL kernels are short made the others wait."""
    for rank in range(4):
        busy, idle = (compute, late) if rank == 2 else (60.0, 0.0)
        events: list[Event] = []
        for number in range(steps):
            at = rank * 5e3 + number * 100.0
            waits = 98.0 - busy - idle - number % 3
            events += [step(number, at), nccl(at + 1 + busy + idle, waits)]
            events += [span("gemm", "kernel", at + 1, busy)] * with_kernels
        read(tmp_path, text_of(events), f"trace_rank{rank}.json")
    reading = read_sources(find_files([tmp_path]), OPTIONS, lambda *_: None)
    verdicts = find_all(reading, DetectorParams(), lambda *_: None)

    assert [(one.kind, one.subject.rank) for one in verdicts] == [("slow", 2)]
