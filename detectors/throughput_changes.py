"""Tell a job whose TFLOP/s changed while its steps take as long as before: another formula counts.

Source: progress reference, section 1.2 (a correction of the formula in Megatron-Bridge). TFLOP/s of
two versions are not compared; the time of a sample is.
"""

from math import log
from typing import Any, Final

import polars as pl

from collectors.frames import EVENTS, STEPS, require
from detectors.verdicts import Evidence, Subject, Verdict, verdict_frame

MAX_SPEED_CHANGE: Final = 1.05
"""Ratio of the seconds a sample up to which the speed is the same; beyond, the job was resized."""

NEAR_STEPS: Final = 20
"""Reports on each side that tell the speed."""


def find_throughput_changes(events: pl.LazyFrame, steps: pl.LazyFrame) -> pl.DataFrame:
    """Return the places where TFLOP/s began to count something else.

    Args:
        events: `EVENTS`; of kind throughput_changed the code is TFLOP/s before and after.
        steps: `STEPS` of the same logs, which tell the speed on both sides.

    Returns:
        `VERDICTS` of kind config_drift at level job, cause throughput_definition: a note, not a
        slowdown. Partition key: run.
    """
    changes = events.pipe(require, EVENTS).filter(pl.col("kind") == "throughput_changed").collect()
    if changes.is_empty():
        return verdict_frame(())
    per_sample = pl.col("step_seconds") / pl.col("samples").fill_null(1.0)
    known = (
        steps.pipe(require, STEPS)
        .filter(pl.col("rank").is_null(), pl.col("step_seconds") > 0)
        .select("source", "position", "attempt", "step", seconds=per_sample)
        .sort("source", "position", "step")
        .collect()
    )
    ordered = changes.sort("run", "source", "position").iter_rows(named=True)
    return verdict_frame(one for row in ordered if (one := _judged(row, known)) is not None)


def _judged(row: dict[str, Any], steps: pl.DataFrame) -> Verdict | None:
    """Return the note on one change; null where the speed changed as well, or is not known."""
    mine = steps.filter(pl.col("source") == row["source"])
    before = mine.filter(pl.col("position") < row["position"]).tail(NEAR_STEPS)
    after = mine.filter(pl.col("position") >= row["position"]).head(NEAR_STEPS)
    was, now = before["seconds"].median(), after["seconds"].median()
    if not isinstance(was, float) or not isinstance(now, float):
        return None
    if abs(log(now / was)) > log(MAX_SPEED_CHANGE):
        return None
    what = (
        f"TFLOP/s {row['code']} while a sample takes {now:.4g} s against {was:.4g} s before: "
        "the TFLOP/s definition changed, the speed did not"
    )
    first = after.row(0, named=True)
    return Verdict(
        kind="config_drift",
        level="job",
        subject=Subject(run=row["run"], attempt=first["attempt"]),
        onset=row["time"],
        detected=row["time"],
        onset_step=first["step"],
        cause="throughput_definition",
        confidence="high",
        evidence=(Evidence(source=row["source"] or "steps", time=row["time"], what=what),),
        action="compare samples a second, not TFLOP/s, across this point",
    )
