"""Find runs of which the scheduler shows fewer attempts than there were.

Source: progress reference, section 14.1: a requeued job keeps its number, and sacct shows its last
run only, unless it is asked for duplicates. What is missing hides failures and waits.
"""

from typing import Final

import polars as pl

from collectors.frames import EVENTS, JOBS, STEPS, require
from collectors.training.rounds import ROUND_FLAG
from detectors.verdicts import Evidence, Subject, Verdict, verdict_frame

_OURS: Final = "ended"
"""State of what no scheduler tells: a cycle of nvidia-resiliency-ext, a start and an end in a log.
"""

_WHERE: Final = ("run", "source")


def find_hidden_attempts(
    jobs: pl.LazyFrame, events: pl.LazyFrame, steps: pl.LazyFrame
) -> pl.DataFrame:
    """Return the runs whose accounts may be incomplete.

    Args:
        jobs: `JOBS`; rows with a state and a start are the scheduler's.
        events: `EVENTS`; those of kind run_start mark starts, and marks in a row are one start.
        steps: `STEPS`; a null position is not known, and such a step parts no marks.

    Returns:
        `VERDICTS` of kind telemetry_lost and cause `hidden_attempts`, one a run. Restarts that an
        elastic launcher made inside of an attempt are none of the scheduler's. Partition key: run.

    Raises:
        SchemaError: A frame lacks a column.
    """
    told = jobs.pipe(require, JOBS).drop_nulls("run")
    is_round = pl.col("flags").list.contains(ROUND_FLAG).fill_null(value=False)
    rounds = told.filter(is_round).group_by("run").agg(rounds=pl.col("attempt").n_unique())
    is_account = (pl.col("state") != _OURS) & pl.col("start").is_not_null()
    counted = (
        told.filter(~is_round)
        .group_by("run")
        .agg(
            seen=pl.col("attempt").filter(is_account).n_unique(),
            last=pl.col("attempt").max() + 1,
            source=pl.col("source").filter(is_account).min(),
        )
        .filter(pl.col("seen") > 0)
    )
    starts = _starts(events.pipe(require, EVENTS), steps.pipe(require, STEPS))
    elastic = (pl.col("rounds").fill_null(1) - 1).cast(pl.Int64)
    shown = pl.max_horizontal("last", pl.col("starts").cast(pl.Int64) - elastic)
    return verdict_frame(
        _verdict(*row)
        for row in counted.join(starts, on="run", how="left")
        .join(rounds, on="run", how="left")
        .select("run", "source", "seen", shown=shown)
        .filter(pl.col("shown") > pl.col("seen"))
        .sort("run")
        .collect()
        .iter_rows()
    )


def _starts(events: pl.LazyFrame, steps: pl.LazyFrame) -> pl.LazyFrame:
    """Return how often each run started, as far as one of its logs shows: `run`, `starts`."""
    marks = events.filter(pl.col("kind") == "run_start").select(
        *_WHERE, "position", mark=pl.lit(value=True)
    )
    done = steps.select(*_WHERE, "position", mark=pl.lit(value=False))
    both = pl.concat([marks, done]).drop_nulls(["run", "position"])
    before = pl.col("mark").shift(1).over(_WHERE).fill_null(value=False)
    return (
        both.sort(*_WHERE, "position", "mark")
        .with_columns(starts=pl.col("mark") & ~before)
        .group_by(_WHERE)
        .agg(pl.col("starts").sum())
        .group_by("run")
        .agg(pl.col("starts").max())
    )


def _verdict(run: str, source: str, seen: int, shown: int) -> Verdict:
    what = f"history may be incomplete: {seen} of at least {shown} attempts have accounts"
    return Verdict(
        kind="telemetry_lost",
        level="job",
        subject=Subject(run=run),
        cause="hidden_attempts",
        confidence="medium",
        evidence=(Evidence(source=source, what=what),),
        action="ask sacct for duplicates (-D): else a requeued job shows its last run only",
    )
