"""What each report of a job says it spent: at its pace, beyond it, waiting for data, in vain.

Source: ours, on the judged steps of `slo.training`, so that a slow step costs here what it costs in
a page; replays as in `slo.replays`.
"""

from typing import Final

import polars as pl

from collectors.frames import STEPS, TIME, conform, require
from slo.replays import with_resumption
from slo.training import STEP_COLUMNS, JudgeParams, judge_steps

AMOUNTS: Final = ("save", "productive", "replay", "data", "slow", "warm", "pause", "other")
"""What a report may have spent, in the order in which it is believed where the clock leaves less
than it tells. `slow`, `warm`, `pause` and `other` are time beyond the healthy pace in a judged
step, in a warm-up, beside a checkpoint that a rank tells of, and in any other step."""

REPORTS: Final = pl.Schema(
    [
        ("run", pl.String()),
        ("attempt", pl.Int32()),
        ("step", pl.Int64()),
        ("end_time", TIME),
        ("has_pace", pl.Boolean()),
        ("has_data", pl.Boolean()),
        ("told", pl.Int64()),
        *((name, pl.Int64()) for name in AMOUNTS),
    ]
)
"""One report of a job. `told` is its step time over its interval, and the amounts but `save` sum to
it; all in microseconds. `has_pace` says whether the run's pace is known, `has_data` whether waits
for data are told."""

_STEP: Final = ("run", "attempt", "step")

_BEYOND: Final = {"warm_up": "warm", "pause": "pause"}
"""Where time beyond the pace goes, by the reason why a step is not judged."""


def job_reports(steps: pl.LazyFrame, params: JudgeParams) -> pl.DataFrame:
    """Return what the reports of each job spent.

    Args:
        steps: `STEPS`; those without a step or a time are left out. A report whose time is none of
            a step is believed to have gone at the run's pace; without a pace it tells nothing.
        params: How steps are judged.

    Returns:
        `REPORTS`, by run, time and step.
    """
    told = steps.pipe(require, STEPS)
    events = judge_steps(told.select(STEP_COLUMNS.names()), params)
    pace = pl.col("baseline_seconds").forward_fill().backward_fill().over("run")
    return (
        events.drop_nulls(["step", "end_time"])
        .with_columns(pace=pace * pl.col("interval_steps"))
        .join(_waits(told), on=_STEP, how="left", nulls_equal=True)
        .join(_again(events), on=_STEP, how="left", nulls_equal=True)
        .with_columns(told=_told(), slow_ratio=pl.lit(params.min_slow_ratio))
        .with_columns(beyond=_beyond())
        .with_columns(data=pl.min_horizontal(pl.col("data_wait").fill_null(0), "told"))
        .with_columns(left=(pl.col("beyond") - pl.col("data")).clip(0))
        .with_columns(_amounts())
        .select(REPORTS.names())
        .sort("run", "end_time", "step", "attempt", nulls_last=True)
        .collect()
    )


def _micros(seconds: pl.Expr) -> pl.Expr:
    """Return whole microseconds."""
    return (seconds * 1e6).round().cast(pl.Int64)


def _told() -> pl.Expr:
    """Return the time of the report's steps; where it tells none, that at the healthy pace."""
    has_time = ~pl.col("reason").is_in(["no_duration", "not_a_step_time"]).fill_null(value=False)
    seconds = pl.col("step_seconds") * pl.col("interval_steps")
    return _micros(pl.when(has_time).then(seconds).otherwise("pace").fill_null(0.0))


def _beyond() -> pl.Expr:
    """Return the time beyond the pace, of steps that took more than they may."""
    pace = _micros(pl.col("pace"))
    is_slow = pl.col("told") > pl.col("slow_ratio") * pl.col("pace") * 1e6
    return pl.when(is_slow).then(pl.col("told") - pace).otherwise(0).fill_null(0)


def _amounts() -> list[pl.Expr]:
    """Return the amounts: what was done again later is in none but `replay`."""
    told, left = pl.col("told"), pl.col("left")
    again = _micros(told * pl.col("again") / 1e6)
    share = 1.0 - pl.col("again")
    data, beyond = _micros(pl.col("data") * share / 1e6), _micros(left * share / 1e6)
    reason = pl.col("reason")
    why = (
        pl.when(reason.is_null())
        .then(pl.lit("slow"))
        .otherwise(reason.replace_strict(_BEYOND, default="other", return_dtype=pl.String))
    )
    return [
        again.alias("replay"),
        data.alias("data"),
        *(pl.when(why == kind).then(beyond).otherwise(0).alias(kind) for kind in AMOUNTS[4:]),
        (told - again - data - beyond).clip(0).alias("productive"),
        pl.col("saving").fill_null(0).alias("save"),
        pl.col("pace").is_not_null().alias("has_pace"),
        pl.col("data_wait").is_not_null().alias("has_data"),
    ]


def _waits(steps: pl.LazyFrame) -> pl.LazyFrame:
    """Return for how long all ranks waited for data, and the slowest one saved, over a report.

    A rank that waits alone makes the step slow, which is counted as that.
    """
    for_job, count = pl.col("rank").is_null(), pl.col("interval_steps").fill_null(1)
    data, save = (
        pl.when(pl.col(name).is_finite()).then(_micros(pl.col(name).clip(0.0) * count))
        for name in ("data_seconds", "checkpoint_seconds")
    )
    return steps.group_by(_STEP).agg(
        data_wait=pl.coalesce(data.filter(for_job).max(), data.min()),
        saving=pl.coalesce(save.filter(for_job).max(), save.max()),
    )


def _again(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return which share of each report was done again in a later attempt."""
    count = pl.col("interval_steps").fill_null(1)
    again = (pl.col("step") - pl.col("resumed")).clip(0, count) / count
    return with_resumption(conform(events, STEPS)).select(*_STEP, again=again.fill_null(0.0))
