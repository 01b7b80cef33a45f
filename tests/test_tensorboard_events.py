"""TensorBoard event files, written by TensorBoard itself and then torn, damaged, restarted."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter
from tensorboard.util.tensor_util import make_tensor_proto

from collectors.dialects import read_file
from collectors.readings import Reading
from collectors.sniffing import Head, ReadOptions
from collectors.training.metric_names import RATE, metric_column
from collectors.training.tensorboard_events import (
    read_tensorboard_events,
    wants_tensorboard_events,
)
from paceline.sources import find_files, read_sources

START = 1_927_857_600
OPTIONS = ReadOptions()

Point = tuple[float, int, str, float]


def scalar(tag: str, value: float) -> Summary.Value:
    """A value as most writers write it."""
    return Summary.Value(tag=tag, simple_value=value)


def event(time: float, step: int, *values: Summary.Value) -> bytes:
    """A record of some values."""
    return Event(wall_time=time, step=step, summary=Summary(value=values)).SerializeToString()


def write(path: Path, *records: bytes, cut: int = 0) -> Path:
    """An event file of these records behind its version, the last bytes cut off."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as stream:
        writer = RecordWriter(stream)
        head = Event(wall_time=START, file_version="brain.Event:2")
        for record in (head.SerializeToString(), *records):
            writer.write(record)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) - cut])
    return path


def read(path: Path, *points: Point, cut: int = 0) -> Reading:
    """The reading of an event file of these points."""
    records = [event(time, step, scalar(tag, value)) for time, step, tag, value in points]
    write(path / "events.out.tfevents.1.n1", *records, cut=cut)
    return read_tensorboard_events(path / "events.out.tfevents.1.n1", "tb", OPTIONS)


def restarted(folder: Path) -> None:
    """Two files of one directory: steps 1 to 10, then 6 to 12, the last record torn."""
    for name, steps, late, cut in (("1", range(1, 11), 0, 0), ("2", range(6, 13), 100, 7)):
        records = [
            event(START + late + step, step, scalar("lm loss", 3.0 - step / 10)) for step in steps
        ]
        write(folder / f"events.out.tfevents.{name}.n1.7.0", *records, cut=cut)


def test_a_restart_is_a_second_attempt_over_two_files(tmp_path: Path) -> None:
    """All points are there, the replayed ones twice, and the torn record is a reject."""
    restarted(tmp_path / "job" / "tensorboard")
    reading = read_sources(find_files([tmp_path]), OPTIONS, lambda *_: None)

    by_attempt = reading.steps.group_by("run", "attempt", maintain_order=True).agg("step")
    assert by_attempt.rows() == [("job", 0, [*range(1, 11)]), ("job", 1, [*range(6, 12)])]
    assert reading.rejects.select("reason", "count").rows() == [
        ("torn or damaged record: what follows is not read", 1)
    ]


def test_no_point_is_thinned(tmp_path: Path) -> None:
    """More points than TensorBoard keeps in memory are all read."""
    points = [(START + at, at, "loss", 1.0) for at in range(1, 12_002)]

    assert read(tmp_path, *points).steps["step"].to_list() == [*range(1, 12_002)]


def test_one_file_that_goes_back(tmp_path: Path) -> None:
    """A step that falls as the clock runs on begins an attempt; the same point twice does not."""
    steps = [1, 2, 2, 3, 2, 3, 4]
    values = [5.0, 4.0, 4.0, 3.0, 4.5, 3.5, 3.0]
    points = [
        (START + at, s, "loss", v) for at, (s, v) in enumerate(zip(steps, values, strict=True))
    ]

    assert read(tmp_path, *points).steps.select("attempt", "step", "loss").rows() == [
        (0, 1, 5.0),
        (0, 2, 4.0),
        (0, 3, 3.0),
        (1, 2, 4.5),
        (1, 3, 3.5),
        (1, 4, 3.0),
    ]


def test_series_of_one_step_are_one_row(tmp_path: Path) -> None:
    """Megatron's tags become the columns of a step, its timers in seconds, other axes left out."""
    tags = {
        "lm loss": 2.5,
        "lm loss vs samples": 9.0,
        "lm loss validation": 8.0,
        "iteration-time": 1.5,
        "forward-compute-time": 0.4,
        "backward-compute-time": 0.6,
        "grads-all-reduce-time": 0.25,
        "grad-norm": 1.25,
        "batch-size": 512.0,
    }
    points = [(START, 7, tag, value) for tag, value in tags.items()]
    names = ("step_seconds", "time_kind", "compute_seconds", "comm_seconds")
    row = read(tmp_path, *points).steps.select(
        "step", *names, "loss", "grad_norm", "samples", "data_seconds"
    )

    assert row.with_columns(pl.col(pl.Float64).round(6)).rows() == [
        (7, 1.5, "single_step", 1.0, 0.25, 2.5, 1.25, 512.0, None)
    ]


def test_torchtitan_divides_by_its_interval(tmp_path: Path) -> None:
    """The first interval has one step, the second nine: their times are too small as told."""
    tag = "time_metrics/end_to_end(s)"
    told = [(1, 4.0), (10, 0.9), (20, 1.0), (30, 1.0)]
    points = [(START + step, step, tag, value) for step, value in told]

    assert read(tmp_path, *points).steps.select(
        "step", "interval_steps", pl.col("step_seconds").round(5), "time_kind"
    ).rows() == [
        (1, 1, 40.0, "single_step"),
        (10, 9, 1.0, "interval_mean"),
        (20, 10, 1.0, "interval_mean"),
        (30, 10, 1.0, "interval_mean"),
    ]


def test_without_a_time_the_clock_tells(tmp_path: Path) -> None:
    """A step's time is read off wall_time, over the steps between; the first is not known."""
    points = [(START + time, step, "loss", 1.0) for step, time in ((10, 0), (20, 25), (30, 45))]

    assert read(tmp_path, *points).steps.select("step_seconds", "time_kind").rows() == [
        (None, None),
        (2.5, "arrival"),
        (2.0, "arrival"),
    ]


def test_without_a_clock_the_rate_tells(tmp_path: Path) -> None:
    """With all wall times at zero only ratios of rates are left."""
    points = [(0.0, step, "throughput(tps)", rate) for step, rate in ((1, 100.0), (2, 50.0))]
    steps = read(tmp_path, *points).steps

    assert steps.select("step_seconds", "end_time", "tokens").rows() == [
        (0.01, None, 1.0),
        (0.02, None, 1.0),
    ]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(make_tensor_proto(np.float32(2.5)), [2.5], id="32-bit scalar"),
        pytest.param(make_tensor_proto(np.float64(2.5)), [2.5], id="64-bit scalar"),
        pytest.param(make_tensor_proto(np.int64(2)), [2.0], id="whole number"),
        pytest.param(make_tensor_proto(np.array([2.5])), [2.5], id="array of one"),
        pytest.param(make_tensor_proto(np.array([1.0, 2.0])), [], id="several numbers"),
        pytest.param(make_tensor_proto("text"), [], id="text"),
    ],
)
def test_tensors(tmp_path: Path, value: object, expected: list[float]) -> None:
    """The newer form of a scalar is read like the old one; what is no scalar is no step."""
    record = event(START, 1, Summary.Value(tag="loss", tensor=value))
    path = write(tmp_path / "x", record)

    assert read_tensorboard_events(path, "x", OPTIONS).steps["loss"].to_list() == expected


def test_a_tensor_of_no_known_type(tmp_path: Path) -> None:
    """A tensor that TensorBoard cannot unpack is no point, and no reject either."""
    odd = make_tensor_proto(np.float32(1.0))
    odd.dtype = 21
    nothing = Summary.Value(tag="loss")
    path = write(tmp_path / "x", event(START, 1, Summary.Value(tag="loss", tensor=odd), nothing))
    reading = read_tensorboard_events(path, "x", OPTIONS)

    assert (reading.steps.height, reading.rejects.height, reading.lines_used) == (0, 0, 2)


def test_another_loop_is_no_training(tmp_path: Path) -> None:
    """Figures in a folder of evaluations are no steps of the run."""
    path = write(tmp_path / "validation" / "x", event(START, 1, scalar("loss", 1.0)))
    reading = read_tensorboard_events(path, "x", OPTIONS)

    assert (reading.steps.height, reading.lines_used) == (0, 2)


def test_nan_is_kept(tmp_path: Path) -> None:
    """A loss that is no number is told, not left out."""
    assert str(read(tmp_path, (START, 1, "loss", float("nan"))).steps["loss"][0]) == "nan"


def test_session_start(tmp_path: Path) -> None:
    """A writer that says that a session starts is an event of that time."""
    start = Event(wall_time=START, session_log=SessionLog(status=SessionLog.START))
    path = write(tmp_path / "x", start.SerializeToString())

    events = read_tensorboard_events(path, "x", OPTIONS).events
    assert events.select("kind", "code", "position").rows() == [("run_start", "session_log", 2)]


def test_damage_in_the_middle(tmp_path: Path) -> None:
    """What stands behind a wrong checksum cannot be found: it is one reject, not silence."""
    path = write(tmp_path / "x", *(event(START + at, at, scalar("loss", 1.0)) for at in (1, 2, 3)))
    data = bytearray(path.read_bytes())
    data[-60] ^= 0xFF
    path.write_bytes(data)
    reading = read_tensorboard_events(path, "x", OPTIONS)

    assert reading.steps["step"].to_list() == [1]
    assert reading.rejects.height == 1


def test_a_record_that_is_no_event(tmp_path: Path) -> None:
    """A whole record of something else is a reject, and the next one is read."""
    path = write(tmp_path / "x", b"\xff\xff\xff", event(START, 4, scalar("loss", 1.0)))
    reading = read_tensorboard_events(path, "x", OPTIONS)

    assert reading.steps["step"].to_list() == [4]
    assert reading.rejects["reason"].to_list() == ["record that is no event"]
    assert reading.lines_used == 2


@given(data=st.binary(max_size=80), at=st.integers(0, 200))
def test_torn_anywhere(tmp_path_factory: pytest.TempPathFactory, data: bytes, at: int) -> None:
    """Whatever happens to a file, it is read as far as it goes, and the rest is said."""
    folder = tmp_path_factory.mktemp("tb")
    path = write(folder / "x", *(event(START + n, n, scalar("loss", 1.0)) for n in (1, 2, 3)))
    whole = path.read_bytes()
    path.write_bytes(whole[: at % len(whole)] + data)
    reading = read_tensorboard_events(path, "x", OPTIONS)

    assert reading.lines_used + reading.rejects.height > 0 or not path.stat().st_size
    assert reading.steps["step"].to_list() == [1, 2, 3][: reading.steps.height]


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        pytest.param(
            Head(name="x", data=b"\x18" + b"\0" * 20 + b"brain.Event:2"), 0.95, id="magic"
        ),
        pytest.param(Head(name="events.out.tfevents.1", data=b"\0" * 30), 0.9, id="name, torn"),
        pytest.param(Head(name="tfevents.txt", data=b"notes on brain"), 0.0, id="text"),
    ],
)
def test_wants(head: Head, expected: float) -> None:
    """The first record tells; the name alone does where the file is binary."""
    assert wants_tensorboard_events(head) == expected


def test_it_is_found_by_content(tmp_path: Path) -> None:
    """A file under any name is read as what it is."""
    path = write(tmp_path / "metrics.bin", event(START, 1, scalar("loss", 1.0)))

    assert read_file(path, "x", OPTIONS).steps["step"].to_list() == [1]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("lm-loss-training/lm loss", ("loss", 1.0), id="Megatron-DeepSpeed's loss"),
        pytest.param("iteration-time/iteration-time", ("step_seconds", 1.0), id="doubled name"),
        pytest.param("grad-norm vs samples", None, id="another axis"),
        pytest.param("eval/loss", None, id="another loop"),
        pytest.param("train_step_timing in s", ("step_seconds", 1.0), id="NeMo"),
        pytest.param("train/step_time_ms", ("step_seconds", 1e-3), id="milliseconds in the name"),
        pytest.param("perf/step_time_seconds", ("step_seconds", 1.0), id="MaxText"),
        pytest.param("throughput/device/tokens_per_sec", (RATE, 1.0), id="a rate"),
        pytest.param("train/CrossEntropyLoss", ("loss", 1.0), id="OLMo's loss"),
        pytest.param("optim/total_grad_norm", ("grad_norm", 1.0), id="OLMo's gradient norm"),
        pytest.param("time_metrics/data_loading(%)", None, id="a share is no time"),
        pytest.param("loss-scale", None, id="not a loss"),
        pytest.param("save-checkpoint-time", ("checkpoint_seconds", 1.0), id="checkpoints"),
    ],
)
def test_names(name: str, expected: tuple[str, float] | None) -> None:
    """A series is known by its name, unit and all."""
    assert metric_column(name) == expected
