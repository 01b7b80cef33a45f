"""The training job: how long each rank spends on what, step by step, in lockstep.

A step lasts as long as its slowest path: the latest node's data and compute, then the exposed
communication, then the optimizer. Tensor parallelism synchronises the GPUs of a node in every
layer, so one slow GPU raises the reported compute of all eight ranks alike. What remains of a step
after a rank's own work is its communication, mostly waiting: the culprit's node has the least.
"""

from dataclasses import dataclass

import numpy as np

from paceline.simulation.draws import Floats, Ints, stream
from paceline.simulation.plan import Plan
from paceline.simulation.scenarios import GPUS_PER_NODE, STAGES

_STAGE_FACTORS = np.array([1.0, 0.994, 0.997, 1.006])
"""Stages are never quite equal: embedding, plain layers, output head."""
_FIRST_STEP_SECONDS = 20.0
_WARM_UP_RATIO = 0.6
_WARM_UP_STEPS = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What the steps would take, drawn before it is known when they happen.

    Attributes:
        node_seconds: By step and node, the node's compute without a fault.
        own_seconds: By step and rank, what each GPU itself computes without a fault.
        data_seconds: By step and rank.
        exposed_seconds: By step, communication and bubble that compute doesn't hide.
        optimizer_seconds: By step and rank.
        checkpoint_seconds: By step and rank; zero in steps without one.
        evaluation_seconds: By step, the evaluation after it; zero when there is none.
    """

    node_seconds: Floats
    own_seconds: Floats
    data_seconds: Floats
    exposed_seconds: Floats
    optimizer_seconds: Floats
    checkpoint_seconds: Floats
    evaluation_seconds: Floats


def draw_work(plan: Plan) -> Work:
    """Return the work of more steps than fit into the recording."""
    steps = int(plan.duration_seconds / plan.params.step_seconds * 1.1) + 2
    own, node = _compute(plan, steps)
    node, data = _hiccups(plan, node, _data(plan, steps))
    draw = stream(plan.seed, "exposed")
    jitter = draw.normal(1.0, plan.params.rank_jitter_ratio, size=steps)
    exposed = plan.params.exposed_seconds * jitter * _warm_up(steps)
    exposed[0] += _FIRST_STEP_SECONDS
    optimizer = stream(plan.seed, "optimizer").normal(1.0, 0.01, size=data.shape)
    return Work(
        node_seconds=node,
        own_seconds=own,
        data_seconds=data,
        exposed_seconds=exposed,
        optimizer_seconds=plan.params.optimizer_seconds * optimizer,
        checkpoint_seconds=_checkpoints(plan, steps),
        evaluation_seconds=_every(
            steps, plan.params.evaluation_steps, plan.params.evaluation_seconds
        ),
    )


def repeat_for_gpus(by_node: Floats) -> Floats:
    """Return values by (..., node) as values by (..., rank)."""
    return np.repeat(by_node, GPUS_PER_NODE, axis=-1)


def _warm_up(steps: int) -> Floats:
    return 1.0 + _WARM_UP_RATIO * np.exp(-np.arange(steps) / _WARM_UP_STEPS)


def _compute(plan: Plan, steps: int) -> tuple[Floats, Floats]:
    """Return own and node compute; the slowest node's mean over the steps is the nominal one."""
    nodes = plan.machine.nodes
    jitter = stream(plan.seed, "nodes").normal(
        1.0, plan.params.node_jitter_ratio, size=(steps, nodes)
    )
    stage = np.tile(_STAGE_FACTORS, nodes // STAGES)
    silicon = plan.machine.time_factors.reshape(nodes, GPUS_PER_NODE)
    node = silicon.max(axis=1) * stage * jitter
    scale = plan.params.compute_seconds / node.max(axis=1).mean()
    extra = np.ones(STAGES)
    extra[-1] = plan.scenario.stage_ratio
    work = scale * np.tile(extra, nodes // STAGES) * _warm_up(steps)[:, None]
    own = repeat_for_gpus(stage * jitter * work) * plan.machine.time_factors
    return own, node * work


def _data(plan: Plan, steps: int) -> Floats:
    draw = stream(plan.seed, "data")
    spread = draw.normal(0.0, 0.2, size=(steps, plan.machine.ranks))
    return plan.params.data_seconds * np.exp(spread)


def _hiccups(plan: Plan, node: Floats, data: Floats) -> tuple[Floats, Floats]:
    """Halt some rank for a step now and then: half in its compute, half in its data wait."""
    draw = stream(plan.seed, "hiccups")
    steps = len(node)
    strikes = draw.random(steps) < plan.params.hiccup_ratio
    ranks = draw.integers(plan.machine.ranks, size=steps)
    seconds = np.where(strikes, draw.uniform(0.5, 1.8, size=steps), 0.0)
    in_compute = draw.integers(2, size=steps) == 0
    at = np.arange(steps)
    node, data = node.copy(), data.copy()
    node[at, ranks // GPUS_PER_NODE] += np.where(in_compute, seconds, 0.0)
    data[at, ranks] += np.where(in_compute, 0.0, seconds)
    return node, data


def _checkpoints(plan: Plan, steps: int) -> Floats:
    """Return pauses by step and rank; the node's first rank also writes the metadata."""
    draw = stream(plan.seed, "checkpoints")
    length = _every(steps, plan.params.checkpoint_steps, plan.params.checkpoint_seconds)
    length *= draw.normal(1.0, 0.04, size=steps)
    extra = np.zeros((steps, plan.machine.ranks))
    extra[:, ::GPUS_PER_NODE] = draw.uniform(0.3, 0.9, size=(steps, plan.machine.nodes))
    return np.where(length[:, None] > 0.0, length[:, None] + extra, 0.0)


def _every(steps: int, interval: int, seconds: float) -> Floats:
    """Return the seconds at each interval-th step, counted from 1, and zero elsewhere."""
    numbers: Ints = np.arange(1, steps + 1)
    return np.where(numbers % interval == 0, seconds, 0.0)
