"""Telemetry of whole fleets with known faults and red herrings: which devices are named.

The generator is seeded and shares nothing with the detectors: 128 GPUs of one run, an hour at 15 s,
clocks in steps of 15 MHz.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

from collectors.frames import SAMPLES, TIME, conform
from detectors.devices import DeviceParams, find_slow_devices

Signals = dict[str, npt.NDArray[np.float64]]
Change = Callable[[Signals, np.random.Generator], None]

pytestmark = pytest.mark.slow

START = datetime(2026, 1, 5, tzinfo=UTC)
SEEDS = (1, 2, 3)
"""Five seeds of each story are run by `python -m benchmarks.yardstick_scenarios`."""
GPUS, TICKS, SICK = 128, 240, 29
CLOCK, POWER, BUSY = "sm_clock_hertz", "power_watts", "gpu_busy_ratio"
HEAT, REASONS = "gpu_temperature_celsius", "clock_event_reasons"


def quantised(clocks: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Clocks as hardware reports them."""
    return np.round(clocks / 15e6) * 15e6


def healthy(seed: int) -> tuple[Signals, np.random.Generator]:
    """Signals of a healthy run."""
    rng = np.random.default_rng(seed)
    shape = (GPUS, TICKS)
    return {
        CLOCK: 1980e6 - 15e6 * rng.binomial(2, 0.15, shape),
        POWER: 690.0 + rng.normal(0.0, 10.0, (GPUS, 1)) + rng.normal(0.0, 6.0, shape),
        HEAT: np.round(62.0 + rng.normal(0.0, 3.0, (GPUS, 1)) + rng.normal(0.0, 1.0, shape)),
        BUSY: np.full(shape, 0.99),
        REASONS: np.zeros(shape),
    }, rng


def samples_of(signals: Signals, models: list[str] | None = None) -> pl.DataFrame:
    """`SAMPLES` of the run; NaN is a reading without a value."""
    base = int(START.timestamp() * 1e6)
    at = np.arange(GPUS)
    frames = [
        pl.LazyFrame(
            {
                "time": pl.Series(np.tile(base + np.arange(TICKS) * 15_000_000, GPUS)).cast(TIME),
                "host": np.repeat([f"n{gpu // 8:02d}" for gpu in at], TICKS),
                "device_kind": "gpu",
                "device": np.repeat([f"GPU-{gpu:03d}" for gpu in at], TICKS),
                "index": np.repeat(at % 8, TICKS),
                "model": np.repeat(models or ["H100"] * GPUS, TICKS),
                "run": "job",
                "signal": name,
                "value": pl.Series(values.ravel()).fill_nan(None),
                "source": "test",
            }
        )
        for name, values in signals.items()
    ]
    return pl.concat([conform(frame, SAMPLES) for frame in frames]).collect()


def judge(change: Change, seed: int, models: list[str] | None = None) -> pl.DataFrame:
    """What is said of a run."""
    signals, rng = healthy(seed)
    change(signals, rng)
    return find_slow_devices(samples_of(signals, models).lazy(), DeviceParams())


def throttled(signals: Signals, _: np.random.Generator) -> None:
    """One GPU runs hot and slow from minute 20."""
    signals[CLOCK][SICK, 80:] -= 270e6
    signals[POWER][SICK, 80:] *= 0.86
    signals[HEAT][SICK, 80:] += 20.0
    signals[REASONS][SICK, 80:] = 0x40


def capped(signals: Signals, _: np.random.Generator) -> None:
    """One GPU has a lower power limit from the first reading."""
    signals[CLOCK][SICK] -= 300e6
    signals[REASONS][SICK] = 0x4


def capped_later(signals: Signals, _: np.random.Generator) -> None:
    """One GPU's power limit is lowered while it works."""
    signals["power_limit_watts"] = np.full((GPUS, TICKS), 700.0)
    signals["power_limit_watts"][SICK, 80:] = 550.0
    signals[CLOCK][SICK, 80:] -= 300e6
    signals[REASONS][SICK, 80:] = 0x4


def at_the_cap(signals: Signals, _: np.random.Generator) -> None:
    """One GPU reaches a limit that all have."""
    signals["power_limit_watts"] = np.full((GPUS, TICKS), 700.0)
    signals[CLOCK][SICK, 80:] -= 300e6
    signals[REASONS][SICK, 80:] = 0x4


def set_lower(signals: Signals, _: np.random.Generator) -> None:
    """One GPU has lower application clocks."""
    signals[CLOCK][SICK] -= 300e6
    signals[REASONS][SICK] = 0x2


def flapping(signals: Signals, _: np.random.Generator) -> None:
    """Twelve times 90 s at 40 %."""
    for start in range(10, 226, 18):
        signals[CLOCK][SICK, start : start + 6] *= 0.4


def creeping(signals: Signals, _: np.random.Generator) -> None:
    """One GPU gets slower bit by bit."""
    signals[CLOCK][SICK, 80:] -= np.linspace(0.0, 300e6, TICKS - 80)


def noisy(signals: Signals, rng: np.random.Generator) -> None:
    """Six per cent on clocks that scatter."""
    signals[CLOCK][:] = quantised(signals[CLOCK] + rng.normal(0.0, 30e6, (GPUS, TICKS)))
    signals[CLOCK][SICK, 80:] -= 120e6


def slow_when_busy(signals: Signals, rng: np.random.Generator) -> None:
    """All idle half of the time; one is slow when it works."""
    signals[CLOCK][SICK, 80:] -= 270e6
    idle = rng.random((GPUS, TICKS)) < 0.5
    signals[BUSY][idle] = 0.02
    signals[CLOCK][idle] = 345e6


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("change", "kind", "cause", "slowdown", "since"),
    [
        pytest.param(throttled, "slow", "thermal", 1.158, 80, id="heat slows one"),
        pytest.param(capped, "config_drift", "power_cap", 1.179, None, id="a lower cap is drift"),
        pytest.param(
            capped_later, "config_drift", "power_cap", 1.179, 80, id="a cap that is lowered is too"
        ),
        pytest.param(at_the_cap, "slow", "power_cap", 1.179, 80, id="a cap that all have is not"),
        pytest.param(
            set_lower, "config_drift", "clock_setting", 1.179, None, id="a lower clock is drift"
        ),
        pytest.param(flapping, "flapping", "clock", 2.5, 10, id="bursts are one flapping"),
        pytest.param(creeping, "degrading", "clock", 1.176, 80, id="creep is degrading"),
        pytest.param(noisy, "slow", "clock", 1.064, 80, id="a small loss in noise"),
        pytest.param(slow_when_busy, "slow", "clock", 1.158, 80, id="idle half of the time"),
    ],
)
def test_device_is_named(
    change: Change, kind: str, cause: str, slowdown: float, since: int | None, seed: int
) -> None:
    """Exactly the sick device is named, with kind, cause, effect and onset."""
    rows = judge(change, seed).to_dicts()

    assert [(row["kind"], row["subject"]["device"], row["cause"]) for row in rows] == [
        (kind, f"GPU-{SICK:03d}", cause)
    ]
    assert rows[0]["slowdown"] - 1.0 == pytest.approx(slowdown - 1.0, rel=0.2)
    assert rows[0]["onset_before_data"] == (since is None)
    truth = START + timedelta(seconds=15 * (since or 0))
    assert since is None or abs((rows[0]["onset"] - truth).total_seconds()) <= 120.0


def unchanged(signals: Signals, rng: np.random.Generator) -> None:
    """A healthy run."""


def one_quantum(signals: Signals, _: np.random.Generator) -> None:
    """All tie but one, which is one step of the clock lower."""
    signals[CLOCK][:] = 1980e6
    signals[CLOCK][7] = 1965e6


def all_capped(signals: Signals, _: np.random.Generator) -> None:
    """The whole run is capped."""
    signals[CLOCK][:, 80:] -= 200e6
    signals[REASONS][:, 80:] = 0x4


def half_idle(signals: Signals, _: np.random.Generator) -> None:
    """Half of the GPUs stop working."""
    signals[BUSY][64:, 100:] = 0.0
    signals[CLOCK][64:, 100:] = 345e6


def idle_unreported(signals: Signals, _: np.random.Generator) -> None:
    """Half of the GPUs stop working and nothing reports how busy they are."""
    del signals[BUSY]
    signals[CLOCK][64:, 100:] = 345e6


def silicon(signals: Signals, rng: np.random.Generator) -> None:
    """Chips differ."""
    signals[CLOCK][:] = quantised(signals[CLOCK] * (1.0 + rng.normal(0.0, 0.03, (GPUS, 1))))


def silent(signals: Signals, _: np.random.Generator) -> None:
    """One device answers without values."""
    signals[CLOCK][SICK, 120:] = np.nan


def diurnal(signals: Signals, _: np.random.Generator) -> None:
    """Midday heat lowers all clocks."""
    signals[CLOCK] *= 1.0 - 0.03 * np.sin(np.arange(TICKS) / TICKS * np.pi)


def frozen(signals: Signals, _: np.random.Generator) -> None:
    """An exporter freezes in a slow moment: nothing is known from then on."""
    signals[CLOCK][SICK, 80:] = 1500e6
    signals[POWER][SICK, 80:] = 500.0


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(unchanged, id="a healthy run"),
        pytest.param(one_quantum, id="one step of the clock"),
        pytest.param(all_capped, id="all alike"),
        pytest.param(half_idle, id="idle is not slow"),
        pytest.param(idle_unreported, id="idle without a report is not slow"),
        pytest.param(silicon, id="chips differ"),
        pytest.param(silent, id="silence is not slowness"),
        pytest.param(diurnal, id="everybody drifts"),
        pytest.param(frozen, id="a frozen exporter proves nothing"),
    ],
)
def test_no_device_is_named(change: Change, seed: int) -> None:
    """What is no device's fault names no device."""
    assert judge(change, seed).to_dicts() == []


@pytest.mark.parametrize("seed", SEEDS)
def test_mixed_models(seed: int) -> None:
    """A slower model is compared with its own kind."""

    def slower(signals: Signals, _: np.random.Generator) -> None:
        signals[CLOCK][80:] = quantised(signals[CLOCK][80:] * 0.9)

    assert judge(slower, seed, ["H100"] * 80 + ["H200"] * 48).to_dicts() == []


@pytest.mark.parametrize("seed", SEEDS)
def test_mutations(seed: int) -> None:
    """Shuffled, delivered twice and a fifth dropped: the same device is named."""
    signals, rng = healthy(seed)
    throttled(signals, rng)
    rows = samples_of(signals).sample(fraction=0.8, shuffle=True, seed=seed)

    found = find_slow_devices(pl.concat([rows, rows.head(5000)]).lazy(), DeviceParams())

    assert [row["subject"]["device"] for row in found.to_dicts()] == [f"GPU-{SICK:03d}"]


def latencies(disks: int, factor: float) -> pl.DataFrame:
    """Latency of the disks of one host; the first slows half way."""
    rng = np.random.default_rng(11)
    values = 0.01 * (1.0 + 0.05 * rng.standard_normal((disks, TICKS)))
    values[0, 120:] *= factor
    base = int(START.timestamp() * 1e6)
    return conform(
        pl.LazyFrame(
            {
                "time": pl.Series(np.tile(base + np.arange(TICKS) * 15_000_000, disks)).cast(TIME),
                "host": "h1",
                "device_kind": "disk",
                "device": np.repeat([f"disk{at}" for at in range(disks)], TICKS),
                "signal": "latency_seconds",
                "value": values.ravel(),
            }
        ),
        SAMPLES,
    ).collect()


@pytest.mark.parametrize(
    ("disks", "confidence"),
    [pytest.param(12, "medium", id="many peers"), pytest.param(3, "low", id="two peers")],
)
def test_slow_disk(disks: int, confidence: str) -> None:
    """A disk is compared with the disks of its host, and with few of them said with doubt."""
    found = find_slow_devices(latencies(disks, 1.6).lazy(), DeviceParams()).to_dicts()

    assert [
        (row["kind"], row["subject"]["device"], row["confidence"], row["peers"]) for row in found
    ] == [("slow", "disk0", confidence, "devices of h1")]


def test_values_that_are_not_positive() -> None:
    """A latency of zero is no reading."""
    dead = latencies(4, 1.0).with_columns(value=pl.lit(0.0))

    assert find_slow_devices(dead.lazy(), DeviceParams()).is_empty()
