"""The GPUs' telemetry as dcgm-exporter shows it, scrape after scrape, one file a node.

A GPU that waits inside NCCL looks fully utilised: GPU_UTIL is a duty cycle. Only SM and tensor
activity and power tell work from waiting, so in lockstep a straggler's SM activity rises while its
peers' falls. Profiling values are means over the collection interval, here over the step.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from paceline.simulation.draws import Bools, Floats, Ints, stream
from paceline.simulation.exposition import Family, label_text, write_scrapes
from paceline.simulation.lockstep import Timeline
from paceline.simulation.machine import RUN, Machine
from paceline.simulation.plan import Plan
from paceline.simulation.ports import old_counts
from paceline.simulation.scenarios import GPUS_PER_NODE
from paceline.simulation.scrapes import Scrapes, plan_scrapes

_MAX_CLOCK = 1980
_CLOCK_QUANTUM = 15
_IDLE_CLOCK = 345
_HOT_CELSIUS = 87.0
_WARMING_SECONDS = 90.0
_COOLING_SECONDS = 120.0
_IDLE_WATTS = 118.0
_BUSY_WATTS = 800.0
_SPIN_WATTS = 90.0
_CLOCK_EXPONENT = 2.2
_CAPPED_SHARE = 0.02
_HELD_NANOSECONDS = 0.97e9
_SPIN_ACTIVITY = 0.12
_ABORT_SECONDS = 18.0
_THERMAL_MASKS = (0x8 | 0x40, 0x20, 0x8 | 0x40 | 0x20)
_POWER_CAP_MASK = 0x4
_IDLE_MASK = 0x1


@dataclass(frozen=True, slots=True, kw_only=True)
class _Activity:
    """What a node's GPUs do, by scrape (and GPU).

    Attributes:
        busy: Share of the time in which a GPU computes; the rest it waits.
        spinning: Whether a GPU waits inside a communication kernel.
        idle: Whether a GPU has no kernel at all.
        hot: 0 to 1, how far the cooling fault has heated the GPU.
        throttled: Whether its clock is held down.
    """

    busy: Floats
    spinning: Bools
    idle: Bools
    hot: Floats
    throttled: Bools


def write_gpu_pages(
    plan: Plan, timeline: Timeline, folder: Path, say: Callable[[str], None]
) -> None:
    """Write one recorded file a node into the folder, and say so after each eighth."""
    folder.mkdir(parents=True, exist_ok=True)
    for node, host in enumerate(plan.machine.hosts):
        scrapes = plan_scrapes(plan, f"gpus {node}", plan.gpu_scrape_seconds)
        families = _families(plan, timeline, node, scrapes)
        write_scrapes(folder / f"{host}.prom", families, scrapes.times_ms, scrapes.kept)
        if (node + 1) % 8 == 0:
            say(f"GPU telemetry of {node + 1} of {plan.machine.nodes} nodes")


def _families(plan: Plan, timeline: Timeline, node: int, scrapes: Scrapes) -> list[Family]:
    """Return the page's families; a repeated collection shows the values of the one before."""
    labels = [_labels(plan.machine, node, gpu) for gpu in range(GPUS_PER_NODE)]
    activity = _activity(plan, timeline, node, scrapes.seconds)
    values = _values(plan, node, activity, scrapes.seconds)
    return [
        Family(
            name=f"DCGM_FI_{name}",
            kind=kind,
            help=text,
            labels=labels,
            values=values[name][scrapes.source_rows],
            decimals=decimals,
        )
        for name, kind, text, decimals in _SIGNALS
    ]


_SIGNALS = (
    ("DEV_SM_CLOCK", "gauge", "SM clock frequency (in MHz).", 0),
    ("DEV_GPU_TEMP", "gauge", "GPU temperature (in C).", 0),
    ("DEV_POWER_USAGE", "gauge", "Power draw (in W).", 6),
    ("DEV_GPU_UTIL", "gauge", "GPU utilization (in %).", 0),
    ("DEV_CLOCKS_EVENT_REASONS", "gauge", "Bitmask of the reasons for the clock.", 0),
    ("DEV_THERMAL_VIOLATION", "counter", "Time held back by temperature (in ns).", 0),
    ("PROF_SM_ACTIVE", "gauge", "Ratio of cycles in which an SM has a warp.", 6),
    ("PROF_PIPE_TENSOR_ACTIVE", "gauge", "Ratio of cycles the tensor pipe is active.", 6),
)
"""Name, declared type, help, digits: the exporter prints whole numbers plain, floats with six."""


def _labels(machine: Machine, node: int, gpu: int) -> str:
    rank = node * GPUS_PER_NODE + gpu
    return label_text(
        gpu=str(gpu),
        UUID=machine.gpu_uuids[rank],
        pci_bus_id=machine.pci_bus_ids[rank],
        device=f"nvidia{gpu}",
        modelName="NVIDIA H100 80GB HBM3",
        Hostname=machine.hosts[node],
        DCGM_FI_DRIVER_VERSION="570.124.06",
        hpc_job=RUN,
    )


def _activity(plan: Plan, timeline: Timeline, node: int, seconds: Floats) -> _Activity:
    ranks = np.arange(node * GPUS_PER_NODE, (node + 1) * GPUS_PER_NODE)
    step = np.searchsorted(timeline.ends, seconds).clip(0, timeline.steps - 1)
    lengths = np.diff(timeline.starts, append=timeline.ends[-1])
    culprit = ranks == plan.incident.rank
    throttles = culprit & (plan.scenario.fault == "throttle")
    onset, clear = plan.incident.onset_seconds, plan.incident.clear_seconds
    waits, dead = _hang_states(plan, timeline, seconds)
    hung = culprit & plan.is_hang
    idle = dead[:, None] | (waits[:, None] & hung)
    spinning = waits[:, None] & ~idle
    busy = timeline.busy_seconds[step][:, ranks] / lengths[step][:, None]
    in_fault = (seconds >= onset) & (seconds < clear)
    return _Activity(
        busy=np.where(idle | spinning, 0.0, busy.clip(0.0, 0.98)),
        spinning=spinning,
        idle=idle,
        hot=_heat(seconds, onset, clear)[:, None] * throttles,
        throttled=in_fault[:, None] & throttles,
    )


def _hang_states(plan: Plan, timeline: Timeline, seconds: Floats) -> tuple[Bools, Bools]:
    """Return by scrape whether the job waits for good, and whether it was aborted."""
    if timeline.waiting_since is None:
        never = np.zeros(len(seconds), dtype=np.bool_)
        return never, never
    since = float(timeline.waiting_since.max())
    dead = seconds >= since + plan.params.timeout_seconds + _ABORT_SECONDS
    return (seconds >= since) & ~dead, dead


def _heat(seconds: Floats, onset: float, clear: float) -> Floats:
    """Return 0 to 1: up just before the throttling begins, down slowly after it ends."""
    rise = ((seconds - onset) / _WARMING_SECONDS + 1.0).clip(0.0, 1.0)
    fall = np.exp(-(seconds - clear).clip(0.0) / _COOLING_SECONDS)
    return rise * fall


def _values(
    plan: Plan, node: int, activity: _Activity, seconds: Floats
) -> dict[str, Floats | Ints]:
    draw = stream(plan.seed, f"gpus {node}")
    shape = activity.busy.shape
    clock = _clocks(plan, node, activity, draw)
    watts = _watts(activity, clock) * draw.normal(1.0, 0.02, size=GPUS_PER_NODE)
    celsius = (
        31.0 + draw.normal(0.0, 1.5) + draw.normal(0.0, 1.0, size=GPUS_PER_NODE) + 0.052 * watts
    )
    celsius += activity.hot * (_HOT_CELSIUS - celsius)
    waiting = (1.0 - activity.busy) * _SPIN_ACTIVITY * ~activity.idle
    return {
        "DEV_SM_CLOCK": clock,
        "DEV_GPU_TEMP": np.rint(celsius + draw.normal(0.0, 0.6, size=shape)),
        "DEV_POWER_USAGE": np.round(watts * draw.normal(1.0, 0.015, size=shape), 3),
        "DEV_GPU_UTIL": np.where(activity.idle, 0, draw.integers(97, 101, size=shape)),
        "DEV_CLOCKS_EVENT_REASONS": _reasons(activity, draw),
        "DEV_THERMAL_VIOLATION": _violations(plan, activity, seconds, draw),
        "PROF_SM_ACTIVE": (
            (0.95 * activity.busy + waiting) * draw.normal(1.0, 0.015, size=shape)
        ).clip(0.0, 1.0),
        "PROF_PIPE_TENSOR_ACTIVE": (
            0.62 * activity.busy * draw.normal(1.0, 0.015, size=shape)
        ).clip(0.0, 1.0),
    }


def _clocks(plan: Plan, node: int, activity: _Activity, draw: np.random.Generator) -> Floats:
    """Return clocks in MHz on their grid; slow silicon runs below the top clock."""
    first = node * GPUS_PER_NODE
    factors = plan.machine.time_factors[first : first + GPUS_PER_NODE].clip(1.0)
    held = _MAX_CLOCK / max(plan.scenario.device_ratio, 1.0)
    dither = draw.choice([-1, 0, 0, 0, 0, 0, 0, 1], size=activity.busy.shape)
    target = np.where(activity.throttled, held, _MAX_CLOCK / factors)
    quanta = np.rint(target / _CLOCK_QUANTUM) + dither
    clock = (quanta * _CLOCK_QUANTUM).clip(_IDLE_CLOCK, _MAX_CLOCK)
    return np.where(activity.idle, _IDLE_CLOCK, clock)


def _watts(activity: _Activity, clock: Floats) -> Floats:
    """Return watts: dynamic power goes with activity and steeply with the clock."""
    dynamic = activity.busy * _BUSY_WATTS * np.power(clock / _MAX_CLOCK, _CLOCK_EXPONENT)
    return _IDLE_WATTS + dynamic + activity.spinning * _SPIN_WATTS


def _reasons(activity: _Activity, draw: np.random.Generator) -> Ints:
    shape = activity.busy.shape
    thermal = draw.choice(_THERMAL_MASKS, p=[0.7, 0.2, 0.1], size=shape)
    capped = np.where(draw.random(shape) < _CAPPED_SHARE, _POWER_CAP_MASK, 0)
    awake = np.where(activity.throttled, thermal, capped)
    return np.where(activity.idle, _IDLE_MASK, awake)


def _violations(
    plan: Plan, activity: _Activity, seconds: Floats, draw: np.random.Generator
) -> Ints:
    """Return ns counters: a few GPUs bring an old count, only the throttled one grows."""
    gpus = activity.busy.shape[1]
    old = old_counts(draw, gpus, 0.1, 10**12)
    onset, clear = plan.incident.onset_seconds, plan.incident.clear_seconds
    held = np.minimum(seconds, clear) - onset if np.isfinite(onset) else np.zeros(len(seconds))
    grows = activity.hot.any(axis=0)
    grown = (held.clip(0.0) * _HELD_NANOSECONDS)[:, None] * grows
    return old + grown.astype(np.int64)
