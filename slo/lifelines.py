"""The clock of each run, cut at every moment of which anything tells, and what went on meanwhile.

Source: ours. Counts go up and down at moments and are summed along the clock, so that overlapping
accounts of one attempt, duplicates and any order of rows give the same stretches.
"""

from dataclasses import dataclass
from typing import Final

import polars as pl

from collectors.frames import EVENTS, JOBS, TIME, require
from slo.attempts import ENDED_BY
from slo.saves import bare_marks, pauses_of

BROKEN_ENDS: Final = ("infra", "preempted", "failure")
"""Ends that nobody planned."""

_DELTAS: Final = ("accounts", "stepping", "pending", "saving", "loading")

_FLAGS: Final = ("report", "begun", "broken", "evaluation", "save")

STRETCHES: Final = pl.Schema(
    [
        ("run", pl.String()),
        ("start", TIME),
        ("end", TIME),
        *((name, pl.Int64()) for name in ("micros", "window", *_DELTAS)),
        *((name, pl.Int64()) for name in ("begun", "broken", "evaluation", "save")),
    ]
)
"""One stretch of a run's clock. `window` is how many reports have ended by its start. `accounts`
and `stepping` count the attempts that live then, by the scheduler and by their steps; `pending` are
those that wait, `saving` and `loading` checkpoints. `begun`, `broken`, `evaluation` and `save`
count marks at its start: launchers' starts, unplanned ends, evaluations, saves of unknown length.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """What marks the clock; runs are not null.

    Attributes:
        reports: `REPORTS`.
        jobs: `JOBS`.
        events: `EVENTS`.
        marks: `MARKS`.
    """

    reports: pl.LazyFrame
    jobs: pl.LazyFrame
    events: pl.LazyFrame
    marks: pl.LazyFrame


def stretches_of(clock: Clock) -> pl.DataFrame:
    """Return the stretches of each run.

    Args:
        clock: What marks it.

    Returns:
        `STRETCHES`, by run and start: without a gap, from the first moment to the last.
    """
    moments = pl.concat(
        [
            *_lives(accounts_of(clock.jobs)),
            *_step_lives(clock.reports),
            *_pauses(clock),
            _flagged(clock.reports.select("run", time="end_time"), "report"),
            _flagged(_launches(clock), "begun"),
            _flagged(_run_ends(clock), None),
            *(
                _flagged(bare_marks(clock.marks).filter(pl.col("kind") == kind), kind)
                for kind in ("evaluation", "save")
            ),
        ],
        how="diagonal_relaxed",
    ).drop_nulls("time")
    end = pl.col("time").shift(-1).over("run")
    return (
        moments.group_by("run", "time")
        .agg(pl.col(_DELTAS).sum(), pl.col(_FLAGS).max().fill_null(0))
        .sort("run", "time")
        .with_columns(pl.col(_DELTAS).cum_sum().over("run"), end=end)
        .with_columns(window=pl.col("report").cum_sum().over("run"))
        .with_columns(broken=_with_last(pl.col("broken")))
        .drop_nulls("end")
        .with_columns(micros=(pl.col("end") - pl.col("time")).dt.total_microseconds())
        .rename({"time": "start"})
        .select(pl.col(name).cast(kind) for name, kind in STRETCHES.items())
        .collect()
    )


def accounts_of(jobs: pl.LazyFrame) -> pl.LazyFrame:
    """Return the attempts of which a scheduler or a log tells a life, each once.

    Args:
        jobs: `JOBS`; one with neither a state nor an end tells only that something began.

    Returns:
        `run`, `attempt`, `submit`, `start`, `end`, `state`, `elapsed_seconds`.
    """
    has_life = pl.col("state").is_not_null() | pl.col("end").is_not_null()
    return (
        jobs.pipe(require, JOBS)
        .drop_nulls("start")
        .filter(has_life)
        .select("run", "attempt", "submit", "start", "end", "state", "elapsed_seconds")
        .unique()
    )


def _with_last(flag: pl.Expr) -> pl.Expr:
    """Return a flag, that of the run's last moment on the stretch before it."""
    is_last = pl.col("time") == pl.col("time").max().over("run")
    last = pl.when(is_last).then(flag).otherwise(0).shift(-1, fill_value=0).over("run")
    return pl.max_horizontal(flag, last)


def _flagged(rows: pl.LazyFrame, flag: str | None) -> pl.LazyFrame:
    moments = rows.select("run", "time")
    return moments if flag is None else moments.with_columns(pl.lit(1).alias(flag))


def _spans(rows: pl.LazyFrame, count: str) -> list[pl.LazyFrame]:
    """Return the moments at which spans begin and end; one without an end goes on."""
    begin = rows.select("run", pl.lit(1).alias(count), time="start")
    return [begin, rows.select("run", pl.lit(-1).alias(count), time="end")]


def _lives(accounts: pl.LazyFrame) -> list[pl.LazyFrame]:
    """Return when attempts were asked for, began and ended, and until when one is seen to run."""
    end = pl.max_horizontal("end", pl.when(pl.col("end").is_not_null()).then("start"))
    lives = accounts.with_columns(end=end)
    why = pl.col("state").replace_strict(ENDED_BY, default=None, return_dtype=pl.String)
    ran = pl.duration(microseconds=pl.col("elapsed_seconds") * 1e6)
    seen = lives.filter(pl.col("end").is_null()).select("run", time=pl.col("start") + ran)
    waits = lives.filter(pl.col("submit") < pl.col("start")).select(
        "run", start="submit", end="start"
    )
    broken = lives.filter(why.is_in(BROKEN_ENDS)).select("run", time="end")
    return [
        *_spans(lives, "accounts"),
        *_spans(waits, "pending"),
        _flagged(broken, "broken"),
        _flagged(seen, None),
    ]


def _step_lives(reports: pl.LazyFrame) -> list[pl.LazyFrame]:
    """Return from when to when steps show that an attempt lived."""
    end = pl.col("end_time")
    lives = (
        reports.group_by("run", "attempt")
        .agg(first=end.min(), told=pl.col("told").filter(end == end.min()).sum(), end=end.max())
        .with_columns(start=pl.col("first") - pl.duration(microseconds=pl.col("told")))
    )
    return _spans(lives, "stepping")


def _pauses(clock: Clock) -> list[pl.LazyFrame]:
    saves, loads = (
        pauses_of(clock.marks, clock.reports, kind) for kind in ("checkpoint", "checkpoint_load")
    )
    return [*_spans(saves, "saving"), *_spans(loads, "loading")]


def _launches(clock: Clock) -> pl.LazyFrame:
    """Return when a launcher or a log says that an attempt begins, of runs with steps."""
    told = clock.events.pipe(require, EVENTS).filter(pl.col("kind") == "run_start")
    bare = clock.jobs.pipe(require, JOBS).filter(pl.col("state").is_null(), pl.col("end").is_null())
    both = pl.concat([told.select("run", "time"), bare.select("run", time="start")])
    return both.join(clock.reports.select("run").unique(), on="run", how="semi")


def _run_ends(clock: Clock) -> pl.LazyFrame:
    """Return when a log says that its run ends, of runs of which only steps tell."""
    told = clock.events.pipe(require, EVENTS).filter(pl.col("kind") == "run_end")
    stepping = clock.reports.select("run").unique()
    accounts = accounts_of(clock.jobs).select("run").unique()
    return (
        told.select("run", "time")
        .join(stepping, on="run", how="semi")
        .join(accounts, on="run", how="anti")
    )
