"""Steps that were done twice: what was wasted, and which pass counts."""

import polars as pl
import pytest

from collectors.frames import STEPS, conform
from slo.replays import budget_replays, latest_passes


def steps(*passes: tuple[range, float], rank: int | None = None) -> pl.LazyFrame:
    """Return attempts: the steps that each reports, as far apart as the range says, and seconds."""
    rows = [
        {
            "run": "r",
            "attempt": attempt,
            "rank": rank,
            "step": step,
            "interval_steps": reported.step,
            "step_seconds": seconds,
            "loss": float(attempt),
        }
        for attempt, (reported, seconds) in enumerate(passes)
        for step in reported
    ]
    return conform(pl.LazyFrame(rows), STEPS)


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        pytest.param(steps((range(1, 11), 1.0)), ("r", 10, 0, 0.0, 10.0), id="nothing twice"),
        pytest.param(
            steps((range(1, 121), 1.0), (range(101, 151), 1.0)),
            ("r", 150, 20, 20.0, 150.0),
            id="a rollback by twenty steps",
        ),
        pytest.param(
            steps((range(10, 121, 10), 1.0), (range(110, 151, 10), 1.0)),
            ("r", 150, 20, 20.0, 150.0),
            id="the same in intervals of ten",
        ),
        pytest.param(
            steps((range(10, 121, 10), 2.0), (range(115, 151, 10), 2.0)),
            ("r", 145, 15, 30.0, 290.0),
            id="a resume inside an interval wastes a part of it",
        ),
        pytest.param(
            steps((range(1, 101), 1.0), (range(91, 96), 1.0), (range(51, 111), 1.0)),
            ("r", 110, 55, 55.0, 110.0),
            id="a second rollback goes behind the first",
        ),
        pytest.param(
            steps((range(1, 11), 1.0), rank=3), ("r", 10, 0, 0.0, 10.0), id="reports of a rank"
        ),
        pytest.param(
            steps((range(1, 11), 1.0)).with_columns(step_seconds=pl.lit(None, dtype=pl.Float64)),
            ("r", 10, 0, None, None),
            id="without times there are no seconds",
        ),
    ],
)
def test_replays(
    frame: pl.LazyFrame, expected: tuple[str, int, int, float | None, float | None]
) -> None:
    """Steps from where a later attempt went on are wasted; what it did again counts once."""
    assert budget_replays(frame).rows() == [expected]


def test_the_later_pass_counts() -> None:
    """Of a step that was done twice the later pass is kept."""
    kept = latest_passes(steps((range(1, 121), 1.0), (range(101, 151), 1.0))).collect()

    assert (
        kept["step"].to_list(),
        kept.filter(pl.col("step") > 100)["loss"].unique().to_list(),
    ) == (
        list(range(1, 151)),
        [1.0],
    )
