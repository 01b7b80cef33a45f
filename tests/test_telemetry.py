"""Tests of lost and frozen telemetry."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from collectors.frames import EVENTS, SAMPLES
from detectors.telemetry import TelemetryParams, find_lost_telemetry
from detectors.verdicts import verdicts_of

START = datetime(2026, 1, 5, tzinfo=UTC)


def power(watts_by_gpu: dict[str, list[float]]) -> pl.LazyFrame:
    """Return power samples every 15 s, a list a GPU of host n1."""
    rows = [
        {
            "time": START + timedelta(seconds=15 * tick),
            "host": "n1",
            "device_kind": "gpu",
            "device": gpu,
            "signal": "power_watts",
            "value": value,
        }
        for gpu, values in watts_by_gpu.items()
        for tick, value in enumerate(values)
    ]
    return pl.LazyFrame(rows, schema=SAMPLES)


def presence(*rows: tuple[int, str, str]) -> pl.LazyFrame:
    """Return events: minute, GPU, lost or back."""
    return pl.LazyFrame(
        [
            {
                "time": START + timedelta(minutes=at),
                "host": "n1",
                "device": gpu,
                "kind": f"gpu_series_{what}",
            }
            for at, gpu, what in rows
        ],
        schema=EVENTS,
    )


def told(samples: pl.LazyFrame, events: pl.LazyFrame) -> list[tuple[str | None, str | None]]:
    """Return device and cause of each finding."""
    found = verdicts_of(find_lost_telemetry(samples, events, TelemetryParams()))
    return [(one.subject.device, one.cause) for one in found]


MOVING = [400.0 + tick for tick in range(30)]


@pytest.mark.parametrize(
    ("samples", "events", "expected"),
    [
        pytest.param(
            power({"a": MOVING, "b": MOVING[:10] + [409.0] * 20}),
            presence(),
            [("b", "stale")],
            id="a gauge that repeats bit by bit while its sibling moves is frozen",
        ),
        pytest.param(
            power({"a": [300.0] * 30, "b": [300.0] * 30}),
            presence(),
            [],
            id="a host on which nothing moves is idle, not frozen",
        ),
        pytest.param(
            power({"a": MOVING, "b": MOVING}),
            presence((3, "b", "lost")),
            [("b", "silent")],
            id="vanished series are a finding",
        ),
        pytest.param(
            power({"a": MOVING}),
            presence((3, "b", "lost"), (5, "b", "back")),
            [("b", "silent")],
            id="series that came back are a finding that has cleared",
        ),
    ],
)
def test_lost_telemetry(
    samples: pl.LazyFrame, events: pl.LazyFrame, expected: list[tuple[str, str]]
) -> None:
    """Silence and frozen gauges are findings, never health."""
    assert told(samples, events) == expected


def test_cleared_when_back() -> None:
    """A series that is back clears the finding at that moment."""
    events = presence((3, "b", "lost"), (5, "b", "back"))
    found = verdicts_of(find_lost_telemetry(power({}), events, TelemetryParams()))

    assert [one.cleared for one in found] == [START + timedelta(minutes=5)]
