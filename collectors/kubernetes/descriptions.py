"""Read what `kubectl describe pod` prints: keys by depth, conditions and events as tables.

Source: kubectl `pkg/describe/describe.go`; formats of progress streams, section 14.3. Conditions
are printed without their reasons, so who took a pod away is told by its own reason and its events.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import polars as pl

from collectors.kubernetes.ages import seen_of
from collectors.kubernetes.cluster_events import ClusterEvent, event_row
from collectors.kubernetes.pod_frames import pod_reading
from collectors.kubernetes.pods import (
    GPU_RESOURCES,
    Condition,
    Container,
    ContainerState,
    Pod,
)
from collectors.readings import Reading
from collectors.sniffing import Head, ReadOptions
from collectors.taken import taken_at
from collectors.texts.plain_counts import count_of
from collectors.texts.plain_lines import account, plain_lines

_START: Final = r"^Name:\s+(\S+)\s*$"

_SURE: Final = re.compile(
    r"(?m)^Name:\s+\S+\s*\n(?:.*\n){0,4}?(?:Priority|Node|Service Account|Start Time):\s"
)

_KEY: Final = r"^(\s*)([A-Za-z][\w ./-]*?):(?:\s+(.*))?$"

_PAIR: Final = r"([\w./-]+)[=:]\s*(\S+)"

_EVENT: Final = (
    r"^\s+(?P<level>Normal|Warning)\s+(?P<reason>\w+)\s+"
    r"(?P<age>\S+(?: \(x\d+ over \S+\))?)\s+(?P<source>\S+(?:, \S+)?)\s+(?P<message>.*)$"
)

_CONDITION: Final = r"^\s+(\w+)\s+True\s*$"

_STATES: Final = {"State": 0, "Last State": 1}


def wants_pod_descriptions(head: Head) -> float:
    """Return how sure it is that a head describes a pod."""
    is_named = not head.is_binary and "Name:" in head.text
    return 0.92 if is_named and _SURE.search(head.text) else 0.0


def read_pod_descriptions(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return the pods that are described.

    Args:
        path: The file; one pod after the other.
        source: The name to quote, which may tell when it was printed.
        options: When it was printed, if the caller knows; the ages of events need it.

    Returns:
        `JOBS`, `PLACEMENTS`, `ALIASES` and `EVENTS`. Lines before the first pod are rejects.

    Raises:
        OSError: The file cannot be read.
    """
    lines = plain_lines(path.read_bytes())
    taken = taken_at(source, options)
    starts = lines["text"].str.contains(_START).cum_sum()
    numbered = lines.with_columns(record=starts).filter(pl.col("record") > 0)
    records = [part.select("position", "text").rows() for part in numbered.partition_by("record")]
    pods = [_pod(rows) for rows in records]
    nodes = {pod.name: pod.node for pod in pods if pod.node}
    events = [
        event_row(event, nodes)
        for pod, rows in zip(pods, records, strict=True)
        for event in _events(rows, pod, taken)
    ]
    reading = pod_reading(pods, source, events)
    frames = {name: reading.frame(name) for name in ("jobs", "events", "placements", "aliases")}
    return account(lines, numbered["position"], source, **frames)


def _pod(rows: Iterable[tuple[int, str]]) -> Pod:
    """Return the pod that the lines of one description tell."""
    pieces = list(_pieces(rows))
    top = {path[0]: value for _, path, value in pieces if len(path) == 1}
    owner, _, owned = top.get("Controlled By", "").partition("/")
    reason = top.get("Reason") or None
    return Pod(
        name=top.get("Name", ""),
        labels={**_pairs(pieces, "Annotations"), **_pairs(pieces, "Labels")},
        owner=(owner, owned) if owned else None,
        node=_known(top.get("Node", "").partition("/")[0]),
        ip=_known(top.get("IP")),
        started=top.get("Start Time"),
        phase=re.sub(r"\s.*", "", top.get("Status", "")) or None,
        reason=reason,
        message=top.get("Message"),
        gpus=_gpus(pieces),
        conditions=tuple(_conditions(rows)),
        containers=tuple(_containers(pieces)),
        position=pieces[0][0],
    )


Piece = tuple[int, tuple[str, ...], str]
"""Line, keys from the outermost to its own, value."""


def _pieces(rows: Iterable[tuple[int, str]]) -> Iterator[Piece]:
    """Yield the keys of a description with those that they stand under."""
    path: list[tuple[int, str]] = []
    for position, text in rows:
        found = re.match(_KEY, text)
        depth = len(text) - len(text.lstrip())
        while path and path[-1][0] >= depth:
            path.pop()
        if found:
            path.append((depth, found[2]))
            yield position, tuple(key for _, key in path), (found[3] or "").strip()
        elif path:
            yield position, (*(key for _, key in path), ""), text.strip()


def _pairs(pieces: Iterable[Piece], section: str) -> dict[str, str]:
    """Return the pairs of a section such as the labels."""
    texts = [value for _, path, value in pieces if path[0] == section]
    named = [f"{path[-1]}: {value}" for _, path, value in pieces if path[0] == section and path[1:]]
    return dict(found for text in (*named, *texts) for found in re.findall(_PAIR, text))


def _known(text: str | None) -> str | None:
    return text if text and text not in ("<none>", "<unset>") else None


def _gpus(pieces: Iterable[Piece]) -> int | None:
    """Return how many GPUs the containers of a pod may use."""
    told = [
        count_of(value)
        for _, path, value in pieces
        if path[0] == "Containers" and "Limits" in path and path[-1] in GPU_RESOURCES
    ]
    counts = [count for count in told if count is not None]
    return sum(counts) if counts else None


def _conditions(rows: Iterable[tuple[int, str]]) -> Iterator[Condition]:
    is_inside = False
    for _, text in rows:
        if not text.startswith(" "):
            is_inside = text.startswith("Conditions:")
        held = re.match(_CONDITION, text) if is_inside else None
        if held and held[1] == "DisruptionTarget":
            yield Condition(kind=held[1])


def _containers(pieces: Iterable[Piece]) -> Iterator[Container]:
    """Yield the containers of a pod, those for its start first."""
    told: dict[tuple[str, ...], dict[tuple[str, ...], str]] = {}
    for _, path, value in pieces:
        if path[0] in ("Init Containers", "Containers") and len(path) > 1:
            told.setdefault(path[:2], {})[path[2:]] = value
    for (_, name), values in sorted(told.items(), reverse=True):
        states = (_state(values, one) for one in _STATES)
        yield Container(
            name=name,
            restarts=count_of(values.get(("Restart Count",))) or 0,
            states=tuple(state for state in states if state is not None),
        )


def _state(values: Mapping[tuple[str, ...], str], name: str) -> ContainerState | None:
    kind = values.get((name,), "").lower()
    if not kind:
        return None
    said: dict[str, Any] = {
        field: values.get((name, key))
        for field, key in (
            ("reason", "Reason"),
            ("code", "Exit Code"),
            ("signal", "Signal"),
            ("started", "Started"),
            ("finished", "Finished"),
            ("message", "Message"),
        )
    }
    return ContainerState(kind=kind, **said)


def _events(
    rows: Iterable[tuple[int, str]], pod: Pod, taken: datetime | None
) -> Iterator[ClusterEvent]:
    for position, text in rows:
        found = re.match(_EVENT, text)
        if found is None:
            continue
        seen = seen_of(found["age"], taken)
        component, _, host = found["source"].partition(", ")
        yield ClusterEvent(
            kind="Pod",
            name=pod.name,
            reason=found["reason"],
            message=found["message"].strip(),
            level=found["level"],
            first=seen.first,
            last=seen.last,
            count=seen.count,
            host=host if component == "kubelet" and host else None,
            position=position,
        )
