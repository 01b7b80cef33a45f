"""Find devices that are slower than their peers at the same work: clocks down, latency up.

Source: methods reference, sections 4, 5 and 8. GPUs are compared under load with GPUs of the same
run and model, disks with the disks of their host. Level and change are both tested; a level alone
must clear the static spread that silicon has (8 % on average, 22 % at most inside one model).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import polars as pl

from collectors.frames import SAMPLES, require
from detectors.cleaning import CleaningParams, fresh_gauges
from detectors.device_words import DeviceCase, accuse_device
from detectors.fleets import Fleet, FleetParams
from detectors.panels import Floats, Panel, build_panel
from detectors.peers import known_median
from detectors.suspects import Suspect, SuspectParams
from detectors.telemetry import NOISY_SIGNALS
from detectors.timelines import clock_timeline
from detectors.verdicts import Verdict, verdict_frame

ENTITY: Final = ("host", "device", "index")
CADENCE_DEVICES: Final = 64
"""Devices from which the usual time between readings is taken."""

NAMES: Final = ("host", "device", "index", "device_kind", "model", "run", "signal")

GROUP: Final = ("signal", "device_kind", "run", "model", "peer_host")


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedSignal:
    """A signal that says how fast a device works.

    Attributes:
        bad: +1 if more is slower, -1 if less is slower.
        quantum: Step of the source, in the signal's unit; 0 if it has none.
        min_slowdown: Least ratio to the own good level.
        min_level: Least ratio to the peers for a device that was slow throughout.
        host_peers: Peers are the devices of the same host instead of the same run and model.
        under_load: Only ticks count at which the device is known to be busy, if that is reported.
    """

    bad: int
    quantum: float = 0.0
    min_slowdown: float = 1.05
    min_level: float = 1.10
    host_peers: bool = False
    under_load: bool = False


SPEED_SIGNALS: Final[Mapping[str, SpeedSignal]] = {
    "sm_clock_hertz": SpeedSignal(bad=-1, quantum=15e6, under_load=True),
    "memory_clock_hertz": SpeedSignal(bad=-1, quantum=1e6, under_load=True),
    "latency_seconds": SpeedSignal(bad=1, min_slowdown=1.2, min_level=1.5, host_peers=True),
}
"""Clocks: 5 % below peers is beyond what one model's silicon and a step of 15 MHz explain. Latency
of a drive: the level at the fleet's 99.9 % point (methods reference, section 4)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceParams:
    """How devices are judged.

    Attributes:
        suspects: Screens and verification; thresholds come from each signal.
        fleet: How ticks are folded.
        cleaning: When a gauge is stale.
        min_busy_ratio: Busy share from which a GPU is under load.
        min_clock_ratio: Where no busy share is reported, a GPU whose clock is below this share of
            its group's highest may as well be idle, so that reading is not known.
        persist_seconds: How long a device must be bad.
        max_gap_ticks: A gap of more ticks makes what was recent void.
        usual_seconds: Ticks are never finer than this; readings in one tick are one.
    """

    suspects: SuspectParams = field(default_factory=SuspectParams)
    fleet: FleetParams = field(default_factory=FleetParams)
    cleaning: CleaningParams = field(default_factory=CleaningParams)
    min_busy_ratio: float = 0.5
    min_clock_ratio: float = 0.5
    persist_seconds: float = 240.0
    max_gap_ticks: int = 10
    usual_seconds: float = 15.0


def find_slow_devices(samples: pl.LazyFrame, params: DeviceParams) -> pl.DataFrame:
    """Return the devices that are slow against their peers.

    Args:
        samples: `SAMPLES`; a null value is not known and is no peer; rows without a time are left
            out.
        params: The thresholds.

    Returns:
        `VERDICTS` of kind slow, flapping or config_drift, one row a fault of a device. Partition
        key: signal, run and model (host for disks).

    Raises:
        SchemaError: `samples` is not a `SAMPLES`.
    """
    rows = samples.pipe(require, SAMPLES).drop_nulls("time").collect()
    names = [name for name in SPEED_SIGNALS if name in set(rows["signal"].unique())]
    return verdict_frame(verdict for name in names for verdict in _judge(rows, name, params))


def _judge(rows: pl.DataFrame, name: str, params: DeviceParams) -> list[Verdict]:
    panel, seconds = speed_panel(rows, name, params)
    suspects = folded(panel, SPEED_SIGNALS[name], seconds, params)
    return device_verdicts(panel, rows, name, seconds, suspects)


def speed_panel(rows: pl.DataFrame, name: str, params: DeviceParams) -> tuple[Panel, float]:
    """Return logarithms of a speed signal, one row a device, and the width of a tick in seconds."""
    values = cleaned_values(rows, name, params)
    seconds = _cadence_seconds(values, params)
    binned = tick_values(values.lazy(), SPEED_SIGNALS[name], seconds)
    panel = build_panel(binned, group=GROUP, entity=ENTITY, tick="tick", value="log_value")
    return panel, seconds


def folded(
    panel: Panel, signal: SpeedSignal, seconds: float, params: DeviceParams
) -> list[Suspect]:
    """Return the suspects of a fold over a panel's ticks; see `detectors.fleets`."""
    if not panel.ticks.size:
        return []
    fleet = Fleet(panel.groups, fleet_params(panel.values[:, 0], signal, seconds, params))
    gaps = np.diff(panel.ticks, prepend=panel.ticks[0]) > params.max_gap_ticks * seconds * 1e6
    for at in range(panel.ticks.size):
        fleet.push(panel.values[:, at], after_gap=bool(gaps[at]))
    return fleet.suspects()


def device_verdicts(
    panel: Panel, rows: pl.DataFrame, name: str, seconds: float, suspects: list[Suspect]
) -> list[Verdict]:
    """Return suspects of a panel as verdicts.

    Args:
        panel: Logarithms of the signal; positions of the suspects count its ticks.
        rows: `SAMPLES` of the same time, for the evidence.
        name: The signal.
        seconds: Width of a tick.
        suspects: What stands.
    """
    case = DeviceCase(
        panel=panel,
        rows=rows,
        signal=name,
        bad=SPEED_SIGNALS[name].bad,
        timeline=clock_timeline(panel.ticks, int(seconds * 1e6)),
    )
    return [accuse_device(case, suspect) for suspect in suspects]


def cleaned_values(rows: pl.DataFrame, name: str, params: DeviceParams) -> pl.DataFrame:
    """Return the values of a speed signal that may be compared: not frozen, and under load."""
    values = _coded(rows.filter(pl.col("signal") == name).select(*NAMES, "time", "value"))
    values = _not_frozen(values, rows, params)
    return _under_load(values, rows, params) if SPEED_SIGNALS[name].under_load else values


def fleet_params(
    first: Floats, signal: SpeedSignal, seconds: float, params: DeviceParams
) -> FleetParams:
    """Return the fold's parameters for a signal.

    Args:
        first: Logarithms of the first tick, which tell how much a quantum is.
        signal: The signal.
        seconds: Width of a tick.
        params: The thresholds of all signals.
    """
    watch = replace(
        params.fleet.watch, min_slowdown=signal.min_slowdown, min_level=signal.min_slowdown
    )
    chain = _chain(first, signal, seconds, params)
    return replace(params.fleet, watch=watch, suspects=chain)


def _coded(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame with its text as numbers: a quarter of the memory in each copy."""
    return frame.with_columns(pl.col(pl.String).cast(pl.Categorical))


def _not_frozen(values: pl.DataFrame, rows: pl.DataFrame, params: DeviceParams) -> pl.DataFrame:
    """Return the values without those of times at which a device's telemetry is frozen.

    A clock may rightly stand still; power never does, so it tells.
    """
    noisy = rows.lazy().filter(pl.col("signal").is_in(NOISY_SIGNALS))
    stale = fresh_gauges(noisy, params.cleaning).filter("stale").collect()
    if stale.is_empty():
        return values
    return values.join(_coded(stale), on=["host", "device", "time"], how="anti", nulls_equal=True)


def _under_load(values: pl.DataFrame, rows: pl.DataFrame, params: DeviceParams) -> pl.DataFrame:
    """Return the values at ticks where the device is busy, as far as anybody can tell."""
    at = ["host", "device", "time"]
    busy = (
        rows.lazy()
        .filter(pl.col("signal") == "gpu_busy_ratio", pl.col("value").is_not_null())
        .group_by(at)
        .agg((pl.col("value").max() >= params.min_busy_ratio).alias("at_work"))
        .collect()
    )
    fast = pl.col("value") >= params.min_clock_ratio * pl.col("value").max().over(
        "device_kind", "run", "model"
    )
    busy = _coded(busy)
    marked = values.with_columns(fast=fast.fill_null(value=False))
    idle = busy.filter(~pl.col("at_work"))
    slow = marked.filter(~pl.col("fast"))
    return pl.concat(
        [
            marked.filter("fast").join(idle, on=at, how="anti", nulls_equal=True),
            slow.join(busy.filter("at_work"), on=at, how="semi", nulls_equal=True),
        ]
    )


def _cadence_seconds(values: pl.DataFrame, params: DeviceParams) -> float:
    """Return the usual time between two readings of a device."""
    some = values.select("host", "device").unique().sort("host", "device", nulls_last=True)
    gaps = (
        values.join(some.head(CADENCE_DEVICES), on=["host", "device"], nulls_equal=True)
        .sort("time")
        .select(pl.col("time").diff().over("host", "device").dt.total_microseconds() / 1e6)
    )
    usual = gaps.to_series().median()
    return max(float(str(usual or 0.0)), params.usual_seconds)


def tick_values(values: pl.LazyFrame, signal: SpeedSignal, seconds: float) -> pl.LazyFrame:
    """Return values with their `tick` in microseconds, `log_value`, worse is more, and `peer_host`.

    Args:
        values: Cleaned values, by `cleaned_values`.
        signal: The signal.
        seconds: Width of a tick.
    """
    width = int(seconds * 1e6)
    return values.with_columns(
        tick=pl.col("time").cast(pl.Int64) // width * width,
        log_value=pl.when(pl.col("value") > 0).then(pl.col("value").log() * signal.bad),
        peer_host=pl.col("host") if signal.host_peers else pl.lit(None, dtype=pl.String),
    )


def _chain(
    first: Floats, signal: SpeedSignal, seconds: float, params: DeviceParams
) -> SuspectParams:
    """Return the chain's parameters for a signal: its effects, its cadence, its quantum."""
    ticks = max(4, round(params.persist_seconds / seconds))
    typical = float(np.exp(np.abs(np.nan_to_num(known_median(first[None, :], -1)[0]))))
    floor = signal.quantum / typical if signal.quantum else 0.0
    episodes = replace(
        params.suspects.episodes,
        min_slowdown=signal.min_slowdown,
        min_level=signal.min_level,
        min_bad_ticks=ticks,
        min_strong_ticks=ticks,
        noise_floor=max(floor, params.suspects.episodes.noise_floor),
    )
    return replace(params.suspects, episodes=episodes)
