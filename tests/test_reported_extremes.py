"""Ranks that Megatron's straggler detector shows."""

from datetime import UTC, datetime

import polars as pl
import pytest

from collectors.frames import EVENTS, conform
from detectors.reported_extremes import ExtremeParams, find_reported_extremes
from detectors.verdicts import verdicts_of

START = datetime(2031, 2, 3, 4, 6, tzinfo=UTC)
Figures = dict[str, tuple[float, int]]

SLOW: Figures = {"min forward_seconds": (0.803, 9), "max forward_seconds": (1.191, 3)}
CLOCKS: Figures = {"min sm_clock_hertz": (1.11e9, 3), "max sm_clock_hertz": (1.98e9, 0)}
POWERS: Figures = {"min power_watts": (412.0, 3), "max power_watts": (655.0, 8)}


def events(*reports: Figures) -> pl.LazyFrame:
    """Reports: values and their ranks by code."""
    rows = [
        {
            "run": "r",
            "time": START,
            "kind": "straggler_report",
            "rank": rank,
            "code": code,
            "message": str(value),
            "position": at,
        }
        for at, report in enumerate(reports)
        for code, (value, rank) in report.items()
    ]
    return conform(pl.LazyFrame(rows), EVENTS)


def forward(rank: int, seconds: float) -> Figures:
    """A report in which a rank has the longest forward pass."""
    return {"min forward_seconds": (1.0, 0), "max forward_seconds": (seconds, rank)}


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        pytest.param(
            events(SLOW | CLOCKS | POWERS),
            [(3, "thermal_or_power", "high", 3)],
            id="slow with the lowest clock and power is throttled",
        ),
        pytest.param(events(SLOW), [(3, None, "medium", 1)], id="slow without a clock"),
        pytest.param(
            events(SLOW | {"min sm_clock_hertz": (1.11e9, 7), "max sm_clock_hertz": (1.98e9, 0)}),
            [(3, None, "medium", 1)],
            id="another rank's low clock is no reason",
        ),
        pytest.param(events(forward(3, 1.2)), [], id="a fifth more is not plain alone"),
        pytest.param(
            events(forward(3, 1.2) | CLOCKS),
            [(3, "thermal_or_power", "high", 2)],
            id="a fifth more with the lowest clock is",
        ),
        pytest.param(
            events(forward(3, 1.4), forward(5, 1.4), forward(6, 1.4)),
            [],
            id="a different rank each time is nobody",
        ),
        pytest.param(
            events(forward(3, 1.4), forward(3, 1.4), forward(6, 1.05)),
            [(3, None, "medium", 1)],
            id="the same rank in most reports",
        ),
        pytest.param(
            events({"max forward_seconds": (1.4, 3)}), [], id="without the fastest nothing is said"
        ),
        pytest.param(
            events({"min forward_seconds": (0.0, 1), "max forward_seconds": (1.4, 3)}),
            [],
            id="a forward pass of no time is no yardstick",
        ),
    ],
)
def test_reported_extremes(
    frame: pl.LazyFrame, expected: list[tuple[int, str | None, str, int]]
) -> None:
    """The slowest rank by far is named, with what else is extreme on it."""
    found = verdicts_of(find_reported_extremes(frame, ExtremeParams()))

    assert [
        (one.subject.rank, one.cause, one.confidence, len(one.evidence)) for one in found
    ] == expected


def test_numbers() -> None:
    """The slowdown is the longest over the shortest, and power counts in watts."""
    (found,) = verdicts_of(find_reported_extremes(events(SLOW | POWERS), ExtremeParams()))

    assert found.slowdown == pytest.approx(1.483, abs=1e-3)
    assert found.evidence[1].what == "lowest power of all ranks: 412 against 655 of rank 8"


def test_impossible_params() -> None:
    """Thresholds that every rank would pass are refused."""
    with pytest.raises(ValueError, match="ratios must be above"):
        ExtremeParams(min_alone=1.0)
