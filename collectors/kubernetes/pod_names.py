"""Which run a pod belongs to, and which part of it it is: by its labels, its owner, its name.

Source: labels of the Kubeflow training operator, JobSet, Job (batch/v1), LeaderWorkerSet, Volcano
and KubeRay; formats of progress streams, section 14.3 (a pod that is made anew has a new name, so
pods are joined by the label of their job).
"""

import re
from dataclasses import dataclass
from typing import Final

from collectors.kubernetes.pods import Pod
from collectors.texts.plain_counts import count_of

_RUN_LABELS: Final = (
    "jobset.sigs.k8s.io/jobset-name",
    "training.kubeflow.org/job-name",
    "leaderworkerset.sigs.k8s.io/name",
    "volcano.sh/job-name",
    "ray.io/cluster",
    "pytorch-job-name",
    "batch.kubernetes.io/job-name",
    "job-name",
)

_ROLE_LABELS: Final = (
    "training.kubeflow.org/replica-type",
    "jobset.sigs.k8s.io/replicatedjob-name",
    "pytorch-replica-type",
    "ray.io/node-type",
)

_INDEX_LABELS: Final = (
    "training.kubeflow.org/replica-index",
    "pytorch-replica-index",
    "leaderworkerset.sigs.k8s.io/worker-index",
    "batch.kubernetes.io/job-completion-index",
    "apps.kubernetes.io/pod-index",
    "volcano.sh/task-index",
)

_SLICE_LABEL: Final = "jobset.sigs.k8s.io/job-index"

_ATTEMPT_LABEL: Final = "jobset.sigs.k8s.io/restart-attempt"

_ROLES: Final = r"master|worker|launcher|ps|chief|evaluator"

_OPERATOR: Final = rf"^(?P<run>.+)-(?P<role>{_ROLES})-(?P<index>\d+)$"

_LAUNCHER: Final = r"^(?P<run>.+)-(?P<role>launcher)(?:-[a-z0-9]{5})?$"

_INDEXED: Final = r"^(?P<run>.+?)-(?P<index>\d+)-[a-z0-9]{5}$"

_JOB: Final = r"^(?P<run>.+)-[a-z0-9]{5}$"

_SET: Final = r"^(?P<run>.+)-(?P<index>\d+)$"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodPlace:
    """Which part of a run a pod is.

    Attributes:
        run: The run; null if nothing tells.
        role: master, worker, launcher ...; null if nothing tells.
        index: Number among those of its role, from 0.
        slice_index: Number of the job inside a set of jobs.
        attempt: How often the whole set had been started again.
    """

    run: str | None
    role: str | None
    index: int | None
    slice_index: int | None = None
    attempt: int | None = None


def pod_place(pod: Pod) -> PodPlace:
    """Return which part of which run a pod is: its labels are believed before its name."""
    spelled = name_place(pod.name)
    run = _first(pod, _RUN_LABELS) or _owner(pod) or spelled.run
    role = (_first(pod, _ROLE_LABELS) or spelled.role or "").lower() or None
    index = count_of(_first(pod, _INDEX_LABELS))
    return PodPlace(
        run=run,
        role=role,
        index=spelled.index if index is None else index,
        slice_index=count_of(pod.labels.get(_SLICE_LABEL)),
        attempt=count_of(pod.labels.get(_ATTEMPT_LABEL)),
    )


def name_place(name: str) -> PodPlace:
    """Return what the name of a pod tells: `llm-worker-3`, `llm-2-x7k2p`, `llm-0`."""
    for form in (_OPERATOR, _LAUNCHER, _INDEXED, _SET, _JOB):
        found = re.match(form, name)
        if found:
            told = found.groupdict()
            index = count_of(told.get("index"))
            return PodPlace(run=told["run"], role=told.get("role"), index=index)
    return PodPlace(run=None, role=None, index=None)


def _first(pod: Pod, names: tuple[str, ...]) -> str | None:
    return next((pod.labels[name] for name in names if pod.labels.get(name)), None)


def _owner(pod: Pod) -> str | None:
    """Return the name of what made a pod; a set of replicas is no run."""
    if pod.owner is None or pod.owner[0] in ("ReplicaSet", "DaemonSet", "Node"):
        return None
    return pod.owner[1] or None
