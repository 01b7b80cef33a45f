"""Series of metrics by step."""

import json
from collections.abc import Callable

import pytest

from collectors.readings import Reading

Read = Callable[[dict[str, str]], Reading]


def series(values: object, apart: int = 1) -> dict[str, object]:
    """One metric."""
    return {"start_step": 1, "end_step": 3, "step_interval": apart, "values": values}


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        pytest.param(
            {
                "lm loss": series({"1": 10.5, "2": "nan"}),
                "iteration-time": series({"1": 9.0, "2": 0.1}),
            },
            [(1, 9.0, "printed"), (2, 0.1, "printed")],
            id="values by step",
        ),
        pytest.param(
            {"iteration-time": series([9.0, 0.1], apart=5)},
            [(1, 9.0, None), (6, 0.1, None)],
            id="values in a list",
        ),
        pytest.param(
            {
                "iteration-time": series({"1": "nan"}),
                "a": series({"1": 2}),
                "b": 3,
                "c": series(None),
            },
            [(1, None, None)],
            id="no number is no time, and what is no series is left out",
        ),
        pytest.param(
            {"lm loss": series({"1": 2.5, "2": "nan"}), "iteration-time": series({"2": "nan"})},
            [(1, None, "printed")],
            id="a step without any number was not reached",
        ),
        pytest.param({"num-zeros": series({"7": 3.0})}, [(7, None, None)], id="progress alone"),
    ],
)
def test_series(
    read_texts: Read, document: object, expected: list[tuple[int, float | None, str | None]]
) -> None:
    """Each step that any series has is a row."""
    steps = read_texts({"golden.json": json.dumps(document)}).steps

    assert steps.select("step", "step_seconds", "loss_state").rows() == expected


@pytest.mark.parametrize(
    "tail",
    [
        pytest.param('"values": {"1": 2', id="torn"),
        pytest.param('"values": 3}}', id="empty"),
        pytest.param('"values": ' + "[" * 100_000, id="deeper than Python follows"),
    ],
)
def test_no_series(read_texts: Read, tail: str) -> None:
    """A document that holds no series is one reject that counts its lines."""
    text = '{"lm loss": {"start_step": 1, "end_step": 3, "step_interval": 1, ' + tail + "\n"
    reading = read_texts({"golden.json": text})

    assert (reading.steps.height, reading.rejects["reason"].to_list()) == (
        0,
        ["no series of metrics by step"],
    )
