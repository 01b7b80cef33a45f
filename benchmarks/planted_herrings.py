"""Stories in which no device is at fault: work, settings, clocks, storage, whole groups."""

from typing import Final

import numpy as np

from benchmarks.planted_cases import MINUTE_20, MINUTE_30, ONE_STAGE, SICK, Case, nobody
from benchmarks.planted_jobs import BUSY, CLOCK, HEAT, POWER, REASONS, TICK_SECONDS, Job, Shape

EXPERTS: Final = Shape(dp=16, pp=4)


def pair_without_a_past(job: Job) -> None:
    """Of two replicas one is slow all the time."""
    job.times(1.2, 3)


def loss_head(job: Job) -> None:
    """The last stage has the loss."""
    job.times(1.45, np.arange(7, job.shape.ranks, 8))


def checkpoints(job: Job) -> None:
    """Every fiftieth step saves; the first rank of a node takes longer."""
    job.data[:, 50::50] += 9.0
    job.data[0::8, 50::50] += 3.0


def told_checkpoints(job: Job) -> None:
    """The same, told as what it is."""
    job.pauses[:, 50::50] += 9.0
    job.pauses[0::8, 50::50] += 3.0


def collections(job: Job) -> None:
    """Each rank collects its garbage when it likes."""
    for rank in range(job.shape.ranks):
        job.forward[rank, int(job.rng.integers(0, 400)) :: 400] += 0.3


def clock_skew(job: Job) -> None:
    """A host's clock is ahead, and is set right."""
    job.clock_offsets[40:48, :675] = 0.4


def mixed_models(job: Job) -> None:
    """Six of sixteen ranks have more bandwidth."""
    job.times(0.8, np.arange(10, 16))
    job.models[10:] = ["NVIDIA H200"] * 6


def single_gpu(job: Job) -> None:
    """A job of one GPU slows."""
    job.times(1.3, 0, slice(225, None))


def quantised(job: Job) -> None:
    """All ties but one quantum."""
    job.signals[CLOCK][:] = 1980e6
    job.signals[CLOCK][7] = 1965e6
    job.signals[HEAT][:] = 60.0
    job.signals[HEAT][14:] = 61.0


def whole_stage(job: Job) -> None:
    """A whole stage slows."""
    job.times(1.2, np.arange(16) * 8 + 5, slice(MINUTE_20, None))


def whole_job(job: Job) -> None:
    """Everybody slows."""
    job.times(1.25, np.arange(job.shape.ranks), slice(MINUTE_20, None))


def capped_node(job: Job) -> None:
    """All GPUs of a node hit a lower power cap."""
    rows = np.arange(40, 48)
    job.times(1.14, rows, slice(MINUTE_20, None))
    tick = job.tick(MINUTE_20)
    job.signals["power_limit_watts"] = np.full(job.signals[CLOCK].shape, 700.0)
    job.signals["power_limit_watts"][rows, tick:] = 550.0
    job.signals[CLOCK][rows, tick:] -= 255e6
    job.signals[POWER][rows, tick:] = 549.0 + job.rng.normal(
        0.0, 0.6, (8, job.signals[CLOCK].shape[1] - tick)
    )
    job.signals[REASONS][rows, tick:] = 0x4


def capped_gpu(job: Job) -> None:
    """One GPU was set to a lower power cap before the job."""
    job.times(1.12, SICK)
    job.signals["power_limit_watts"] = np.full(job.signals[CLOCK].shape, 700.0)
    job.signals["power_limit_watts"][SICK] = 550.0
    job.signals[CLOCK][SICK] -= 240e6
    job.signals[POWER][SICK] -= 141.0
    job.signals[REASONS][SICK] = 0x4


def set_lower(job: Job) -> None:
    """All GPUs of a node were set to a lower cap before the job."""
    rows = np.arange(40, 48)
    job.times(1.16, rows)
    job.signals[CLOCK][rows] -= 270e6
    job.signals[POWER][rows] -= 141.0
    job.signals[REASONS][rows] = 0x4


def lost_telemetry(job: Job) -> None:
    """One GPU's telemetry ends."""
    for values in job.signals.values():
        values[SICK, 80:] = np.nan


def counters_restart(job: Job) -> None:
    """The counters of a host start again from 0."""
    energy = np.cumsum(job.signals[POWER] * TICK_SECONDS, axis=1)
    energy[24:32, 120:] -= energy[24:32, 119:120]
    job.signals["energy_joules_total"] = energy
    job.signals["pcie_replay_count_total"] = np.full(energy.shape, 4.0)
    job.signals["pcie_replay_count_total"][24:32, 120:] = 0.0


def hot_expert(job: Job) -> None:
    """Tokens go to one expert group, and then to another."""
    tokens = np.full(job.forward.shape, 8192.0)
    for start, expert in ((150, 1), (350, 2), (600, 3)):
        rows = np.flatnonzero(np.arange(job.shape.ranks) % 4 == expert)
        tokens[rows, start : start + 200] *= 1.4
    share = tokens / 8192.0
    job.forward *= share
    job.backward *= share
    job.more["tokens"] = tokens


def sequence_lengths(job: Job) -> None:
    """Another rank has the long sequences in each step."""
    load = 1.0 + 0.12 * np.abs(job.rng.standard_normal(job.forward.shape))
    job.forward *= load * (1.0 + 0.02 * job.rng.standard_normal(load.shape))
    job.backward *= load


def storage_stall(job: Job) -> None:
    """Storage is slow for everybody."""
    job.data[:, MINUTE_20:MINUTE_30] += 1.5 * (1.0 + 0.1 * job.rng.standard_normal((128, 150)))


def storage_stall_of_most(job: Job) -> None:
    """Storage is slow for ten of sixteen nodes."""
    job.data[:80, MINUTE_20:MINUTE_30] += 1.5 * (1.0 + 0.1 * job.rng.standard_normal((80, 150)))


def midday(job: Job) -> None:
    """The heat of the day."""
    job.forward *= 1.0 + 0.02 * np.sin(np.arange(job.forward.shape[1]) / 900 * np.pi)
    ticks = np.arange(job.signals[CLOCK].shape[1])
    job.signals[CLOCK] *= 1.0 - 0.03 * np.sin(ticks / ticks.size * np.pi)
    job.signals[HEAT] += np.round(8.0 * np.sin(ticks / ticks.size * np.pi))


def one_spike(job: Job) -> None:
    """One step fifty times as long."""
    job.forward[SICK, 500] *= 50.0


def silicon(job: Job) -> None:
    """Chips of one model differ."""
    spread = 1.0 + np.clip(0.06 * job.rng.standard_normal((128, 1)), -0.15, 0.15)
    job.forward *= spread
    job.backward *= spread
    job.signals[CLOCK][:] = np.round(job.signals[CLOCK] / spread**0.3 / 15e6) * 15e6


def idle_gpus(job: Job) -> None:
    """The job pauses, and half of its GPUs idle."""
    job.signals[BUSY][64:, 100:120] = 0.0
    job.signals[CLOCK][64:, 100:120] = 345e6


HERRING_CASES: Final[dict[str, Case]] = {
    "D11 a pair without a past": Case(
        story=pair_without_a_past,
        truth=nobody(("unknown", "group", None)),
        shape=Shape(dp=2),
    ),
    "D15 loss head": Case(story=loss_head, truth=nobody(("imbalance", "group", "partitioning"))),
    "D20 mixed models": Case(story=mixed_models, truth=nobody(), shape=ONE_STAGE),
    "D20 mixed models, not told": Case(
        story=mixed_models, truth=nobody(), shape=ONE_STAGE, hidden=("samples",)
    ),
    "D23 checkpoints": Case(story=checkpoints, truth=nobody()),
    "D23 checkpoints, told": Case(story=told_checkpoints, truth=nobody()),
    "D25 garbage collection": Case(
        story=collections, truth=nobody(("imbalance", "job", "unsynchronised_pauses"))
    ),
    "D27 clock skew": Case(story=clock_skew, truth=nobody(("config_drift", "host", "clock_skew"))),
    "D29 a single GPU": Case(
        story=single_gpu,
        truth=nobody(("unknown", "job", "slower_than_own_past")),
        shape=Shape(dp=1, pp=1),
    ),
    "D30 quantised and tied": Case(story=quantised, truth=nobody()),
    "a whole stage": Case(story=whole_stage, truth=nobody(("group_slow", "group", None))),
    "the whole job": Case(story=whole_job, truth=nobody(("group_slow", "job", None))),
    "a capped node": Case(
        story=capped_node,
        truth=nobody(("config_drift", "host", "power_cap")),
    ),
    "a capped GPU": Case(
        story=capped_gpu,
        truth=nobody(("config_drift", "gpu", "power_cap")),
    ),
    "a node that was set lower": Case(
        story=set_lower, truth=nobody(("config_drift", "host", "power_cap"))
    ),
    "lost telemetry": Case(story=lost_telemetry, truth=nobody(("telemetry_lost", "gpu", None))),
    "counters restart": Case(story=counters_restart, truth=nobody()),
    "a hot expert": Case(story=hot_expert, shape=EXPERTS, truth=nobody()),
    "a hot expert, tokens not told": Case(
        story=hot_expert, shape=EXPERTS, truth=nobody(), hidden=("tokens",)
    ),
    "sequence lengths": Case(
        story=sequence_lengths, truth=nobody(("imbalance", "job", "sequence_lengths"))
    ),
    "a storage stall": Case(story=storage_stall, truth=nobody(("group_slow", "job", "data"))),
    "a storage stall of most": Case(
        story=storage_stall_of_most, truth=nobody(("group_slow", "job", "data"))
    ),
    "midday": Case(story=midday, truth=nobody()),
    "one spike": Case(story=one_spike, truth=nobody()),
    "silicon": Case(story=silicon, truth=nobody()),
    "idle GPUs": Case(story=idle_gpus, truth=nobody()),
}
