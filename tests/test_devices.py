"""How speed signals of devices are laid out before they are judged."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from collectors.frames import SAMPLES, conform
from detectors.devices import DeviceParams, speed_panel

START = datetime(2026, 1, 5, tzinfo=UTC)


def clocks(seconds: float, ticks: int = 5, gpus: int = 3) -> pl.LazyFrame:
    """`SAMPLES` of GPUs at 1 GHz and more, each a little later than the one before it."""
    rows = [
        {
            "time": START + timedelta(seconds=seconds * tick, milliseconds=gpu),
            "host": "n1",
            "device_kind": "gpu",
            "device": f"GPU-{gpu}",
            "signal": "sm_clock_hertz",
            "value": 1e9 + gpu,
            "source": "test",
        }
        for tick in range(ticks)
        for gpu in range(gpus)
    ]
    return conform(pl.LazyFrame(rows), SAMPLES)


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        pytest.param(clocks(60.0), 60.0, id="a reading a minute"),
        pytest.param(
            pl.concat([clocks(60.0), clocks(60.0)]), 60.0, id="readings that are delivered twice"
        ),
        pytest.param(clocks(1.0), 15.0, id="more readings than anybody needs"),
        pytest.param(clocks(60.0, ticks=1), 15.0, id="one reading of each device tells nothing"),
        pytest.param(clocks(60.0, gpus=150), 60.0, id="more devices than are asked"),
    ],
)
def test_cadence(samples: pl.LazyFrame, expected: float) -> None:
    """A tick is as wide as the time between two readings of a device usually is."""
    panel, seconds = speed_panel(samples, "sm_clock_hertz", DeviceParams())

    assert seconds == expected
    assert panel.values.shape[0] == samples.select("device").unique().collect().height
