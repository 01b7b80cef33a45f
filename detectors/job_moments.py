"""When a scheduler says that attempts began and ended, as events: detectors ask events alone.

Source: progress reference, section 14.1. A job that its scheduler ended makes no more steps, and
what is printed after another start is of another attempt.
"""

from typing import Final

import polars as pl

from collectors.frames import EVENTS, JOBS, conform, require

_DONE: Final = "COMPLETED"


def job_moments(jobs: pl.LazyFrame) -> pl.LazyFrame:
    """Return `EVENTS` of kind run_start and run_end.

    Args:
        jobs: `JOBS`; rows without a state are of no scheduler. What has not happened is null.

    Returns:
        Two rows an attempt at most, in the order of the jobs. The code of an end is `done` for a
        job that completed, else its state. They have no position: no line says them.
    """
    told = jobs.pipe(require, JOBS).drop_nulls(["run", "state"])
    code = pl.when(pl.col("state") == _DONE).then(pl.lit("done")).otherwise("state")
    start = told.select("run", "source", time="start", kind=pl.lit("run_start"))
    end = told.select("run", "source", time="end", kind=pl.lit("run_end"), code=code)
    parts = [conform(part.drop_nulls("time"), EVENTS) for part in (start, end)]
    return pl.concat(parts).with_columns(severity=pl.lit("info"), count=pl.lit(1, pl.Int32))
