"""Who enters a collective when the others have given it up has been waited for."""

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from collectors.frames import COLLECTIVES, conform
from detectors.late_entries import late_entries

START = datetime(2026, 1, 5, 0, 30, tzinfo=UTC)


def wait(rank: int, seconds: float, **more: Any) -> dict[str, Any]:
    """A rank that timed out after ten minutes, so long after the start."""
    row = {"rank": rank, "group": "0", "sequence": 5, "state": "timed_out", "scope": None}
    times = {"time": START + timedelta(seconds=seconds), "running_seconds": 600.0}
    return row | times | {"timeout_seconds": 600.0} | more


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param([wait(0, 0), wait(1, 1), wait(2, 660)], [2], id="one that came too late"),
        pytest.param([wait(0, 0), wait(1, 1), wait(2, 590)], [], id="one that came just in time"),
        pytest.param(
            [wait(0, 0), wait(1, 1), wait(2, 660), wait(3, 660)],
            [],
            id="of several a clock may be off, or another group holds them",
        ),
        pytest.param([wait(0, 0), wait(2, 660)], [], id="of two either clock may be off"),
        pytest.param(
            [wait(0, 0), wait(1, 1), wait(2, 660, timeout_seconds=1800.0)],
            [],
            id="other time-outs are not compared",
        ),
        pytest.param(
            [wait(0, 0), wait(1, 1), wait(2, 660, sequence=6)], [], id="nor are other collectives"
        ),
        pytest.param(
            [wait(0, 0), wait(1, 1), wait(2, 660, time=None)], [], id="nor is who has no clock"
        ),
    ],
)
def test_late_entries(rows: list[dict[str, Any]], expected: list[int]) -> None:
    """The one rank of a group that entered after the first time-out."""
    schema = pl.Schema({**COLLECTIVES, "scope": pl.String})
    told = conform(pl.LazyFrame(rows, infer_schema_length=None), schema)
    assert late_entries(told).collect()["rank"].to_list() == expected


def test_how_late_is_said() -> None:
    """The message says by how much."""
    rows = [wait(0, 0), wait(1, 1), wait(2, 660)]
    schema = pl.Schema({**COLLECTIVES, "scope": pl.String})
    (found,) = late_entries(conform(pl.LazyFrame(rows), schema)).collect().to_dicts()
    assert found["message"] == "it came 60 s after the first of the others had timed out"
