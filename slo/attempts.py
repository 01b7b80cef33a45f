"""How the attempts of a run followed each other: waits in the queue, and why each ended.

Source: progress reference, sections 14.1 and 15.1 (W = R + Q + U: queue time is that of all
submissions); Slurm's states. A chain of jobs that ends at its time limit is planned, no failure.
"""

from typing import Final

import polars as pl

from collectors.frames import JOBS, TIME, require, schema_of

ATTEMPTS: Final = schema_of(
    {
        "run": pl.String,
        "attempt": pl.Int32,
        "start": TIME,
        "end": TIME,
        "wait_seconds": pl.Float64,
        "run_seconds": pl.Float64,
        "state": pl.String,
        "ended_by": pl.String,
    }
)
"""One attempt as its scheduler tells it. `wait_seconds` is from its submission, or from the end of
the attempt before if that is later or alone known, to its start; null for a first one of which no
submission is told. `ended_by`: infra, preempted, user, limit, failure, done; null while it runs, or
where its state says nothing."""

ENDED_BY: Final = {
    "NODE_FAIL": "infra",
    "BOOT_FAIL": "infra",
    "LAUNCH_FAILED": "infra",
    "PREEMPTED": "preempted",
    "CANCELLED": "user",
    "TIMEOUT": "limit",
    "DEADLINE": "limit",
    "FAILED": "failure",
    "OUT_OF_MEMORY": "failure",
    "COMPLETED": "done",
}
"""Who, or what, ended a job, by Slurm's state."""


def run_attempts(jobs: pl.LazyFrame) -> pl.LazyFrame:
    """Return the attempts of each run.

    Args:
        jobs: `JOBS`; rows without a start or a state are of no scheduler and left out.

    Returns:
        `ATTEMPTS`, by run and start.
    """
    told = (
        jobs.pipe(require, JOBS)
        .drop_nulls(["run", "start", "state"])
        .unique(["run", "attempt", "start", "end", "state"])
        .sort("run", "start", "end", "attempt", "state", nulls_last=True)
    )
    before = pl.col("end").shift(1).over("run")
    since = pl.max_horizontal(before, "submit")
    ran = (pl.col("end") - pl.col("start")).dt.total_microseconds() / 1e6
    return told.with_columns(
        wait_seconds=((pl.col("start") - since).dt.total_microseconds() / 1e6).clip(0),
        run_seconds=pl.coalesce("elapsed_seconds", ran),
        ended_by=pl.col("state").replace_strict(ENDED_BY, default=None, return_dtype=pl.String),
    ).select(ATTEMPTS.names())
