"""Number the attempts of a run alike in all that speak of them: scheduler, launcher, agents.

A line of a log tells that a job ended, and when, but not which of its attempts that was: the
scheduler's accounts do. An agent counts its own restarts: all agents together give the rounds.
"""

from dataclasses import replace

import polars as pl

from collectors.frames import JOBS
from collectors.readings import Reading
from collectors.training.rounds import ROUND_FLAG, round_jobs, round_placements, rounds_of

_MAX_LATE_MINUTES = 5
"""What is told of an attempt comes no later after its end; ours."""


def join_attempts(reading: Reading) -> Reading:
    """Return the reading with the attempt of each job's row, where the scheduler's rows tell it.

    Args:
        reading: What all readers found. A row of `JOBS` without an attempt is of the last one of
            its run that had begun when it starts or ends, and was not long over.
    """
    jobs = reading.jobs.with_row_index("_row")
    moment = pl.coalesce("end", "start")
    open_ = jobs.filter(pl.col("attempt").is_null(), moment.is_not_null())
    known = jobs.filter(pl.col("attempt").is_not_null(), pl.col("start").is_not_null())
    late = pl.duration(minutes=_MAX_LATE_MINUTES)
    fits = (pl.col("begun") <= pl.col("moment")) & (
        (pl.col("moment") <= pl.col("over") + late).fill_null(value=True)
    )
    found = (
        open_.select("_row", "run", moment=moment)
        .join(
            known.select("run", found="attempt", begun="start", over="end"),
            on="run",
            how="inner",
        )
        .filter(fits)
        .group_by("_row")
        .agg(pl.col("found").sort_by("begun").last())
    )
    joined = jobs.join(found, on="_row", how="left", maintain_order="left").with_columns(
        attempt=pl.coalesce("attempt", "found")
    )
    return replace(reading, jobs=joined.select(JOBS.names()))


def join_exports(reading: Reading) -> Reading:
    """Return the reading with one row an attempt, of jobs that several exports of accounts tell.

    Args:
        reading: What all readers found. Exports by the day show a job that ran over midnight twice,
            first as running, and number its attempts each from 0: those that are over count, and
            attempts of one number that began at different times are numbered by their start.
    """
    jobs, attempt = reading.jobs, ["run", "start"]
    is_account = pl.all_horizontal(pl.col("run", "start", "state").is_not_null())
    is_old = is_account & pl.col("end").is_null() & pl.col("end").is_not_null().any().over(attempt)
    left = jobs.filter(~is_old).with_columns(_told=is_account & (pl.col("state") != "ended"))
    begun = pl.when("_told").then("start")
    clashes = begun.drop_nulls().n_unique().over("run", "attempt") > 1
    number = begun.rank("dense").over("run").cast(pl.Int32) - 1
    mended = pl.when(pl.col("_told") & clashes.any().over("run")).then(number)
    joined = left.with_columns(attempt=pl.coalesce(mended, "attempt"))
    return replace(reading, jobs=joined.select(JOBS.names()))


def number_rounds(reading: Reading) -> Reading:
    """Return the reading with the rounds of rendezvous counted over all agents of a run.

    Args:
        reading: What all readers found, with its runs named. What each log made of its own agents
            is replaced.
    """
    rounds = rounds_of(reading.events)
    if rounds.is_empty():
        return reading
    placed = round_placements(rounds)
    is_round = pl.col("flags").list.contains(ROUND_FLAG).fill_null(value=False)
    theirs = ["run", "rank", "host", "index", "source"]
    others = reading.placements.join(placed, on=theirs, how="anti", nulls_equal=True)
    jobs = [reading.jobs.filter(~is_round), round_jobs(rounds)]
    return replace(reading, jobs=pl.concat(jobs), placements=pl.concat([others, placed]))


def name_lost_nodes(reading: Reading) -> Reading:
    """Return the reading with the node that a job lost, where its accounts do not name it.

    Args:
        reading: What all readers found, with its runs named. Of a loss without a host it is the
            only node of which any source says, at that time or without one, that the run lost it.
    """
    is_loss = pl.col("kind") == "node_failure"
    named = reading.events.filter(
        is_loss, pl.col("host").is_not_null(), pl.col("run").is_not_null()
    )
    if named.is_empty():
        return reading
    events = reading.events.with_row_index("_row")
    bare = events.filter(is_loss, pl.col("host").is_null(), pl.col("run").is_not_null())
    apart = (pl.col("time") - pl.col("told")).abs() > pl.duration(minutes=_MAX_LATE_MINUTES)
    found = (
        bare.select("_row", "run", "time")
        .join(named.select("run", node="host", told="time"), on="run")
        .filter(~apart.fill_null(value=False))
        .group_by("_row")
        .agg(pl.col("node").unique())
        .filter(pl.col("node").list.len() == 1)
        .with_columns(pl.col("node").list.first())
    )
    told = events.join(found, on="_row", how="left", maintain_order="left").with_columns(
        host=pl.coalesce("host", "node")
    )
    return replace(reading, events=told.select(reading.events.columns))
