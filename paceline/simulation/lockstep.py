"""When each step happens: the drawn work, put on the clock, with the fault in its interval.

A fault takes hold with the first step that begins after its onset. All ranks end a step together;
a checkpoint leaves some behind, and the next step begins when the last of them is there.
"""

from dataclasses import dataclass

import numpy as np

from paceline.simulation.draws import Bools, Floats, stream
from paceline.simulation.plan import Plan
from paceline.simulation.scenarios import GPUS_PER_NODE
from paceline.simulation.workload import Work, repeat_for_gpus


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """The job as it ran: times in seconds after the epoch, arrays by step, or by step and rank.

    Attributes:
        starts: By step, when all ranks are there for it.
        ends: By step, when the last rank ended it, a checkpoint included.
        rank_ends: When each rank ended the step.
        step_seconds: From a rank's end of the step before (and an evaluation) to its end.
        data_seconds: Each rank's wait for data.
        compute_seconds: Each rank's compute, as its timer shows it.
        comm_seconds: What remains of the step: communication and waiting for others.
        optimizer_seconds: Each rank's optimizer.
        checkpoint_seconds: Each rank's checkpoint; zero in most steps.
        evaluation_seconds: By step, the evaluation after it; zero in most.
        busy_seconds: What each GPU itself computed, its neighbours' waiting left out.
        onset_step: The first step with the fault, counted from 1; null when there is none.
        cleared_step: The first step without it again; null when there is none.
        waiting_since: By rank, when it began to wait for good; null unless the job hangs.
    """

    starts: Floats
    ends: Floats
    rank_ends: Floats
    step_seconds: Floats
    data_seconds: Floats
    compute_seconds: Floats
    comm_seconds: Floats
    optimizer_seconds: Floats
    checkpoint_seconds: Floats
    evaluation_seconds: Floats
    busy_seconds: Floats
    onset_step: int | None
    cleared_step: int | None
    waiting_since: Floats | None

    @property
    def steps(self) -> int:
        """Number of steps that ended."""
        return len(self.ends)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Clock:
    """Which steps have the fault, when each starts, and how long it lasts without its pauses."""

    faulty: Bools
    starts: Floats
    seconds: Floats


def run_timeline(plan: Plan, work: Work) -> Timeline:
    """Return the job as it ran, until the recording ended or the job hung."""
    struck = _struck(plan, work)
    clock = _put_on_clock(plan, work, struck)
    node = np.where(clock.faulty[:, None], struck, work.node_seconds)
    count = _ended_steps(plan, work, clock)
    onset, cleared = _fault_steps(clock, count, is_hang=plan.is_hang)
    arrived = clock.starts[:, None] + repeat_for_gpus(node) + work.data_seconds
    compute = _reported_compute(plan, node)
    began, ended = _rank_times(work, clock)
    comm = ended - began - work.checkpoint_seconds - work.optimizer_seconds
    return Timeline(
        starts=clock.starts[:count],
        ends=ended.max(axis=1)[:count],
        rank_ends=ended[:count],
        step_seconds=(ended - began)[:count],
        data_seconds=work.data_seconds[:count],
        compute_seconds=compute[:count],
        comm_seconds=(comm - work.data_seconds - compute)[:count],
        optimizer_seconds=work.optimizer_seconds[:count],
        checkpoint_seconds=work.checkpoint_seconds[:count],
        evaluation_seconds=work.evaluation_seconds[:count],
        busy_seconds=_busy(plan, work, clock, node)[:count],
        onset_step=onset,
        cleared_step=cleared,
        waiting_since=arrived[count] if plan.is_hang else None,
    )


def _struck(plan: Plan, work: Work) -> Floats:
    """Return compute by step and node as the fault would have it.

    The throttled node is slower than the pace by the scenario's ratio, whatever its silicon, so
    that the job's loss doesn't hang on the draw.
    """
    node = work.node_seconds.copy()
    if plan.scenario.fault == "throttle" and plan.incident.node is not None:
        at = plan.incident.node
        own_pace = np.median(node[:, at]) / plan.params.compute_seconds
        node[:, at] *= plan.scenario.device_ratio / own_pace
    return node


def _path_seconds(plan: Plan, work: Work, node: Floats) -> Floats:
    """Return by step the slowest path's length, pauses left out."""
    latest: Floats = (repeat_for_gpus(node) + work.data_seconds).max(axis=1)
    return latest + work.exposed_seconds + plan.params.optimizer_seconds


def _pauses(work: Work) -> Floats:
    saving: Floats = work.checkpoint_seconds.max(axis=1)
    return saving + work.evaluation_seconds


def _begin(plan: Plan, lengths: Floats) -> Floats:
    return plan.params.start_seconds + np.concatenate(([0.0], np.cumsum(lengths)[:-1]))


def _put_on_clock(plan: Plan, work: Work, struck: Floats) -> _Clock:
    """Return the steps in time: sound until the onset, struck until the clearing, then sound."""
    slowed = (plan.scenario.job_ratio - 1.0) * plan.params.step_seconds
    sound = _path_seconds(plan, work, work.node_seconds)
    faulty = _path_seconds(plan, work, struck) + slowed
    pauses = _pauses(work)
    at = np.arange(len(sound))
    first = np.searchsorted(_begin(plan, sound + pauses), plan.incident.onset_seconds)
    seconds = np.where(at >= first, faulty, sound)
    last = np.searchsorted(_begin(plan, seconds + pauses), plan.incident.clear_seconds)
    seconds = np.where(at >= last, sound, seconds)
    return _Clock(
        faulty=(at >= first) & (at < last),
        starts=_begin(plan, seconds + pauses),
        seconds=seconds,
    )


def _ended_steps(plan: Plan, work: Work, clock: _Clock) -> int:
    """Return how many steps ended before the recording did, or before the job hung."""
    ends = clock.starts + clock.seconds + work.checkpoint_seconds.max(axis=1)
    count = int(np.searchsorted(ends, plan.duration_seconds))
    return min(count, int(np.argmax(clock.faulty))) if plan.is_hang else count


def _fault_steps(clock: _Clock, count: int, *, is_hang: bool) -> tuple[int | None, int | None]:
    """Return the first step with the fault and the first without it again, counted from 1."""
    struck = np.flatnonzero(clock.faulty[: count + 1 if is_hang else count])
    if len(struck) == 0:
        return None, None
    onset, cleared = int(struck[0]) + 1, int(struck[-1]) + 2
    return onset, cleared if cleared <= count else None


def _rank_times(work: Work, clock: _Clock) -> tuple[Floats, Floats]:
    """Return by step and rank when it began and when it ended."""
    ended = (clock.starts + clock.seconds)[:, None] + work.checkpoint_seconds
    began = np.empty_like(ended)
    began[0] = clock.starts[0]
    began[1:] = ended[:-1] + work.evaluation_seconds[:-1, None]
    return began, ended


def _reported_compute(plan: Plan, node: Floats) -> Floats:
    """Return what each rank's timer shows of its node's compute."""
    computed = repeat_for_gpus(node)
    draw = stream(plan.seed, "ranks")
    return computed * draw.normal(1.0, plan.params.rank_jitter_ratio, size=computed.shape)


def _busy(plan: Plan, work: Work, clock: _Clock, node: Floats) -> Floats:
    """Return what each GPU itself computed: the throttled one fills its node's whole time."""
    busy = work.own_seconds.copy()
    if plan.scenario.fault == "throttle" and plan.incident.rank is not None:
        rank = plan.incident.rank
        busy[:, rank] = np.where(clock.faulty, node[:, rank // GPUS_PER_NODE], busy[:, rank])
    return busy
