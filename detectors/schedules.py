"""In which order the operations of a pipeline run, and where their results go.

Source: methods reference, section 9 (the order that was recorded); Megatron's one-forward-one-
backward schedules, with one chunk of the model a stage or several.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from detectors.panels import Ints
from detectors.traced_arrays import PIPELINE, Trace

WAYS: Final = PIPELINE[:2]
"""The two ways through a pipeline: forward, backward."""

MAX_COMPARED: Final = 4_000_000
"""Comparisons a stage that settle its order; more steps vote where there are fewer operations."""

MIN_VOTERS: Final = 8
"""Steps of workers that vote at the least."""


class Work(NamedTuple):
    """One compute operation of a stage.

    Attributes:
        way: Which of `WAYS`.
        stage: Where.
        sequence: The how-manieth of its way in the step.
    """

    way: int
    stage: int
    sequence: int


class Route(NamedTuple):
    """Where the result of an operation goes.

    Attributes:
        target: The operation that waits for it.
        sent: The how-manieth transfer of its sender it is.
        received: The how-manieth of its receiver.
    """

    target: Work
    sent: int
    received: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """How a pipeline works.

    Attributes:
        order: All operations, each after those that it waits for.
        routes: Where their results go, if anywhere.
    """

    order: list[Work]
    routes: dict[Work, Route]


def schedule_of(trace: Trace) -> Schedule | None:
    """Return the schedule of a trace's pipeline; null where what is recorded contradicts itself."""
    routes = _routes(trace)
    queues = [_stage_order(trace, stage) for stage in range(trace.shape[1])]
    order = list(_sorted(queues, routes))
    is_whole = len(order) == sum(len(queue) for queue in queues)
    return Schedule(order=order, routes=routes) if is_whole else None


def _stage_order(trace: Trace, stage: int) -> list[Work]:
    """Return a stage's operations as most workers and steps had them.

    Each way keeps its own order. How many forwards come before a backward is put to the vote among
    the workers' steps that have both rows, so neither missing rows nor uneven steps move it.
    """
    depth, _, replicas, steps = trace.shape
    count = min(max(MIN_VOTERS, MAX_COMPARED // depth**2), replicas * steps)
    voters = np.arange(count) * (replicas * steps) // count
    forward, backward = (trace.starts[way][:, stage].reshape(depth, -1)[:, voters] for way in WAYS)
    first, then = forward[:, None], backward[None]
    is_before = (first < then).sum(axis=2) > (first > then).sum(axis=2)
    places = np.arange(1, depth + 1)[:, None]
    done = np.maximum.accumulate((is_before * places).max(axis=0))
    return list(_merged(stage, done))


def _merged(stage: int, done: Ints) -> Iterator[Work]:
    """Yield a stage's operations: before each backward the forwards that come before it."""
    at = 0
    for sequence, count in enumerate(done.tolist()):
        yield from (Work(0, stage, ahead) for ahead in range(at, count))
        yield Work(1, stage, sequence)
        at = count
    yield from (Work(0, stage, ahead) for ahead in range(at, done.size))


def _routes(trace: Trace) -> dict[Work, Route]:
    """Return where each operation's result goes.

    Forward that is the next stage, and behind the last one the first stage's next chunk; backward
    the other way round. The first chunk of the first stage, and the last one of the last, are ends.
    """
    stages = trace.shape[1]
    routes: dict[Work, Route] = {}
    for way, name in enumerate(WAYS):
        chunks = trace.chunks[name]
        starts, stops = (0, 0), (stages - 1, int(chunks.max()))
        ends = (stops, starts) if way else (starts, stops)
        for stage in range(stages if stages > 1 else 0):
            target = (stage + (-1 if way else 1)) % stages
            sent = _all_but(chunks, stage, ends[1])
            received = _all_but(chunks, target, ends[0])
            for at, (one, other) in enumerate(zip(sent, received, strict=False)):
                work = Work(way, stage, one)
                routes[work] = Route(Work(way, target, other), at, at)
    return routes


def _all_but(chunks: Ints, stage: int, end: tuple[int, int]) -> list[int]:
    """Return the operations of a stage that are not the pipeline's end: stage and chunk."""
    at_end = (chunks[:, stage] == end[1]) & (stage == end[0])
    return np.flatnonzero(~at_end).tolist()


def _sorted(queues: list[list[Work]], routes: dict[Work, Route]) -> Iterator[Work]:
    """Yield operations in an order in which each one's input is there; stops where none is."""
    awaited = {route.target for route in routes.values()}
    heads = [0] * len(queues)
    moved = True
    while moved:
        moved = False
        for stage, queue in enumerate(queues):
            while heads[stage] < len(queue) and queue[heads[stage]] not in awaited:
                work = queue[heads[stage]]
                heads[stage] += 1
                moved = True
                if work in routes:
                    awaited.discard(routes[work].target)
                yield work
