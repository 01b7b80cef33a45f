"""Stories of devices that are slow, and of what hides them.

A truth names who is slow, in the words of the scenarios that the detectors are held to.
"""

from dataclasses import replace
from datetime import timedelta
from typing import Final

import numpy as np

from benchmarks.planted_cases import (
    LOST_SHARE,
    MINUTE_20,
    MINUTE_30,
    SICK,
    Case,
    Truth,
    one,
    shuffled,
    throttle,
)
from benchmarks.planted_jobs import CLOCK, REASONS, TICK_SECONDS, Job, Shape, healthy_job

RACKS: Final = Shape(hosts="gpu-r{rack}-n{node:02d}")
TENSOR: Final = Shape(dp=4, pp=4, tp=8)


def plain(job: Job) -> None:
    """One GPU gets hot at minute 20."""
    job.times(1.15, SICK, slice(MINUTE_20, None))
    throttle(job, SICK, job.tick(MINUTE_20))


def from_the_first_step(job: Job) -> None:
    """One GPU is slow all the time."""
    job.times(1.20, SICK)


def whole_node(job: Job) -> None:
    """A host's CPUs are busy with something else."""
    job.forward[16:24, MINUTE_20:] *= 1.4


def pair_with_a_past(job: Job) -> None:
    """Of two replicas one slows half way."""
    job.times(1.2, 3, slice(MINUTE_30, None))


def stale_telemetry(job: Job) -> None:
    """An exporter freezes, and then its GPU slows."""
    for values in job.signals.values():
        values[SICK, 72:] = values[SICK, 72:73]
    job.times(1.2, SICK, slice(375, None))


def creeps(job: Job) -> None:
    """One GPU gets slower bit by bit, from minute 15 on."""
    steps = job.forward.shape[1] - 225
    job.times(np.linspace(1.0, 1.25, steps), SICK, slice(225, None))


def recovers_and_relapses(job: Job) -> None:
    """One GPU is slow twice."""
    for start, stop in ((225, 375), (600, 825)):
        job.times(1.25, SICK, slice(start, stop))


def recovers(job: Job) -> None:
    """One GPU is slow for ten minutes."""
    job.times(1.3, SICK, slice(MINUTE_20, MINUTE_30))


def two_at_once(job: Job) -> None:
    """Two GPUs, of one stage and of another, at different times."""
    job.times(1.3, SICK, slice(200, None))
    job.times(1.2, 53, slice(400, None))
    job.times(1.2, 66, slice(500, None))


def outlier_beside(job: Job) -> None:
    """A huge outlier must not hide a mild one."""
    job.times(20.0, SICK)
    job.times(1.3, 53)


def half_a_stage(job: Job) -> None:
    """Half of a stage slows."""
    job.times(1.2, np.arange(8) * 8 + 5, slice(MINUTE_20, None))


def hot_row(job: Job) -> None:
    """All hosts of a rack get hot."""
    rows = np.arange(32, 64)
    job.times(1.15, rows, slice(MINUTE_20, None))
    for rank in rows:
        throttle(job, int(rank), job.tick(MINUTE_20))


def slow_tensor_rank(job: Job) -> None:
    """One GPU slows its whole tensor-parallel group; only its own signals tell which."""
    job.times(1.15, np.arange(40, 48), slice(MINUTE_20, None))
    throttle(job, 43, job.tick(MINUTE_20))


def slow_tensor_group(job: Job) -> None:
    """A tensor-parallel group slows and no signal tells who."""
    job.times(1.15, np.arange(40, 48), slice(MINUTE_20, None))


def pcie_downgrade(job: Job) -> None:
    """The PCIe link of one GPU trains down."""
    job.data[SICK, MINUTE_20:] += 0.7
    tick, shape = job.tick(MINUTE_20), job.signals[CLOCK].shape
    for name, usual, low in (("generation", 5.0, 1.0), ("width_lanes", 16.0, 16.0)):
        job.signals[f"pcie_link_{name}"] = np.full(shape, usual)
        job.signals[f"pcie_max_link_{name}"] = np.full(shape, usual)
        job.signals[f"pcie_link_{name}"][SICK, tick:] = low


def silent_steps(job: Job) -> None:
    """A rank does not report for a while, and another one is slow."""
    from_the_first_step(job)
    job.told[53, 300:500] = False


def lost_reports(job: Job) -> None:
    """A fifth of the reports is lost."""
    plain(job)
    job.told &= job.rng.random(job.told.shape) >= LOST_SHARE


def starved_node(job: Job) -> None:
    """The data loaders of one node are slow."""
    job.data[32:40, MINUTE_20:] += 0.8


def better_mean(job: Job) -> None:
    """The job gets faster, and one of its GPUs slower than its peers."""
    job.times(0.75, np.arange(job.shape.ranks), slice(MINUTE_30, None))
    job.times(1.2, SICK, slice(MINUTE_30, None))


def telemetry_alone(job: Job) -> None:
    """Only telemetry tells of one hot GPU."""
    throttle(job, SICK, 80)


def telemetry_flaps(job: Job) -> None:
    """A GPU throttles again and again."""
    for start in range(20, 220, 25):
        job.signals[CLOCK][SICK, start : start + 7] *= 0.7
        job.signals[REASONS][SICK, start : start + 7] = 0x40
    tick_steps = TICK_SECONDS / 4.0
    for start in range(20, 220, 25):
        job.times(1.3, SICK, slice(int(start * tick_steps), int((start + 7) * tick_steps)))


def flapping_gpu(job: Job) -> None:
    """A GPU is slow for a minute, again and again."""
    for start in range(100, 880, 75):
        job.times(1.5, SICK, slice(start, start + 18))


def renumbered(first: Job) -> Job:
    """The next attempt of the same job, with other rank numbers and the same sick GPU."""
    job = healthy_job(int(first.rng.integers(0, 2**31)), later(first, 1))
    job.times(1.2, SICK)
    job.order = first.rng.permutation(first.shape.ranks)
    return job


def later(first: Job, attempt: int) -> Shape:
    """The shape of the next attempt of a job."""
    minutes = first.shape.minutes
    start = first.shape.start + timedelta(minutes=minutes * 1.4)
    return replace(first.shape, start=start, attempt=attempt)


SLOW_CASES: Final[dict[str, Case]] = {
    "D01 plain straggler": Case(
        story=plain, truth=one(onset=MINUTE_20, effect=1.15, causes=frozenset({"thermal"}))
    ),
    "D03 slow from the first step": Case(
        story=from_the_first_step, truth=one(onset=-1, effect=1.2)
    ),
    "D09 a node, not eight GPUs": Case(
        story=whole_node,
        truth=one(
            "n02",
            levels=frozenset({"host"}),
            onset=MINUTE_20,
            effect=1.133,
            causes=frozenset({"host_cpu"}),
        ),
    ),
    "D11 a pair with a past": Case(
        story=pair_with_a_past,
        truth=one("n00/3", onset=MINUTE_30, effect=1.2),
        shape=Shape(dp=2),
    ),
    "D14 stale telemetry": Case(
        story=stale_telemetry,
        truth=one(onset=375, effect=1.2, beside=frozenset({("telemetry_lost", "gpu", "stale")})),
    ),
    "creep": Case(
        story=creeps,
        truth=one(kinds=frozenset({"degrading"}), onset=225, effect=1.25, max_onset_steps=60),
    ),
    "recovery": Case(story=recovers, truth=one(onset=MINUTE_20, effect=1.3)),
    "recovery and relapse": Case(story=recovers_and_relapses, truth=one(onset=225, effect=1.25)),
    "three at once": Case(
        story=two_at_once, truth=Truth(devices=frozenset({"n03/5", "n06/5", "n08/2"}))
    ),
    "an outlier beside": Case(
        story=outlier_beside, truth=Truth(devices=frozenset({"n03/5", "n06/5"}))
    ),
    "half a stage": Case(
        story=half_a_stage,
        truth=Truth(
            devices=frozenset({f"n{node:02d}/5" for node in range(8)}), onset=MINUTE_20, effect=1.2
        ),
    ),
    "a hot row": Case(
        story=hot_row,
        shape=RACKS,
        truth=one(
            "r1",
            levels=frozenset({"rack"}),
            onset=MINUTE_20,
            effect=1.15,
            causes=frozenset({"thermal"}),
        ),
    ),
    "a tensor-parallel rank": Case(
        story=slow_tensor_rank,
        shape=TENSOR,
        truth=one("n05/3", onset=MINUTE_20, effect=1.15, causes=frozenset({"thermal"})),
    ),
    "a tensor-parallel group": Case(
        story=slow_tensor_group,
        shape=TENSOR,
        truth=one("n05", levels=frozenset({"host"}), onset=MINUTE_20, effect=1.15),
    ),
    "a PCIe link trains down": Case(
        story=pcie_downgrade,
        truth=one(onset=MINUTE_20, effect=1.19, causes=frozenset({"pcie_speed"})),
    ),
    "a silent rank": Case(story=silent_steps, truth=one(onset=-1, effect=1.2)),
    "lost reports": Case(story=lost_reports, truth=one(onset=MINUTE_20, effect=1.15)),
    "a starved node": Case(
        story=starved_node,
        truth=one(
            "n04",
            levels=frozenset({"host"}),
            onset=MINUTE_20,
            effect=1.22,
            causes=frozenset({"data"}),
        ),
    ),
    "a better mean": Case(story=better_mean, truth=one(onset=MINUTE_30, effect=1.2)),
    "telemetry alone": Case(
        story=telemetry_alone,
        truth=one(onset=MINUTE_20, causes=frozenset({"thermal"})),
        hidden=("steps",),
    ),
    "throttling that flaps": Case(
        story=telemetry_flaps, truth=one(kinds=frozenset({"flapping"}), onset=75)
    ),
    "a flapping GPU": Case(
        story=flapping_gpu, truth=one(kinds=frozenset({"flapping"}), onset=100, effect=1.5)
    ),
    "D03, shuffled, renumbered, a fifth lost": Case(
        story=shuffled(from_the_first_step), truth=one(onset=-1, effect=1.2)
    ),
}
