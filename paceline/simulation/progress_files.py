"""The step records that each rank of the job writes: one file a rank, one JSON object a line.

Times are seconds after 1970 on the host's own clock, and hosts' clocks differ.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import polars as pl

from paceline.simulation.draws import Floats, stream
from paceline.simulation.exposition import decimal_text
from paceline.simulation.lockstep import Timeline
from paceline.simulation.machine import EPOCH_SECONDS, RUN, coordinates_of
from paceline.simulation.plan import Plan
from paceline.simulation.scenarios import GPUS_PER_NODE
from paceline.simulation.workload import repeat_for_gpus

_STEP_TOKENS = 4_194_304
"""Tokens of the job's whole batch; every rank reports the same number."""
_DECIMALS = 4


def write_progress(
    plan: Plan, timeline: Timeline, folder: Path, say: Callable[[str], None]
) -> None:
    """Write one file a rank into the folder: its start, its steps and, unless killed, its end."""
    folder.mkdir(parents=True, exist_ok=True)
    clocks = repeat_for_gpus(plan.machine.clock_offsets) + EPOCH_SECONDS
    lines = _step_lines(plan, timeline, clocks)
    evaluations = _evaluations(timeline, float(clocks[0]))
    for rank in range(plan.machine.ranks):
        own = lines.slice(rank * timeline.steps, timeline.steps).to_list()
        if rank == 0:
            own = _after_steps(own, evaluations)
        last = [] if plan.is_hang else [_end_line(timeline, rank, float(clocks[rank]))]
        text = "\n".join([_start_line(plan, rank, float(clocks[rank])), *own, *last])
        (folder / f"rank-{rank:03d}.jsonl").write_text(text + "\n", encoding="utf-8")
    say(f"{timeline.steps} steps of {plan.machine.ranks} ranks")


def _json(record: dict[str, Any]) -> str:
    return orjson.dumps(record).decode()


def _start_line(plan: Plan, rank: int, clock: float) -> str:
    place = coordinates_of(rank)
    began = float(stream(plan.seed, f"start {rank}").uniform(0.0, 3.0))
    return _json(
        {
            "event": "start",
            "run": RUN,
            "attempt": 0,
            "rank": rank,
            "world": plan.machine.ranks,
            "host": plan.machine.hosts[rank // GPUS_PER_NODE],
            "local_rank": rank % GPUS_PER_NODE,
            "gpu_uuid": plan.machine.gpu_uuids[rank],
            "dp": place.dp,
            "pp": place.pp,
            "tp": place.tp,
            "pid": plan.machine.process_ids[rank],
            "t": round(clock + began, 6),
        }
    )


def _end_line(timeline: Timeline, rank: int, clock: float) -> str:
    ended = float(timeline.rank_ends[-1, rank])
    return _json({"event": "end", "rank": rank, "t": round(clock + ended + 0.2, 6)})


def _step_lines(plan: Plan, timeline: Timeline, clocks: Floats) -> pl.Series:
    """Return all step records, by rank and step."""
    loss, norm = _curves(plan, timeline.steps)
    columns = {
        "t": decimal_text((clocks + timeline.rank_ends).T, 6),
        "data_s": decimal_text(timeline.data_seconds.T, _DECIMALS),
        "compute_s": decimal_text(timeline.compute_seconds.T, _DECIMALS),
        "comm_s": decimal_text(timeline.comm_seconds.clip(0.0).T, _DECIMALS),
        "optim_s": decimal_text(timeline.optimizer_seconds.T, _DECIMALS),
        "checkpoint_s": decimal_text(timeline.checkpoint_seconds.T, _DECIMALS),
        "step_s": decimal_text(timeline.step_seconds.T, _DECIMALS),
        "loss": decimal_text(np.tile(loss, plan.machine.ranks), 5),
        "grad_norm": decimal_text(np.tile(norm, plan.machine.ranks), 5),
    }
    saved = pl.Series("saved", (timeline.checkpoint_seconds > 0.0).T.ravel())
    parts: list[pl.Expr] = [pl.lit('{"step":'), pl.col("step"), pl.lit(',"rank":'), pl.col("rank")]
    for name in columns:
        part = pl.concat_str(pl.lit(f',"{name}":'), pl.col(name))
        if name == "checkpoint_s":
            part = pl.when(pl.col("saved")).then(part).otherwise(pl.lit(""))
        parts.append(part)
    numbers = np.tile(np.arange(1, timeline.steps + 1), plan.machine.ranks)
    ranks = np.repeat(np.arange(plan.machine.ranks), timeline.steps)
    frame = pl.DataFrame({"step": numbers, "rank": ranks, "saved": saved, **columns})
    line = pl.concat_str(*parts, pl.lit(f',"tokens":{_STEP_TOKENS}}}'))
    return frame.select(line.alias("line")).to_series()


def _curves(plan: Plan, steps: int) -> tuple[Floats, Floats]:
    """Return loss and gradient norm by step: slowly down, with noise."""
    draw = stream(plan.seed, "loss")
    at = np.arange(steps)
    loss = 2.1 + 0.25 * np.exp(-at / 900.0) + draw.normal(0.0, 0.012, size=steps)
    return loss, 0.45 + np.abs(draw.normal(0.0, 0.06, size=steps))


def _evaluations(timeline: Timeline, clock: float) -> dict[int, str]:
    """Return rank 0's evaluation records by the step that they follow."""
    ends = timeline.ends + timeline.evaluation_seconds
    return {
        int(at) + 1: _json(
            {
                "event": "evaluation",
                "rank": 0,
                "step": int(at) + 1,
                "seconds": float(timeline.evaluation_seconds[at]),
                "t": round(clock + float(ends[at]), 6),
            }
        )
        for at in np.flatnonzero(timeline.evaluation_seconds > 0.0)
    }


def _after_steps(lines: list[str], evaluations: dict[int, str]) -> list[str]:
    """Return the lines with each evaluation after its step."""
    merged: list[str] = []
    for step, line in enumerate(lines, start=1):
        merged.append(line)
        if step in evaluations:
            merged.append(evaluations[step])
    return merged
