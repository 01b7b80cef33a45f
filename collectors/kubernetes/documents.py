"""Read the documents of `kubectl get -o json` and `-o yaml`: pods, events, training jobs.

Source: Kubernetes API objects and lists of them; formats of progress streams, section 14.3.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import polars as pl
import yaml

from collectors.frames import JOBS
from collectors.kubernetes.cluster_events import ClusterEvent, bound_node, event_of, event_row
from collectors.kubernetes.pod_frames import pod_reading
from collectors.kubernetes.pods import Pod, pod_of
from collectors.kubernetes.stamps import kubernetes_time
from collectors.kubernetes.training_jobs import JOB_KINDS, training_job, training_job_events
from collectors.readings import Reading, count_lines, join_readings, reading_of, reject_file
from collectors.sniffing import Head, ReadOptions
from collectors.texts.json_documents import (
    Document,
    items_of,
    mapping_of,
    read_documents,
    rejects_of,
    text_of,
)
from collectors.texts.plain_lines import decoded

_KINDS: Final = ("Pod", "Event", *JOB_KINDS)

_LISTS: Final = ("List", *(f"{kind}List" for kind in _KINDS))

_NAMES: Final = "|".join((*_LISTS, *_KINDS))

_JSON: Final = re.compile(rf'"kind"\s*:\s*"(?:{_NAMES})"')

_YAML: Final = re.compile(rf"(?m)^(?:- )?(?:  )?kind: [\"']?(?:{_NAMES})[\"']?\s*$")

_VERSION: Final = re.compile(r'(?m)"apiVersion"\s*:\s*"|^(?:- )?(?:  )?apiVersion: ')

_SURE: Final = 0.93


@dataclass(slots=True, kw_only=True)
class _Objects:
    """The objects of documents, by kind.

    Attributes:
        pods: Pods.
        events: Events.
        jobs: Jobs, each with the line where its document begins.
    """

    pods: list[Pod] = field(default_factory=list[Pod])
    events: list[ClusterEvent] = field(default_factory=list[ClusterEvent])
    jobs: list[tuple[Mapping[str, Any], int]] = field(
        default_factory=list[tuple[Mapping[str, Any], int]]
    )

    def take(self, item: Mapping[str, Any], kind: str, line: int) -> bool:
        """Take an object, and return whether it is one of ours."""
        if kind == "Pod" and (pod := pod_of(item, line)) is not None:
            self.pods.append(pod)
        elif kind == "Event" and (event := event_of(item, line)) is not None:
            self.events.append(event)
        elif kind in JOB_KINDS and "status" in item:
            self.jobs.append((item, line))
        else:
            return False
        return True


def wants_kubernetes_documents(head: Head) -> float:
    """Return how sure it is that a head is of the API objects that are read here."""
    text = head.text
    if head.is_binary or "apiVersion" not in text or not _VERSION.search(text):
        return 0.0
    is_json = text.lstrip().startswith(("{", "["))
    return _SURE if (_JSON if is_json else _YAML).search(text) else 0.0


def read_kubernetes_documents(path: Path, source: str, _options: ReadOptions) -> Reading:
    """Return what the objects of documents tell.

    Args:
        path: The file; JSON or YAML, one document or many.
        source: The name to quote.

    Returns:
        `JOBS`, `PLACEMENTS`, `ALIASES` and `EVENTS`; see `collectors.kubernetes.pod_frames`. A
        document that is torn, or holds no such object, is one reject.

    Raises:
        OSError: The file cannot be read.
    """
    data = path.read_bytes()
    text = decoded(data)
    is_json = text.lstrip().startswith(("{", "["))
    documents = read_documents(data) if is_json else _yaml_documents(text)
    if documents is None:
        count = sum(1 for line in text.split("\n") if line.strip())
        return reject_file(source, "torn YAML", text, count)
    objects, lost, used = _Objects(), list[tuple[Document, str]](), 0
    for one in documents:
        taken = [objects.take(item, kind, one.line) for item, kind in _items(one.value)]
        if any(taken):
            used += one.lines
        else:
            why = "torn JSON" if one.value is None else "no pods, events or jobs in it"
            lost.append((one, why))
    whole = join_readings([_reading(objects, source), reading_of(rejects=rejects_of(lost, source))])
    return count_lines(whole, used)


def _yaml_documents(text: str) -> list[Document] | None:
    """Return the documents of YAML, all values as text; null if one of them is none."""
    try:
        values = [one for one in yaml.load_all(text, yaml.CBaseLoader) if one]
    except (yaml.YAMLError, RecursionError):
        return None
    filled = [number for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    first = filled[0] if filled else 1
    return [
        Document(value=value, line=first, lines=len(filled) if at == 0 else 0, text=text[:200])
        for at, value in enumerate(values)
    ]


def _items(value: object) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Yield the objects in a document with their kinds; those of a typed list do not say theirs."""
    for one in map(mapping_of, items_of(value)):
        kind = text_of(one.get("kind")) or ""
        if kind in _LISTS:
            usual = kind.removesuffix("List")
            for item in map(mapping_of, items_of(one.get("items"))):
                yield item, text_of(item.get("kind")) or usual
        elif kind == "" and "object" in one:
            inner = mapping_of(one["object"])
            yield inner, text_of(inner.get("kind")) or ""
        else:
            yield one, kind


def _reading(objects: _Objects, source: str) -> Reading:
    nodes = {pod.name: pod.node for pod in objects.pods if pod.node}
    nodes |= dict(one for one in map(bound_node, objects.events) if one)
    events = [event_row(one, nodes) for one in objects.events]
    events += [row for item, line in objects.jobs for row in training_job_events(item, line)]
    jobs = [job for job in (training_job(item) for item, _ in objects.jobs) if job]
    told = pod_reading(objects.pods, source, events)
    return join_readings([told, reading_of(jobs=job_frame(jobs, source))])


def job_frame(rows: list[dict[str, Any]], source: str) -> pl.DataFrame:
    """Return `JOBS` of rows with times as text.

    Args:
        rows: What `training_job` returns.
        source: The name to quote.
    """
    names = ("run", "state", "submit", "start", "end", "reason")
    counts = {name: JOBS[name] for name in ("attempt", "world")}
    schema = pl.Schema(counts | dict.fromkeys(names, pl.String()))
    times = [kubernetes_time(pl.col(name)) for name in ("submit", "start", "end")]
    return pl.DataFrame(rows, schema=schema).with_columns(*times, source=pl.lit(source))
