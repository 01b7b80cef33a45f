"""Steps that hold planned work."""

import polars as pl
import pytest

from collectors.frames import EVENTS, STEPS, conform
from detectors.planned_pauses import without_planned_pauses


def steps(*lines: int, rank: int | None = None, source: str = "x") -> pl.LazyFrame:
    """Reports at lines of a log."""
    rows = [
        {"source": source, "run": "r", "attempt": 0, "rank": rank, "position": at, "step": at}
        for at in lines
    ]
    return conform(pl.LazyFrame(rows, schema_overrides={"rank": pl.Int32}), STEPS)


def events(*lines: tuple[str, int | None]) -> pl.LazyFrame:
    """Events of a kind at lines of a log."""
    rows = [{"source": "x", "kind": kind, "position": at} for kind, at in lines]
    return conform(pl.LazyFrame(rows, schema_overrides={"position": pl.Int64}), EVENTS)


LINES = (10, 20, 30, 40, 50)


@pytest.mark.parametrize(
    ("frame", "marks", "kept"),
    [
        pytest.param(steps(*LINES), [("evaluation", 25)], [10, 20, 40, 50], id="an evaluation"),
        pytest.param(steps(*LINES), [("checkpoint", 41)], [10, 20, 30, 40], id="a checkpoint"),
        pytest.param(steps(*LINES), [("run_start", 25)], list(LINES), id="a start is none"),
        pytest.param(steps(*LINES), [("evaluation", 5)], list(LINES), id="before the first report"),
        pytest.param(steps(*LINES), [("evaluation", 60)], list(LINES), id="after the last"),
        pytest.param(
            steps(*LINES),
            [("evaluation", at) for at in (15, 25, 35, 45)],
            list(LINES),
            id="a job that always pauses is judged all the same",
        ),
        pytest.param(
            steps(*LINES, rank=3), [("evaluation", 25)], list(LINES), id="ranks have phases"
        ),
        pytest.param(
            steps(*LINES, source="y"), [("evaluation", 25)], list(LINES), id="another log's pause"
        ),
        pytest.param(
            steps(*LINES), [("evaluation", None)], list(LINES), id="a pause without a line"
        ),
    ],
)
def test_planned_pauses(
    frame: pl.LazyFrame, marks: list[tuple[str, int | None]], kept: list[int]
) -> None:
    """A report is left out when its log shows a pause since the report before."""
    found = without_planned_pauses(frame, events(*marks)).collect()

    assert found["step"].to_list() == kept
