"""Find figures that a source reports and that cannot be, and what a metric store leaves out.

Source: progress reference, sections 5, 10 and 12. The reader compares what a source says with its
own clock; a run watched by a figure that is wrong is not watched. A store that drops the rows of a
rollback, or gives a sample of them, looks whole.
"""

from typing import Any, Final

import polars as pl

from collectors.frames import EVENTS, require
from detectors.quotes import quoted
from detectors.verdicts import Subject, Verdict, verdict_frame

_TITLES: Final = {
    "step_timer": "step timer not synchronised",
    "resumed_rate": "rate counts the work of earlier attempts",
    "sample_rate": "samples per second that batch and step time contradict",
    "step_stop": "the step stood still while the clock ran on",
    "sampled": "a sample of the steps stands for all of them",
    "steps_not_logged": "points were logged without their steps",
}
"""What the code of a reader's warning means."""

_ACTIONS: Final = {
    "step_timer": "take step times from the stamps; let the timer wait for the device",
    "resumed_rate": "divide the steps of this attempt by its seconds; do not compare the report",
    "sample_rate": "divide the batch by the step time; look for a unit that was taken for another",
    "step_stop": "look for a restart at this time in the job's log and the scheduler's accounts",
    "sampled": "export the whole history (scan_history, or its parquet files) before judging steps",
    "steps_not_logged": "log the step with each point; until then only their order is known",
}

_UNSURE: Final = frozenset({"step_stop"})
"""Codes of what may be something else: a stall leaves the same trace as a dropped rollback."""


def find_doubtful_figures(events: pl.LazyFrame) -> pl.DataFrame:
    """Return the figures that readers found to be wrong.

    Args:
        events: `EVENTS`; of kind warning those whose code tells such a figure count.

    Returns:
        `VERDICTS` of kind telemetry_lost at level job, one row a run and kind of figure, with the
        code as cause. Partition key: run.

    Raises:
        SchemaError: `events` is not an `EVENTS`.
    """
    rows = (
        events.pipe(require, EVENTS)
        .filter(pl.col("kind") == "warning", pl.col("code").is_in(list(_TITLES)))
        .sort("run", "code", "time", "source", "position", nulls_last=True)
        .collect()
    )
    parts = rows.partition_by("run", "code", maintain_order=True)
    return verdict_frame(_verdict(part.row(0, named=True), part.height) for part in parts)


def _verdict(row: dict[str, Any], count: int) -> Verdict:
    attributes: list[dict[str, str]] = row["attributes"] or []
    told = [f"{one['key']} {one['value']}" for one in attributes]
    what = "; ".join([_TITLES[row["code"]], *told, f"told {count} times" if count > 1 else "once"])
    return Verdict(
        kind="telemetry_lost",
        level="job",
        subject=Subject(run=row["run"]),
        onset=row["time"],
        detected=row["time"],
        cause=row["code"],
        confidence="medium" if row["code"] in _UNSURE else "high",
        evidence=(quoted(row, what), quoted(row)),
        action=_ACTIONS[row["code"]],
    )
