"""Entries of Google's ml-goodput-measurement: attempts, steps and pauses of a job."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from collectors.readings import Reading
from collectors.sniffing import SURE, Head, ReadOptions
from collectors.training.goodput_records import read_goodput_records, wants_goodput_records
from slo.goodput import GoodputParams, budget_goodput
from slo.parts import PARTS

BEGIN = 1_927_857_600.0
"""2031-02-03 04:00:00 UTC."""


def moment(key: str, seconds: float, **more: Any) -> dict[str, Any]:
    """One entry of job r."""
    return {"job_name": "r", **more, f"{key}_time": BEGIN + seconds}


def step(number: int, seconds: float) -> dict[str, Any]:
    """The start of a step."""
    return moment("step_start", seconds, step_count=number)


def custom(kind: str, begin: float, end: float) -> list[dict[str, Any]]:
    """A custom event from its start to its end."""
    told = {"custom_badput_event_type": kind}
    return [
        moment("custom_badput_event_start", begin, **told),
        moment("custom_badput_event_end", end, **told),
    ]


def text_of(*entries: dict[str, Any]) -> str:
    """Entries as lines."""
    return "".join(f"{json.dumps(entry)}\n" for entry in entries)


def read(folder: Path, text: str) -> Reading:
    """The reading of a file of that text."""
    path = folder / "goodput.jsonl"
    path.write_text(text, encoding="utf-8")
    return read_goodput_records(path, "goodput.jsonl", ReadOptions())


def steps_of(reading: Reading) -> list[tuple[Any, ...]]:
    """Attempt, number and seconds of each step."""
    return reading.steps.select("attempt", "step", "step_seconds").rows()


CALM = [
    moment("job_start", 0),
    moment("tpu_init_start", 1),
    moment("tpu_init_end", 9),
    moment("data_loading_start", 9),
    moment("data_loading_end", 10),
    step(0, 10),
    moment("data_loading_start", 10.5),
    moment("data_loading_end", 11),
    step(1, 12),
    *custom("eval_step", 13, 23),
    step(2, 23.5),
    moment("job_end", 25),
]


def test_a_calm_job(tmp_path: Path) -> None:
    """A step lasts until the next one starts, without what was no step; the end closes the last."""
    reading = read(tmp_path, text_of(*CALM))

    assert steps_of(reading) == [(0, 0, 2.0), (0, 1, 1.5), (0, 2, 1.5)]
    assert reading.steps["end_time"].max() == datetime(2031, 2, 3, 4, 0, 25, tzinfo=UTC)
    assert reading.jobs.select("run", "attempt", "start", "end", "state").rows() == [
        ("r", 0, datetime(2031, 2, 3, 4, tzinfo=UTC), None, None)
    ]
    assert [
        (one["kind"], one["code"], one["time"].second, one["attributes"])
        for one in reading.events.sort("time").to_dicts()
    ] == [
        ("run_start", None, 0, None),
        ("note", "tpu_init", 9, [{"key": "seconds", "value": "8.0"}]),
        ("note", "data_loading", 10, [{"key": "seconds", "value": "1.0"}]),
        ("evaluation", "eval_step", 23, [{"key": "seconds", "value": "10.0"}]),
        ("run_end", "done", 25, None),
    ]


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        pytest.param(
            [moment("job_start", 0), step(1, 1), step(2, 2)],
            [(0, 1, 1.0)],
            id="a step that nothing follows is not known to be done",
        ),
        pytest.param(
            [
                *(moment("job_start", 0), step(1, 1), step(2, 2)),
                *(moment("job_start", 9), step(2, 10), step(3, 11)),
            ],
            [(0, 1, 1.0), (1, 2, 1.0)],
            id="a job that starts again is a new attempt, and what was begun is lost",
        ),
        pytest.param(
            [step(5, 1), step(6, 2), moment("job_start", 9), step(6, 10), step(7, 11)],
            [(0, 5, 1.0), (1, 6, 1.0)],
            id="steps before the first start that was kept are an attempt",
        ),
        pytest.param(
            [moment("job_start", 0), step(1, 1), step(2, 2), step(3, 3), step(2, 30), step(3, 31)],
            [(0, 1, 1.0), (0, 2, 1.0), (1, 2, 1.0)],
            id="a step that comes again without a start is a disruption",
        ),
        pytest.param(
            [
                *(moment("job_start", 0), step(1, 1), *custom("sdc check", 1.5, 99)),
                *(step(2, 2), step(3, 3)),
            ],
            [(0, 1, 1.0), (0, 2, 1.0)],
            id="an event that outlasts its step is no pause of it",
        ),
        pytest.param(
            [{"job_name": "r", "step_start_time": BEGIN}, step(1, 1), step(2, 2)],
            [(0, 1, 1.0)],
            id="a step without a number is none",
        ),
    ],
)
def test_attempts(
    tmp_path: Path, entries: list[dict[str, Any]], expected: list[tuple[int, int, float]]
) -> None:
    """Starts and steps that come again part a job into attempts."""
    assert steps_of(read(tmp_path, text_of(*entries))) == expected


def test_saves_and_loads(tmp_path: Path) -> None:
    """Custom events that save or load tell both ends; one without an end tells its start alone."""
    events = [
        *custom("checkpoint_restore", 1, 5),
        *custom("emergency_ckpt", 6, 7),
        *custom("warm_cache", 7, 8),
        custom("checkpoint", 9, 10)[0],
    ]
    reading = read(tmp_path, text_of(moment("job_start", 0), *events))

    assert reading.events.sort("time")["kind"].to_list() == [
        *("run_start", "checkpoint_load_start", "checkpoint_load"),
        *("checkpoint_start", "checkpoint", "note", "checkpoint_start"),
    ]


def test_other_wrappings(tmp_path: Path) -> None:
    """Exported entries of Cloud Logging, disorder and doubled delivery tell the same."""
    plain = read(tmp_path, text_of(*CALM))
    wrapped = [{"insertId": str(at), "jsonPayload": one} for at, one in enumerate(CALM)]
    mixed = read(tmp_path, text_of(*reversed(wrapped), *CALM))
    told = ("run", "attempt", "step", "end_time", "step_seconds")

    assert mixed.steps.select(told).equals(plain.steps.select(told))
    assert mixed.events.height == plain.events.height
    assert (mixed.lines_used, mixed.rejects.height) == (2 * len(CALM), 0)


def test_what_is_none(tmp_path: Path) -> None:
    """Torn lines and entries without a time are rejects with their reason."""
    text = text_of(*CALM[:1], {"job_name": "r"}, moment("step_start", -BEGIN, step_count=3))
    reading = read(tmp_path, f'{text}{{"job_name":"r","job_end')

    assert reading.rejects.select("position", "reason").rows() == [
        (4, "no JSON object"),
        (2, "no entry of ml-goodput-measurement with a time"),
        (3, "no entry of ml-goodput-measurement with a time"),
    ]
    assert reading.lines_used == 1


def test_wants() -> None:
    """Its own entries are wanted, other JSON lines are not."""
    ours, others = text_of(*CALM), '{"job_name":"r","step":3,"loss":2.5}\n'

    assert [
        wants_goodput_records(Head(name="a.jsonl", data=text.encode())) for text in (ours, others)
    ] == [SURE, 0.0]


def test_goodput(tmp_path: Path) -> None:
    """The worked example of the reference as the library logs it gives the same parts."""
    first = [step(at, at + (10 if at > 100 else 0) + (10 if at > 200 else 0)) for at in range(251)]
    second = [step(200 + at, 360 + at) for at in range(100)]
    saves = [*custom("checkpoint", 100, 109.9), *custom("checkpoint", 210, 219.9)]
    entries = [moment("job_start", 0), *first, *saves, moment("job_start", 330), *second]
    reading = read(tmp_path, text_of(*entries, moment("job_end", 460)))
    (row,) = budget_goodput(reading, GoodputParams()).runs.to_dicts()
    parts = {part: round(row[f"{part}_seconds"]) for part in PARTS if row[f"{part}_seconds"]}

    assert (parts, row["wall_seconds"]) == (
        {"productive": 300, "save": 20, "replay": 50, "down": 60, "init": 30},
        timedelta(seconds=460).total_seconds(),
    )
