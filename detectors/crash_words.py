"""Put the end of a job into words: its cause, whom it began with, who went down with it.

Source: methods of the NCCL and PyTorch reference, sections 8.5, 12.1 and 12.7.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from detectors.quotes import quoted
from detectors.rank_places import Places
from detectors.verdicts import Confidence, Level, Subject, Verdict

MAX_VICTIMS: Final = 16

MAX_QUOTED: Final = 3

KILLED: Final = "killed"

_KILLER: Final = (
    "who killed it: the host's kernel log (memory), the pod's conditions or the scheduler's "
    "accounts (preemption, eviction, a lost node)"
)

_NO_PROGRESS: Final = "no_progress"

_EXITS: Final[Mapping[str, str]] = {
    "-9": KILLED,
    "137": KILLED,
    "-11": "segfault",
    "139": "segfault",
    "-7": "bus_error",
    "135": "bus_error",
    "-6": "abort",
    "134": "abort",
    "93": _NO_PROGRESS,
    "16": "rerun_to_compare",
    "17": "failed_validation",
}
"""What exit codes and signals mean. 93 is how nvidia-resiliency-ext stops a job that makes no
progress; with 16 Megatron's rerun machine asks to be run elsewhere to tell a bad device from a bad
result, with 17 the result was wrong again (formats of progress streams, sections 1.4 and 13.1)."""

_SIGNALS: Final[Mapping[str, str]] = {
    "SIGSEGV": "segfault",
    "Segmentation fault": "segfault",
    "SIGBUS": "bus_error",
    "Bus error": "bus_error",
    "SIGILL": "illegal_instruction",
    "Illegal instruction": "illegal_instruction",
    "SIGKILL": KILLED,
    "SIGABRT": "abort",
}

_CAUSES: Final[Mapping[str, str]] = {
    "oom": "oom",
    "oom_kill": "host_oom",
    "cuda_error": "cuda_error",
    "gpu_lost": "gpu_lost",
}

_ON_GPU: Final = ("oom", "cuda_error", "xid", "gpu_lost")

_ACTIONS: Final[Mapping[str, str]] = {
    "oom": "lower the memory need of this rank, or look for what else holds memory on its GPU",
    "host_oom": "look for what fills the host's memory: data loaders, caches, checkpoints",
    _NO_PROGRESS: "find what kept it from steps: its watcher stopped it after cycles without any",
    "operator": "ask who stopped it; restart from the last checkpoint",
    "scheduler": "read the scheduler's reason; restart from the last checkpoint",
    "node_failure": "see why the node went away: its console, power and kernel log; drain it first",
}

_NODE_LOST: Final = "NODE FAILURE"
"""The scheduler's word for a host that went away."""

_SWITCH_ACTION: Final = (
    "take the host out of service: all its GPUs share this NVSwitch; reset them together, or reboot"
)

_ACTION: Final = "read this process' own log and its host's kernel log; restart without the host"


@dataclass(frozen=True, slots=True, kw_only=True)
class Crash:
    """The end of one attempt.

    Attributes:
        run: The run; null if not named.
        first: The fault that came first, as a row of `EVENTS` with `outside` and `weight`.
        tied: Faults of other hosts of which none is known to be later.
        later: First faults of other hosts that came later or tell less.
        others: Further faults of the first one's host.
        cascade: `EVENTS` of victims.
        confidence: How sure the order is.
        decided: Whether the first is known to be the first, or all had it in common.
        common: Whether most hosts had the same fault at the same time.
        places: Where ranks are.
    """

    run: str | None
    first: dict[str, Any]
    tied: tuple[dict[str, Any], ...]
    later: tuple[dict[str, Any], ...]
    others: tuple[dict[str, Any], ...]
    cascade: pl.DataFrame
    confidence: Confidence
    decided: bool
    common: bool
    places: Places


def crash_verdict(crash: Crash) -> Verdict:
    """Return the verdict on the end of an attempt."""
    first = crash.first
    cause = fault_cause(first)
    is_named = crash.decided and not crash.common and not _is_everybodys(first)
    subject, level = _subject(crash) if is_named else (Subject(run=crash.run), _job())
    rivals = [*crash.tied, *(crash.later if crash.confidence != "high" else ())]
    shown = [first, *crash.tied[:MAX_QUOTED], *crash.others[:MAX_QUOTED]]
    return Verdict(
        kind="crash" if crash.decided else "unknown",
        level=level,
        subject=subject,
        onset=first["time"],
        detected=first["time"],
        cause=cause,
        confidence=crash.confidence if crash.decided else "low",
        evidence=tuple(quoted(row) for row in shown),
        victims=_victims(crash, subject),
        alternatives=tuple(dict.fromkeys(_who(row) for row in _suspected(crash, rivals))),
        action=_action(first, cause),
        needed=_needed(cause, is_alone=not rivals),
    )


def fault_cause(row: Mapping[str, Any]) -> str:
    """Return the short word for a fault, or for who outside ended the job."""
    kind, code = row["kind"], row["code"] or ""
    if row["outside"] and code == _NODE_LOST:
        return "node_failure"
    if row["outside"]:
        return "scheduler" if kind == "job_cancelled" and code else "operator"
    named = {
        "xid": f"xid_{code}",
        "sxid": f"sxid_{code}",
        "fabric_manager": f"sxid_{code}",
        "process_exit": _EXITS.get(code, f"exit_{code}"),
        "signal": _SIGNALS.get(code, "fatal_error"),
        "traceback": code or "exception",
    }
    return _CAUSES.get(kind) or named.get(kind, kind)


def _action(row: Mapping[str, Any], cause: str) -> str:
    """Return what to do about the first fault."""
    usual = _SWITCH_ACTION if row["device_kind"] == "nvswitch" else _ACTION
    return _ACTIONS.get(cause, usual)


def _needed(cause: str, *, is_alone: bool) -> str | None:
    """Return what would tell more: who came first, or who killed."""
    if not is_alone:
        return "the clocks' offsets between these hosts, or their kernel logs"
    return _KILLER if cause == KILLED else None


def _job() -> Level:
    return "job"


def _is_everybodys(row: Mapping[str, Any]) -> bool:
    """Return whether a cause is the whole job's, which has no guilty host.

    So is a job that was cancelled, or that its watcher stopped for lack of progress.
    """
    cancelled = row["kind"] == "job_cancelled" and row["code"] != _NODE_LOST
    return bool(cancelled or fault_cause(row) == _NO_PROGRESS)


def _suspected(crash: Crash, rivals: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return list(rivals) if crash.decided else [crash.first, *rivals]


def _subject(crash: Crash) -> tuple[Subject, Level]:
    """Return whom the first fault is about: a GPU, a rank, a host, else the job."""
    row, key = crash.first, (crash.run, crash.first["rank"])
    on_gpu = row["kind"] in _ON_GPU and row["device"] is not None
    number = row["device"] if row["device_kind"] in ("gpu", "nvswitch") else None
    index = int(number) if number is not None and number.isdigit() else None
    subject = Subject(
        run=crash.run,
        host=row["host"] or crash.places.hosts.get(key),
        rank=row["rank"],
        gpu=index if index is not None else crash.places.gpus.get(key),
        device=number if index is None else None,
    )
    if on_gpu:
        return subject, "gpu"
    if subject.rank is not None:
        return subject, "rank"
    named: Level = "gpu" if subject.gpu is not None else "job"
    return subject, "host" if subject.host and subject.gpu is None else named


def _victims(crash: Crash, subject: Subject) -> tuple[str, ...]:
    """Return who complained without a fault of its own: ranks, else hosts."""
    rows = crash.cascade.select("rank", "host").unique().sort("rank", "host", nulls_last=True)
    names = [
        f"rank {rank}" if rank is not None else host
        for rank, host in rows.iter_rows()
        if (rank is not None and rank != subject.rank)
        or (rank is None and host not in (None, subject.host))
    ]
    return tuple(dict.fromkeys(names))[:MAX_VICTIMS]


def _who(row: Mapping[str, Any]) -> str:
    rank = f"rank {row['rank']}" if row["rank"] is not None else None
    return " on ".join(part for part in (rank, row["host"]) if part) or str(row["source"])
