"""Events of pods: how containers ended, who took pods away, what they wait for.

Source: formats of progress streams, section 14.3 (137 with OOMKilled, 137 with Error, 143, 139; the
`DisruptionTarget` condition tells a pod that was taken away from one that crashed, PyTorch issue
92214); Kubernetes documentation, "Pod disruption conditions".
"""

from collections.abc import Iterator
from typing import Any, Final

from collectors.kubernetes.pods import Condition, Container, ContainerState, Pod

PREEMPTION: Final = "PREEMPTION"
EVICTION: Final = "EVICTION"
"""Codes of `job_cancelled`: who outside took a pod away."""

_DISRUPTION: Final = "DisruptionTarget"

_DISRUPTIONS: Final = {
    "PreemptionByScheduler": ("job_cancelled", PREEMPTION),
    "PreemptionByKubeScheduler": ("job_cancelled", PREEMPTION),
    "DeletionByTaintManager": ("node_failure", "DeletionByTaintManager"),
    "DeletionByPodGC": ("node_failure", "DeletionByPodGC"),
    "EvictionByEvictionAPI": ("job_cancelled", EVICTION),
    "TerminationByKubelet": ("job_cancelled", EVICTION),
}
"""What a disruption is, by its reason."""

_REASONS: Final = {
    "Evicted": ("job_cancelled", EVICTION),
    "Preempting": ("job_cancelled", PREEMPTION),
    "Preempted": ("job_cancelled", PREEMPTION),
    "NodeLost": ("node_failure", "NodeLost"),
    "NodeShutdown": ("job_cancelled", "NODE SHUTDOWN"),
    "Shutdown": ("job_cancelled", "NODE SHUTDOWN"),
    "Terminated": ("job_cancelled", "NODE SHUTDOWN"),
    "DeadlineExceeded": ("job_cancelled", "TIME LIMIT"),
}
"""What the reason of a pod means."""

_WELL: Final = ("ContainerCreating", "PodInitializing")
"""What containers wait for that is no trouble."""

_KILLED_BY_OUTSIDE: Final = ("0", "137", "143")
"""Exits of a container whose pod is taken away."""


def pod_events(pod: Pod) -> Iterator[dict[str, Any]]:
    """Yield `EVENTS` of a pod, as rows with times as text.

    Args:
        pod: The pod.

    Yields:
        job_cancelled and node_failure where the pod was taken away; else process_exit, oom_kill;
        pod_waiting (code is the reason), restart (code is how often).
    """
    outside = _outside(pod)
    if outside is not None:
        yield outside
    for container in pod.containers:
        yield from _endings(pod, container, is_taken=outside is not None)
        if container.restarts:
            yield _restart(pod, container)


def _row(pod: Pod, kind: str, code: str | None, severity: str) -> dict[str, Any]:
    return {
        "host": pod.node,
        "kind": kind,
        "code": code,
        "severity": severity,
        "count": 1,
        "position": pod.position,
        "pod": pod.name,
    }


def _outside(pod: Pod) -> dict[str, Any] | None:
    """Return who took a pod away: its condition tells, else its reason; null if nobody did."""
    told = next((one for one in pod.conditions if one.kind == _DISRUPTION), None)
    if told is None and pod.reason not in _REASONS:
        return None
    by_reason = _REASONS.get(pod.reason or "", ("job_cancelled", EVICTION))
    kind, code = _DISRUPTIONS.get(told.reason or "", by_reason) if told else by_reason
    if told and told.reason == "TerminationByKubelet":
        kind, code = by_reason
    time = told.time if told and told.time else _finished(pod)
    message = _words(told, pod)
    reason = told.reason if told else pod.reason
    return _row(pod, kind, code, "error") | {"time": time, "message": message, "reason": reason}


def _words(condition: Condition | None, pod: Pod) -> str:
    said = condition.message if condition and condition.message else pod.message
    return said or f"pod {pod.name}: {pod.reason or (condition.reason if condition else '')}"


def _finished(pod: Pod) -> str | None:
    """Return when the last container of a pod ended."""
    times = [state.finished for one in pod.containers for state in one.states[:1] if state.finished]
    return max(times, default=None)


def _endings(pod: Pod, container: Container, *, is_taken: bool) -> Iterator[dict[str, Any]]:
    for at, state in enumerate(container.states):
        if state.kind == "terminated":
            yield _ended(pod, container, state, is_taken=is_taken and at == 0)
        elif state.kind == "waiting" and state.reason not in (None, *_WELL):
            message = state.message or f"{_title(pod, container)} waits: {state.reason}"
            told = {"container": container.name or None, "message": message, "time": None}
            yield _row(pod, "pod_waiting", state.reason, "warning") | told


def _ended(
    pod: Pod, container: Container, state: ContainerState, *, is_taken: bool
) -> dict[str, Any]:
    """Return the end of a container; one whose pod is taken away is merely closed."""
    code = state.code if state.code != "0" or not state.signal else f"-{state.signal}"
    kind, severity = "process_exit", "info" if code == "0" else "error"
    if state.reason == "OOMKilled":
        kind, severity = "oom_kill", "critical"
    elif is_taken and code in _KILLED_BY_OUTSIDE:
        kind, severity = "closing", "info"
    words = (
        state.message
        or f"{_title(pod, container)} ended: {state.reason}, exit code {code or 'not told'}"
    )
    return _row(pod, kind, code, severity) | {
        "time": state.finished,
        "message": state.message or words,
        "reason": state.reason,
        "container": container.name or None,
    }


def _title(pod: Pod, container: Container) -> str:
    return f"container {container.name} of pod {pod.name}" if container.name else f"pod {pod.name}"


def _restart(pod: Pod, container: Container) -> dict[str, Any]:
    now = container.states[0] if container.states else None
    before = container.states[1] if len(container.states) > 1 else None
    why = before.reason if before else None
    message = f"{_title(pod, container)} restarted {container.restarts} times"
    return _row(pod, "restart", str(container.restarts), "warning") | {
        "time": now.started if now else None,
        "message": message,
        "reason": why,
        "container": container.name or None,
    }
