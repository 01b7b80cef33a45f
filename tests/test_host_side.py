"""A busy host slows the forward pass of its ranks, and not the backward pass."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from collectors.frames import conform
from detectors.paces import PACES
from detectors.stragglers import StragglerParams, find_stragglers


def job(slow: dict[int, tuple[float, float]], *, told: bool = True) -> pl.DataFrame:
    """Twelve ranks on three hosts, 100 steps; factors of both passes by rank, from step 50."""
    rng = np.random.default_rng(4)
    forward, backward = (
        seconds * (1.0 + 0.01 * rng.standard_normal((12, 100))) for seconds in (1.0, 2.0)
    )
    for rank, (first, second) in slow.items():
        forward[rank, 50:] *= first
        backward[rank, 50:] *= second
    columns: dict[str, Any] = {
        "run": "r",
        "attempt": 0,
        "rank": np.repeat(np.arange(12), 100),
        "host": np.repeat([f"n{at // 4}" for at in range(12)], 100),
        "step": np.tile(np.arange(100), 12),
        "measure": "busy",
        "pace_seconds": (forward + backward).ravel(),
        "compute_seconds": (forward + backward).ravel(),
        "data_seconds": 0.0,
    }
    if told:
        columns |= {"forward_seconds": forward.ravel(), "backward_seconds": backward.ravel()}
    return conform(pl.LazyFrame(columns), PACES).collect()


def findings(frame: pl.DataFrame) -> list[tuple[str, str, str | None, int | None, str | None]]:
    """Kind, level, host, rank and cause of each finding."""
    rows = find_stragglers(frame.lazy(), StragglerParams()).to_dicts()
    return [
        (row["kind"], row["level"], row["subject"]["host"], row["subject"]["rank"], row["cause"])
        for row in rows
    ]


NODE = dict.fromkeys(range(4, 8), (1.4, 1.0))


@pytest.mark.parametrize(
    ("slow", "told", "expected"),
    [
        pytest.param(
            NODE, True, [("slow", "host", "n1", None, "host_cpu")], id="a host with a slow forward"
        ),
        pytest.param(
            {5: (1.2, 1.0)}, True, [("slow", "rank", "n1", 5, "host_cpu")], id="too mild in the sum"
        ),
        pytest.param(
            {5: (1.4, 1.4)}, True, [("slow", "rank", "n1", 5, "compute")], id="both passes are slow"
        ),
        pytest.param(
            {5: (1.4, 1.0)}, False, [("slow", "rank", "n1", 5, "compute")], id="nobody tells passes"
        ),
        pytest.param(
            {5: (1.4, 1.0), 9: (1.3, 1.3)},
            True,
            [("slow", "rank", "n1", 5, "host_cpu"), ("slow", "rank", "n2", 9, "compute")],
            id="one of each",
        ),
        pytest.param({}, True, [], id="nobody is slow"),
    ],
)
def test_host_side(
    slow: dict[int, tuple[float, float]], told: bool, expected: list[tuple[object, ...]]
) -> None:
    """A clean backward pass beside a slow forward pass is the host's doing, told once."""
    assert findings(job(slow, told=told)) == expected


def test_the_effect_is_that_of_the_work() -> None:
    """A slow pass is told with both passes' growth, and counts as what the rank loses by it."""
    row = find_stragglers(job(NODE).lazy(), StragglerParams()).to_dicts()[0]

    assert row["slowdown"] == pytest.approx(1.4 / 3.0 + 2.0 / 3.0, abs=0.01)
    assert "forward pass x1.39 of its peers, backward pass x1.00" in {
        seen["what"] for seen in row["evidence"]
    }


def test_work_that_is_not_told() -> None:
    """Where the sum of both passes is missing, the pass speaks for itself."""
    frame = job({5: (1.4, 1.0)}).with_columns(
        compute_seconds=pl.lit(None, pl.Float64), data_seconds=pl.lit(None, pl.Float64)
    )
    rows = find_stragglers(frame.lazy(), StragglerParams()).to_dicts()

    assert [(row["subject"]["rank"], row["cause"]) for row in rows] == [(5, None)]


def test_a_finding_before() -> None:
    """What was slow at another time on the same host stays."""
    frame = job(NODE).with_columns(
        pl.when((pl.col("rank") == 4) & (pl.col("step") < 30))
        .then(pl.col(name) * 1.5)
        .otherwise(name)
        .alias(name)
        for name in ("pace_seconds", "compute_seconds", "forward_seconds", "backward_seconds")
    )

    assert findings(frame) == [
        ("slow", "host", "n1", None, "host_cpu"),
        ("slow", "rank", "n1", 4, "compute"),
    ]
