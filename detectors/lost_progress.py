"""Find restarts that begin at nothing although the run had come far: its checkpoint was not found.

Source: progress reference, section 1.4: Megatron says so in one line and goes on from random
weights; later saves may then write over the good ones.
"""

from datetime import datetime
from typing import Any, Final

import polars as pl

from collectors.frames import EVENTS, STEPS, require
from detectors.verdicts import Evidence, Subject, Verdict, verdict_frame

_KIND: Final = "from_scratch"

_REACHED: Final = ("run", "source", "position", "step", "end_time")
"""What tells how far a run had come."""


def find_lost_progress(events: pl.LazyFrame, steps: pl.LazyFrame) -> pl.DataFrame:
    """Return the starts from scratch of runs that had steps before.

    Args:
        events: `EVENTS`; of kind from_scratch one says that no checkpoint was found, of kind
            checkpoint that one was saved, at the step that is its code.
        steps: `STEPS` of the same runs; those before in the same log, or in a log that ended before
            this one began, are what the run had, and so are checkpoints.

    Returns:
        `VERDICTS` of kind config_drift at level job, cause started_from_scratch, one row a start.
        Partition key: run.
    """
    starts = (
        events.pipe(require, EVENTS)
        .filter(pl.col("kind") == _KIND, pl.col("position").is_not_null())
        .sort("run", "source", "position")
        .collect()
    )
    if starts.is_empty():
        return verdict_frame(())
    done = steps.pipe(require, STEPS).drop_nulls("step").select(_REACHED)
    known = pl.concat([done, _saved(events)]).collect()
    judged = (_judged(row, known) for row in starts.iter_rows(named=True))
    return verdict_frame(one for one in judged if one is not None)


def _saved(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the steps at which checkpoints were saved, as reports of progress."""
    step = pl.col("code").cast(pl.Int64, strict=False)
    saves = events.filter(pl.col("kind") == "checkpoint").with_columns(step=step, end_time="time")
    return saves.drop_nulls("step").select(_REACHED)


def _judged(start: dict[str, Any], steps: pl.DataFrame) -> Verdict | None:
    """Return the verdict on a start from scratch; null if the run had no steps before it."""
    run = pl.lit(start["run"], dtype=pl.String)
    mine = steps.filter(pl.col("run").eq_missing(run))
    here = mine.filter(pl.col("source") == start["source"])
    behind = here.filter(pl.col("position") > start["position"])
    first_end = behind["end_time"].min()
    began: datetime | None = first_end if isinstance(first_end, datetime) else start["time"]
    before = pl.concat(
        [here.filter(pl.col("position") < start["position"]), _earlier(mine, start, began)]
    )
    last, first = before["step"].max(), behind["step"].min()
    if not isinstance(last, int) or (isinstance(first, int) and first > last):
        return None
    what = f"no checkpoint was found and the run starts from random; it had reached step {last}"
    return Verdict(
        kind="config_drift",
        level="job",
        subject=Subject(run=start["run"]),
        onset=start["time"] or began,
        detected=start["time"] or began,
        onset_step=first if isinstance(first, int) else None,
        cause="started_from_scratch",
        confidence="high",
        evidence=(
            Evidence(source=start["source"] or "events", time=start["time"], what=what),
            Evidence(source=start["source"] or "events", what=(start["message"] or "").strip()),
        ),
        action="stop the run before it saves over good checkpoints; check the path it loads from",
    )


def _earlier(steps: pl.DataFrame, start: dict[str, Any], began: datetime | None) -> pl.DataFrame:
    """Return the steps of other logs that ended before this one began; none without clocks."""
    others = steps.filter(pl.col("source") != start["source"])
    if began is None:
        return others.clear()
    return others.filter(pl.col("end_time") < began)
