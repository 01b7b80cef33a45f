"""What a simulation says of planted jobs, and whom the detector of traces names for it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.frames import OPS, conform
from detectors.known_values import known_mean, known_quantile
from detectors.panels import Floats
from detectors.traced_arrays import MAX_CELLS, traces_of
from detectors.traced_stragglers import TraceParams, find_traced_stragglers
from detectors.verdicts import Verdict, verdicts_of
from detectors.what_if import WhatIf, what_if

TAIL: dict[str, tuple[float, tuple[int, ...]]] = {
    "layernorm-grads-all-reduce": (0.001, ()),
    "embedding-grads-all-reduce": (0.01, (0,)),
    "grads-reduce-scatter": (0.05, (1,)),
    "optimizer-clip-main-grad": (0.004, (0, 1)),
    "optimizer": (0.02, ()),
}
"""Seconds, and along which axes of (stage, replica) the members lie."""

WAYS = ("forward", "backward")


class Walk:
    """What has gone over the lines of one replica in a step."""

    def __init__(self, stages: int, chunks: int) -> None:
        """Begin with nothing sent."""
        self.stages, self.chunks = stages, chunks
        self.ready: dict[tuple[int, int, int, int], float] = {}
        self.lines: dict[tuple[str, int], float] = {}
        self.counts: dict[tuple[str, int], int] = {}

    def count(self, name: str, stage: int) -> int:
        """The how-manieth of its kind this is, from 0."""
        self.counts[name, stage] = self.counts.get((name, stage), -1) + 1
        return self.counts[name, stage]

    def is_end(self, stage: int, way: int, chunk: int, *, first: bool) -> bool:
        """Whether a pipeline begins, or ends, with this."""
        begins = first != bool(way)
        return (stage, chunk) == ((0, 0) if begins else (self.stages - 1, self.chunks - 1))

    def has_input(self, stage: int, way: int, chunk: int, one: int) -> bool:
        """Whether a worker can begin with this."""
        return self.is_end(stage, way, chunk, first=True) or (stage, way, chunk, one) in self.ready

    def send(
        self, what: tuple[int, int, int, int], done: float, lasting: float
    ) -> Iterator[dict[str, Any]]:
        """Yield both ends of a transfer."""
        stage, way, chunk, one = what
        if self.is_end(stage, way, chunk, first=False):
            return
        wrapped, target = divmod(stage + (-1 if way else 1), self.stages)
        here, there = (f"{WAYS[way]}-send", stage), (f"{WAYS[way]}-recv", target)
        left, right = max(done, self.lines.get(here, 0.0)), self.lines.get(there, 0.0)
        end = max(left, right) + lasting
        self.ready[target, way, chunk + wrapped, one] = end
        self.lines[here] = self.lines[there] = end
        yield told(*here, left, end, self.count(*here))
        yield told(*there, right, end, self.count(*there))


@dataclass(frozen=True, kw_only=True)
class Job:
    """A pipelined job whose workers do each operation as soon as they can."""

    stages: int = 4
    replicas: int = 4
    chunks: int = 1
    micro_batches: int = 8
    steps: int = 12
    work: Callable[[int, int, int, int], float] = lambda *_: 1.0
    transfer: Callable[[int, int], float] = lambda *_: 0.001
    sync: Callable[[int], float] = lambda *_: 1.0
    noise: float = 0.01

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield all operations; `work` is by stage, replica, step and micro-batch."""
        dice = np.random.default_rng(7)
        for step in range(self.steps):
            done = np.zeros((self.stages, self.replicas))
            for replica in range(self.replicas):
                for row in self.pipeline(step, replica, dice, done[:, replica]):
                    yield {"step": 10 * step, "dp": replica} | row
            for row in self.tail(done):
                yield {"step": 10 * step} | row

    def order(self, stage: int) -> list[tuple[int, int, int]]:
        """Way, chunk and micro-batch of a stage's operations: 1F1B, or all forwards first."""
        units = [(chunk, one) for chunk in range(self.chunks) for one in range(self.micro_batches)]
        ahead = min(self.stages - stage, len(units)) if self.chunks == 1 else len(units)
        forward = [(0, *unit) for unit in units]
        backward = [(1, self.chunks - 1 - chunk, one) for chunk, one in units]
        mixed = [one for pair in zip(backward, forward[ahead:], strict=False) for one in pair]
        return [*forward[:ahead], *mixed, *backward[len(forward) - ahead :][-ahead:]]

    def pipeline(
        self, step: int, replica: int, dice: np.random.Generator, free: Floats
    ) -> Iterator[dict[str, Any]]:
        """Yield one replica's operations up to its last micro-batch; `free` is when that ends."""
        free += 0.02
        yield from (told("params-all-gather", stage, 0.0, 0.02) for stage in range(self.stages))
        queues = [self.order(stage) for stage in range(self.stages)]
        walk = Walk(stages=self.stages, chunks=self.chunks)
        while any(queues):
            for stage, queue in enumerate(queues):
                while queue and walk.has_input(stage, *queue[0]):
                    way, chunk, one = queue.pop(0)
                    start = max(free[stage], walk.ready.get((stage, way, chunk, one), 0.0))
                    took = self.work(stage, replica, step, one) * (1 + way) * 0.1
                    free[stage] = start + took * float(np.exp(self.noise * dice.normal()))
                    at = walk.count(f"compute {way}", stage)
                    more = {"chunk": chunk, "micro_batch": one}
                    yield told(f"{WAYS[way]}-compute", stage, start, free[stage], at) | more
                    lasting = self.transfer(stage - way, replica)
                    yield from walk.send((stage, way, chunk, one), free[stage], lasting)

    def tail(self, free: Floats) -> Iterator[dict[str, Any]]:
        """Yield what all workers do after their last micro-batches."""
        for name, (seconds, axes) in TAIL.items():
            is_member = np.ones(free.shape, bool)
            if axes == (0,):
                is_member[1:-1] = False
            came = np.where(is_member, free, 0.0).max(axis=axes, keepdims=True)
            slow = self.sync if axes == (1,) else (lambda _: 1.0)
            for stage, replica in np.argwhere(is_member).tolist():
                start = free[stage, replica]
                free[stage, replica] = np.broadcast_to(came, free.shape)[stage, replica]
                free[stage, replica] += seconds * slow(stage)
                yield {"dp": replica} | told(name, stage, start, free[stage, replica])

    def ops(self) -> pl.DataFrame:
        """All operations, as a reader has them."""
        rows = pl.DataFrame(list(self.rows())).with_columns(
            run=pl.lit("r"),
            attempt=0,
            rank=pl.col("dp") * self.stages + pl.col("pp"),
            family=pl.when(pl.col("operation").str.ends_with("compute")).then(pl.lit("compute")),
        )
        return conform(rows.lazy(), OPS).collect()


def told(
    operation: str, stage: int, start: float, end: float, sequence: int = 0, **more: int
) -> dict[str, Any]:
    """One operation of a stage."""
    return {
        "operation": operation,
        "pp": stage,
        "start_seconds": float(start),
        "end_seconds": float(end),
        "sequence": sequence,
        "chunk": None,
        "micro_batch": None,
    } | more


def simulated(ops: pl.DataFrame) -> WhatIf:
    """What the simulation says of one attempt."""
    (trace,) = traces_of(ops.lazy())
    found = what_if(trace)
    assert found is not None
    return found


def named(ops: pl.DataFrame, params: TraceParams | None = None) -> list[Verdict]:
    """The verdicts on jobs in traces."""
    return verdicts_of(find_traced_stragglers(ops.lazy(), params or TraceParams()))


def said(ops: pl.DataFrame) -> list[tuple[Any, ...]]:
    """Kind, cause, and place of each verdict."""
    return [
        (one.kind, one.cause, one.subject.dp, one.subject.pp, one.subject.link)
        for one in named(ops)
    ]


def slow_worker(stage: int, replica: int, ratio: float = 2.0) -> Callable[..., float]:
    """Work of which one worker takes so many times as long."""
    return lambda *at: ratio if at[:2] == (stage, replica) else 1.0


def heavy_stage(stage: int, ratio: float = 1.6) -> Callable[..., float]:
    """Work of which one stage has so many times as much."""
    return lambda *at: ratio if at[0] == stage else 1.0


def uneven_lengths(_stage: int, replica: int, step: int, one: int) -> float:
    """Work of sequences of which one in eleven is three times as long, each time elsewhere."""
    return 3.0 if (7 * replica + 5 * step + 3 * one + replica * step * one) % 11 == 0 else 1.0


SLOW = ("slow", "compute")
HEAVY = ("imbalance", "partitioning", None)
CASES = [
    pytest.param(Job(), [], id="a healthy job"),
    pytest.param(Job(work=slow_worker(1, 2)), [(*SLOW, 2, 1, None)], id="a slow worker"),
    pytest.param(
        Job(work=slow_worker(3, 2)), [(*SLOW, 2, 3, None)], id="a slow worker in the last stage"
    ),
    pytest.param(
        Job(work=slow_worker(1, 2, 1.08)), [], id="a worker that is slow, in a job that is not"
    ),
    pytest.param(
        Job(work=lambda *at: 2.0 if at[:2] in {(1, 2), (2, 0)} else 1.0),
        [(*SLOW, 0, 2, None), (*SLOW, 2, 1, None)],
        id="two slow workers, of which one alone is no cure",
    ),
    pytest.param(
        Job(replicas=2, work=slow_worker(1, 1)),
        [(*SLOW, 1, 1, None)],
        id="a slow worker with one peer",
    ),
    pytest.param(
        Job(steps=6, work=slow_worker(1, 2)),
        [(*SLOW, 2, 1, None)],
        id="a slow worker in too few steps for its peers to tell",
    ),
    pytest.param(
        Job(stages=1, work=slow_worker(0, 1)), [(*SLOW, 1, 0, None)], id="a slow one without stages"
    ),
    pytest.param(
        Job(chunks=2, work=slow_worker(1, 1)),
        [(*SLOW, 1, 1, None)],
        id="a slow worker among interleaved chunks",
    ),
    pytest.param(
        Job(stages=17, replicas=2, micro_batches=4, steps=6, work=slow_worker(8, 1, 3.0)),
        [(*SLOW, 1, 8, None)],
        id="one slow worker where the worst three in a hundred are two",
    ),
    pytest.param(Job(work=heavy_stage(3)), [(*HEAVY, 3, None)], id="a heavy last stage"),
    pytest.param(Job(work=heavy_stage(0)), [(*HEAVY, 0, None)], id="a heavy first stage"),
    pytest.param(
        Job(steps=6, work=heavy_stage(3)),
        [(*HEAVY, 3, None)],
        id="a heavy last stage in too few steps for medians",
    ),
    pytest.param(
        Job(replicas=1, steps=6, work=heavy_stage(3)),
        [(*HEAVY, 3, None)],
        id="a heavy stage of one worker",
    ),
    pytest.param(
        Job(stages=17, replicas=2, micro_batches=4, steps=6, work=heavy_stage(8, 3.0)),
        [(*HEAVY, 8, None)],
        id="a heavy stage whose workers are the worst three in a hundred",
    ),
    pytest.param(
        Job(work=lambda *at: heavy_stage(3)(*at) * slow_worker(3, 1, 1.2)(*at)),
        [(*HEAVY, 3, None)],
        id="a worker that is slow in the stage that all wait for",
    ),
    pytest.param(
        Job(work=uneven_lengths),
        [("imbalance", "sequence_lengths", None, None, None)],
        id="lengths",
    ),
    pytest.param(
        Job(transfer=lambda *at: 0.15 if at == (1, 2) else 0.001),
        [("slow", "slow_link", None, None, "stage 1 of replica 2 - stage 2 of replica 2")],
        id="a slow link",
    ),
    pytest.param(
        Job(sync=lambda stage: 30.0 if stage == 3 else 1.0),
        [("group_slow", "communication", None, None, None)],
        id="slow collectives of the last stage",
    ),
    pytest.param(
        Job(chunks=2, work=uneven_lengths),
        [("unknown", None, None, None, None)],
        id="lengths that cannot be told, since chunks are interleaved",
    ),
]


@pytest.mark.parametrize(("job", "expected"), CASES)
def test_verdicts(job: Job, expected: list[tuple[Any, ...]]) -> None:
    """What makes up most of the loss is named, and nothing else is."""
    assert said(job.ops()) == expected


@pytest.mark.parametrize(
    "job",
    [
        pytest.param(Job(), id="as it is"),
        pytest.param(Job(work=slow_worker(0, 0)), id="a slow worker"),
        pytest.param(Job(transfer=lambda *_: 0.3), id="slow links"),
        pytest.param(Job(noise=0.3, micro_batches=3), id="few, uneven micro-batches"),
        pytest.param(Job(chunks=2), id="interleaved chunks"),
        pytest.param(Job(stages=1), id="no pipeline"),
    ],
)
def test_simulation_repeats_what_was(job: Job) -> None:
    """A job that never idles for another reason takes as long simulated as it took."""
    ops = job.ops()
    ends = ops.group_by("step").agg(pl.col("end_seconds").max())["end_seconds"]

    assert simulated(ops).step_seconds == pytest.approx(ends.mean(), rel=1e-9)


def test_mended_step() -> None:
    """An ideal step is that of a job in which everybody has the mean of all work."""
    slow = simulated(Job(noise=0.0, work=slow_worker(1, 2)).ops())
    even = simulated(Job(noise=0.0, work=lambda *_: 17 / 16).ops())

    assert slow.ideal_seconds == pytest.approx(even.step_seconds)
    assert slow.top == ((1, 2),)
    assert slow.slowdowns[1, 2] == pytest.approx(slow.slowdown, rel=0.02)


def test_figures() -> None:
    """The verdict quotes S, M_W, M_S and a map of what each worker costs."""
    (verdict,) = named(Job(noise=0.0, work=slow_worker(1, 2)).ops())
    figures, costs = (one.what for one in verdict.evidence if one.source == "what-if")

    assert figures == (
        "S 1.4918: a step takes 5.411 s, its ideal would be 3.627 s; of the loss, ideal times "
        "would mend M_W 1.056 (the worst 1 of 16 workers), M_S -0.011 (the last stage), all "
        "compute 1.000, all communication 0.000, the longest link 0.000; correlation of forward "
        "and backward unknown"
    )
    assert costs == (
        "S_w by replica; stage 0: 0.99 0.99 0.99 0.99; stage 1: 1.00 1.00 1.49 1.00; "
        "stage 2: 0.99 0.99 0.99 0.99; stage 3: 0.99 0.99 0.99 0.99"
    )


def test_large_jobs_have_no_map() -> None:
    """The map of S_w is left out where it would fill a page."""
    (verdict,) = named(Job(replicas=9, steps=10, work=slow_worker(1, 2)).ops())

    assert "stage 0" not in verdict.evidence[-1].what


PLANTED = (
    Job(work=slow_worker(1, 2)).ops(),
    Job(work=heavy_stage(3)).ops(),
    Job(work=uneven_lengths).ops(),
)
seeds = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("ops", PLANTED, ids=["worker", "stage", "lengths"])
@given(seed=seeds)
@settings(max_examples=3, deadline=None)
def test_row_order(ops: pl.DataFrame, seed: int) -> None:
    """Rows in another order, and rows told twice, change nothing."""
    shuffled = pl.concat([ops, ops.head(500)]).sample(fraction=1.0, shuffle=True, seed=seed)

    assert named(shuffled) == named(ops)


@pytest.mark.parametrize("ops", PLANTED, ids=["worker", "stage", "lengths"])
@given(seed=seeds)
@settings(max_examples=3, deadline=None)
def test_lost_rows(ops: pl.DataFrame, seed: int) -> None:
    """Of a trace that lost a fifth of its rows the same is said, and S is the same within 1 %."""
    rest = ops.sample(fraction=0.8, shuffle=True, seed=seed)

    assert said(rest) == said(ops)
    assert simulated(rest).slowdown == pytest.approx(simulated(ops).slowdown, rel=0.01)


@pytest.mark.parametrize("ops", PLANTED, ids=["worker", "stage", "lengths"])
@given(seed=seeds)
@settings(max_examples=3, deadline=None)
def test_other_numbers(ops: pl.DataFrame, seed: int) -> None:
    """Workers and replicas under other numbers are the same workers and replicas."""
    order = np.random.default_rng(seed).permutation(4).tolist()
    numbers = {at: 100 + number for at, number in enumerate(order)}
    other = ops.with_columns(
        dp=pl.col("dp").replace_strict(numbers, return_dtype=pl.Int32), rank=pl.col("rank") + 1000
    )
    back = {number: at for at, number in numbers.items()}

    found = [(kind, cause, back.get(dp, dp), pp, link) for kind, cause, dp, pp, link in said(other)]

    assert found == said(ops)
    assert simulated(other).slowdown == pytest.approx(simulated(ops).slowdown, rel=1e-9)


@given(factor=st.floats(0.01, 100.0))
@settings(max_examples=3, deadline=None)
def test_other_unit(factor: float) -> None:
    """Shares and ratios do not depend on the unit of time."""
    clocks = pl.col("start_seconds", "end_seconds") * factor
    found, scaled = simulated(PLANTED[0]), simulated(PLANTED[0].with_columns(clocks))

    assert scaled.slowdown == pytest.approx(found.slowdown)
    assert scaled.top_share == pytest.approx(found.top_share)
    assert scaled.step_seconds == pytest.approx(found.step_seconds * factor)


def test_stricter_threshold() -> None:
    """A job that straggles less than asked for names nobody."""
    slowdown = simulated(PLANTED[0]).slowdown

    assert named(PLANTED[0], TraceParams(min_slowdown=slowdown + 0.01)) == []
    with pytest.raises(ValueError, match=r"min_slowdown must be above 1.0, got 1.0"):
        TraceParams(min_slowdown=1.0)


FAR = pl.when(pl.int_range(pl.len()) == 0).then(MAX_CELLS).otherwise("sequence")


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"dp": pl.lit(None)}, id="without replicas"),
        pytest.param({"step": pl.lit(None)}, id="without steps"),
        pytest.param({"sequence": FAR}, id="with numbers that would fill the memory"),
        pytest.param({"operation": pl.lit("gc")}, id="without compute"),
        pytest.param({"operation": pl.lit("forward-compute")}, id="without a way back"),
    ],
)
def test_no_trace(change: dict[str, pl.Expr]) -> None:
    """What cannot be simulated is no trace."""
    assert traces_of(conform(PLANTED[0].lazy().with_columns(**change), OPS)) == []


def test_contradictions() -> None:
    """A pipeline in which a stage goes backward before it went forward cannot be simulated."""
    is_early = (pl.col("operation") == "backward-compute") & (pl.col("pp") == 0)
    clocks = pl.col("start_seconds", "end_seconds")
    ops = PLANTED[1].with_columns(pl.when(is_early).then(clocks - 100.0).otherwise(clocks))
    (trace,) = traces_of(ops.lazy())

    assert what_if(trace) is None
    assert said(ops) == [(*HEAVY, 3, None)]


def test_attempts() -> None:
    """Each attempt of each run is judged by itself, and a run without a name is one as well."""
    renamed = PLANTED[1].with_columns(attempt=pl.lit(1, pl.Int32))
    nameless = PLANTED[0].with_columns(run=pl.lit(None, pl.String), attempt=pl.lit(None, pl.Int32))

    found = named(pl.concat([renamed, nameless, PLANTED[2]]))

    assert [(one.subject.run, one.subject.attempt, one.kind, one.level) for one in found] == [
        (None, None, "slow", "rank"),
        ("r", 1, "imbalance", "group"),
        ("r", 0, "imbalance", "job"),
    ]


def test_counted_sequences() -> None:
    """Where a trace does not number its operations they are counted by their start."""
    ops = PLANTED[0].with_columns(sequence=pl.lit(None, pl.Int64))

    assert simulated(ops).slowdown == pytest.approx(simulated(PLANTED[0]).slowdown)


def test_unnumbered_workers() -> None:
    """A worker without a number is named by its place."""
    ops = Job(steps=6, work=slow_worker(1, 2)).ops().with_columns(rank=pl.lit(None, pl.Int32))
    (verdict,) = named(ops)

    assert (verdict.subject.rank, verdict.subject.dp, verdict.subject.pp) == (None, 2, 1)


def test_lost_members() -> None:
    """Where each collective of a large group lost members, waits are not taken for transfers."""
    ops = Job(replicas=24, stages=2, micro_batches=4, work=slow_worker(0, 5)).ops()
    rest = ops.sample(fraction=0.5, shuffle=True, seed=3)

    assert simulated(rest).slowdown == pytest.approx(simulated(ops).slowdown, rel=0.03)
    assert said(rest) == said(ops) == [(*SLOW, 5, 0, None)]


def test_known_values() -> None:
    """Means and quantiles are of what is known, and unknown where nothing is."""
    values = np.array([[[[1.0, np.nan, 3.0]]], [[[np.nan, np.nan, 9.0]]]])
    nothing = np.full((1, 1, 1, 2), np.nan)
    none = np.empty((0, 1, 1, 2))

    assert known_mean(values, (0,)).ravel().tolist() == pytest.approx(
        [1.0, np.nan, 6.0], nan_ok=True
    )
    assert known_quantile(values, (0, 3), 0.5).ravel().tolist() == [3.0]
    assert known_quantile(values, (0, 3), 0.0).ravel().tolist() == [1.0]
    assert np.isnan(known_quantile(nothing, (3,), 0.5)).all()
    assert np.isnan(known_quantile(none, (0,), 0.5)).all()
