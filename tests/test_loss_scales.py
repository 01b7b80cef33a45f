"""Loss scales that can fall no further."""

from datetime import UTC, datetime

import polars as pl
import pytest

from collectors.frames import EVENTS, conform
from detectors.loss_scales import ScaleParams, find_stuck_scales
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
            events((0, "256->256"), (0, "256->128")), [], id="hysteresis keeps a scale once"
        ),
        pytest.param(
            events(*[(0, "256->256")] * 5, (0, "256->128")), [], id="or some times, then cuts it"
        ),
        pytest.param(
            events(*[(rank, "256->256") for rank in range(8)]), [], id="eight ranks tell of one"
        ),
        pytest.param(
            events(*[(0, "128->128")] * 5),
            ["loss scale 128 overflows and is kept, 5 times, told by rank 0"],
            id="a floor above 1 shows by being kept again and again",
        ),
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
    found = verdicts_of(find_stuck_scales(frame, ScaleParams()))

    assert [one.evidence[0].what for one in found] == expected
    assert {(one.kind, one.level, one.onset) for one in found} <= {("numerical", "job", START)}
