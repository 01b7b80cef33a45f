"""Find devices that are slower than their peers at the same work: clocks down, latency up.

Source: methods reference, sections 4, 5 and 8. GPUs are compared under load with GPUs of the same
run and model, disks with the disks of their host. Level and change are both tested; a level alone
must clear the static spread that silicon has (8 % on average, 22 % at most inside one model).
"""

from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import polars as pl

from collectors.frames import SAMPLES, require
from detectors.device_values import (
    SPEED_SIGNALS,
    SpeedSignal,
    ValueParams,
    cleaned_values,
    log_values,
)
from detectors.device_words import EVIDENCE, DeviceCase, accuse_device
from detectors.fleets import Fleet, FleetParams
from detectors.panels import Floats, Ints, LongValues, Panel, long_values
from detectors.peers import known_median
from detectors.suspects import Suspect, SuspectParams
from detectors.timelines import clock_timeline
from detectors.verdicts import Verdict, verdict_frame

ENTITY: Final = ("host", "device", "index")

ASKED_PEERS: Final = 256
"""Peers of a group that are asked for what the evidence says of them, or up to twice as many."""

MIN_WINDOW: Final = 5
"""Ticks of the shortest mean where scrapes are rare; windows are as long in time as at 15 s."""

CADENCE_DEVICES: Final = 64
"""Devices from which the usual time between readings is taken, or up to twice as many."""

TRANSPOSED_TICKS: Final = 16
"""Ticks that are laid side by side at a time: a panel's column is one value a memory line."""

GROUP: Final = ("signal", "device_kind", "run", "model", "peer_host")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceParams:
    """How devices are judged.

    Attributes:
        suspects: Screens and verification; thresholds come from each signal.
        fleet: How ticks are folded.
        values: Which values may be compared.
        persist_seconds: How long a device must be bad.
        max_gap_ticks: A gap of more ticks makes what was recent void.
        usual_seconds: Ticks are never finer than this; readings in one tick are one.
    """

    suspects: SuspectParams = field(default_factory=SuspectParams)
    fleet: FleetParams = field(default_factory=FleetParams)
    values: ValueParams = field(default_factory=ValueParams)
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
    there = rows.select("signal").unique().collect(engine="streaming")["signal"]
    return [name for name in SPEED_SIGNALS if name in set(there)]


def _judge(rows: pl.LazyFrame, name: str, params: DeviceParams) -> list[Verdict]:
    panel, seconds = speed_panel(rows, name, params)
    suspects = folded(panel, SPEED_SIGNALS[name], seconds, params)
    return device_verdicts(panel, rows, name, seconds, suspects)


def speed_panel(rows: pl.LazyFrame, name: str, params: DeviceParams) -> tuple[Panel, float]:
    """Return logarithms of a speed signal, one row a device, and the width of a tick in seconds."""
    values = log_values(cleaned_values(rows, name, params.values), SPEED_SIGNALS[name])
    told = long_values(values, group=GROUP, entity=ENTITY, tick="time", value="log_value")
    seconds = _cadence_seconds(told, params)
    return told.panel(width=int(seconds * 1e6)), seconds


def folded(
    panel: Panel, signal: SpeedSignal, seconds: float, params: DeviceParams
) -> list[Suspect]:
    """Return the suspects of a fold over a panel's ticks; see `detectors.fleets`."""
    if not panel.ticks.size:
        return []
    fleet = Fleet(panel.groups, fleet_params(panel.values[:, 0], signal, seconds, params))
    gaps = np.diff(panel.ticks, prepend=panel.ticks[0]) > params.max_gap_ticks * seconds * 1e6
    for start in range(0, panel.ticks.size, TRANSPOSED_TICKS):
        ticks = np.ascontiguousarray(panel.values[:, start : start + TRANSPOSED_TICKS].T)
        for at, values in enumerate(ticks, start):
            fleet.push(values, after_gap=bool(gaps[at]))
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
    evidence = rows.filter(pl.col("signal").is_in(EVIDENCE), pl.col("signal") != name)
    case = DeviceCase(
        panel=panel,
        rows=evidence.join(
            asked.lazy(), on=["host", "device"], how="semi", nulls_equal=True
        ).collect(),
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


def _cadence_seconds(told: LongValues, params: DeviceParams) -> float:
    """Return the usual time between two readings of a device."""
    every = max(1, told.entities.height // CADENCE_DEVICES)
    some = told.numbers % every == 0
    numbers, stamps = told.numbers[some], told.stamps[some]
    order = np.lexsort((stamps, numbers))
    gaps = np.diff(stamps[order])[np.diff(numbers[order]) == 0]
    known = gaps[gaps > 0]
    usual = float(np.median(known)) / 1e6 if known.size else 0.0
    return max(usual, params.usual_seconds)


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
