"""Find jobs that report no step any more while other sources still talk.

Source: the progress reference, section 15.5: no step for more than ten usual steps and ten minutes
is a hang, whatever heartbeats say. An evaluation or a checkpoint after the last step moves the
start; an end that somebody announced, and a process that died, are no silence.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import polars as pl

from collectors.frames import EVENTS, STEPS, require
from detectors.dating import not_before
from detectors.faults import is_hard_fault

_EXPECTED: Final = (
    *("evaluation", "checkpoint", "checkpoint_start"),
    *("checkpoint_load", "checkpoint_load_start"),
)
"""Work between steps."""

ALLOWANCE: Final = timedelta(minutes=12)
"""How long work between steps may take that has no clock of its own: the evaluations of BLOOM
(progress reference, section 15.4)."""

_ENDINGS: Final = ("run_end", "job_cancelled", "process_exit", "signal")


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a run came.

    Attributes:
        run: The run; null if not named.
        attempt: Its last attempt.
        last_step: The last step that anybody finished.
        last_time: When; null if the log has no clock.
        last_line: Source and line of that step; nulls if it has none.
        silence: From when on no step would be a hang: ten usual steps or more.
    """

    run: str | None
    attempt: int | None
    last_step: int
    last_time: datetime | None
    last_line: tuple[str | None, int | None]
    silence: timedelta


def run_progress(
    steps: pl.LazyFrame, min_silence_seconds: float, min_silence_steps: float
) -> list[Progress]:
    """Return how far each run came, by run.

    Args:
        steps: `STEPS`.
        min_silence_seconds: No step for this long, at least.
        min_silence_steps: No step for this many usual steps, at least.
    """
    rows = (
        steps.pipe(require, STEPS)
        .drop_nulls("step")
        .group_by("run")
        .agg(
            pl.col("attempt").max(),
            pl.col("step", "source", "position")
            .sort_by("end_time", "step", "position", nulls_last=False)
            .last(),
            pl.col("end_time").max(),
            pl.col("step_seconds").filter(pl.col("step_seconds").is_finite()).median(),
        )
        .sort("run")
        .collect()
    )
    return [
        Progress(
            run=run,
            attempt=attempt,
            last_step=step,
            last_time=time,
            last_line=(source, line),
            silence=timedelta(seconds=max(min_silence_seconds, min_silence_steps * (usual or 0.0))),
        )
        for run, attempt, step, source, line, time, usual in rows.iter_rows()
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """A job without steps.

    Attributes:
        progress: How far it came.
        onset: When its last step, or work between steps, ended.
        detected: When the silence had lasted long enough.
        seconds: How long it had lasted when the data ended.
    """

    progress: Progress
    onset: datetime
    detected: datetime
    seconds: float


def find_silences(
    progress: list[Progress], events: pl.LazyFrame, data_end: datetime | None
) -> list[Silence]:
    """Return the jobs that stand silent at the end of the data.

    Args:
        progress: What `run_progress` returns.
        events: `EVENTS`; an end that they tell, or a hard fault, explains a silence.
        data_end: When the last of all sources spoke; null: it is not known, and nothing is silent.
    """
    told = (
        events.pipe(require, EVENTS)
        .with_columns(time=not_before())
        .filter(pl.col("kind").is_in([*_EXPECTED, *_ENDINGS]) | is_hard_fault())
    )
    rows = told.with_columns(is_fault=is_hard_fault()).sort("time", "kind").collect().to_dicts()
    found = [_silence(one, rows, data_end) for one in progress if data_end is not None]
    return [one for one in found if one is not None]


def _silence(
    progress: Progress, events: list[dict[str, Any]], data_end: datetime
) -> Silence | None:
    """Return a run's silence; null if its steps go on, have no clock, or ended for a reason."""
    if progress.last_time is None:
        return None
    mine = [row for row in events if row["run"] in {None, progress.run}]
    expected = [row["time"] for row in mine if row["kind"] in _EXPECTED and row["time"]]
    onset = max([progress.last_time, *expected])
    allowed = ALLOWANCE if any(_follows(row, progress) for row in mine) else timedelta()
    detected = onset + allowed + progress.silence
    ends = [row for row in mine if row["kind"] in _ENDINGS or row["is_fault"]]
    explained = any(
        row["time"] is None or progress.last_time <= row["time"] <= detected for row in ends
    )
    if explained or data_end <= detected:
        return None
    seconds = (data_end - onset).total_seconds()
    return Silence(progress=progress, onset=onset, detected=detected, seconds=seconds)


def _follows(event: dict[str, Any], progress: Progress) -> bool:
    """Return whether an event is work behind the last step that no clock of its own dates later."""
    source, line = progress.last_line
    is_behind = event["source"] == source and (event["position"] or 0) > (line or 0)
    is_dated = event["time"] is not None and event["time"] > progress.last_time
    return event["kind"] in _EXPECTED and line is not None and is_behind and not is_dated
