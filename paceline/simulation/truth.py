"""What was planted: written beside the sources, never read by what looks for it."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import orjson

from paceline.simulation.lockstep import Timeline
from paceline.simulation.machine import (
    EPOCH_SECONDS,
    RUN,
    coordinates_of,
    leaf_name,
    leaf_port,
)
from paceline.simulation.plan import Plan
from paceline.simulation.scenarios import GPUS_PER_NODE, STAGES


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkEnd:
    """One end of a link.

    Attributes:
        device: The switch, or the host.
        port: The switch's port number, or the host's NIC.
        is_receiver: Whether this end counts the errors.
    """

    device: str
    port: str
    is_receiver: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Culprit:
    """The part to blame; null where it is not a matter of that part.

    Attributes:
        host: Name of the node.
        gpu: The GPU's index on its node.
        gpu_uuid: The GPU's own name.
        rank: Global rank.
        dp: Data-parallel replica.
        pp: Pipeline stage; for an imbalance the only thing known.
        tp: Place in the tensor group.
        link: Both ends of a dirty link.
    """

    host: str | None = None
    gpu: int | None = None
    gpu_uuid: str | None = None
    rank: int | None = None
    dp: int | None = None
    pp: int | None = None
    tp: int | None = None
    link: tuple[LinkEnd, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What a simulation planted.

    Attributes:
        scenario: Its name.
        seed: What it was drawn from.
        run: The training job.
        fault: What was planted.
        started: When the recording begins, RFC 3339 in UTC.
        ended: When it ends.
        onset: When the fault began; null when nothing did.
        cleared: When it ended; null when it lasted.
        onset_step: The first step with the fault; in a hang, the one that never ended.
        cleared_step: The first step without it again.
        steps: Steps that ended.
        culprit: The part to blame; null when no part is.
        job_slowdown: Expected step time with it over that without; null when nothing slows.
    """

    scenario: str
    seed: int
    run: str
    fault: str
    started: str
    ended: str
    onset: str | None
    cleared: str | None
    onset_step: int | None
    cleared_step: int | None
    steps: int
    culprit: Culprit | None
    job_slowdown: float | None


def tell_truth(plan: Plan, timeline: Timeline) -> Truth:
    """Return what the plan planted, as it came out."""
    clear = plan.incident.clear_seconds
    return Truth(
        scenario=plan.scenario.name,
        seed=plan.seed,
        run=RUN,
        fault=plan.scenario.fault,
        started=_rfc3339(0.0),
        ended=_rfc3339(plan.duration_seconds),
        onset=_finite_time(_onset_seconds(plan, timeline)),
        cleared=_finite_time(clear) if clear < plan.duration_seconds else None,
        onset_step=timeline.onset_step,
        cleared_step=timeline.cleared_step,
        steps=timeline.steps,
        culprit=_culprit(plan),
        job_slowdown=_job_slowdown(plan),
    )


def write_truth(path: Path, truth: Truth) -> None:
    """Write the truth as indented JSON."""
    path.write_bytes(orjson.dumps(truth, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def _rfc3339(seconds: float) -> str:
    at = datetime.fromtimestamp(round(EPOCH_SECONDS + seconds, 3), tz=UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _finite_time(seconds: float) -> str | None:
    return _rfc3339(seconds) if math.isfinite(seconds) else None


def _onset_seconds(plan: Plan, timeline: Timeline) -> float:
    """Return the onset; a hang begins when the hung rank should have entered its collective."""
    if timeline.waiting_since is None or plan.incident.rank is None:
        return plan.incident.onset_seconds
    return float(timeline.waiting_since[plan.incident.rank])


def _culprit(plan: Plan) -> Culprit | None:
    if plan.scenario.fault == "imbalance":
        return Culprit(pp=STAGES - 1)
    rank, machine = plan.incident.rank, plan.machine
    if rank is None:
        return None
    node, local, place = rank // GPUS_PER_NODE, rank % GPUS_PER_NODE, coordinates_of(rank)
    if plan.incident.at_switch is not None:
        return Culprit(host=machine.hosts[node], link=_link(plan, node, local))
    return Culprit(
        host=machine.hosts[node],
        gpu=local,
        gpu_uuid=machine.gpu_uuids[rank],
        rank=rank,
        dp=place.dp,
        pp=place.pp,
        tp=place.tp,
    )


def _link(plan: Plan, node: int, rail: int) -> tuple[LinkEnd, LinkEnd]:
    at_switch = bool(plan.incident.at_switch)
    return (
        LinkEnd(device=leaf_name(node, rail), port=str(leaf_port(node)), is_receiver=at_switch),
        LinkEnd(device=plan.machine.hosts[node], port=f"mlx5_{rail}", is_receiver=not at_switch),
    )


def _job_slowdown(plan: Plan) -> float | None:
    """Return what the scenario's ratios mean for the job's step time."""
    scenario, params = plan.scenario, plan.params
    ratio = max(scenario.device_ratio, scenario.stage_ratio)
    slowdown = scenario.job_ratio + (ratio - 1.0) * params.compute_seconds / params.step_seconds
    return round(slowdown, 4) if slowdown > 1.0 else None
