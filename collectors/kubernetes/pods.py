"""What a pod says of itself, whichever way it was printed.

Source: Kubernetes API, core/v1 Pod (PodStatus, ContainerStatus, PodCondition). Values are text as
printed; null is not said.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from collectors.texts.json_documents import items_of, mapping_of, text_of
from collectors.texts.plain_counts import count_of

GPU_RESOURCES: Final = ("nvidia.com/gpu", "amd.com/gpu")
"""Names of whole GPUs among the resources of a container."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerState:
    """What a container does, or did last.

    Attributes:
        kind: running, waiting or terminated.
        reason: Kubernetes' word: OOMKilled, Error, Completed, CrashLoopBackOff ...
        code: Exit code.
        signal: Number of the signal that ended it; most runtimes leave it out.
        started: When it started.
        finished: When it ended.
        message: Its last words.
    """

    kind: str
    reason: str | None = None
    code: str | None = None
    signal: str | None = None
    started: str | None = None
    finished: str | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """One container of a pod.

    Attributes:
        name: Its name.
        restarts: How often it was started again.
        states: What it does now, then what it did before its last restart.
    """

    name: str
    restarts: int = 0
    states: tuple[ContainerState, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One condition of a pod that holds.

    Attributes:
        kind: DisruptionTarget, Ready, PodScheduled ...
        reason: Kubernetes' word for why.
        time: Since when.
        message: In words.
    """

    kind: str
    reason: str | None = None
    time: str | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """One pod.

    Attributes:
        name: Its name; a pod that is made anew has another one, or the same.
        labels: Its labels and annotations.
        owner: Kind and name of what made it.
        node: Where it runs.
        ip: Its address.
        created: When it was made.
        started: When its node took it.
        phase: Pending, Running, Succeeded, Failed or Unknown.
        reason: Why it is in that phase: Evicted, NodeLost, Preempting ...
        message: In words.
        gpus: How many GPUs it has; null if not told.
        conditions: Those that hold.
        containers: Its containers, those for its start among them.
        position: Line where it begins.
    """

    name: str
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    owner: tuple[str, str] | None = None
    node: str | None = None
    ip: str | None = None
    created: str | None = None
    started: str | None = None
    phase: str | None = None
    reason: str | None = None
    message: str | None = None
    gpus: int | None = None
    conditions: tuple[Condition, ...] = ()
    containers: tuple[Container, ...] = ()
    position: int | None = None


def pod_of(item: Mapping[str, Any], position: int | None) -> Pod | None:
    """Return the pod of an API object; null if it has no name.

    Args:
        item: A Pod of core/v1, from JSON or YAML.
        position: Line where its document begins.
    """
    meta, spec = mapping_of(item.get("metadata")), mapping_of(item.get("spec"))
    status = mapping_of(item.get("status"))
    name = text_of(meta.get("name"))
    if name is None:
        return None
    told = {**mapping_of(meta.get("annotations")), **mapping_of(meta.get("labels"))}
    owners = [mapping_of(one) for one in items_of(meta.get("ownerReferences"))]
    kinds = [(text_of(one.get("kind")) or "", text_of(one.get("name")) or "") for one in owners]
    return Pod(
        name=name,
        labels={key: text_of(value) or "" for key, value in told.items()},
        owner=kinds[0] if kinds else None,
        node=text_of(spec.get("nodeName")),
        ip=text_of(status.get("podIP")),
        created=text_of(meta.get("creationTimestamp")),
        started=text_of(status.get("startTime")),
        phase=text_of(status.get("phase")),
        reason=text_of(status.get("reason")),
        message=text_of(status.get("message")),
        gpus=gpu_count(items_of(spec.get("containers"))),
        conditions=tuple(_conditions(items_of(status.get("conditions")))),
        containers=tuple(_containers(status)),
        position=position,
    )


def gpu_count(containers: Iterable[object]) -> int | None:
    """Return how many GPUs the containers of a pod are given; null if none says so."""
    counts: list[int] = []
    for one in containers:
        given = mapping_of(mapping_of(one).get("resources"))
        limits = {**mapping_of(given.get("requests")), **mapping_of(given.get("limits"))}
        told = [count_of(text_of(limits.get(name))) for name in GPU_RESOURCES]
        counts += [count for count in told if count is not None]
    return sum(counts) if counts else None


def _conditions(conditions: Iterable[object]) -> Iterable[Condition]:
    for one in map(mapping_of, conditions):
        if (text_of(one.get("status")) or "").lower() in ("true", "1"):
            yield Condition(
                kind=text_of(one.get("type")) or "",
                reason=text_of(one.get("reason")),
                time=text_of(one.get("lastTransitionTime")),
                message=text_of(one.get("message")),
            )


def _containers(status: Mapping[str, Any]) -> Iterable[Container]:
    for kind in ("initContainerStatuses", "containerStatuses"):
        for one in map(mapping_of, items_of(status.get(kind))):
            states = (_state(one.get("state")), _state(one.get("lastState")))
            yield Container(
                name=text_of(one.get("name")) or "",
                restarts=count_of(text_of(one.get("restartCount"))) or 0,
                states=tuple(state for state in states if state is not None),
            )


def _state(value: object) -> ContainerState | None:
    for kind, told in mapping_of(value).items():
        said = mapping_of(told)
        return ContainerState(
            kind=kind,
            reason=text_of(said.get("reason")),
            code=text_of(said.get("exitCode")),
            signal=text_of(said.get("signal")),
            started=text_of(said.get("startedAt")),
            finished=text_of(said.get("finishedAt")),
            message=text_of(said.get("message")),
        )
    return None
