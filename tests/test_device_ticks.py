"""Devices tick by tick: the same answer as on the whole, whatever comes in which order."""

from datetime import UTC, datetime

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.frames import SAMPLES, TIME, conform
from detectors.device_hosts import find_slow_device_hosts
from detectors.device_ticks import DeviceTicks
from detectors.devices import DeviceParams, find_slow_devices
from detectors.fleets import FleetParams

START = datetime(2026, 1, 5, tzinfo=UTC)
CLOCK, BUSY, LATENCY = "sm_clock_hertz", "gpu_busy_ratio", "latency_seconds"
GPUS, TICKS = 24, 130


def rows(values: np.ndarray, signal: str, since: int = 0) -> pl.DataFrame:
    """`SAMPLES` of GPUs, eight a host; NaN is no sample."""
    gpus, ticks = values.shape
    at = np.arange(gpus)
    base = int(START.timestamp() * 1e6)
    frame = pl.LazyFrame(
        {
            "time": pl.Series(np.tile(base + (since + np.arange(ticks)) * 15_000_000, gpus)).cast(
                TIME
            ),
            "host": np.repeat([f"n{gpu // 8:02d}" for gpu in at], ticks),
            "device_kind": "disk" if signal == LATENCY else "gpu",
            "device": np.repeat([f"GPU-{gpu:03d}" for gpu in at], ticks),
            "index": np.repeat(at % 8, ticks),
            "model": "H100",
            "run": "job",
            "signal": signal,
            "value": values.ravel(),
            "source": "test",
        }
    )
    return conform(frame.filter(pl.col("value").is_not_nan()), SAMPLES).collect()


def fleet(seed: int, slow: float = 1.15, missing: float = 0.0) -> pl.DataFrame:
    """Clocks and busy shares of a small fleet in which GPU 5 slows at tick 60."""
    rng = np.random.default_rng(seed)
    clocks = 1980e6 * (1 + 0.01 * rng.standard_normal((GPUS, 1)))
    clocks = clocks * (1 + 0.004 * rng.standard_normal((GPUS, TICKS)))
    clocks[5, 60:] /= slow
    clocks[rng.random((GPUS, TICKS)) < missing] = np.nan
    return pl.concat([rows(clocks, CLOCK), rows(np.full((GPUS, TICKS), 0.99), BUSY)])


def folded(samples: pl.DataFrame, cuts: list[int], params: DeviceParams) -> pl.DataFrame:
    """The verdicts of a fold that gets the samples in pieces."""
    ticks = DeviceTicks(CLOCK, seconds=15.0, params=params)
    numbers = (samples["time"] - START).dt.total_seconds() // 15
    last = int(numbers.max() or 0) + 1
    for low, high in zip([0, *cuts], [*cuts, last], strict=True):
        piece = samples.filter((numbers >= low) & (numbers < high))
        if piece.height:
            ticks.push(piece)
    return ticks.verdicts(samples)


@settings(deadline=None, max_examples=12)
@given(
    seed=st.integers(0, 1000),
    slow=st.sampled_from([1.0, 1.07, 1.15, 1.4]),
    missing=st.sampled_from([0.0, 0.2]),
    cuts=st.lists(st.integers(1, TICKS - 1), unique=True, max_size=12).map(sorted),
)
def test_pieces_say_what_the_whole_says(
    seed: int, slow: float, missing: float, cuts: list[int]
) -> None:
    """A fold over any pieces, in any row order, gives the verdicts of the whole."""
    samples = fleet(seed, slow, missing)
    mixed = samples.sample(fraction=1.0, shuffle=True, seed=seed)

    assert folded(mixed, cuts, DeviceParams()).equals(
        find_slow_devices(samples.lazy(), DeviceParams())
    )


def test_tick_by_tick() -> None:
    """Single ticks name the GPU, when it slowed, and not before it can be known."""
    found = folded(fleet(1), list(range(1, TICKS)), DeviceParams()).to_dicts()

    assert [
        (one["kind"], one["subject"]["device"], one["onset"], one["cleared"]) for one in found
    ] == [("slow", "GPU-005", datetime(2026, 1, 5, 0, 15, tzinfo=UTC), None)]
    assert found[0]["detected"] <= datetime(2026, 1, 5, 0, 20, tzinfo=UTC)


def test_nothing_yet() -> None:
    """A fold without a tick, and samples without the signal, say nothing."""
    ticks = DeviceTicks(CLOCK, seconds=15.0, params=DeviceParams())
    ticks.push(rows(np.ones((2, 3)), BUSY))

    assert ticks.verdicts(SAMPLES.to_frame()).height == 0


def test_ticks_that_do_not_rise_are_refused() -> None:
    """A tick that was there before is an error that says which."""
    ticks = DeviceTicks(CLOCK, seconds=15.0, params=DeviceParams())
    ticks.push(rows(np.full((8, 3), 1980e6), CLOCK))

    with pytest.raises(ValueError, match="ticks must rise"):
        ticks.push(rows(np.full((8, 1), 1980e6), CLOCK, since=2))


def test_unknown_signals_are_refused() -> None:
    """A signal that tells no speed is an error that names those that do."""
    with pytest.raises(ValueError, match="known: \\['latency'"):
        DeviceTicks("power_watts", seconds=15.0, params=DeviceParams())


def test_a_stretch_from_before_the_carried_ticks_keeps_to_them() -> None:
    """What began before the carried ticks is told from their first on; what ended is gone."""
    rng = np.random.default_rng(3)
    clocks = 1980e6 * (1 + 0.004 * rng.standard_normal((GPUS, 700)))
    clocks[5, 100:] /= 1.15
    clocks[9, 60:120] /= 1.15
    params = DeviceParams(fleet=FleetParams(history_ticks=240))
    ticks = DeviceTicks(CLOCK, seconds=15.0, params=params)
    samples = rows(clocks, CLOCK)
    ticks.push(samples)
    found = ticks.verdicts(samples).to_dicts()

    assert [(one["subject"]["device"], one["onset_before_data"]) for one in found] == [
        ("GPU-005", True)
    ]


def drives(host_slow: float, seed: int = 1, hosts: int = 6, disks: int = 8) -> pl.DataFrame:
    """Latencies of drives that wander, one host's all alike from tick 300 on."""
    rng = np.random.default_rng(seed)
    shape = (hosts * disks, 500)
    wander = np.repeat(rng.normal(0.0, 0.02, (hosts * disks, 10)), 50, axis=1)
    values = 0.07 * np.exp(wander + rng.normal(0.0, 0.05, shape))
    values[8:16, 300:] *= host_slow
    return rows(values, LATENCY)


@pytest.mark.parametrize("seed", range(3))
def test_a_host_whose_drives_slow_alike_is_named(seed: int) -> None:
    """The host is named, with onset and effect, and none of its drives."""
    samples = drives(1.4, seed).lazy()
    found = find_slow_device_hosts(samples, DeviceParams()).to_dicts()

    assert [(one["kind"], one["level"], one["subject"]["host"]) for one in found] == [
        ("group_slow", "host", "n01")
    ]
    assert found[0]["slowdown"] == pytest.approx(1.4, rel=0.05)
    assert abs(found[0]["onset"] - datetime(2026, 1, 5, 1, 15, tzinfo=UTC)).total_seconds() < 60
    assert find_slow_devices(samples, DeviceParams()).height == 0


def test_hosts_that_differ_since_ever_are_no_finding() -> None:
    """A level that was there from the first tick is how a host is."""
    rng = np.random.default_rng(5)
    values = 0.07 * np.exp(rng.normal(0.0, 0.05, (48, 500)))
    values[8:16] *= 1.5

    assert find_slow_device_hosts(rows(values, LATENCY).lazy(), DeviceParams()).height == 0


def test_three_hosts_cannot_tell_which_moved() -> None:
    """Fewer than four hosts are not compared, and no drive at all is nothing."""
    assert find_slow_device_hosts(drives(1.4, hosts=3).lazy(), DeviceParams()).height == 0
    assert find_slow_device_hosts(rows(np.ones((8, 3)), BUSY).lazy(), DeviceParams()).height == 0


def test_half_of_a_host_is_no_host() -> None:
    """Where less than 60 % of the drives moved the host is not named."""
    rng = np.random.default_rng(6)
    values = 0.07 * np.exp(rng.normal(0.0, 0.02, (48, 500)))
    values[8:12, 300:] *= 1.6

    assert find_slow_device_hosts(rows(values, LATENCY).lazy(), DeviceParams()).height == 0
