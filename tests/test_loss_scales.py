"""Loss scales that can fall no further."""

from datetime import UTC, datetime

import polars as pl
import pytest

from collectors.frames import EVENTS, conform
from detectors.loss_scales import find_stuck_scales
from detectors.verdicts import verdicts_of

START = datetime(2031, 2, 3, 4, 5, tzinfo=UTC)


def events(*codes: tuple[int | None, str]) -> pl.LazyFrame:
    """Overflows: who says so, and the code."""
    rows = [
        {
            "run": "r",
            "time": START,
            "kind": "loss_scale",
            "rank": rank,
            "code": code,
            "position": at,
        }
        for at, (rank, code) in enumerate(codes)
    ]
    return conform(pl.LazyFrame(rows, schema_overrides={"rank": pl.Int32}), EVENTS)


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        pytest.param(events((0, "65536->32768")), [], id="a scale that falls is a usual start"),
        pytest.param(events((0, "65536")), [], id="a scale that is given another chance"),
        pytest.param(
            events((5, "1->1"), (0, "65536->32768"), (6, "1->1")),
            ["loss scale 1 overflows and is kept, 2 times, told by rank 5, 6"],
            id="one that is cut to itself is stuck, whoever tells",
        ),
        pytest.param(
            events((None, "0.5->0.5")),
            ["loss scale 0.5 overflows and is kept, 1 times"],
            id="nobody need tell",
        ),
    ],
)
def test_stuck_scales(frame: pl.LazyFrame, expected: list[str]) -> None:
    """A loss scale that overflows and stays is a numerical finding on the job."""
    found = verdicts_of(find_stuck_scales(frame))

    assert [one.evidence[0].what for one in found] == expected
    assert {(one.kind, one.level, one.onset) for one in found} <= {("numerical", "job", START)}
