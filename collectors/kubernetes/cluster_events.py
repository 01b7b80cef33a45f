"""What the events of a cluster mean: reasons of the scheduler, the kubelet, controllers, nodes.

Source: Kubernetes `pkg/kubelet/events/event.go`, the scheduler's and the taint manager's events;
formats of progress streams, section 14.3. An event is somebody's report, repeated and merged: its
count is told, and its time is the first one.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from collectors.kubernetes.pod_faults import EVICTION, PREEMPTION
from collectors.kubernetes.pod_names import name_place
from collectors.kubernetes.training_jobs import JOB_KINDS
from collectors.texts.json_documents import mapping_of, text_of
from collectors.texts.plain_counts import count_of

_KINDS: Final[Mapping[str, tuple[str, str | None, str]]] = {
    "OOMKilling": ("oom_kill", None, "critical"),
    "SystemOOM": ("oom_kill", None, "critical"),
    "Preempted": ("job_cancelled", PREEMPTION, "error"),
    "Preempting": ("job_cancelled", PREEMPTION, "error"),
    "Evicted": ("job_cancelled", EVICTION, "error"),
    "TaintManagerEviction": ("job_cancelled", EVICTION, "error"),
    "NodeShutdown": ("job_cancelled", "NODE SHUTDOWN", "error"),
    "DeadlineExceeded": ("job_cancelled", "TIME LIMIT", "error"),
    "NodeNotReady": ("node_failure", "NodeNotReady", "error"),
    "Killing": ("closing", None, "info"),
    "BackOff": ("pod_waiting", "BackOff", "warning"),
    "FailedScheduling": ("pod_waiting", "FailedScheduling", "warning"),
    "FailedMount": ("pod_waiting", "FailedMount", "warning"),
    "Rebooted": ("boot", None, "warning"),
    "PyTorchJobRestarting": ("restart", None, "warning"),
    "MPIJobRestarting": ("restart", None, "warning"),
    "JobSetRestart": ("restart", None, "warning"),
    "PyTorchJobSucceeded": ("run_end", "done", "info"),
    "MPIJobSucceeded": ("run_end", "done", "info"),
}
"""Kind, code and severity by the reason of an event; others are `cluster_event`."""

_NODE: Final = r"\bto ([A-Za-z0-9][\w.-]*)$"
"""Where a pod was bound to."""

_CANCELLED: Final = "Cancelling deletion"
"""The taint went away before the pod did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterEvent:
    """One event.

    Attributes:
        kind: Kind of the object that it is about: Pod, Node, Job ...
        name: Its name.
        reason: The event's reason.
        message: In words.
        level: Normal or Warning.
        first: When it was seen first.
        last: When it was seen last.
        count: How often.
        host: The node that reports it.
        position: Line where it stands.
    """

    kind: str
    name: str
    reason: str
    message: str
    level: str | None = None
    first: str | None = None
    last: str | None = None
    count: int = 1
    host: str | None = None
    position: int | None = None


def event_of(item: Mapping[str, Any], position: int | None) -> ClusterEvent | None:
    """Return the event of an API object, of core/v1 or events.k8s.io/v1; null for no event.

    Args:
        item: The object.
        position: Line where its document begins.
    """
    about = mapping_of(item.get("involvedObject")) or mapping_of(item.get("regarding"))
    name, kind = text_of(about.get("name")), text_of(about.get("kind"))
    if name is None or kind is None:
        return None
    series = mapping_of(item.get("series"))
    told = ("firstTimestamp", "deprecatedFirstTimestamp", "eventTime", "lastTimestamp")
    ends = (series.get("lastObservedTime"), item.get("lastTimestamp"), item.get("eventTime"))
    component = mapping_of(item.get("source")) or mapping_of(item.get("deprecatedSource"))
    reporter = text_of(item.get("reportingComponent")) or text_of(component.get("component"))
    host = text_of(component.get("host")) or text_of(item.get("reportingInstance"))
    count = count_of(text_of(series.get("count")) or text_of(item.get("count")))
    return ClusterEvent(
        kind=kind,
        name=name,
        reason=text_of(item.get("reason")) or "",
        message=text_of(item.get("message")) or text_of(item.get("note")) or "",
        level=text_of(item.get("type")),
        first=_first(*(item.get(name) for name in told)),
        last=_first(*ends),
        count=1 if count is None else count,
        host=host if reporter == "kubelet" else None,
        position=position,
    )


def _first(*values: object) -> str | None:
    return next((text for text in map(text_of, values) if text), None)


def event_row(event: ClusterEvent, nodes: Mapping[str, str]) -> dict[str, Any]:
    """Return an event as a row of `EVENT_ROWS`.

    Args:
        event: The event.
        nodes: The node of each pod, as far as it is known.
    """
    usual = "warning" if event.level == "Warning" else "info"
    kind, code, severity = _KINDS.get(event.reason, ("cluster_event", event.reason, usual))
    if event.message.startswith(_CANCELLED):
        kind, code, severity = "cluster_event", event.reason, usual
    pod = event.name if event.kind == "Pod" else None
    is_node = event.kind == "Node"
    return {
        "time": event.first,
        "last": event.last if event.count > 1 else None,
        "host": event.name if is_node else event.host or nodes.get(event.name),
        "run": name_place(event.name).run if pod else _run(event),
        "kind": kind,
        "code": code,
        "severity": severity,
        "count": event.count,
        "message": event.message or event.reason,
        "position": event.position,
        "pod": pod,
        "reason": event.reason,
    }


def _run(event: ClusterEvent) -> str | None:
    return event.name if event.kind in JOB_KINDS else None


def bound_node(event: ClusterEvent) -> tuple[str, str] | None:
    """Return the pod and the node that an event says it was bound to; null for other events."""
    found = re.search(_NODE, event.message) if event.reason == "Scheduled" else None
    return (event.name, found[1]) if found and event.kind == "Pod" else None
