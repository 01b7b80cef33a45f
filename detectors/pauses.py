"""The job's own pace, with its planned pauses left out.

Source: methods reference, sections 1 and 11: checkpoint and evaluation steps recur and are not
slowness; one isolated spike is not an episode.
"""

from typing import Final

import polars as pl

from collectors.frames import JOBS, STEPS, TIME, require, schema_of

_SIZES: Final = ("tokens", "samples")
"""What the work of a step is measured by: tokens count the length of samples too."""

JOB_PACES: Final = schema_of(
    {
        "run": pl.String,
        "attempt": pl.Int32,
        "step": pl.Int64,
        "end_time": TIME,
        "step_seconds": pl.Float64,
        "paused": pl.Boolean,
        "ranks": pl.Int64,
        "data_seconds": pl.Float64,
    }
)
"""One row a step of a job: the time of its slowest rank, or what the job's own line says.
`paused` steps hold a checkpoint and are not compared. `ranks` is how many ranks the attempt has as
far as is known: those that report, or what its launcher says; null where no rank reports.
`data_seconds` is the wait for data of the median rank, null where nobody tells it."""


def job_paces(steps: pl.LazyFrame, jobs: pl.LazyFrame | None = None) -> pl.LazyFrame:
    """Return the pace of each job.

    Args:
        steps: `STEPS`, cleaned; null `step_seconds` is not reported.
        jobs: `JOBS`, of which `world` is taken; null: nobody tells it.

    Returns:
        `JOB_PACES`, by run, attempt and step. Tokens (else samples) per step that change are
        divided out, so that a planned ramp of the batch size or of the length of sequences is no
        slowdown.
    """
    keys = ["run", "attempt", "step"]
    reporting = pl.col("rank").n_unique() - pl.col("rank").is_null().any().cast(pl.UInt32)
    relative = pl.coalesce(
        pl.col(size) / pl.col(size).median().over(["run", "attempt"]) for size in _SIZES
    )
    return (
        steps.pipe(require, STEPS)
        .filter(pl.col("step_seconds") > 0)
        .with_columns(ranks=reporting.over("run", "attempt").cast(pl.Int64))
        .group_by(keys)
        .agg(
            pl.col("end_time").median(),
            pl.col("step_seconds").max(),
            (pl.col("checkpoint_seconds") > 0).any().alias("paused"),
            pl.col(_SIZES).max(),
            pl.col("ranks").first(),
            pl.col("data_seconds").median(),
        )
        .join(_worlds(jobs), on=["run", "attempt"], how="left", nulls_equal=True)
        .with_columns(
            step_seconds=pl.col("step_seconds")
            / pl.when(relative > 0).then(relative).otherwise(1.0),
            ranks=pl.when(pl.col("ranks") > 0).then(pl.max_horizontal("ranks", "world")),
        )
        .select(JOB_PACES.names())
        .sort(keys)
    )


def _worlds(jobs: pl.LazyFrame | None) -> pl.LazyFrame:
    """Return the number of ranks of each attempt whose launcher tells it."""
    told = JOBS.to_frame().lazy() if jobs is None else jobs.pipe(require, JOBS)
    return told.group_by("run", "attempt").agg(pl.col("world").max().cast(pl.Int64))
