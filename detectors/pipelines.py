"""When the steps of a pipelined job would end, had some of its operations taken another time.

Source: ByteDance, Understanding Stragglers in Large Model Training Using What-if Analysis
(arXiv 2505.05713); methods reference, section 9. Operations run in the order that was recorded,
each as soon as what it waits for is done (no launch delay): compute waits for its input and for
the worker's earlier compute; a communication waits for all of its members. We walk one pipeline
operation by operation and take all steps, replicas and questions at a time.
"""

from dataclasses import dataclass

import numpy as np

from detectors.panels import Bools, Floats
from detectors.schedules import WAYS, Route, Schedule, Work
from detectors.traced_arrays import AFTER, BEFORE, MEMBERS
from detectors.traced_durations import COMPUTE, PAIRS, Durations


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """Which operations keep their own durations; all others take the ideal.

    Attributes:
        compute: Whose compute does; shape (questions, stage, replica).
        transfers: Whose communication does; likewise.
    """

    compute: Bools
    transfers: Bools

    def kept(self, operation: str) -> Bools:
        """Return who keeps the durations of an operation."""
        return self.compute if operation in COMPUTE else self.transfers


def pipeline_ends(schedule: Schedule, durations: Durations, questions: Questions) -> Floats:
    """Return when each worker's last micro-batch ends; shape (questions, stage, replica, step)."""
    walk = _Walk(durations, questions)
    for work in schedule.order:
        end = walk.compute(work)
        if work in schedule.routes:
            walk.send(work, schedule.routes[work], end)
    return np.stack(walk.free, axis=1)


def step_ends(ends: Floats, durations: Durations, questions: Questions) -> Floats:
    """Return when the steps end whose last micro-batches end so; shape (questions, step)."""
    for name in AFTER:
        members = durations.members[name][None, :, :, None]
        kept = questions.kept(name)[..., None]
        for own in durations.own[name]:
            here = np.where(members, ends, -np.inf)
            arrived = here.max(axis=MEMBERS.get(name, ()), keepdims=True)
            ends = np.where(members, arrived + np.where(kept, own, durations.ideal[name]), ends)
    last: Floats = ends.max(axis=(1, 2))
    return last


class _Walk:
    """A walk through a pipeline: when each worker and each of its lines is free again.

    A worker has a line for each way and end of a transfer. All times have the shape (questions,
    replica, step).
    """

    def __init__(self, durations: Durations, questions: Questions) -> None:
        """Begin after the parameters have come, for which all workers ask as the step begins."""
        self._durations = durations
        self._questions = questions
        self._lines: dict[tuple[str, int], Floats] = {}
        self._inputs: dict[Work, Floats] = {}
        count, stages, replicas = questions.compute.shape
        depth, _, _, steps = durations.own[BEFORE].shape
        self.free = [np.zeros((count, replicas, steps)) for _ in range(stages)]
        for sequence in range(depth):
            self.free = [
                free + self._seconds(BEFORE, stage, sequence)
                for stage, free in enumerate(self.free)
            ]

    def compute(self, work: Work) -> Floats:
        """Do an operation, and return when it ends."""
        start = self.free[work.stage]
        if work in self._inputs:
            start = np.maximum(start, self._inputs.pop(work))
        end = start + self._seconds(WAYS[work.way], work.stage, work.sequence)
        self.free[work.stage] = end
        return end

    def send(self, work: Work, route: Route, end: Floats) -> None:
        """Send an operation's result on its way, as soon as both ends are free."""
        send, receive, _ = PAIRS[work.way]
        here, there = (send, work.stage), (receive, route.target.stage)
        both = np.maximum(end, np.maximum(self._lines.get(here, end), self._lines.get(there, end)))
        self._lines[here] = both + self._seconds(*here, route.sent)
        self._lines[there] = both + self._seconds(*there, route.received)
        self._inputs[route.target] = self._lines[there]

    def _seconds(self, operation: str, stage: int, sequence: int) -> Floats:
        """Return how long an operation takes in each question."""
        own = self._durations.own[operation][sequence, stage]
        kept = self._questions.kept(operation)[:, stage, :, None]
        return np.where(kept, own, self._durations.ideal[operation])
