"""The history that Megatron keeps of a run."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from collectors.readings import Reading

Read = Callable[[dict[str, str]], Reading]

START = "2031-02-03 04:00:00\tJob ID: 71\t# GPUs: 256\tStarting job\n"


def saved(event: str, *fields: str) -> str:
    """A line about a checkpoint."""
    return "\t".join(["2031-02-03 05:10:00", "Job ID: 71", "# GPUs: 256", event, *fields]) + "\n"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param(START, ("run_start", None), id="a start"),
        pytest.param(
            saved("Saved checkpoint", "Iteration: 500", "Job throughput: 391.0 TFLOP/s/GPU"),
            ("checkpoint", "500"),
            id="a save",
        ),
        pytest.param(
            saved("Saving async checkpoint", "Iteration: 500"),
            ("checkpoint_start", "500"),
            id="a save that is scheduled is none yet",
        ),
        pytest.param(
            saved("Saved async local checkpoint", "Iteration: 500"),
            ("checkpoint", "500"),
            id="a local save",
        ),
        pytest.param(
            saved("Deleted checkpoint", "Tokens/s: 9", "Iteration: 400"),
            ("checkpoint_delete", "400"),
            id="a fork's field in between changes nothing",
        ),
        pytest.param(saved("Something new"), ("note", None), id="an event nobody knows"),
    ],
)
def test_events(read_texts: Read, line: str, expected: tuple[str, str | None]) -> None:
    """Each line is an event, told by its fields' names."""
    reading = read_texts({"progress.txt": line})

    assert reading.events.select("kind", "code").rows() == [expected]


def test_attempts(read_texts: Read) -> None:
    """Each start is an attempt with its GPUs; a job without an id is one too; junk is counted."""
    reading = read_texts(
        {"progress.txt": START + START.replace("71", "").replace("256", "128") + "x\n"}
    )

    assert reading.jobs.select("attempt", "world", "start").rows() == [
        (0, 256, datetime(2031, 2, 3, 4, tzinfo=UTC)),
        (1, 128, datetime(2031, 2, 3, 4, tzinfo=UTC)),
    ]
    assert (reading.lines_used, reading.rejects.height) == (2, 1)


def test_fields(read_texts: Read) -> None:
    """What else a line says is kept in its own words."""
    line = saved("Saved checkpoint", "Iteration: 500", "Tokens (in billions): 2.10")
    (attributes,) = read_texts({"progress.txt": line}).events["attributes"].to_list()

    assert attributes == [
        {"key": "Job ID", "value": "71"},
        {"key": "# GPUs", "value": "256"},
        {"key": "Iteration", "value": "500"},
        {"key": "Tokens (in billions)", "value": "2.10"},
    ]
