"""Jobs, places, names and events of pods, whichever way they were printed.

Source: formats of progress streams, section 14.3; Kubeflow training operator (the master is the
first of the group, workers follow).
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import polars as pl

from collectors.frames import ALIASES, PLACEMENTS, schema_of
from collectors.kubernetes.pod_faults import pod_events
from collectors.kubernetes.pod_jobs import pod_jobs
from collectors.kubernetes.pod_ranks import PlacedPod, place_pods
from collectors.kubernetes.pods import Pod
from collectors.kubernetes.stamps import kubernetes_time
from collectors.readings import Reading, reading_of
from collectors.texts.event_labels import event_labels

EVENT_ROWS: Final = schema_of(
    {
        "time": pl.String,
        "last": pl.String,
        "host": pl.String,
        "run": pl.String,
        "rank": pl.Int32,
        "kind": pl.String,
        "code": pl.String,
        "severity": pl.String,
        "count": pl.Int32,
        "message": pl.String,
        "position": pl.Int64,
        "pod": pl.String,
        "container": pl.String,
        "reason": pl.String,
    }
)
"""One event, its times as printed."""


def pod_reading(pods: Sequence[Pod], source: str, events: Iterable[dict[str, Any]] = ()) -> Reading:
    """Return the frames that pods tell.

    Args:
        pods: In printed order.
        source: The name to quote.
        events: Rows of `EVENT_ROWS` beside those of the pods.

    Returns:
        `JOBS`, one row a run and attempt; `PLACEMENTS` of the ranks of pods that know their number;
        `ALIASES` of nodes: the pods on them and their addresses; `EVENTS`.
    """
    placed = place_pods(pods)
    told = [
        row | {"run": one.run, "rank": one.rank if one.width == 1 else None}
        for one in placed
        for row in pod_events(one.pod)
    ]
    named = pl.lit(source).alias("source")
    frames = {
        "events": event_frame([*told, *events]),
        "jobs": pod_jobs(placed),
        "placements": _placements(placed),
        "aliases": _aliases(pods),
    }
    return reading_of(**{name: frame.with_columns(named) for name, frame in frames.items()})


def event_frame(rows: Iterable[dict[str, Any]]) -> pl.DataFrame:
    """Return `EVENTS` of rows of `EVENT_ROWS`, by time as far as it is known."""
    frame = pl.DataFrame(list(rows), schema=EVENT_ROWS)
    said = {name: pl.col(name) for name in ("pod", "container", "reason")}
    told = frame.with_columns(
        kubernetes_time(pl.col("time")),
        kubernetes_time(pl.col("last")),
        pl.col("host").str.to_lowercase(),
        attributes=event_labels(said),
    )
    return reading_of(events=told.sort("time", nulls_last=True, maintain_order=True)).events


def _placements(placed: Sequence[PlacedPod]) -> pl.DataFrame:
    rows = [
        {
            "run": one.run,
            "attempt": one.attempt,
            "rank": one.rank + at,
            "host": one.pod.node.lower(),
            "index": at if one.pod.gpus else None,
        }
        for one in placed
        if one.rank is not None and one.pod.node and one.run
        for at in range(one.width)
    ]
    return pl.DataFrame(rows, schema=PLACEMENTS)


def _aliases(pods: Sequence[Pod]) -> pl.DataFrame:
    """Return `ALIASES`: a log or an exporter that is called after a pod is its node's."""
    rows = [
        {"time": pod.started, "host": pod.node.lower(), "alias_kind": "pod", "alias": pod.name}
        for pod in pods
        if pod.node
    ]
    schema = ALIASES | {"time": pl.String()}
    return pl.DataFrame(rows, schema=pl.Schema(schema)).with_columns(
        kubernetes_time(pl.col("time")), device_kind=pl.lit("node")
    )
