"""When each attempt of a run lived, how large it was, and who ended it: what rates are counted in.

Source: ours, on the scheduler's accounts; of a run without any the steps tell when it lived, and
nothing tells who ended it.
"""

from typing import Final

import polars as pl

from collectors.frames import JOBS, PLACEMENTS, STEPS, TIME, require, schema_of
from collectors.readings import Reading
from slo.attempts import ENDED_BY
from slo.losses import run_sizes

LIVES: Final = schema_of(
    {
        "run": pl.String,
        "attempt": pl.Int32,
        "start": TIME,
        "end": TIME,
        "is_over": pl.Boolean,
        "state": pl.String,
        "reason": pl.String,
        "ended_by": pl.String,
        "hosts": pl.List(pl.String),
        "nodes": pl.Int64,
        "ranks": pl.Int64,
        "gpus": pl.Int64,
    }
)
"""One attempt of a run. `end` of one that goes on is the end of the data. `ended_by` is one of
`slo.attempts`, or `restart` where only steps tell that another attempt followed; null where nothing
does. `hosts`, `nodes`, `ranks` and `gpus` are null where nothing tells them."""


def budget_lives(reading: Reading) -> pl.DataFrame:
    """Return when the attempts of each run lived.

    Args:
        reading: `JOBS`, `STEPS` and `PLACEMENTS`. Where a scheduler tells of a run, its accounts
            are believed; else what a log says of starts and ends; else steps.

    Returns:
        `LIVES`, by run, start and attempt.
    """
    jobs, steps = reading.jobs.lazy().pipe(require, JOBS), reading.steps.lazy().pipe(require, STEPS)
    accounts = _accounts(jobs)
    told = pl.concat([accounts, _stepping(steps, accounts)], how="diagonal_relaxed")
    names = {"ranks": "ranks_of_run", "gpus": "gpus_of_run", "hosts": "hosts_of_run"}
    sizes = run_sizes(steps, reading.placements.lazy(), jobs).rename(names)
    placed = _placed(reading.placements.lazy())
    last = pl.max_horizontal(pl.col("start", "end", "seen").max())
    return (
        told.join(placed, on=["run", "attempt"], how="left", nulls_equal=True)
        .join(sizes, on="run", how="left", nulls_equal=True)
        .with_columns(hosts=pl.coalesce("hosts", "placed", _if_any("hosts_of_run")))
        .with_columns(
            is_over=pl.col("end").is_not_null(),
            end=pl.max_horizontal("start", pl.coalesce("end", "seen", last)),
            nodes=pl.col("hosts").list.len().cast(pl.Int64),
            ranks=pl.coalesce(pl.col("world").cast(pl.Int64), "ranks_of_run"),
            gpus=pl.coalesce(pl.col("gpus").cast(pl.Int64), "gpus_of_run"),
        )
        .select(pl.col(name).cast(kind) for name, kind in LIVES.items())
        .sort("run", "start", "attempt", "end", nulls_last=True)
        .collect()
    )


def _accounts(jobs: pl.LazyFrame) -> pl.LazyFrame:
    """Return the attempts of which a scheduler tells; of runs without one, those of logs.

    Processes of one attempt that log apart are one; a scheduler's attempts are told by their start.
    """
    state = pl.col("state")
    ended_by = state.replace_strict(ENDED_BY, default=None, return_dtype=pl.String)
    ran = pl.duration(microseconds=pl.col("elapsed_seconds") * 1e6)
    is_scheduled = (ended_by.is_not_null() | (state == "RUNNING")).fill_null(value=False)
    return (
        jobs.drop_nulls(["run", "start"])
        .filter(state.is_not_null() | pl.col("end").is_not_null())
        .with_columns(is_scheduled=is_scheduled, ended_by=ended_by, seen=pl.col("start") + ran)
        .filter(pl.col("is_scheduled") | ~pl.col("is_scheduled").any().over("run"))
        .with_columns(began=pl.when("is_scheduled").then("start"))
        .with_columns(number=pl.when(~pl.col("is_scheduled")).then("attempt"))
        .sort("end", "state", "reason", "attempt", nulls_last=False)
        .group_by("run", "began", "number", maintain_order=True)
        .agg(
            pl.col("start").min(),
            pl.col("end", "seen", "world", "gpus").max(),
            pl.col("attempt", "state", "reason", "ended_by").last(),
            pl.col("hosts").drop_nulls().explode(empty_as_null=False).unique().sort(),
        )
        .with_columns(hosts=_if_any("hosts"))
    )


def _if_any(name: str) -> pl.Expr:
    """Return a list, null where it is empty."""
    return pl.when(pl.col(name).list.len() > 0).then(name)


def _stepping(steps: pl.LazyFrame, accounts: pl.LazyFrame) -> pl.LazyFrame:
    """Return the attempts that only steps tell of; all but the last one were started again."""
    micros = pl.col("step_seconds") * pl.col("interval_steps") * 1e6
    began = pl.col("end_time") - pl.duration(microseconds=micros.fill_nan(None).fill_null(0.0))
    is_last = pl.col("end") == pl.col("end").max().over("run")
    return (
        steps.drop_nulls(["run", "end_time"])
        .join(accounts, on="run", how="anti")
        .group_by("run", "attempt")
        .agg(start=began.min(), end=pl.col("end_time").max())
        .with_columns(ended_by=pl.when(~is_last).then(pl.lit("restart")))
        .with_columns(seen=pl.when(is_last).then("end"))
        .with_columns(end=pl.when(~is_last).then("end"))
    )


def _placed(placements: pl.LazyFrame) -> pl.LazyFrame:
    """Return the hosts on which ranks of each attempt are placed."""
    known = placements.pipe(require, PLACEMENTS).drop_nulls(["run", "host"])
    return known.group_by("run", "attempt").agg(placed=pl.col("host").unique().sort())
