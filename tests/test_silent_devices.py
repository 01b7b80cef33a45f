"""GPUs whose readings end while their siblings' go on."""

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.frames import EVENTS, SAMPLES, SchemaError, conform
from detectors.silent_devices import silent_gpus
from detectors.telemetry import TelemetryParams, find_lost_telemetry

START = datetime(2026, 1, 5, tzinfo=UTC)


def rows(device: str, minutes: int, host: str = "n1", **more: Any) -> list[dict[str, Any]]:
    """Readings of a GPU every minute."""
    return [
        {
            "time": START + timedelta(minutes=at),
            "host": host,
            "device_kind": "gpu",
            "device": device,
            "signal": "gpu_temperature_celsius",
            "value": 60.0 + at % 3,
            "source": "a",
            **more,
        }
        for at in range(minutes)
    ]


def told(found: list[dict[str, Any]]) -> list[tuple[str, str, float]]:
    """Host, device and minutes of silence."""
    frame = silent_gpus(conform(pl.LazyFrame(found, schema=SAMPLES), SAMPLES))
    return [(row["host"], row["device"], row["seconds"] / 60) for row in frame.to_dicts()]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(rows("A", 60) + rows("B", 30), [("n1", "B", 30.0)], id="one ends"),
        pytest.param(rows("A", 60) + rows("B", 55), [], id="a few readings are lost"),
        pytest.param(rows("A", 60) + rows("B", 60), [], id="both go on"),
        pytest.param(rows("A", 30) + rows("B", 60, "n2"), [], id="a host that ends as a whole"),
        pytest.param(rows("A", 60) + rows("B", 30, source="b"), [], id="two captures"),
        pytest.param(
            rows("A", 60) + rows("B", 30) + rows("B", 60, source="b"), [], id="heard elsewhere"
        ),
        pytest.param(
            rows("A", 60) + rows("B", 30) + [one | {"value": None} for one in rows("B", 60)[30:]],
            [("n1", "B", 30.0)],
            id="answers without a value",
        ),
        pytest.param(rows("A", 60) + rows("B", 1), [], id="seen once"),
        pytest.param([], [], id="nothing"),
    ],
)
def test_silence(found: list[dict[str, Any]], expected: list[tuple[str, str, float]]) -> None:
    """A GPU is silent when another of its host and source goes on for long enough."""
    assert told(found) == expected


@given(st.randoms(use_true_random=False))
def test_row_order(order: Any) -> None:
    """The same rows in another order, twice, give the same."""
    found = (rows("A", 60) + rows("B", 30)) * 2
    order.shuffle(found)

    assert told(found) == [("n1", "B", 30.0)]


@pytest.mark.parametrize("scraped", [True, False], ids=["a reader saw it", "a table shows it"])
def test_one_finding(scraped: bool) -> None:
    """A silence that a reader of scrapes has seen is told once."""
    samples = conform(pl.LazyFrame(rows("A", 60) + rows("B", 30), schema=SAMPLES), SAMPLES)
    event = {
        "time": START + timedelta(minutes=30),
        "host": "n1",
        "device": "B",
        "kind": "gpu_series_lost",
    }
    events = conform(pl.LazyFrame([event] if scraped else [], schema=EVENTS), EVENTS)
    found = find_lost_telemetry(samples, events, TelemetryParams()).to_dicts()

    assert [(row["kind"], row["cause"], row["subject"]["device"]) for row in found] == [
        ("telemetry_lost", "silent", "B")
    ]


def test_the_door() -> None:
    """A frame that is no `SAMPLES` is refused."""
    with pytest.raises(SchemaError, match="columns do not fit"):
        silent_gpus(pl.LazyFrame({"run": ["r"]}))
