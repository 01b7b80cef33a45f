"""One simulation, decided: which cluster, which scenario, where and when its fault strikes."""

import math
from dataclasses import dataclass

from paceline.simulation.draws import stream
from paceline.simulation.machine import Machine, build_machine
from paceline.simulation.scenarios import GPUS_PER_NODE, OrionParams, Scenario

_SECONDS_PER_MINUTE = 60.0
_HANG_SPREAD_SECONDS = 120.0
_MIN_MINUTES = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """Where and when the fault strikes.

    Attributes:
        onset_seconds: After the epoch; infinite when nothing begins.
        clear_seconds: After the epoch; infinite when it lasts to the end.
        rank: The culprit GPU, or the NIC of that GPU's rail; null when no part is to blame.
        at_switch: For a dirty link, whether the receiver is the switch's end; null otherwise.
    """

    onset_seconds: float
    clear_seconds: float
    rank: int | None
    at_switch: bool | None

    @property
    def node(self) -> int | None:
        """The culprit's node; null when no part is to blame."""
        return None if self.rank is None else self.rank // GPUS_PER_NODE


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything that is decided before the first step.

    Attributes:
        scenario: What befalls the cluster.
        params: Its size, rhythm and noise.
        seed: What all draws come from.
        machine: The cluster's parts.
        incident: Where and when the fault strikes.
    """

    scenario: Scenario
    params: OrionParams
    seed: int
    machine: Machine
    incident: Incident

    @property
    def duration_seconds(self) -> float:
        """Length of the recording."""
        return (self.params.minutes or self.scenario.minutes) * _SECONDS_PER_MINUTE

    @property
    def gpu_scrape_seconds(self) -> float:
        """Between two scrapes of a node's GPUs."""
        return self.params.gpu_scrape_seconds or self.scenario.gpu_scrape_seconds

    @property
    def fabric_scrape_seconds(self) -> float:
        """Between two scrapes of the network's counters."""
        return self.params.fabric_scrape_seconds or self.scenario.fabric_scrape_seconds

    @property
    def is_hang(self) -> bool:
        """Whether the job stops for good."""
        return self.scenario.fault == "hang"


def plan_simulation(scenario: Scenario, params: OrionParams, seed: int) -> Plan:
    """Return what a seed decides for a scenario.

    Raises:
        ValueError: The recording is too short for the fault or for a step, or the seed is
            negative.
    """
    if seed < 0:
        raise ValueError(f"seed must be 0 or above, got {seed}")
    if params.minutes is not None and params.minutes <= _MIN_MINUTES:
        raise ValueError(
            f"minutes must be above {_MIN_MINUTES:.0f} to hold a few steps, got {params.minutes}"
        )
    plan = Plan(
        scenario=scenario,
        params=params,
        seed=seed,
        machine=build_machine(params, seed),
        incident=_strike(scenario, params, seed),
    )
    onset = plan.incident.onset_seconds
    if math.isfinite(onset) and onset >= plan.duration_seconds:
        raise ValueError(
            f"the fault begins {onset:.0f} s after the start, but the recording ends after "
            f"{plan.duration_seconds:.0f} s; raise minutes or lower onset_minutes"
        )
    return plan


def _strike(scenario: Scenario, params: OrionParams, seed: int) -> Incident:
    draw = stream(seed, "culprit")
    rank = int(draw.integers(params.nodes * GPUS_PER_NODE))
    at_switch = bool(draw.integers(2))
    onset, clear = _interval(scenario, params)
    if scenario.fault == "hang":
        onset += float(draw.uniform(0.0, _HANG_SPREAD_SECONDS))
    named = scenario.fault in {"throttle", "hang", "dirty_link"}
    return Incident(
        onset_seconds=onset,
        clear_seconds=clear,
        rank=rank if named else None,
        at_switch=at_switch if scenario.fault == "dirty_link" else None,
    )


def _interval(scenario: Scenario, params: OrionParams) -> tuple[float, float]:
    """Return onset and end in seconds; infinite when there is none."""
    if scenario.onset_minutes is None:
        return math.inf, math.inf
    onset = scenario.onset_minutes if params.onset_minutes is None else params.onset_minutes
    lasts = scenario.fault_minutes if params.fault_minutes is None else params.fault_minutes
    if lasts is None:
        return onset * _SECONDS_PER_MINUTE, math.inf
    return onset * _SECONDS_PER_MINUTE, (onset + lasts) * _SECONDS_PER_MINUTE
