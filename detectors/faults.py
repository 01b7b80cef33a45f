"""Which events can begin a failure, and which only follow one.

Source: methods of the NCCL and PyTorch reference, section 12.1, and of the GPU and host reference,
section 5.5 (Xid catalogue). A hard fault is local: something broke here. What is said about the
other end, what an agent or a watchdog does to its own processes, and a launcher's summary follow.
"""

from typing import Final

import polars as pl

HARD_KINDS: Final = ("oom", "cuda_error", "oom_kill", "gpu_lost", "node_failure")
"""Kinds that are hard faults whatever their code."""

HARDWARE_XIDS: Final = (
    "46", "48", "54", "62", "64", "74", "79", "94", "95", "109", "110", "119", "120", "136", "140",
    "143", "155", "157", "158", "167", "168", "171", "172", "173",
)  # fmt: skip
"""Xids of hardware, and 94, which ends the application on a contained memory error."""

LINK_XIDS: Final = ("144", "145", "146", "147", "148", "149", "150")
"""Xids of links that are as bad as their line says."""

OUTSIDE_SIGNALS: Final = ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "2", "15", "1")
"""Signals that somebody outside the job sends."""

CRASH_EXITS: Final = ("-11", "-9", "-7", "-4", "-8", "137", "139", "132", "135", "136")
"""Exits by a signal that no agent and no watchdog sends: segmentation fault, kill, bus error ..."""

ABORT_EXITS: Final = ("-6", "134")
"""A watchdog's own abort, nearly always; where nobody waited, a program's."""

CASCADE_EXITS: Final = ("0", "-15", "143")
"""A clean end, an agent's closing signal."""

CASCADE_EXCEPTIONS: Final = (
    "ChildFailedError",
    "SignalException",
    "SystemExit",
    "BrokenPipeError",
    "EOFError",
    "WorkerGroupFailureException",
)
"""Exceptions that tell of another process' end."""

_SECOND_HAND: Final = (
    r"(?i)communicator was aborted|watchdog|remote (?:process|peer)|monitoredBarrier"
)
"""Texts of exceptions that repeat what another rank, or the watchdog, said."""


def is_hard_fault() -> pl.Expr:
    """Return whether an event is a local fault that can begin a failure."""
    kind, code = pl.col("kind"), pl.col("code").fill_null("")
    second_hand = (
        code.is_in(CASCADE_EXCEPTIONS)
        | code.str.ends_with("Warning")
        | pl.col("message").fill_null("").str.contains(_SECOND_HAND)
    )
    exception = (kind == "traceback") & ~second_hand
    signal = (kind == "signal") & ~code.is_in(OUTSIDE_SIGNALS)
    exit_ = (kind == "process_exit") & ~code.is_in(CASCADE_EXITS)
    return kind.is_in(HARD_KINDS) | exception | signal | exit_ | _is_hard_number()


def _is_hard_number() -> pl.Expr:
    """Return whether an Xid is of hardware, or the line of a link or a switch calls it fatal.

    Injected errors of links are never called so.
    """
    kind, code = pl.col("kind"), pl.col("code").fill_null("")
    is_fatal = (pl.col("severity") == "critical").fill_null(value=False)
    xid = code.is_in(HARDWARE_XIDS) | (code.is_in(LINK_XIDS) & is_fatal)
    return ((kind == "xid") & xid) | (is_switch_error() & is_fatal)


def is_switch_error() -> pl.Expr:
    """Return whether an event is an error of an NVSwitch, told by the kernel or its manager."""
    told = (pl.col("kind") == "fabric_manager") & pl.col("code").str.contains(r"^\d+$")
    return (pl.col("kind") == "sxid") | told.fill_null(value=False)


def is_link_error() -> pl.Expr:
    """Return whether an event is the Xid of an NVLink: where a switch failed too, a symptom."""
    return (pl.col("kind") == "xid") & pl.col("code").is_in(["74", *LINK_XIDS])


def is_outside_cause() -> pl.Expr:
    """Return whether an event is somebody outside ending the job: an operator or a scheduler."""
    kind, code = pl.col("kind"), pl.col("code").fill_null("")
    return (kind == "job_cancelled") | ((kind == "signal") & code.is_in(OUTSIDE_SIGNALS))


def fault_weight() -> pl.Expr:
    """Return how telling a hard fault is: 0 names its cause, 3 is an abort that may be a victim's.

    1 is an exception or a signal, 2 an exit code that only says that something went wrong.
    """
    kind, code = pl.col("kind"), pl.col("code")
    is_exit = kind == "process_exit"
    return (
        pl.when(kind.is_in([*HARD_KINDS, "xid", "sxid", "fabric_manager", "signal"]))
        .then(0)
        .when(is_exit & code.is_in(ABORT_EXITS))
        .then(3)
        .when(is_exit & ~code.is_in(CRASH_EXITS))
        .then(2)
        .otherwise(1)
    )


def is_complaint_of_waiting() -> pl.Expr:
    """Return whether an event says that a job hangs."""
    is_timeout = (pl.col("kind") == "comm_error") & (pl.col("code") == "timeout")
    told = pl.col("kind").is_in(["dump_signal", "heartbeat_stuck", "desync_report"])
    return told | is_timeout.fill_null(value=False)
