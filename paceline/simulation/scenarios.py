"""What can befall the simulated cluster, and the numbers it runs by.

ORION-256 was never built: every figure here is ILLUSTRATIVE, chosen to look like a 70 B parameter
job on 256 H100-class GPUs. What a scenario plants is in its fields; what the machine does by
itself (silicon spread, jitter, pauses, lost scrapes) is in `OrionParams`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

Fault = Literal["none", "throttle", "dirty_link", "hang", "pauses", "imbalance"]
Fabric = Literal["roce", "infiniband"]

GPUS_PER_NODE: Final = 8
STAGES: Final = 4


class UnknownScenarioError(LookupError):
    """No scenario has the name that was asked for."""

    def __init__(self, name: str) -> None:
        """Say what was asked for and what there is."""
        super().__init__(f"no scenario {name!r}; known: {sorted(SCENARIOS)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One thing that befalls the cluster.

    Attributes:
        name: What the command line calls it.
        help: One line for people.
        fault: What is planted; `none` and `imbalance` are no faults of a part.
        fabric: Which network the machine has, and so which exporters watch it.
        minutes: Length of the whole recording.
        onset_minutes: When the fault begins; null when nothing begins.
        fault_minutes: How long it lasts; null means to the end of the recording.
        device_ratio: Compute time of the culprit's node over the job's pace while it lasts.
        job_ratio: Step time of the job over its healthy step time, when communication slows.
        stage_ratio: Compute time of the last pipeline stage over its balanced time, always.
        gpu_scrape_seconds: Between two scrapes of a node's GPUs.
        fabric_scrape_seconds: Between two scrapes of the network's counters.
    """

    name: str
    help: str
    fault: Fault
    fabric: Fabric = "roce"
    minutes: float = 60.0
    onset_minutes: float | None = None
    fault_minutes: float | None = None
    device_ratio: float = 1.0
    job_ratio: float = 1.0
    stage_ratio: float = 1.0
    gpu_scrape_seconds: float = 30.0
    fabric_scrape_seconds: float = 60.0


SCENARIOS: Final[Mapping[str, Scenario]] = MappingProxyType(
    {
        scenario.name: scenario
        for scenario in (
            Scenario(
                name="throttled-gpu",
                help="INC-2291: one GPU throttles to 75 % of its clock for two hours.",
                fault="throttle",
                minutes=210.0,
                onset_minutes=75.0,
                fault_minutes=120.0,
                device_ratio=4 / 3,
                # The longest recording: half as many scrapes keep it below 200 MB.
                gpu_scrape_seconds=60.0,
                fabric_scrape_seconds=120.0,
            ),
            Scenario(
                name="dirty-link",
                help="One host link's receiver counts symbol errors; the job loses 8 %.",
                fault="dirty_link",
                fabric="infiniband",
                minutes=90.0,
                onset_minutes=45.0,
                job_ratio=1.08,
            ),
            Scenario(
                name="nccl-hang",
                help="One rank stops entering collectives; the others time out after 600 s.",
                fault="hang",
                onset_minutes=30.0,
            ),
            Scenario(
                name="bad-qos-profile",
                help="Every NIC pauses instead of marking; the job loses 14 %, no GPU differs.",
                fault="pauses",
                minutes=120.0,
                onset_minutes=60.0,
                job_ratio=1.14,
            ),
            Scenario(
                name="healthy",
                help="Nothing but the noise that every cluster has.",
                fault="none",
            ),
            Scenario(
                name="imbalanced-stage",
                help="The last pipeline stage has 35 % more work from the first step; no fault.",
                fault="imbalance",
                stage_ratio=1.35,
            ),
        )
    }
)
"""Every scenario by its name."""


def scenario_named(name: str) -> Scenario:
    """Return the scenario of that name.

    Raises:
        UnknownScenarioError: No scenario is called so; the message lists those that are.
    """
    if name not in SCENARIOS:
        raise UnknownScenarioError(name)
    return SCENARIOS[name]


@dataclass(frozen=True, slots=True, kw_only=True)
class OrionParams:
    """The size of the cluster, the rhythm of its job, and its noise; all ILLUSTRATIVE.

    Attributes:
        nodes: Nodes of eight GPUs; a multiple of the four pipeline stages.
        minutes: Length of the recording; null takes the scenario's.
        onset_minutes: When the fault begins; null takes the scenario's.
        fault_minutes: How long it lasts; null takes the scenario's.
        gpu_scrape_seconds: Between two scrapes of a node's GPUs; null takes the scenario's.
        fabric_scrape_seconds: Between two scrapes of the network; null takes the scenario's.
        start_seconds: From the start of the processes to the first step.
        data_seconds: A step's wait for data.
        compute_seconds: A step's compute on the node that sets the pace.
        exposed_seconds: A step's communication and pipeline bubble that compute doesn't hide.
        optimizer_seconds: A step's optimizer.
        checkpoint_steps: Steps between two checkpoints.
        checkpoint_seconds: Length of a checkpoint.
        evaluation_steps: Steps between two evaluations.
        evaluation_seconds: Length of an evaluation.
        timeout_seconds: After which a waiting collective is given up.
        silicon_spread_ratio: Standard deviation of the GPUs' compute time around 1.
        silicon_max_ratio: How much slower the few outliers are, at most.
        node_jitter_ratio: Standard deviation of a node's compute time from step to step.
        rank_jitter_ratio: Standard deviation of what a rank reports around its node's time.
        hiccup_ratio: Share of steps in which some rank halts for about a second.
        missing_ratio: Share of a target's scrapes that are lost.
        repeated_ratio: Share of scrapes that find the exporter's previous values.
        clock_offset_seconds: Hosts' clocks are off by up to this, either way.
        worst_clock_offset_seconds: One host's clock is off by this.
    """

    nodes: int = 32
    minutes: float | None = None
    onset_minutes: float | None = None
    fault_minutes: float | None = None
    gpu_scrape_seconds: float | None = None
    fabric_scrape_seconds: float | None = None
    start_seconds: float = 40.0
    data_seconds: float = 0.1
    compute_seconds: float = 9.4
    exposed_seconds: float = 7.0
    optimizer_seconds: float = 0.9
    checkpoint_steps: int = 50
    checkpoint_seconds: float = 40.0
    evaluation_steps: int = 100
    evaluation_seconds: float = 25.0
    timeout_seconds: float = 600.0
    silicon_spread_ratio: float = 0.015
    silicon_max_ratio: float = 0.04
    node_jitter_ratio: float = 0.004
    rank_jitter_ratio: float = 0.013
    hiccup_ratio: float = 0.025
    missing_ratio: float = 0.015
    repeated_ratio: float = 0.03
    clock_offset_seconds: float = 0.08
    worst_clock_offset_seconds: float = 0.4

    def __post_init__(self) -> None:
        """Refuse a cluster that the job's layout doesn't fit."""
        if self.nodes < STAGES or self.nodes % STAGES:
            raise ValueError(f"nodes must be a positive multiple of {STAGES}, got {self.nodes}")
        if self.minutes is not None and self.minutes <= 0:
            raise ValueError(f"minutes must be above 0, got {self.minutes}")

    @property
    def step_seconds(self) -> float:
        """A healthy step's length without pauses."""
        return (
            self.data_seconds + self.compute_seconds + self.exposed_seconds + self.optimizer_seconds
        )
