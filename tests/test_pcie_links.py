"""PCIe links below what they can."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from collectors.frames import SAMPLES, conform
from detectors.pcie_links import PcieParams, find_degraded_pcie
from detectors.verdicts import Verdict, verdicts_of

START = datetime(2026, 1, 5, 4, tzinfo=UTC)
SIGNALS = (
    *("pcie_link_generation", "pcie_max_link_generation"),
    *("pcie_link_lanes", "pcie_max_link_lanes", "gpu_busy_ratio"),
)

Reading = tuple[float | None, float | None, float | None, float | None, float | None]


def found(*readings: Reading, timed: bool = True) -> list[Verdict]:
    """Return the findings of one GPU's readings, one a minute."""
    rows = [
        {
            "time": START + timedelta(minutes=at) if timed else None,
            "host": "hx8-017",
            "device_kind": "gpu",
            "device": "GPU-a",
            "index": 3,
            "run": "88213",
            "signal": signal,
            "value": value,
        }
        for at, reading in enumerate(readings)
        for signal, value in zip(SIGNALS, reading, strict=True)
    ]
    samples = conform(pl.LazyFrame(rows, infer_schema_length=None), SAMPLES)
    return verdicts_of(find_degraded_pcie(samples, PcieParams()))


@pytest.mark.parametrize(
    ("readings", "expected"),
    [
        pytest.param([(1, 5, 16, 16, 0.0)], [], id="an idle GPU saves power"),
        pytest.param([(5, 5, 16, 16, 0.99)], [], id="full speed under load"),
        pytest.param([(1, 5, 16, 16, 0.0), (5, 5, 16, 16, 0.99)], [], id="idle, then under load"),
        pytest.param([(1, 5, 16, 16, 0.99)], ["pcie_speed"], id="slow under load"),
        pytest.param([(1, 5, 16, 16, None)], [], id="a load that nobody knows"),
        pytest.param([(None, 5, 16, 16, 0.99)], [], id="a speed that nobody knows"),
        pytest.param([(1, None, 16, None, 0.99)], [], id="a best that nobody knows"),
        pytest.param([(5, 5, 8, 16, 0.0)], ["pcie_width"], id="lanes are lost idle or not"),
        pytest.param([(4, 5, 8, 16, 0.9)], ["pcie_speed", "pcie_width"], id="both"),
        pytest.param(
            [(1, 5, 16, 16, 0.6), (5, 5, 16, 16, 0.9), (5, 5, 16, 16, 0.9)],
            [],
            id="once, while it sped up",
        ),
    ],
)
def test_findings(readings: list[Reading], expected: list[str]) -> None:
    """A link is slow if it is below its best under load, narrow whenever it lacks lanes."""
    assert [one.cause for one in found(*readings)] == expected


def test_words() -> None:
    """A finding names the GPU, says the numbers, and when it was over."""
    (one,) = found(*[(3, 5, 16, 16, 0.99)] * 3, (5, 5, 16, 16, 0.99))

    assert one.subject.known() == {
        "run": "88213",
        "host": "hx8-017",
        "gpu": 3,
        "device": "GPU-a",
    }
    assert (one.kind, one.level, one.confidence, one.slowdown) == ("slow", "gpu", "high", None)
    assert (one.onset, one.cleared) == (START, START + timedelta(minutes=3))
    assert one.evidence[0].what == "PCIe generation 3 of 5 under load, in 3 of 4 readings"


def test_readings_without_a_time() -> None:
    """Readings without a time are one moment, of which only what always holds is said."""
    assert found((1, 5, 16, 16, 0.0), (5, 5, 16, 16, 0.99), timed=False) == []
    assert [one.cause for one in found((1, 5, 16, 16, 0.99), timed=False)] == ["pcie_speed"]


def test_parameters() -> None:
    """A load that an idle GPU has is refused."""
    with pytest.raises(ValueError, match=r"min_busy_ratio must be in \(0, 1\], got 0"):
        PcieParams(min_busy_ratio=0.0)
