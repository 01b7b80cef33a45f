"""Ports that carry less than the ports of their rail, which carry alike."""

from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.frames import EVENTS, LINKS, SAMPLES, TIME, conform
from detectors.counters import CounterParams
from detectors.fabric import fabric_of
from detectors.slow_ports import PortPaceParams, find_slow_ports

Floats = npt.NDArray[np.float64]
START = datetime(2026, 1, 5, tzinfo=UTC)
HOSTS, TICKS = 12, 160
GAUGE, COUNTER = "transmit_bytes_per_second", "received_bytes_total"


def rates(*, scatter: float = 0.02, hosts: int = HOSTS) -> Floats:
    """Bytes a second of one port a host."""
    rng = np.random.default_rng(6)
    return 2e10 * (1.0 + scatter * rng.standard_normal((hosts, TICKS)))


def samples(values: Floats, signal: str = GAUGE, **columns: Any) -> pl.DataFrame:
    """`SAMPLES` of the ports every 15 s."""
    hosts = values.shape[0]
    told = np.cumsum(15.0 * values, axis=1) if signal == COUNTER else values
    stamps = int(START.timestamp() * 1e6) + np.arange(TICKS) * 15_000_000
    frame = pl.LazyFrame(
        {
            "time": pl.Series(np.tile(stamps, hosts)).cast(TIME),
            "host": np.repeat([f"n{at:02d}" for at in range(hosts)], TICKS),
            "device_kind": "nic",
            "device": "mlx5_0",
            "signal": signal,
            "value": told.ravel(),
        }
        | columns
    )
    return conform(frame, SAMPLES).collect()


def found(*frames: pl.DataFrame) -> list[tuple[str, str, str | None, float]]:
    """Kind, level, host and slowdown of each finding."""
    fabric = fabric_of(
        pl.concat(frames).lazy(), EVENTS.to_frame().lazy(), LINKS.to_frame().lazy(), CounterParams()
    )
    rows = find_slow_ports(fabric, PortPaceParams()).to_dicts()
    return [
        (row["kind"], row["level"], row["subject"]["host"], round(row["slowdown"], 1))
        for row in rows
    ]


def sick(*spans: tuple[int, int], factor: float = 0.5, at: int = 3) -> Floats:
    """Rates of which one port's are lower in some spans of ticks."""
    values = rates()
    for start, stop in spans:
        values[at, start:stop] *= factor
    return values


FLAPS = [(start, start + 6) for start in range(12, 156, 18)]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param(rates(), [], id="all carry alike"),
        pytest.param(sick((80, 160)), [("slow", "link", "n03", 2.0)], id="half from some time on"),
        pytest.param(sick((0, 160)), [("slow", "link", "n03", 2.0)], id="half all the time"),
        pytest.param(sick(*FLAPS), [("flapping", "link", "n03", 2.0)], id="half again and again"),
        pytest.param(sick((80, 160), factor=0.9), [], id="a tenth less is no fault"),
        pytest.param(sick((80, 160), factor=0.01), [], id="next to nothing is no work"),
        pytest.param(
            rates() * np.linspace(1.0, 4.0, HOSTS)[:, None], [], id="ports with other work"
        ),
        pytest.param(sick((80, 160))[:3], [], id="too few ports"),
        pytest.param(
            sick((80, 160)) * np.where(np.arange(TICKS) % 40 < 30, 1.0, 0.01),
            [("slow", "link", "n03", 2.0)],
            id="the job is idle now and then",
        ),
    ],
)
@pytest.mark.parametrize("signal", [GAUGE, COUNTER])
def test_slow_ports(values: Floats, expected: list[tuple[object, ...]], signal: str) -> None:
    """A port is named that carries less than others of its rail while these carry alike."""
    assert found(samples(values, signal)) == expected


def test_a_creeping_port() -> None:
    """A port that carries less and less is degrading."""
    values = rates()
    values[3, 40:] *= np.linspace(1.0, 0.5, TICKS - 40)

    assert [row[:3] for row in found(samples(values))] == [("degrading", "link", "n03")]


def test_both_directions() -> None:
    """A port that is slow in both directions is one finding, by the worse of them."""
    out = samples(sick((80, 160), factor=0.6))
    back = samples(sick((80, 160), factor=0.5)).with_columns(
        signal=pl.lit("receive_bytes_per_second")
    )

    assert found(out, back) == found(back, out) == [("slow", "link", "n03", 2.0)]


def test_ports_without_a_rail() -> None:
    """Ports whose names differ from host to host are compared with all others."""
    frame = samples(sick((80, 160))).with_columns(device=pl.format("ib-{}", "host"))

    assert found(frame) == [("slow", "link", "n03", 2.0)]


def test_nothing_to_compare() -> None:
    """Without ports nothing is said."""
    assert found(samples(rates(), device_kind="gpu")) == []


@settings(max_examples=10)
@given(st.integers(0, 99), st.integers(1, 2), st.sampled_from([1.0, 8.0]))
def test_properties(seed: int, copies: int, unit: float) -> None:
    """Row order, duplicates and the unit change nothing."""
    rows = samples(sick((80, 160))).sample(fraction=1.0, shuffle=True, seed=seed)

    assert found(pl.concat([rows] * copies).with_columns(pl.col("value") * unit)) == [
        ("slow", "link", "n03", 2.0)
    ]
