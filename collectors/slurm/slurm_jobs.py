"""Make jobs and their steps' events of Slurm's records, whichever of its tools printed them.

Source: formats of GPU and host streams, sections 7.1 and 7.2. A row is one attempt of a job: a job
that was requeued has several under one number. A step is no job: it is an event of one.
"""

from typing import Final

import polars as pl

from collectors.frames import EVENTS, JOBS, TIME, conform
from collectors.slurm.hostlists import hosts_of
from collectors.slurm.slurm_states import LIVE_FLAGS, LIVE_STATES, WAITING_STATES, job_states
from collectors.slurm.slurm_times import MOMENTS, settle_moments, stamps_of
from collectors.slurm.slurm_values import (
    resource_count,
    size_bytes,
    span_seconds,
    whole_seconds,
)
from collectors.sniffing import ReadOptions
from collectors.taken import taken_at
from collectors.texts.event_labels import event_labels
from collectors.texts.templates import filled

_PARTS: Final = r"^(\d+(?:_(?:\d+|\[[^\]]*\]?))?(?:\+\d+)?)(?:\.(.+))?"
"""Number of a job (of a task of its array, of a part of a heterogeneous one) and its step."""

_NO_HOSTS: Final = ("", "none assigned", "(null)", "none", "n/a")

_NO_REASON: Final = ("", "None", "(null)", "N/A")

_STEP_WORDS: Final = ("batch", "extern", "interactive")

_UNEXPANDED: Final = "hosts_not_expanded"

_GPUS: Final = "gres/gpu"
"""The resource; where a cluster does not account for it, a list of what was given tells nothing."""

_NODE_STATES: Final = ("NODE_FAIL", "BOOT_FAIL")
"""States that only the loss of a node gives."""

FAILED_STATES: Final = ("FAILED", "NODE_FAIL", "BOOT_FAIL", "OUT_OF_MEMORY", "TIMEOUT", "DEADLINE")
"""States of steps that are worth a second look; whose fault it was, they do not tell."""


def job_rows(records: pl.DataFrame, source: str, options: ReadOptions) -> pl.DataFrame:
    """Return records with their cells understood: `JOBS` columns, `step`, `wait_seconds`.

    Args:
        records: `RECORDS` of `collectors.slurm.sacct_records`; all cells are text.
        source: The name of the file, which may tell when it was printed.
        options: The zone of stamps without one.

    Returns:
        One row a record, in its order. `start` is null until the job has started, `end` until it
        has ended, whatever is planned. `wait_seconds` is what Slurm calls Planned, in old releases
        Reserved; null while the job waits, since it is not over.
    """
    state, flags, by = job_states(pl.col("state"))
    taken = taken_at(source, options)
    parts = pl.coalesce("jobid", "jobidraw")
    waited = pl.coalesce(pl.col("planned"), pl.col("reserved"))
    moments: dict[str, pl.Expr] = {}
    for name in MOMENTS:
        first, second = stamps_of(pl.col(name), options.time_zone, taken)
        moments |= {name: first, f"{name}_again": second}
    cpu = pl.sum_horizontal("user_seconds", "system_seconds", ignore_nulls=False)
    rows = records.with_columns(
        **moments,
        run=parts.str.extract(_PARTS, 1),
        step=_step(parts.str.extract(_PARTS, 2)),
        state=state,
        state_flags=flags,
        cancelled_by=by,
        name=pl.col("jobname"),
        user=_said(pl.col("user"), ("",)),
        exit=_said(pl.col("exitcode"), ("",)),
        elapsed_seconds=span_seconds(pl.col("elapsed")).fill_null(
            whole_seconds(pl.col("elapsedraw"))
        ),
        wait_seconds=span_seconds(waited).fill_null(whole_seconds(waited)),
        user_seconds=span_seconds(pl.col("usercpu")),
        system_seconds=span_seconds(pl.col("systemcpu")),
        hosts=hosts_of(_hostlist(records)),
        gpus=resource_count(pl.col("alloctres"), _GPUS),
    ).with_columns(cpu_seconds=span_seconds(pl.col("totalcpu")).fill_null(cpu))
    return _happened(settle_moments(rows)).with_columns(flags=_flags(), reason=_reason())


def _said(text: pl.Expr, nothing: tuple[str, ...]) -> pl.Expr:
    return pl.when(~text.is_in(list(nothing))).then(text)


def _step(name: pl.Expr) -> pl.Expr:
    """Return a step's name in full: narrow columns cut `batch` to `ba+`."""
    short = name.str.strip_chars_end("+")
    full = name
    for word in _STEP_WORDS:
        is_cut = name.str.ends_with("+") & pl.lit(word).str.starts_with(short) & (short != "")
        full = pl.when(is_cut).then(pl.lit(word)).otherwise(full)
    return full


def _hostlist(records: pl.DataFrame) -> pl.Series:
    text = pl.col("nodelist").str.strip_chars().str.to_lowercase()
    return records.select(pl.when(~text.is_in(list(_NO_HOSTS))).then(text)).to_series()


def _happened(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows without what has only been planned: starts, ends and waits to come."""
    state = pl.col("state").fill_null("")
    is_waiting = state.is_in(list(WAITING_STATES))
    is_live = is_waiting | state.is_in([*LIVE_STATES, *LIVE_FLAGS])
    return rows.with_columns(
        start=pl.when(~is_waiting).then("start"),
        end=pl.when(~is_live).then("end"),
        wait_seconds=pl.when(~is_waiting).then("wait_seconds"),
    )


def _flags() -> pl.Expr:
    text = pl.col("nodelist").str.strip_chars().str.to_lowercase()
    is_lost = pl.col("hosts").is_null() & ~text.is_in(list(_NO_HOSTS))
    flags = pl.concat_list(
        pl.col("state_flags").fill_null([]),
        pl.when("rejoined").then(pl.lit(["rejoined"])).otherwise(pl.lit([], pl.List(pl.String))),
        pl.when(is_lost).then(pl.lit([_UNEXPANDED])).otherwise(pl.lit([], pl.List(pl.String))),
    )
    return pl.when(flags.list.len() > 0).then(flags)


def _reason() -> pl.Expr:
    """Return why, in Slurm's words, and who cancelled: a user's own number, not a fault."""
    told = _said(pl.col("reason"), _NO_REASON)
    by = pl.format("cancelled by {}", pl.col("cancelled_by"))
    parts = pl.concat_list(told, by).list.drop_nulls()
    return pl.when(parts.list.len() > 0).then(parts.list.join("; "))


def jobs_of(rows: pl.DataFrame) -> pl.DataFrame:
    """Return `JOBS`: one row for each attempt of each job, by job and attempt.

    Args:
        rows: What `job_rows` returns. Rows printed twice are one; of rows of an attempt that was
            still going on, the last one counts, or the one that tells its end.

    Returns:
        `run` is the job's number in Slurm. Attempts are numbered from 0 by submit and start; where
        Slurm says how often it restarted a job, that is the number of a single row.
    """
    jobs = rows.filter(pl.col("step").is_null()).unique(
        [name for name in JOBS.names() if name in rows.columns and name != "flags"],
        keep="first",
        maintain_order=True,
    )
    state = pl.col("state").fill_null("")
    live = state.is_in([*LIVE_STATES, *LIVE_FLAGS, *WAITING_STATES])
    newest = pl.col("record").max()
    is_over = (~pl.col("live")).any()
    attempt = ["run", "submit", "begun"]
    kept = (
        jobs.with_columns(live=live, begun=_begun())
        .filter(
            ~pl.col("live") | ~is_over.over(attempt) & (pl.col("record") == newest.over(attempt))
        )
        .sort("run", "submit", "begun", "record", nulls_last=True)
    )
    at = pl.int_range(pl.len()).over("run")
    restarts = pl.col("restarts").cast(pl.Int32, strict=False)
    number = pl.when(pl.len().over("run") == 1).then(restarts.fill_null(at)).otherwise(at)
    return conform(kept.with_columns(attempt=number).lazy(), JOBS).collect()


def _begun() -> pl.Expr:
    """Return the start of a row, or that of the other row of its job with the same submit."""
    only = pl.col("start").drop_nulls().unique()
    told = pl.when(only.len().over("run", "submit") == 1).then(
        pl.col("start").drop_nulls().first().over("run", "submit")
    )
    return pl.col("start").fill_null(told)


def step_events(rows: pl.DataFrame) -> pl.DataFrame:
    """Return `EVENTS` of kind `job_step`, one for each step, in the order of the text.

    Args:
        rows: What `job_rows` returns; a step that was printed twice is one.

    Returns:
        `run` is the job, `code` the step's state, `time` its end, or its start while it runs; the
        rest that is told of it is in `attributes`.
    """
    told = ("run", "step", "state", "start", "end", "elapsed_seconds", "exit", "nodelist")
    steps = rows.filter(pl.col("step").is_not_null()).unique(
        told, keep="first", maintain_order=True
    )
    is_bad = pl.col("state").is_in(list(FAILED_STATES))
    span = pl.col("elapsed_seconds")
    said = {
        "step": pl.col("step"),
        "exit": pl.col("exit"),
        "elapsed_seconds": span.cast(pl.String).str.replace(r"\.0$", ""),
        "tasks": _said(pl.col("ntasks"), ("",)),
        "max_resident_bytes": size_bytes(pl.col("maxrss"), "K").cast(pl.Int64, strict=False),
        "hosts": _said(_said(pl.col("nodelist"), ("",)), ("None assigned",)),
    }
    return conform(
        steps.lazy().select(
            "run",
            "position",
            time=pl.coalesce("end", "start").cast(TIME),
            host=pl.when(pl.col("hosts").list.len() == 1).then(pl.col("hosts").list.first()),
            kind=pl.lit("job_step"),
            code="state",
            severity=pl.when(is_bad).then(pl.lit("warning")).otherwise(pl.lit("info")),
            count=pl.lit(1),
            message=pl.col("name"),
            attributes=event_labels(said),
        ),
        EVENTS,
    ).collect()


def failed_node_events(rows: pl.DataFrame) -> pl.DataFrame:
    """Return `EVENTS` of kind `node_failure`: the nodes that Slurm says a job lost.

    Args:
        rows: What `job_rows` returns. Only some tools name the node (`failed_node`); else the only
            one of the job is it, and of several none is known. All components of a heterogeneous
            job end alike, whichever lost its node.
    """
    named = _said(pl.col("failednode").str.strip_chars().str.to_lowercase(), _NO_HOSTS)
    is_whole = ~pl.col("run").str.contains("+", literal=True)
    alone = (pl.col("hosts").list.len() == 1) & is_whole
    only = pl.when(alone).then(pl.col("hosts").list.first())
    is_lost = pl.col("state").is_in(list(_NODE_STATES)).fill_null(value=False)
    lost = rows.filter(pl.col("step").is_null(), named.is_not_null() | is_lost)
    ended = pl.col("start") + pl.duration(microseconds=pl.col("elapsed_seconds") * 1e6)
    return conform(
        lost.lazy()
        .with_columns(host=pl.coalesce(named, only))
        .select(
            "run",
            "host",
            "position",
            time=pl.coalesce("end", ended, "start").cast(TIME),
            kind=pl.lit("node_failure"),
            device_kind=pl.lit("node"),
            code="state",
            severity=pl.lit("error"),
            count=pl.lit(1),
            message=filled(
                "job {} lost {}",
                "run",
                pl.coalesce(pl.format("node {}", "host"), pl.lit("a node that is not named")),
            ),
            attributes=event_labels({"hosts": pl.when(pl.col("host").is_null()).then("nodelist")}),
        ),
        EVENTS,
    ).collect()
