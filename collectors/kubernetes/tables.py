"""Read the tables of `kubectl get pods` and `kubectl get events`: columns under a header.

Source: kubectl's printers (`pkg/printers/internalversion`); formats of progress streams, section
14.3. Ages count back from when the table was printed, which a file's name may tell.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

import polars as pl

from collectors.kubernetes.ages import moment_of, seen_of
from collectors.kubernetes.cluster_events import ClusterEvent, bound_node, event_row
from collectors.kubernetes.pod_frames import pod_reading
from collectors.kubernetes.pods import Container, ContainerState, Pod
from collectors.readings import Reading
from collectors.sniffing import Head, ReadOptions
from collectors.taken import taken_at
from collectors.texts.plain_counts import count_of
from collectors.texts.plain_lines import account, judged_lines, plain_lines

_PODS: Final = r"^(?:NAMESPACE\s+)?NAME\s+READY\s+STATUS\s+RESTARTS\s+AGE\b"

_EVENTS: Final = r"^(?:NAMESPACE\s+)?LAST SEEN\s+TYPE\s+REASON\s+OBJECT\b.*\bMESSAGE\b"

_HEADER: Final = rf"{_PODS}|{_EVENTS}"

_NAME: Final = r"LAST SEEN|FIRST SEEN|NOMINATED NODE|READINESS GATES|[A-Z]+(?:\([A-Z]\))?"

_WORD: Final = r"\S+(?: \([^)]*\))?"
"""A cell, with what stands in brackets behind it: `2 (5m ago)`."""

_OBJECTS: Final = {
    "pod": "Pod",
    "node": "Node",
    "job": "Job",
    "jobset": "JobSet",
    "pytorchjob": "PyTorchJob",
    "mpijob": "MPIJob",
}

_PHASES: Final = {
    "Running": "Running",
    "Completed": "Succeeded",
    "Succeeded": "Succeeded",
    "Pending": "Pending",
    "ContainerCreating": "Pending",
    "PodInitializing": "Pending",
    "Terminating": "Running",
}
"""Phases by the status that is printed; every other status is a trouble."""

_TAKEN: Final = ("Evicted", "Preempting", "NodeLost", "NodeShutdown", "Shutdown", "Terminated")

_WAITS: Final = r"(?:BackOff|Pull|Error)$"

_ENDED: Final = r"^(?:Init:)?(?:(OOMKilled|Error)|ExitCode:(\d+)|Signal:(\d+))$"


Spans = list[tuple[str, int, int | None]]
"""Columns: name, start, stop."""


def wants_kubernetes_tables(head: Head) -> float:
    """Return how sure it is that a head has one of these tables on one of its first lines."""
    lines = judged_lines(head)
    return 0.93 if any(re.match(_HEADER, line) for line in lines[:20]) else 0.0


def read_kubernetes_tables(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return the pods and events of tables.

    Args:
        path: The file.
        source: The name to quote, which may tell when the table was printed.
        options: When it was printed, if the caller knows.

    Returns:
        `JOBS`, `PLACEMENTS`, `ALIASES` and `EVENTS`; times are null unless it is known when the
        table was printed.

    Raises:
        OSError: The file cannot be read.
    """
    lines = plain_lines(path.read_bytes())
    taken = taken_at(source, options)
    used: list[int] = []
    pods: dict[str, Pod] = {}
    events: list[ClusterEvent] = []
    for position, cells in _rows(lines, used):
        if "STATUS" in cells:
            pods[cells["NAME"]] = _pod(cells, position, taken)
        else:
            events.append(_event(cells, position, taken))
    nodes = {pod.name: pod.node for pod in pods.values() if pod.node}
    nodes |= dict(one for one in map(bound_node, events) if one)
    reading = pod_reading([*pods.values()], source, (event_row(one, nodes) for one in events))
    frames = {name: reading.frame(name) for name in ("jobs", "events", "placements", "aliases")}
    return account(lines, pl.Series(used, dtype=pl.Int64), source, **frames)


def _rows(lines: pl.DataFrame, used: list[int]) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Yield the rows of tables as cells by column; their lines go to `used`."""
    spans: Spans = []
    for position, text in lines.iter_rows():
        if re.match(_HEADER, text):
            spans = _spans(text)
            used.append(position)
            continue
        cells = next((one for one in _cuts(text, spans) if _is_row(one)), None)
        if cells is not None:
            used.append(position)
            yield position, cells


def _cuts(text: str, spans: Spans) -> Iterator[Mapping[str, str]]:
    """Yield the ways to cut a row: at its gaps, at its columns, at each blank."""
    names = [name for name, _, _ in spans]
    gaps = re.split(r"\s{2,}", text.strip())
    if len(gaps) == len(names):
        yield dict(zip(names, gaps, strict=True))
    if names and all(text[start - 1 : start].isspace() for _, start, _ in spans[1:]):
        yield {name: text[start:stop].strip() for name, start, stop in spans}
    words = [one.group() for one in re.finditer(_WORD, text)]
    if names and len(words) >= len(names):
        rest = " ".join(words[len(names) - 1 :])
        yield dict(zip(names, [*words[: len(names) - 1], rest], strict=True))


def _spans(header: str) -> Spans:
    """Return where each column of a table stands; the last one has no end."""
    found = [(one[0], one.start()) for one in re.finditer(_NAME, header)]
    ends = [start for _, start in found[1:]]
    return [(name, start, end) for (name, start), end in zip(found, [*ends, None], strict=True)]


def _is_row(cells: Mapping[str, str]) -> bool:
    if "STATUS" in cells:
        return bool(re.match(r"\d+/\d+$", cells.get("READY", "")) and cells.get("NAME"))
    return "/" in cells.get("OBJECT", "") and bool(cells.get("REASON"))


def _pod(cells: Mapping[str, str], position: int, taken: datetime | None) -> Pod:
    status = cells["STATUS"]
    restarts = re.match(r"(\d+)(?: \((\S+) ago\))?", cells.get("RESTARTS", ""))
    count = count_of(restarts[1]) if restarts else None
    again = moment_of(restarts[2], taken) if restarts and restarts[2] else None
    ended = re.match(_ENDED, status)
    states: tuple[ContainerState, ...] = (ContainerState(kind="running", started=again),)
    if ended:
        code = ended[2] or (f"-{ended[3]}" if ended[3] else None)
        states = (ContainerState(kind="terminated", reason=ended[1] or status, code=code),)
        states = (_with_usual_code(states[0]),)
    waits = not ended and re.search(_WAITS, status)
    if waits:
        states = (ContainerState(kind="waiting", reason=status.removeprefix("Init:")),)
    is_lost = status in ("Unknown", "ContainerStatusUnknown")
    return Pod(
        name=cells["NAME"],
        node=_said(cells.get("NODE")),
        ip=_said(cells.get("IP")),
        created=moment_of(cells.get("AGE", ""), taken),
        phase=_PHASES.get(status, "Pending" if waits else "Failed"),
        reason="NodeLost" if is_lost else status if status in _TAKEN else None,
        containers=(Container(name="", restarts=count or 0, states=states),),
        position=position,
    )


def _with_usual_code(state: ContainerState) -> ContainerState:
    """Return a container's end with the code that its reason implies: a kill for memory is 137."""
    if state.code is not None or state.reason != "OOMKilled":
        return state
    return ContainerState(kind=state.kind, reason=state.reason, code="137")


def _said(cell: str | None) -> str | None:
    return cell if cell and cell != "<none>" else None


def _event(cells: Mapping[str, str], position: int, taken: datetime | None) -> ClusterEvent:
    kind, _, name = cells["OBJECT"].partition("/")
    seen = seen_of(cells["LAST SEEN"], taken)
    older = moment_of(cells.get("FIRST SEEN", ""), taken)
    count = count_of(cells.get("COUNT"))
    return ClusterEvent(
        kind=_OBJECTS.get(kind.lower(), kind),
        name=name,
        reason=cells["REASON"],
        message=cells.get("MESSAGE", ""),
        level=cells.get("TYPE"),
        first=older or seen.first,
        last=seen.last,
        count=seen.count if count is None else count,
        position=position,
    )
