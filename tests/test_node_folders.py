"""A folder of one node's files is no run."""

import polars as pl
import pytest

from collectors.readings import Reading, join_readings, reading_of
from paceline.node_folders import node_folders


def told(*rows: tuple[str, str | None, int | None]) -> Reading:
    """Dumps, or other events, by source, host and rank."""
    names = ("source", "host", "rank")
    frame = pl.DataFrame(
        [dict(zip(names, row, strict=True)) for row in rows], schema_overrides={"rank": pl.Int32}
    )
    return reading_of(
        events=frame.with_columns(
            pl.col("host").cast(pl.String),
            kind=pl.when(pl.col("rank").is_null())
            .then(pl.lit("note"))
            .otherwise(pl.lit("flight_dump")),
        )
    )


def waiting(*rows: tuple[str, int]) -> Reading:
    """Time-outs by source and rank."""
    frame = pl.DataFrame(rows, ["source", "rank"], orient="row")
    return reading_of(collectives=frame.with_columns(state=pl.lit("timed_out")))


def stepped(*rows: tuple[str, int]) -> Reading:
    """Steps by source and rank."""
    return reading_of(steps=pl.DataFrame(rows, ["source", "rank"], orient="row"))


@pytest.mark.parametrize(
    ("reading", "folders", "expected"),
    [
        pytest.param(
            told(("a", "hx8-001", None)),
            {"a": "case/HX8-001", "b": "case/hx8-002", "c": "case/run-7"},
            {"case/HX8-001", "case/hx8-002"},
            id="called as a host, or numbered as one",
        ),
        pytest.param(
            told(("a", "hx8-001", None)), {"a": "hx8-001"}, set[str](), id="nothing lies above it"
        ),
        pytest.param(
            told(("a", None, 0), ("b", None, 1), ("c", None, 2)),
            {"a": "case/x", "b": "case/x", "c": "case/y"},
            {"case/x", "case/y"},
            id="dumps of other ranks side by side",
        ),
        pytest.param(
            told(("a", None, 0), ("b", None, 0)),
            {"a": "case/x", "b": "case/y"},
            set[str](),
            id="dumps of the same rank are of two runs",
        ),
        pytest.param(
            told(("a", None, 0)), {"a": "case/x"}, set[str](), id="one folder of dumps is the run's"
        ),
        pytest.param(told(("a", None, 0)), {"a": "."}, set[str](), id="dumps in the root itself"),
        pytest.param(
            waiting(("a", 0), ("a", 1), ("b", 2)),
            {"a": "case/x", "b": "case/y"},
            {"case/x", "case/y"},
            id="complaints of other ranks side by side",
        ),
        pytest.param(
            join_readings([waiting(("a", 0), ("b", 2)), stepped(("c", 0))]),
            {"a": "case/x", "b": "case/y", "c": "case/y"},
            set[str](),
            id="a rank that works in both is of two runs",
        ),
    ],
)
def test_node_folders(reading: Reading, folders: dict[str, str], expected: set[str]) -> None:
    """The folders that are part of the run above them."""
    assert node_folders(reading, folders) == expected
