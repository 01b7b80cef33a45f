"""Number the pods of a run: which ranks each holds, and which attempt of its place it is.

Source: Kubeflow training operator (the master is the first of the group, workers follow); JobSet
(jobs of a set have numbers, and their pods again); formats of progress streams, section 14.3.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from collectors.kubernetes.pod_names import PodPlace, pod_place
from collectors.kubernetes.pods import Pod

_NO_RANKS: Final = ("launcher", "ps", "evaluator", "head")
"""Roles whose processes are no ranks."""

_FIRST: Final = ("master", "chief", "leader")
"""Roles that come before the workers."""

_MAX_WIDTH: Final = 64
"""GPUs of one pod; more is a misprint."""

_MAX_RANK: Final = 2**31 - _MAX_WIDTH
"""A first rank above leaves no room for the others of its pod in 32 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedPod:
    """A pod and what it is to its run.

    Attributes:
        pod: The pod.
        run: The run; null if nothing tells.
        rank: Its first rank: its number among the pods, times its width; null if it holds none.
        width: How many ranks it holds: one for each GPU, and one where none is told.
        attempt: How many pods had its place before it.
    """

    pod: Pod
    run: str | None
    rank: int | None
    width: int
    attempt: int


def place_pods(pods: Sequence[Pod]) -> list[PlacedPod]:
    """Return the pods with what they are to their runs, in the order given.

    Args:
        pods: All that are known. Of pods with the same place the one made later is a later attempt,
            unless a label tells which one it is.
    """
    places = [pod_place(pod) for pod in pods]
    led = {place.run for place in places if place.role in _FIRST}
    widths = _slice_widths(places)
    attempts = _attempts(pods, places)
    return [
        PlacedPod(
            pod=pod,
            run=place.run,
            rank=_rank(pod, place, led, widths),
            width=_width(pod),
            attempt=attempts[at],
        )
        for at, (pod, place) in enumerate(zip(pods, places, strict=True))
    ]


def _attempts(pods: Sequence[Pod], places: Sequence[PodPlace]) -> dict[int, int]:
    """Return the attempt of each pod, by its number in the list."""
    taken, attempts = dict[tuple[object, ...], int](), dict[int, int]()
    for at in sorted(range(len(pods)), key=lambda at: (pods[at].created or "", at)):
        place = places[at]
        key = (place.run, place.role, place.index, place.slice_index)
        before = taken.get(key, 0) if place.index is not None else 0
        attempts[at] = before if place.attempt is None else place.attempt
        taken[key] = before + 1
    return attempts


def _slice_widths(places: Iterable[PodPlace]) -> dict[str | None, int]:
    """Return how many pods each job inside a set of jobs has, by run."""
    widths: dict[str | None, int] = {}
    for place in places:
        if place.slice_index is not None and place.index is not None:
            widths[place.run] = max(widths.get(place.run, 0), place.index + 1)
    return widths


def _width(pod: Pod) -> int:
    return min(max(1, pod.gpus or 1), _MAX_WIDTH)


def _rank(
    pod: Pod, place: PodPlace, led: set[str | None], widths: dict[str | None, int]
) -> int | None:
    """Return a pod's first rank."""
    if place.role in _NO_RANKS or place.index is None:
        return None
    behind = 1 if place.run in led and place.role not in _FIRST else 0
    before = (place.slice_index or 0) * widths.get(place.run, 0)
    rank = (place.index + behind + before) * _width(pod)
    return rank if rank <= _MAX_RANK else None
