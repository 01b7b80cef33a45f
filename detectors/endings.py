"""Which faults ended an attempt: not those that training survived, nor the end of a hung job.

Source: methods of the NCCL and PyTorch reference, sections 8.5 and 12.6, and of the progress
reference, section 14.
"""

from dataclasses import dataclass
from typing import Final

import polars as pl

from detectors.faults import (
    CRASH_EXITS,
    fault_weight,
    is_complaint_of_waiting,
    is_hard_fault,
    is_link_error,
    is_outside_cause,
    is_switch_error,
)

_ATTEMPT: Final = ("run", "segment")

_STARTS: Final = ("run_start", "rendezvous", "restart")

_TIME_LIMIT: Final = "TIME LIMIT"
"""The scheduler's word for the end of a job's time."""

_MEASURES: Final = (
    *("last_step", "last_number", "saved_step", "safe_until"),
    *("hung", "ended", "wails", "not_before"),
)
"""Columns that decide which faults ended an attempt, and are told no further."""

_KILLS: Final = ("-9", "137")
"""Exits that somebody else forces on a process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndingParams:
    """When a fault is what ended an attempt.

    Attributes:
        max_skew_seconds: Clocks of two hosts that keep time differ by no more.
        restart_seconds: What is told so soon after a restart is still of the attempt before.
        min_steps_after: Steps of the same attempt after a fault from which training went on.
        min_silence_seconds: Without a step for this long a job hung before it was ended.
        max_fabric_seconds: A switch's error and those of the links on it come within this time.
    """

    max_skew_seconds: float = 2.0
    restart_seconds: float = 60.0
    min_steps_after: int = 2
    min_silence_seconds: float = 600.0
    max_fabric_seconds: float = 60.0


def in_attempts(frame: pl.LazyFrame, time: str, begins: pl.LazyFrame) -> pl.LazyFrame:
    """Return rows with `segment`: how many attempts of their run had begun; 0 without a clock.

    Args:
        frame: Rows with `run`.
        time: Their column of times.
        begins: What `attempt_begins` returns.
    """
    keyed = frame.with_columns(run_key=pl.col("run").fill_null(""))
    timed = keyed.drop_nulls(time).sort(time)
    marks = begins.select(
        "segment", run_key=pl.col("run").fill_null(""), begin=pl.col("begin")
    ).sort("begin")
    joined = timed.join_asof(
        marks, left_on=time, right_on="begin", by="run_key", check_sortedness=False
    ).drop("begin")
    bare = keyed.filter(pl.col(time).is_null())
    both = pl.concat([joined, bare], how="diagonal").drop("run_key")
    return both.with_columns(pl.col("segment").fill_null(0))


def attempt_begins(events: pl.LazyFrame, steps: pl.LazyFrame, params: EndingParams) -> pl.LazyFrame:
    """Return when attempts began: `run`, `begin`, and `segment`, their number from 1.

    Args:
        events: `EVENTS`; starts, rendezvous and restarts.
        steps: `STEPS`; the first step of each attempt.
        params: How long after a restart the attempt before still speaks.
    """
    shift = pl.when(pl.col("kind") == "restart").then(params.restart_seconds).otherwise(0.0)
    starts = (
        events.filter(pl.col("kind").is_in(_STARTS))
        .drop_nulls("time")
        .select("run", begin=pl.col("time") + pl.duration(microseconds=shift * 1e6))
    )
    first = (
        steps.drop_nulls(["attempt", "end_time"])
        .group_by("run", "attempt")
        .agg(begin=pl.col("end_time").min())
        .select("run", "begin")
    )
    return (
        pl.concat([starts, first], how="vertical_relaxed")
        .unique()
        .sort("run", "begin")
        .with_columns(segment=pl.int_range(1, pl.len() + 1).over("run"))
    )


def ending_faults(events: pl.LazyFrame, steps: pl.LazyFrame, params: EndingParams) -> pl.LazyFrame:
    """Return the faults, and the interventions from outside, that ended an attempt.

    Args:
        events: `EVENTS` with `segment` and `not_before`, the time that bounds one without a clock.
        steps: `STEPS` with `segment`.
        params: The thresholds.

    Returns:
        The events with `weight` (see `detectors.faults`), `outside`, `symptom` (the error of a link
        whose switch failed too), and the time of a rank's exit where the fault itself has none.
    """
    causes = (
        events.with_columns(outside=is_outside_cause(), weight=fault_weight())
        .filter(is_hard_fault() | pl.col("outside"))
        .join(_exit_times(events), on=[*_ATTEMPT, "rank"], how="left", nulls_equal=True)
        .with_columns(pl.coalesce("time", pl.when(~pl.col("outside")).then("exit_time")))
        .drop("exit_time")
        .with_columns(host=_killed_host())
        .pipe(_with_fabrics, params)
    )
    return (
        causes.join(_progress(steps, params), on=_ATTEMPT, how="left", nulls_equal=True)
        .join(_signs(events), on=_ATTEMPT, how="left", nulls_equal=True)
        .filter(~_survived(params), ~_follows_hang(params), ~_announced())
        .filter(_is_lead())
        .drop(_MEASURES)
    )


def _with_fabrics(causes: pl.LazyFrame, params: EndingParams) -> pl.LazyFrame:
    """Return the causes with `symptom`: errors of links around a fatal error of their switch.

    They are one incident of the fabric, whichever line was printed first. Where nothing has a
    clock, the same log is near enough.
    """
    whose = [*_ATTEMPT, "host"]
    switches = causes.filter(is_switch_error()).group_by(whose)
    fabric = switches.agg(failed=pl.lit(value=True), fabric=pl.col("time").min())
    reach = pl.duration(microseconds=int(params.max_fabric_seconds * 1e6))
    near = ((pl.col("time") - pl.col("fabric")).abs() <= reach).fill_null(value=True)
    symptom = is_link_error() & pl.col("failed").fill_null(value=False) & near
    joined = causes.join(fabric, on=whose, how="left", nulls_equal=True)
    return joined.with_columns(symptom=symptom).drop("failed", "fabric")


def _exit_times(events: pl.LazyFrame) -> pl.LazyFrame:
    exits = events.filter(pl.col("kind") == "process_exit").drop_nulls(["rank", "time"])
    return exits.group_by(*_ATTEMPT, "rank").agg(exit_time=pl.col("time").min())


def _killed_host() -> pl.Expr:
    """Return the host; of a memory kill that names none, that of the only process killed."""
    killed = pl.col("host").filter(pl.col("kind") == "process_exit", pl.col("code").is_in(_KILLS))
    only = pl.when(killed.n_unique() == 1).then(killed.min()).over(_ATTEMPT)
    return pl.when(pl.col("kind") == "oom_kill").then(pl.coalesce("host", only)).otherwise("host")


def _progress(steps: pl.LazyFrame, params: EndingParams) -> pl.LazyFrame:
    """Return when the last step of an attempt ended, and the one from which it had gone on."""
    done = (
        steps.drop_nulls(["step", "end_time"])
        .group_by(*_ATTEMPT, "step")
        .agg(pl.col("end_time").min())
    )
    later = pl.col("end_time").sort(descending=True)
    return done.group_by(_ATTEMPT).agg(
        last_step=pl.col("end_time").max(),
        last_number=pl.col("step").max(),
        safe_until=later.get(params.min_steps_after - 1, null_on_oob=True),
    )


def _signs(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return what else the attempt says: since when it hung, that it ended well, who wails."""
    is_wail = pl.col("kind") == "comm_error"
    hangs = is_complaint_of_waiting()
    return events.group_by(_ATTEMPT).agg(
        hung=pl.col("time").filter(hangs).min(),
        saved_step=_saved_step().max(),
        wails=(is_wail | hangs).any(),
        ended=_says_goodbye().any(),
    )


def _says_goodbye() -> pl.Expr:
    """Return whether a trainer says that it ends, at its time limit or when asked, or is done.

    Without a position it is its scheduler that says so, and means no goodbye by any other state.
    """
    is_end = pl.col("kind") == "run_end"
    return is_end & ((pl.col("code") == "done") | pl.col("position").is_not_null())


def _survived(params: EndingParams) -> pl.Expr:
    """Return whether steps of the same attempt went on after a fault."""
    skew = pl.duration(microseconds=int(params.max_skew_seconds * 1e6))
    return (pl.col("time") + skew < pl.col("safe_until")).fill_null(value=False)


def _follows_hang(params: EndingParams) -> pl.Expr:
    """Return whether a job that already hung was merely ended: an exit, a kill, a cancel."""
    is_exit = pl.col("kind") == "process_exit"
    is_kill = pl.col("outside") | (is_exit & pl.col("code").is_in(_KILLS))
    silence = pl.duration(microseconds=int(params.min_silence_seconds * 1e6))
    was_silent = is_kill & (pl.col("not_before") > pl.col("last_step") + silence)
    after = pl.col("time") > pl.col("hung")
    return (((pl.col("outside") | is_exit) & after) | was_silent).fill_null(value=False)


def _announced() -> pl.Expr:
    """Return whether the job had said that it was done, or had saved all when its time was over.

    A job that runs longer than its limit is a chain: it saves its last step and goes on in the
    next, which is planned.
    """
    is_end = pl.col("outside") | (pl.col("kind") == "process_exit")
    said = is_end & pl.col("ended")
    is_limit = pl.col("outside") & (pl.col("code") == _TIME_LIMIT)
    saved = is_limit & (pl.col("saved_step") >= pl.col("last_number"))
    return said.fill_null(value=False) | saved.fill_null(value=False)


def _saved_step() -> pl.Expr:
    """Return the step of a checkpoint that is whole; null of all other events."""
    is_saved = pl.col("kind") == "checkpoint"
    return pl.when(is_saved).then(pl.col("code").cast(pl.Int64, strict=False))


def _is_lead() -> pl.Expr:
    """Return whether a cause leads: nothing in the attempt is more telling than an exit code.

    An abort leads only where nobody complains of waiting or of lost peers. Exits without a clock
    that several processes share, in a job that complains, are its clearing away.
    """
    weight = pl.col("weight").fill_null(0)
    best = weight.min().over(_ATTEMPT)
    is_exit = pl.col("kind") == "process_exit"
    alike = pl.len().over(*_ATTEMPT, "kind", "code") > 1
    wails = pl.col("wails").fill_null(value=False)
    cleared = is_exit & pl.col("time").is_null() & wails & alike & pl.col("code").is_in(CRASH_EXITS)
    weak = (weight > 1) & (best < weight)
    abort = (weight == 3) & wails  # noqa: PLR2004 -- the weight of an abort
    return ~(cleared | weak | abort).fill_null(value=False)
