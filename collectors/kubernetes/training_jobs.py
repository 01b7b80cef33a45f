"""Read the objects of training jobs: PyTorchJob and its kin, MPIJob, JobSet, Job.

Source: Kubeflow training operator (JobStatus: conditions Created, Running, Restarting, Succeeded,
Failed, Suspended), JobSet and batch/v1 (Complete, Failed with a reason).
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from collectors.kubernetes.job_sizes import job_world
from collectors.texts.json_documents import items_of, mapping_of, text_of
from collectors.texts.plain_counts import count_of

JOB_KINDS: Final = (
    "PyTorchJob",
    "MPIJob",
    "TFJob",
    "PaddleJob",
    "XGBoostJob",
    "JAXJob",
    "TrainJob",
    "JobSet",
    "Job",
    "RayJob",
)
"""Kinds of objects that are jobs."""

_STATES: Final = {
    "Succeeded": "COMPLETED",
    "Complete": "COMPLETED",
    "Completed": "COMPLETED",
    "Failed": "FAILED",
    "Restarting": "REQUEUED",
    "Running": "RUNNING",
    "Suspended": "SUSPENDED",
    "Created": "PENDING",
}
"""State by the last condition that holds, the most telling first."""

_LIMIT: Final = "DeadlineExceeded"


def training_job(item: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a row of `JOBS` of a job's object, its times as text; null if it has no name.

    Args:
        item: The object.
    """
    meta, status = mapping_of(item.get("metadata")), mapping_of(item.get("status"))
    name = text_of(meta.get("name"))
    if name is None:
        return None
    held = {kind: told for kind, told in _held(status) if kind in _STATES}
    kind = next((one for one in _STATES if one in held), None)
    told = held.get(kind or "", {})
    is_over = kind is not None and _STATES[kind] in ("COMPLETED", "FAILED")
    reason = text_of(told.get("reason"))
    state = _STATES.get(kind or "")
    end = text_of(status.get("completionTime")) or text_of(told.get("lastTransitionTime"))
    return {
        "run": name,
        "attempt": _restarts(status),
        "state": "TIMEOUT" if state == "FAILED" and reason == _LIMIT else state,
        "submit": text_of(meta.get("creationTimestamp")),
        "start": text_of(status.get("startTime")),
        "end": end if is_over else None,
        "reason": reason if reason != kind else text_of(told.get("message")),
        "world": job_world(mapping_of(item.get("spec"))),
    }


def _held(status: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for one in map(mapping_of, items_of(status.get("conditions"))):
        if (text_of(one.get("status")) or "").lower() in ("true", "1"):
            yield text_of(one.get("type")) or "", one


def _restarts(status: Mapping[str, Any]) -> int | None:
    """Return how often a set of jobs was started again; others do not count it."""
    return count_of(text_of(status.get("restarts")))


def training_job_events(item: Mapping[str, Any], position: int | None) -> Iterator[dict[str, Any]]:
    """Yield rows of `EVENT_ROWS` of a job's conditions: restarts, and an end at the time limit.

    Args:
        item: The object.
        position: Line where its document begins.
    """
    status = mapping_of(item.get("status"))
    name = text_of(mapping_of(item.get("metadata")).get("name"))
    for kind, told in _held(status):
        reason = text_of(told.get("reason"))
        row = {
            "time": text_of(told.get("lastTransitionTime")),
            "run": name,
            "count": 1,
            "message": text_of(told.get("message")) or f"{name}: {kind}",
            "reason": reason,
            "position": position,
        }
        if kind == "Restarting":
            yield row | {"kind": "restart", "severity": "warning"}
        elif kind == "Failed" and reason == _LIMIT:
            yield row | {"kind": "job_cancelled", "code": "TIME LIMIT", "severity": "error"}
        elif kind in ("Succeeded", "Complete", "Completed"):
            yield row | {"kind": "run_end", "code": "done", "severity": "info"}
