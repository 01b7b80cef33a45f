"""Tell the end of a step that Slurm brought about from one that somebody wanted.

Source: srun(1), `--kill-on-bad-exit` and `--wait`: when a task fails, srun ends the others of its
step, and slurmstepd says so in the words of a cancelled step. A cancelled job says it for the job
too.
"""

from typing import Final, Literal

import polars as pl

_NODE_FAILURE: Final = "NODE FAILURE"

_KILLS: Final = ("-9", "137")

MAX_LINES: Final = 200
"""A failed task and the end of its step are told within so many lines of a log; ours."""

_POLITE: Final = ("0", "-15", "143")
"""Exits of tasks that were ended."""


def mark_step_ends(events: pl.DataFrame) -> pl.DataFrame:
    """Return the events with ends of steps that follow from a failed task as what they are.

    Args:
        events: Of one log: `line`, `kind`, `code`, `time`, `host`, and `has_job`, whether the job
            was said to be cancelled too.

    Returns:
        The events in their order. Such an end is of kind closing; a failure without a time has
        that of the end it led to, which comes seconds later. A kill for memory that names no host
        is on the only one whose task ran out of it.
    """
    ends = events.filter(_is_bare_end()).sort("line")
    led = _behind(ends, events.filter(_is_failure()), "nearest")
    led = _behind(led, events.filter(_is_kill()), "backward")
    closings = led.filter("failed").select("line", closed=pl.col("time"))
    near = events.sort("line").join_asof(
        closings, on="line", strategy="nearest", tolerance=MAX_LINES
    )
    is_closing = pl.col("line").is_in(closings["line"].implode()) & _is_bare_end()
    return near.with_columns(
        kind=pl.when(is_closing).then(pl.lit("closing")).otherwise("kind"),
        severity=pl.when(is_closing).then(pl.lit("info")).otherwise("severity"),
        time=pl.coalesce("time", pl.when(_is_failure() | _is_kill()).then("closed")),
        host=pl.coalesce("host", _only_starved()),
    ).drop("closed")


def name_lost_nodes(events: pl.DataFrame) -> pl.DataFrame:
    """Return the events with the node that failed, where only one is told, at its job's end too.

    Args:
        events: Of one log, as above. slurmstepd says when a job ended since a node failed, srun
            says which one, without a time.

    Returns:
        The events in their order; both lines of one failure have its node and its time.
    """
    is_end = (pl.col("kind") == "job_cancelled") & (pl.col("code") == _NODE_FAILURE)
    is_lost = pl.col("kind") == "node_failure"
    nodes = events.filter(is_lost).select("line", node="host").drop_nulls().sort("line")
    ends = events.filter(is_end).select("line", end="time").drop_nulls().sort("line")
    near = events.sort("line")
    for told in (nodes, ends):
        near = near.join_asof(told, on="line", strategy="nearest", tolerance=MAX_LINES)
    return near.with_columns(
        host=pl.coalesce("host", pl.when(is_end).then("node")),
        time=pl.coalesce("time", pl.when(is_lost).then("end")),
    ).drop("node", "end")


def _is_bare_end() -> pl.Expr:
    is_end = (pl.col("kind") == "job_cancelled") & pl.col("code").is_null()
    return is_end & ~pl.col("has_job").fill_null(value=True)


def _behind(
    ends: pl.DataFrame, failures: pl.DataFrame, strategy: Literal["nearest", "backward"]
) -> pl.DataFrame:
    """Return the ends with `failed`: whether such a failure is told near them, or was before."""
    found = failures.select("line", near=pl.lit(value=True)).sort("line")
    joined = ends.join_asof(found, on="line", strategy=strategy, tolerance=MAX_LINES)
    before = pl.col("failed") if "failed" in ends.columns else pl.lit(value=False)
    return joined.with_columns(failed=before | pl.col("near").fill_null(value=False)).drop("near")


def _is_failure() -> pl.Expr:
    is_exit = (pl.col("kind") == "process_exit") & ~pl.col("code").is_in([*_POLITE, *_KILLS])
    return is_exit.fill_null(value=False) | (pl.col("kind") == "oom_kill")


def _is_kill() -> pl.Expr:
    """Return whether a task was killed: told after the end of its step, the end did it."""
    return (pl.col("kind") == "process_exit") & pl.col("code").is_in(_KILLS)


def _only_starved() -> pl.Expr:
    """Return the only host that is named in a kill for memory, for those that name none."""
    is_kill = pl.col("kind") == "oom_kill"
    named = pl.col("host").filter(is_kill).drop_nulls().unique()
    return pl.when(is_kill & (named.len() == 1)).then(named.first())
