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
from detectors.panels import Floats, Ints, Panel, build_panel
from detectors.peers import known_median
from detectors.suspects import Suspect, SuspectParams
from detectors.telemetry import NOISY_SIGNALS
from detectors.timelines import clock_timeline
from detectors.verdicts import Verdict, verdict_frame

ENTITY: Final = ("host", "device", "index")
ASKED_PEERS: Final = 256
"""Peers of a group that are asked for what the evidence says of them, or up to twice as many."""

MIN_WINDOW: Final = 5
"""Ticks of the shortest mean where scrapes are rare; windows are as long in time as at 15 s."""

CADENCE_DEVICES: Final = 64
"""Devices from which the usual time between readings is taken."""

NAMES: Final = ("host", "device", "index", "device_kind", "model", "run", "signal")

_AT: Final = ("host", "device", "time")

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
    "latency": SpeedSignal(bad=1, min_slowdown=1.2, min_level=1.5, host_peers=True),
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
    rows = samples.pipe(require, SAMPLES).drop_nulls("time")
    there = speed_signals(rows)
    return verdict_frame(verdict for name in there for verdict in _judge(rows, name, params))


def speed_signals(rows: pl.LazyFrame) -> list[str]:
    """Return the speed signals that are there, in the order of `SPEED_SIGNALS`."""
    there = rows.select(pl.col("signal").unique()).collect()["signal"]
    return [name for name in SPEED_SIGNALS if name in set(there)]


def _judge(rows: pl.LazyFrame, name: str, params: DeviceParams) -> list[Verdict]:
    panel, seconds = speed_panel(rows, name, params)
    suspects = folded(panel, SPEED_SIGNALS[name], seconds, params)
    return device_verdicts(panel, rows, name, seconds, suspects)


def speed_panel(rows: pl.LazyFrame, name: str, params: DeviceParams) -> tuple[Panel, float]:
    """Return logarithms of a speed signal, one row a device, and the width of a tick in seconds."""
    values = cleaned_values(rows, name, params)
    seconds = _cadence_seconds(values, params)
    binned = tick_values(values, SPEED_SIGNALS[name], seconds)
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
    panel: Panel, rows: pl.LazyFrame, name: str, seconds: float, suspects: list[Suspect]
) -> list[Verdict]:
    """Return suspects of a panel as verdicts.

    Args:
        panel: Logarithms of the signal; positions of the suspects count its ticks.
        rows: `SAMPLES` of the same time, for the evidence; of large groups some peers are asked.
        name: The signal.
        seconds: Width of a tick.
        suspects: What stands.
    """
    if not suspects:
        return []
    asked = panel.entities[_asked(panel, suspects)].select("host", "device")
    case = DeviceCase(
        panel=panel,
        rows=rows.join(asked.lazy(), on=["host", "device"], how="semi", nulls_equal=True).collect(),
        signal=name,
        bad=SPEED_SIGNALS[name].bad,
        timeline=clock_timeline(panel.ticks, int(seconds * 1e6)),
    )
    return [accuse_device(case, suspect) for suspect in suspects]


def _asked(panel: Panel, suspects: list[Suspect]) -> Ints:
    """Return the rows of the suspects and of peers, spread evenly over each of their groups."""
    own = np.array([one.entity for one in suspects], dtype=np.int64)
    peers: list[Ints] = []
    for group in np.unique(panel.groups[own]):
        members = np.flatnonzero(panel.groups == group).astype(np.int64)
        peers.append(members[:: max(1, members.size // ASKED_PEERS)])
    rows: Ints = np.unique(np.concatenate([own, *peers]))
    return rows


def cleaned_values(rows: pl.LazyFrame, name: str, params: DeviceParams) -> pl.LazyFrame:
    """Return the values of a speed signal that may be compared: not frozen, and under load."""
    mine = rows.filter(pl.col("signal") == name).select(*NAMES, "time", "value")
    fresh = _not_frozen(mine, rows, params)
    return _under_load(fresh, rows, params) if SPEED_SIGNALS[name].under_load else fresh


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
    usual = params.fleet.watch
    scale = params.usual_seconds / seconds
    windows = tuple(max(MIN_WINDOW, round(ticks * scale)) for ticks in usual.window_ticks)
    watch = replace(
        usual,
        window_ticks=windows,
        clear_ticks=windows[usual.window_ticks.index(usual.clear_ticks)],
        min_slowdown=signal.min_slowdown,
        min_level=signal.min_slowdown,
    )
    chain = _chain(first, signal, seconds, params)
    return replace(params.fleet, watch=watch, suspects=chain)


def _not_frozen(values: pl.LazyFrame, rows: pl.LazyFrame, params: DeviceParams) -> pl.LazyFrame:
    """Return the values without those of times at which a device's telemetry is frozen.

    A clock may rightly stand still; power never does, so it tells.
    """
    noisy = rows.filter(pl.col("signal").is_in(NOISY_SIGNALS))
    stale = fresh_gauges(noisy, params.cleaning).filter("stale").select(*_AT).collect()
    if stale.is_empty():
        return values
    return values.join(stale.lazy(), on=_AT, how="anti", nulls_equal=True)


def _under_load(values: pl.LazyFrame, rows: pl.LazyFrame, params: DeviceParams) -> pl.LazyFrame:
    """Return the values at ticks where the device is busy, as far as anybody can tell."""
    told = rows.filter(pl.col("signal") == "gpu_busy_ratio", pl.col("value").is_not_null())
    busy = (
        told.group_by(_AT)
        .agg((pl.col("value").max() >= params.min_busy_ratio).alias("at_work"))
        .collect()
    )
    group = ["device_kind", "run", "model"]
    ends = values.group_by(group).agg(
        pl.col("value").min().alias("least"), pl.col("value").max().alias("most")
    )
    limit = params.min_clock_ratio * pl.col("most")
    limits = ends.with_columns(limit=limit).collect()
    is_fast = limits.select((pl.col("least") >= pl.col("limit")).all()).item()
    if busy.is_empty() and is_fast:
        return values
    work = pl.col("at_work")
    fast = (pl.col("value") >= pl.col("limit")).fill_null(value=False)
    return (
        values.join(busy.lazy(), on=_AT, how="left", nulls_equal=True)
        .join(limits.lazy().select(*group, "limit"), on=group, how="left", nulls_equal=True)
        .filter(
            pl.when(fast).then(work.fill_null(value=True)).otherwise(work.fill_null(value=False))
        )
        .drop("at_work", "limit")
    )


def _cadence_seconds(values: pl.LazyFrame, params: DeviceParams) -> float:
    """Return the usual time between two readings of a device."""
    names = ["host", "device"]
    some = values.select(names).unique().sort(names, nulls_last=True).head(CADENCE_DEVICES)
    gap = pl.col("time").diff().over(names).dt.total_microseconds() / 1e6
    usual = (
        values.join(some, on=names, how="semi", nulls_equal=True)
        .sort("time")
        .select(gap.median())
        .collect()
        .item()
    )
    return max(float(usual or 0.0), params.usual_seconds)


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
