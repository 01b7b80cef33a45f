"""Operation traces as dense arrays: when each operation began and ended, by place and step.

A simulation walks a pipeline once and does all steps and replicas at a time, so it wants arrays
(methods reference, section 9: vectorise over replica and step). NaN marks a row that is missing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
import polars as pl

from collectors.frames import OPS, require
from detectors.panels import Floats, Ints

PIPELINE: Final = (
    "forward-compute",
    "backward-compute",
    "forward-send",
    "forward-recv",
    "backward-send",
    "backward-recv",
)
"""What happens once a micro-batch, or once a micro-batch and model chunk."""

BEFORE: Final = "params-all-gather"
"""What a worker waits for before its first micro-batch."""

AFTER: Final = (
    "layernorm-grads-all-reduce",
    "embedding-grads-all-reduce",
    "grads-reduce-scatter",
    "optimizer-clip-main-grad",
    "optimizer",
)
"""What it does after its last micro-batch, in Megatron's order."""

OPERATIONS: Final = (*PIPELINE, BEFORE, *AFTER)
"""The operations that are simulated; pauses of the interpreter have no length in such traces."""

MEMBERS: Final[Mapping[str, tuple[int, ...]]] = {
    "params-all-gather": (2,),
    "grads-reduce-scatter": (2,),
    "embedding-grads-all-reduce": (1,),
    "optimizer-clip-main-grad": (1, 2),
}
"""Along which axes the members of a collective lie: replicas (2) of a stage, stages (1) of a
replica, or all. An all-reduce that is not here lies inside a worker."""

MAX_CELLS: Final = 50_000_000
"""Cells of an attempt above which it is not simulated: 400 MB for the starts alone."""

_ATTEMPT: Final = ("run", "attempt")
Cells = TypeVar("Cells", Floats, Ints)

_NEEDED: Final = ("kind", "step", "dp", "pp", "start_seconds", "end_seconds")
_USED: Final = (*_ATTEMPT, *_NEEDED, "rank", "sequence", "chunk")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """One attempt's operations.

    Attributes:
        run: Training run.
        attempt: Attempt of the run.
        starts: By operation, seconds from the step's start; shape (sequence, stage, replica, step).
        ends: Likewise.
        chunks: By compute operation, the model chunk of each; shape (sequence, stage).
        stages: The stages' numbers, rising.
        replicas: The data-parallel coordinates, rising.
        steps: The steps' numbers, rising.
        ranks: The worker at each place, -1 where it is not told; shape (stage, replica).
    """

    run: str | None
    attempt: int | None
    starts: dict[str, Floats]
    ends: dict[str, Floats]
    chunks: dict[str, Ints]
    stages: Ints
    replicas: Ints
    steps: Ints
    ranks: Ints

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Return how many compute operations a way, stages, replicas and steps there are."""
        depth, stages, replicas, steps = self.starts[PIPELINE[0]].shape
        return depth, stages, replicas, steps


def traces_of(ops: pl.LazyFrame) -> list[Trace]:
    """Return the traces that tell enough to be simulated, by run and attempt.

    Args:
        ops: `OPS`; rows without a place (stage and replica), a step or an end are left out, and
            rows that are told twice count once. An attempt without compute both ways is no trace.

    Raises:
        SchemaError: `ops` is not an `OPS`.
    """
    kinds = {name: at for at, name in enumerate(OPERATIONS)}
    code = pl.col("operation").replace_strict(kinds, default=None, return_dtype=pl.Int64)
    rows = ops.pipe(require, OPS).with_columns(kind=code).drop_nulls(_NEEDED).select(_USED)
    told = rows.collect()
    if told["sequence"].null_count() > 0:
        told = told.with_columns(sequence=_counted())
    is_one = told.select(_ATTEMPT).unique().height == 1
    parts = [told] if is_one else told.partition_by(_ATTEMPT, maintain_order=False)
    found = [trace for part in parts if (trace := _trace_of(part)) is not None]
    return sorted(
        found, key=lambda one: (one.run or "", -1 if one.attempt is None else one.attempt)
    )


def _counted() -> pl.Expr:
    """Return the how-manieth of its kind an operation is in its worker's step, by its start."""
    worker = [*_ATTEMPT, "step", "dp", "pp", "kind"]
    return pl.col("start_seconds").rank("dense").over(worker).cast(pl.Int64)


def _trace_of(rows: pl.DataFrame) -> Trace | None:
    """Return the trace of one attempt, or null."""
    kind = rows["kind"].to_numpy()
    first, depths = _depths(kind, rows["sequence"].to_numpy())
    stages, pp = _dense(rows, "pp")
    replicas, dp = _dense(rows, "dp")
    steps, step = _dense(rows, "step")
    place = (stages.size, replicas.size, steps.size)
    cells = int(depths.sum()) * int(np.prod(place))
    if not min(depths[0], depths[1]) or cells > MAX_CELLS:
        return None
    slot = (np.cumsum(depths) - depths - first)[kind] + rows["sequence"].to_numpy()
    cell = ((slot * place[0] + pp) * place[1] + dp) * place[2] + step
    starts = _scattered(np.minimum, cell, rows["start_seconds"].to_numpy(), cells)
    ends = _scattered(np.maximum, cell, rows["end_seconds"].to_numpy(), cells)
    seat = slot * place[0] + pp
    chunks = _filled(rows, "chunk", seat, int(depths.sum()) * place[0], empty=0)
    ranks = _filled(rows, "rank", pp * place[1] + dp, place[0] * place[1], empty=-1)
    return Trace(
        run=rows["run"][0],
        attempt=rows["attempt"][0],
        starts=_by_operation(starts.reshape(-1, *place), depths),
        ends=_by_operation(ends.reshape(-1, *place), depths),
        chunks=_by_operation(chunks.reshape(-1, place[0]), depths),
        stages=stages,
        replicas=replicas,
        steps=steps,
        ranks=ranks.reshape(place[:2]),
    )


def _depths(kind: Ints, sequence: Ints) -> tuple[Ints, Ints]:
    """Return the first sequence number of each operation, and how many there are in a step.

    All of a pipeline have the same room, so that both ends of a transfer lie side by side.
    """
    far = np.iinfo(np.int64)
    first = np.full(len(OPERATIONS), far.max)
    last = np.full(len(OPERATIONS), -1)
    np.minimum.at(first, kind, sequence)
    np.maximum.at(last, kind, sequence)
    depths = np.where(last >= first, last - first + 1, 0)
    deepest = depths[: len(PIPELINE)].max()
    room = np.where(np.arange(depths.size) < len(PIPELINE), deepest, depths)
    told = (depths[:2] > 0).all()
    return np.where(depths > 0, first, 0), room if told else np.zeros_like(room)


def _dense(rows: pl.DataFrame, name: str) -> tuple[Ints, Ints]:
    """Return the numbers of a column, rising, and where in them each row's is."""
    numbers = rows[name].unique().sort().to_numpy().astype(np.int64)
    return numbers, np.searchsorted(numbers, rows[name].to_numpy())


def _scattered(ufunc: np.ufunc, cell: Ints, values: Floats, size: int) -> Floats:
    """Return values at their cells, joined where a cell is told twice; NaN elsewhere."""
    empty = np.inf if ufunc is np.minimum else -np.inf
    cells = np.full(size, empty)
    ufunc.at(cells, cell, values)
    cells[np.isinf(cells)] = np.nan
    return cells


def _filled(rows: pl.DataFrame, name: str, cell: Ints, size: int, *, empty: int) -> Ints:
    """Return the largest number of each cell; `empty` where none is told."""
    cells = np.full(size, empty, dtype=np.int64)
    np.maximum.at(cells, cell, rows[name].cast(pl.Int64).fill_null(empty).to_numpy())
    return cells


def _by_operation(cells: Cells, depths: Ints) -> dict[str, Cells]:
    """Return the part of each operation, out of all cells."""
    found: dict[str, Cells] = {}
    first = 0
    for name, depth in zip(OPERATIONS, depths.tolist(), strict=True):
        found[name] = cells[first : first + depth]
        first += depth
    return found
