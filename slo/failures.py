"""What ended each attempt without a plan, and what that cost: causes, hosts, GPU-hours.

Source: A. Kokolis and others, arXiv 2410.21680 (progress reference, section 15.1): a failure is the
infrastructure's when a node is lost, or when a critical signal comes within ten minutes before the
end or five after it; what a failed job loses where no step tells is its run time up to half an
hour, times its GPUs; jobs that are preempted so that a failed one can start again are its second
order. Which signals are whose is ours, after the Xid catalogue in `detectors.faults`.
"""

from dataclasses import dataclass
from typing import Final

import polars as pl

from collectors.frames import EVENTS, TIME, require, schema_of
from detectors.faults import HARDWARE_XIDS, LINK_XIDS, is_hard_fault, is_switch_error
from detectors.node_signals import MEMORY_XIDS
from slo.lifelines import BROKEN_ENDS

CAUSES: Final = {
    "gpu": "a GPU failed or fell off the bus",
    "gpu_memory": "memory of a GPU",
    "network": "links, NICs or switches",
    "host": "a node was lost, or its board or memory failed",
    "storage": "a file system failed, was full or did not answer",
    "software": "the program itself",
    "preempted": "somebody else's job needed the nodes",
    "unknown": "nothing tells",
}
"""What ends attempts, by family."""

INFRASTRUCTURE: Final = ("gpu", "gpu_memory", "network", "host", "storage")

FAILURES: Final = schema_of(
    {
        "failure": pl.UInt32,
        "run": pl.String,
        "attempt": pl.Int32,
        "start": TIME,
        "time": TIME,
        "ended_by": pl.String,
        "cause": pl.String,
        "what": pl.String,
        "host": pl.String,
        "device": pl.String,
        "peer": pl.String,
        "source": pl.String,
        "is_infrastructure": pl.Boolean,
        "hosts": pl.List(pl.String),
        "nodes": pl.Int64,
        "ranks": pl.Int64,
        "gpus": pl.Int64,
    }
)
"""One attempt that ended without a plan. `what`, `host`, `device`, `peer` (the other end, such as a
storage server) and `source` are of the event that tells the cause, null where none does; `cause` is
one of `CAUSES`."""

_STORAGE: Final = (
    r"(?i)no space left|input/output error|stale file handle|disk quota|read-only file system"
)

_MENDED: Final = ("pcie_error", "memory_error", "machine_check")
"""Errors that end nothing as long as they are corrected, which their severity tells."""

_ORDER: Final = ("gpu_memory", "gpu", "storage", "host", "network", "software")
"""Which of several families is believed: a lost node and a network error often follow the fault of
a GPU, a traceback follows anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureParams:
    """When an event tells why an attempt ended.

    Attributes:
        before_seconds: An event counts from so long before the end on ...
        after_seconds: ... until so long after it.
    """

    before_seconds: float = 600.0
    after_seconds: float = 300.0


def budget_failures(
    lives: pl.DataFrame, events: pl.DataFrame, params: FailureParams
) -> pl.DataFrame:
    """Return the attempts that ended without a plan, and why.

    Args:
        lives: `LIVES`.
        events: `EVENTS`: those of the run, or of a host of the attempt, may tell the cause.
        params: How near to the end they must be.

    Returns:
        `FAILURES`, by time and run. A node that the scheduler lost is the host's fault where no
        event tells a better cause.
    """
    ended = (
        lives.lazy()
        .filter("is_over", pl.col("ended_by").is_in([*BROKEN_ENDS, "restart"]))
        .rename({"end": "time"})
        .sort("time", "run", "attempt", "start", nulls_last=True)
        .with_row_index("failure")
    )
    causes = _causes(ended, _told(events.lazy()), params)
    ended_by = pl.col("ended_by")
    fallback = (
        pl.when(ended_by == "preempted")
        .then(pl.lit("preempted"))
        .when(pl.col("told").is_not_null())
        .then("told")
        .when(ended_by == "infra")
        .then(pl.lit("host"))
        .otherwise(pl.lit("unknown"))
    )
    return (
        ended.join(causes, on="failure", how="left")
        .with_columns(cause=fallback)
        .with_columns(is_infrastructure=pl.col("cause").is_in(INFRASTRUCTURE))
        .select(pl.col(name).cast(kind) for name, kind in FAILURES.items())
        .sort("failure")
        .collect()
    )


def _told(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the events that tell a cause."""
    kind, code = pl.col("kind"), pl.col("code").fill_null("")
    message = pl.col("message").fill_null("")
    is_mended = kind.is_in(_MENDED) & (pl.col("severity") == "warning")
    is_slight = pl.col("severity").is_in(["info", "low"]) | is_mended
    is_xid = kind == "xid"
    cause = (
        pl.when((is_xid & code.is_in(MEMORY_XIDS)) | (kind.is_in(["ecc", "gpu_row_remap"])))
        .then(pl.lit("gpu_memory"))
        .when(is_switch_error() | (is_xid & code.is_in(["74", *LINK_XIDS])))
        .then(pl.lit("network"))
        .when((is_xid & code.is_in(HARDWARE_XIDS)) | kind.is_in(["gpu_lost", "gpu_error"]))
        .then(pl.lit("gpu"))
        .when(kind == "storage_stall")
        .then(pl.lit("storage"))
        .when(kind.is_in(["node_failure", *_MENDED]))
        .then(pl.lit("host"))
        .when(kind.is_in(["link_down", "net_error"]))
        .then(pl.lit("network"))
        .when(is_hard_fault() & message.str.contains(_STORAGE))
        .then(pl.lit("storage"))
        .when(is_hard_fault())
        .then(pl.lit("software"))
    )
    order = cause.replace_strict({name: at for at, name in enumerate(_ORDER)}, default=None)
    return (
        events.pipe(require, EVENTS)
        .drop_nulls("time")
        .with_columns(told=cause, order=order, what=pl.concat_str(_words()))
        .filter(pl.col("told").is_not_null(), ~is_slight.fill_null(value=False))
        .select("time", "run", "host", "told", "order", "what", "device", "peer", "source")
    )


def _words() -> list[pl.Expr]:
    """Return an event in words."""
    code = pl.format(" {}", "code").fill_null("")
    said = pl.format(": {}", pl.col("message").str.strip_chars().str.slice(0, 100)).fill_null("")
    return [pl.col("kind").str.replace_all("_", " "), code, said]


def _causes(ended: pl.LazyFrame, told: pl.LazyFrame, params: FailureParams) -> pl.LazyFrame:
    """Return the event that is believed of each failure: hardware first, then the earliest.

    What a kernel says of a host is of no job, whichever name it was read with.
    """
    reach = [
        pl.duration(microseconds=int(seconds * 1e6))
        for seconds in (params.before_seconds, params.after_seconds)
    ]
    moments = ended.select("failure", "run", "hosts", ended="time")
    events = told.rename({"run": "told_run"})
    of_run = moments.join(events, left_on="run", right_on="told_run", coalesce=False)
    is_elsewhere = ~pl.col("host").is_in("hosts").fill_null(value=True)
    on_host = moments.explode("hosts", empty_as_null=True, keep_nulls=False).join(
        events, left_on="hosts", right_on="host", coalesce=False
    )
    is_ours = (pl.col("told_run") == pl.col("run")).fill_null(value=True)
    columns = ["failure", "ended", *told.collect_schema().names()[2:], "time"]
    both = pl.concat(
        [
            of_run.filter(~is_elsewhere).select(columns),
            on_host.filter(is_ours | (pl.col("told") != "software")).select(columns),
        ]
    )
    return (
        both.filter(
            pl.col("time").is_between(pl.col("ended") - reach[0], pl.col("ended") + reach[1])
        )
        .sort(
            *("failure", "order", "time", "host", "what", "device", "peer", "source"),
            nulls_last=True,
        )
        .unique("failure", keep="first", maintain_order=True)
        .select("failure", "told", "what", "host", "device", "peer", "source")
    )
