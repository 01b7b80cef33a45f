"""Per-rank step records: torn, glued, in many words and units, and never a guess."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.readings import Reading
from collectors.sniffing import SURE, Head, ReadOptions
from collectors.texts.json_lines import MAX_LINE_BYTES, read_json_lines
from collectors.texts.stamps import epoch_time, iso_time
from collectors.training.attempts import attempt_number
from collectors.training.step_records import read_step_records, wants_step_records


def read(folder: Path, text: str, name: str = "run.jsonl") -> Reading:
    """Return the reading of a file of that text."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read_step_records(path, name, ReadOptions())


def text_of(*records: dict[str, Any]) -> str:
    """Return records as JSON lines."""
    return "\n".join(json.dumps(record) for record in records)


def test_a_run_of_a_rank(tmp_path: Path) -> None:
    """Steps inherit run, host and attempt from the start line; parts and time are as told."""
    reading = read(
        tmp_path,
        text_of(
            {"event": "start", "run": "r", "attempt": 2, "rank": 3, "world": 8, "host": "HX8-1"}
            | {"local_rank": 3, "gpu_uuid": "GPU-a", "dp": 1, "pp": 0, "tp": 2, "t": 1796007967.5},
            {"step": 1, "rank": 3, "t": 1796007968.25, "data_s": 0.1, "compute_s": 0.5}
            | {"comm_s": 0.2, "optim_s": 0.05, "checkpoint_s": 1.0, "step_s": 2.0, "loss": 2.5}
            | {"grad_norm": 0.2, "tokens": 4096},
            {"event": "end", "rank": 3, "t": 1796007969.0},
        ),
    )
    step = reading.steps.row(0, named=True)
    start = datetime(2026, 11, 30, 3, 6, 7, 500000, tzinfo=UTC)
    assert (
        {name: value for name, value in step.items() if value is not None},
        reading.jobs.select("run", "attempt", "state", "start", "hosts", "world").rows(),
        reading.placements.drop("ep", "source").rows(),
        reading.events.select("kind", "rank").rows(),
        reading.rejects.height,
    ) == (
        {
            "run": "r",
            "attempt": 2,
            "rank": 3,
            "host": "hx8-1",
            "step": 1,
            "interval_steps": 1,
            "end_time": datetime(2026, 11, 30, 3, 6, 8, 250000, tzinfo=UTC),
            "step_seconds": 2.0,
            "time_kind": "single_step",
            "data_seconds": 0.1,
            "compute_seconds": 0.5,
            "comm_seconds": 0.2,
            "optimizer_seconds": 0.05,
            "checkpoint_seconds": 1.0,
            "loss": 2.5,
            "loss_state": "printed",
            "grad_norm": 0.2,
            "tokens": 4096.0,
            "source": "run.jsonl",
            "position": 2,
        },
        [("r", 2, "ended", start, ["hx8-1"], 8)],
        [("r", 2, 3, "hx8-1", "GPU-a", 3, 1, 0, 2)],
        [("run_start", 3), ("run_end", 3)],
        0,
    )


def test_torn_and_glued_lines(tmp_path: Path) -> None:
    """NaN is a value, two objects on a line are two, and a torn tail is a reject."""
    text = (
        '{"step": 10, "loss": NaN, "t": 1.0}\n'
        '{"step": 11, "loss": 2.0, "t": 1.0}{"step": 12, "loss": -Infinity, "t": 1.0}\n'
        '{"step": 13, "lo'
    )
    reading = read(tmp_path, text)
    found = reading.steps.select("step", "step_seconds").rows()
    losses = [str(loss) for loss in reading.steps["loss"]]
    assert (found, losses, reading.rejects.select("position", "text").rows()) == (
        [(10, 1.0), (11, 1.0), (12, 1.0)],
        ["nan", "2.0", "-inf"],
        [(3, '{"step": 13, "lo')],
    )


def test_the_long_form(tmp_path: Path) -> None:
    """A record a phase is joined by step; without a wait of its own, backward holds it."""
    phases = (("forward", 100), ("backward", 260), ("data", 5), ("nonsense", 3))
    reading = read(
        tmp_path,
        text_of(
            *(
                {"ts": 1796007967 + at, "job": "a", "attempt": 1, "step": 1, "rank": 0}
                | {"host": "h0", "phase": phase, "dur_ms": milliseconds}
                for at, (phase, milliseconds) in enumerate(phases)
            )
        ),
    )
    columns = ("run", "attempt", "rank", "host", "step", "step_seconds", "compute_seconds")
    assert (
        reading.steps.select(*columns, "comm_seconds", "data_seconds").rows(),
        reading.rejects["position"].to_list(),
        reading.placements.select("rank", "host").rows(),
    ) == (
        [("a", 1, 0, "h0", 1, pytest.approx(0.365), 0.1, 0.26, 0.005)],
        [4],
        [(0, "h0")],
    )


@pytest.mark.parametrize(
    ("records", "seconds", "kind"),
    [
        pytest.param(
            [{"step": step, "t": 1.0 + step / 50} for step in range(4)],
            [1.0, 1.02, 1.04, 1.06],
            "single_step",
            id="a small t that creeps is the step's time",
        ),
        pytest.param(
            [{"step": step, "t": 1.5 * step} for step in range(1, 7)],
            [None, *[1.5] * 5],
            "arrival",
            id="a small t that runs on is a clock",
        ),
        pytest.param(
            [{"step": step, "t": 1796007967 + step} for step in (0, 10, 30)],
            [None, 1.0, 1.0],
            "arrival",
            id="an epoch is a clock",
        ),
        pytest.param(
            [{"step": 1, "step_ms": 250}, {"step": 2, "step_time": 0.5}],
            [0.25, 0.5],
            "single_step",
            id="suffixes name the unit",
        ),
        pytest.param([{"step": 1}], [None], None, id="no time is no time"),
        pytest.param([{"step": 1, "step_s": -1}], [None], None, id="nor is one below zero"),
    ],
)
def test_times(
    tmp_path: Path, records: list[dict[str, Any]], seconds: list[float | None], kind: str | None
) -> None:
    """A step's seconds are told, or read off a clock, or not known."""
    steps = read(tmp_path, text_of(*records)).steps
    expected = [None if one is None else pytest.approx(one) for one in seconds]
    assert (steps["step_seconds"].to_list(), steps["time_kind"][-1]) == (expected, kind)


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        pytest.param([1, 2, 3, 2, 3], [0, 0, 0, 1, 1], id="a step that goes back"),
        pytest.param([0, 1, 2, 0, 2, 3], [0, 0, 1, 1], id="a start, and the replay after it, once"),
        pytest.param([0, 0, 1], [1], id="an attempt without a step"),
    ],
)
def test_attempts(tmp_path: Path, records: list[int], expected: list[int]) -> None:
    """Attempts are counted by start lines and by steps that go back; 0 here is a start."""
    lines = [{"step": one} if one else {"event": "start"} for one in records]
    assert read(tmp_path, text_of(*lines)).steps["attempt"].to_list() == expected


def test_the_same_step_with_another_value_is_a_replay() -> None:
    """A step printed twice is one, unless its values differ."""
    frame = pl.DataFrame({"step": [1, 1, 1], "loss": [2.0, 2.0, 3.0], "starts": [0, 0, 0]})
    number = attempt_number(pl.col("step"), pl.col("loss"), pl.col("starts"))
    assert frame.select(number).to_series().to_list() == [0, 0, 1]


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        pytest.param({"event": "checkpoint_saved", "step": 5}, ["checkpoint"], id="checkpoint"),
        pytest.param({"event": "validation"}, ["evaluation"], id="evaluation"),
        pytest.param({"event": "lr_changed"}, ["note"], id="anything else"),
        pytest.param({"event": "step", "step": 5}, [], id="a step that says so"),
    ],
)
def test_events(tmp_path: Path, record: dict[str, Any], expected: list[str]) -> None:
    """An event has one of our kinds; a step is none."""
    assert read(tmp_path, text_of(record)).events["kind"].to_list() == expected


def test_both_passes(tmp_path: Path) -> None:
    """Both passes are told; a backward pass that holds the wait for others is not known."""
    told = ({"forward_s": 1.0, "backward_ms": 2000, "comm_s": 0.5}, {"fwd_s": 1.0, "bwd_s": 2.5})
    rows = [
        read(tmp_path, text_of({"step": 1, "rank": 0, **one}))
        .steps.select("compute_seconds", "forward_seconds", "backward_seconds", "comm_seconds")
        .row(0)
        for one in told
    ]
    assert rows == [(3.0, 1.0, 2.0, 0.5), (1.0, 1.0, None, 2.5)]


def test_a_pass_that_is_not_told(tmp_path: Path) -> None:
    """A rank without its forward pass has no compute: its backward pass is not taken for it."""
    told = [(0, "forward"), (0, "backward"), (1, "backward"), (2, "forward")]
    phases = [{"step": 1, "rank": rank, "phase": phase, "dur_ms": 100} for rank, phase in told]
    steps = read(tmp_path, text_of(*phases)).steps.sort("rank")
    assert steps.select("rank", "compute_seconds", "comm_seconds", "step_seconds").rows() == [
        (0, 0.1, 0.1, 0.2),
        (1, None, None, None),
        (2, 0.1, None, None),
    ]


def test_an_attempt_before_the_first_mark(tmp_path: Path) -> None:
    """Steps before the first start are of an attempt too, so that the start is of the next."""
    records = ({"step": 1}, {"event": "start", "time": 1.9e9}, {"step": 1}, {"step": 2})
    reading = read(tmp_path, text_of(*records))
    assert (reading.steps["attempt"].to_list(), reading.jobs["attempt"].to_list()) == (
        [0, 1, 1],
        [1],
    )


@pytest.mark.parametrize(
    ("name", "record", "rank"),
    [
        pytest.param("rank-007.jsonl", {"step": 1}, 7, id="from the file's name"),
        pytest.param("rank-007.jsonl", {"step": 1, "rank": 2}, 2, id="the record wins"),
        pytest.param("run.jsonl", {"step": 1}, None, id="nowhere"),
        pytest.param("run.jsonl", {"step": 1, "rank": 1.5}, None, id="not a whole number"),
    ],
)
def test_ranks(tmp_path: Path, name: str, record: dict[str, Any], rank: int | None) -> None:
    """The rank is the record's, else the file name's, else not known."""
    assert read(tmp_path, text_of(record), name).steps["rank"].to_list() == [rank]


def test_a_loss_that_others_have(tmp_path: Path) -> None:
    """A null among losses is one left out; a record that lacks the key was not asked for it."""
    losses: tuple[dict[str, float | None], ...] = ({"loss": 2}, {"loss": None}, {}, {"loss": 1})
    records = [{"step": step, **told} for step, told in enumerate(losses)]
    steps = read(tmp_path, text_of(*records)).steps
    assert steps["loss_state"].to_list() == ["printed", "not_printed", None, "printed"]


def test_records_that_are_nothing(tmp_path: Path) -> None:
    """An object without a step or an event, and a line that is no object, are rejects."""
    reading = read(tmp_path, '{"a": 1}\n[1]\n\n{"step": "x"}\n')
    assert reading.rejects.select("position", "reason").rows() == [
        (2, "no JSON object"),
        (1, "neither a step, a known phase nor an event"),
        (4, "neither a step, a known phase nor an event"),
    ]


def test_an_empty_file(tmp_path: Path) -> None:
    """Nothing gives nothing."""
    reading = read(tmp_path, "")
    assert (reading.steps.height, reading.rejects.height) == (0, 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param('{"step": 1, "rank": 0}\n', SURE, id="steps"),
        pytest.param('{"event": "start"}\n', SURE, id="a start"),
        pytest.param('{"metric": 1}\n', 0.0, id="other objects"),
        pytest.param("step: 1\n", 0.0, id="text"),
        pytest.param("", 0.0, id="nothing"),
    ],
)
def test_who_wants_step_records(text: str, expected: float) -> None:
    """Step records are objects that have a step, or begin a run."""
    assert wants_step_records(Head(name="x", data=text.encode())) == expected


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)
KEYS = st.sampled_from(["step", "rank", "t", "loss", "event", "phase", "dur_ms", "step_s", "host"])


@given(
    st.lists(
        st.dictionaries(KEYS, JSON).map(json.dumps)
        | st.text(max_size=20)
        | st.sampled_from(['{"step": 1', '{"step":1}{"step":2}', '{"loss": nan, "step": 1}']),
        max_size=6,
    ),
    st.sampled_from(["\n", "\r\n", ""]),
)
@settings(max_examples=40, deadline=None)
def test_each_line_is_accounted_for(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], between: str
) -> None:
    """Whatever the objects hold, each line is a step, an event, or rejected with its place."""
    text = between.join(lines)
    objects, rejects = read_json_lines(text.encode("utf-8", "replace"), ["step", "event"])
    clean = text.encode("utf-8", "replace").decode().removeprefix("\ufeff").replace("\0", "")
    due = {at for at, line in enumerate(clean.split("\n"), 1) if line.strip()}
    path = tmp_path_factory.mktemp("records") / "x.jsonl"
    path.write_bytes(text.encode("utf-8", "replace"))
    reading = read_step_records(path, "x", ReadOptions())
    seen = set(objects["position"]) | set(rejects["position"])
    assert (isinstance(reading, Reading), seen) == (True, due)


@given(st.binary(max_size=200))
@settings(max_examples=60, deadline=None)
def test_any_bytes_are_read(data: bytes) -> None:
    """Whatever the bytes, objects and rejects come out."""
    objects, rejects = read_json_lines(b'{"step": 1}\n' + data, ["step"])
    assert objects.height + rejects.height >= 1


def test_a_line_too_long_is_rejected() -> None:
    """A line beyond the limit is rejected unread."""
    data = b'{"step": "' + b"1" * MAX_LINE_BYTES + b'"}\n{"step": 2}'
    objects, rejects = read_json_lines(data, ["step"])
    assert (objects["step"].to_list(), rejects["reason"].to_list()) == (
        ["2"],
        ["longer than 64 KiB"],
    )


@pytest.mark.parametrize(
    ("text", "zone", "expected"),
    [
        pytest.param("x 2031-02-03T04:05:06.5Z", "UTC", (4, 5, 6, 500000), id="UTC"),
        pytest.param("2031-02-03 04:05:06,789", "UTC", (4, 5, 6, 789000), id="a comma"),
        pytest.param("2031-02-03_04:05:06", "Asia/Kolkata", None, id="local: the day before"),
        pytest.param("2031-02-03T04:05:06-05:30", "UTC", (9, 35, 6, 0), id="an offset"),
        pytest.param("2031-02-31 04:05:06", "UTC", "none", id="no such day"),
        pytest.param("nothing", "UTC", "none", id="no stamp"),
    ],
)
def test_stamps(text: str, zone: str, expected: Any) -> None:
    """A stamp is read in its zone, else in the one given."""
    found = pl.DataFrame({"a": [text]}).select(iso_time(pl.col("a"), zone)).item()
    local = datetime(2031, 2, 2, 22, 35, 6, tzinfo=UTC)
    wanted = None if expected == "none" else datetime(2031, 2, 3, *(expected or ()), tzinfo=UTC)
    assert found == (local if expected is None else wanted)


@pytest.mark.parametrize(
    ("number", "seconds"),
    [
        pytest.param(1_796_007_967.25, 1_796_007_967.25, id="seconds"),
        pytest.param(1_796_007_967_250.0, 1_796_007_967.25, id="milliseconds"),
        pytest.param(1_796_007_967_250_000.0, 1_796_007_967.25, id="microseconds"),
        pytest.param(1.79600796725e18, 1_796_007_967.25, id="nanoseconds"),
        pytest.param(12.5, None, id="a clock of its own"),
        pytest.param(float("nan"), None, id="no number"),
        pytest.param(1e30, None, id="beyond all clocks"),
    ],
)
def test_epochs(number: float, seconds: float | None) -> None:
    """The size of an epoch number tells its unit."""
    found = pl.DataFrame({"a": [number]}).select(epoch_time(pl.col("a"))).item()
    assert found == (None if seconds is None else datetime.fromtimestamp(seconds, UTC))
