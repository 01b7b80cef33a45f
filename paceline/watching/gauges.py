"""What is measured of now: ranks, devices, hosts, links, findings, sources.

Cardinality is bounded: of each run only the slowest ranks and of each signal only the devices that
stand out most have a series, and those that are accused; a run that is over has none.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from alerts.service.live import NodeState, SourceState
from detectors.device_values import SPEED_SIGNALS
from detectors.verdicts import Verdict
from slo.metrics import (
    DEVICE_PEER_RATIO,
    LEMON_SCORE,
    LINK_FAULT_SCORE,
    NODE_STATE,
    RANK_COMM_WAIT_RATIO,
    RANK_SLOWDOWN_RATIO,
    SOURCE_AGE_SECONDS,
    STEP_SECONDS,
    VERDICTS,
    Metric,
)

RECENT_STEPS: Final = 20
"""Reports of a rank over whose median it is compared."""

RECENT_READINGS: Final = 8
"""Readings of a device over whose median it is compared."""

NODE_NUMBERS: Final = {
    "silent": 0.0,
    "unknown": 0.0,
    "watched": 1.0,
    "suspect": 2.0,
    "faulty": 3.0,
    "maintenance": 4.0,
}
"""Numbers of `paceline_node_state`."""

CONFIDENCES: Final = {"high": 0.95, "medium": 0.7, "low": 0.4}
"""What a finding about a link counts: how sure it is, as a score."""

_ROLE: Final = ("run", "attempt", "measure", "pp", "ep", "model", "step")
_RANK: Final = ("run", "rank", "host", "index")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One sample.

    Attributes:
        metric: Of the contract.
        labels: Values of its labels, in their order.
        value: Its value.
    """

    metric: Metric
    labels: tuple[str, ...]
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What bounds the series.

    Attributes:
        cluster: The label of that name.
        top: Ranks of each run, and devices of each signal, that have one.
        runs: Runs that are not over.
    """

    cluster: str
    top: int
    runs: frozenset[str]


def rank_gauges(paces: pl.DataFrame, verdicts: Sequence[Verdict], scope: Scope) -> list[Measured]:
    """Return how slow the slowest ranks of each run are, and how long they wait.

    Args:
        paces: `PACES` of the window.
        verdicts: Open findings: ranks that are accused have a series in any case.
        scope: What bounds the series.
    """
    accused = {one.subject.rank for one in verdicts if one.subject.rank is not None}
    rows = _rank_ratios(paces.filter(pl.col("run").is_in(scope.runs)))
    place = pl.col("slowdown").rank("ordinal", descending=True).over("run")
    kept = rows.filter((place <= scope.top) | pl.col("rank").is_in(accused))
    found = list[Measured]()
    for row in kept.sort("run", "rank").iter_rows(named=True):
        gpu = "" if row["index"] is None else str(row["index"])
        labels = (scope.cluster, row["run"], str(row["rank"]), row["host"] or "", gpu)
        for metric, value in (
            (RANK_SLOWDOWN_RATIO, row["slowdown"]),
            (RANK_COMM_WAIT_RATIO, row["waiting"]),
        ):
            if value is not None:
                found.append(Measured(metric=metric, labels=labels, value=value))
    return found


def _rank_ratios(paces: pl.DataFrame) -> pl.DataFrame:
    """Return each rank's recent pace to its role's median, and the share of a step it waits."""
    pace, middle = pl.col("pace_seconds"), pl.col("pace_seconds").median().over(_ROLE)
    less_is_worse = pl.col("measure") == "wait"
    ratio = pl.when(less_is_worse).then(middle / pace).otherwise(pace / middle)
    waiting = pl.col("comm_seconds") / pl.col("step_seconds")
    newest = pl.col("step").max().over("run", "attempt")
    last_attempt = pl.col("attempt") == pl.col("attempt").max().over("run")
    return (
        paces.drop_nulls(["run", "rank", "step"])
        .filter(last_attempt)
        .filter(pl.col("step") > newest - RECENT_STEPS)
        .with_columns(ratio=ratio, waiting=waiting)
        .group_by(_RANK)
        .agg(
            slowdown=pl.col("ratio").filter(pl.col("ratio").is_finite()).median(),
            waiting=pl.col("waiting").filter(pl.col("waiting").is_finite()).median(),
        )
        .drop_nulls("slowdown")
    )


def device_gauges(samples: pl.DataFrame, scope: Scope) -> list[Measured]:
    """Return the devices whose speed stands out most from their peers, by signal."""
    found = list[Measured]()
    for name, signal in SPEED_SIGNALS.items():
        rows = _device_ratios(
            samples.filter(pl.col("signal") == name), host_peers=signal.host_peers
        )
        top = rows.sort(
            pl.col("ratio").log().abs(), "host", "device", descending=[True, False, False]
        )
        found += [
            Measured(
                metric=DEVICE_PEER_RATIO,
                labels=(scope.cluster, row["host"] or "", row["device"], name),
                value=row["ratio"],
            )
            for row in top.head(scope.top).iter_rows(named=True)
        ]
    return found


def _device_ratios(samples: pl.DataFrame, *, host_peers: bool) -> pl.DataFrame:
    """Return each device's newest readings to the median of its peers."""
    group = ["device_kind", "run", "model", *(["host"] if host_peers else [])]
    recent = (
        samples.drop_nulls(["time", "value", "device"])
        .filter(pl.col("value") > 0)
        .sort("time")
        .group_by("host", "device", "device_kind", "run", "model", maintain_order=True)
        .agg(pl.col("value").tail(RECENT_READINGS).median())
    )
    if recent.is_empty():
        return recent.with_columns(ratio=pl.lit(None, dtype=pl.Float64))
    return recent.with_columns(ratio=pl.col("value") / pl.col("value").median().over(group))


def finding_gauges(verdicts: Sequence[Verdict], cluster: str) -> Iterator[Measured]:
    """Yield how many findings of each kind and level are open, and how sure links are faulty."""
    counts, scores = dict[tuple[str, str], int](), dict[tuple[str, str], float]()
    for one in verdicts:
        key = (one.kind, one.level)
        counts[key] = counts.get(key, 0) + 1
        if one.kind == "link_fault" and one.subject.port:
            port = (one.subject.switch or one.subject.host or "", one.subject.port)
            scores[port] = max(scores.get(port, 0.0), CONFIDENCES[one.confidence])
    for (kind, level), count in sorted(counts.items()):
        yield Measured(metric=VERDICTS, labels=(cluster, kind, level), value=float(count))
    for (switch, name), score in sorted(scores.items()):
        yield Measured(metric=LINK_FAULT_SCORE, labels=(cluster, switch, name), value=score)


def state_gauges(
    sources: Sequence[SourceState],
    nodes: Sequence[NodeState],
    lemons: dict[str, float],
    cluster: str,
) -> Iterator[Measured]:
    """Yield ages of sources, states of hosts, and scores of lemons.

    A source that never gave anything is infinitely old.
    """
    for source in sources:
        age = float("inf") if source.age_seconds is None else source.age_seconds
        yield Measured(metric=SOURCE_AGE_SECONDS, labels=(cluster, source.name), value=age)
    for node in nodes:
        number = 3.0 if _is_faulty(node) else NODE_NUMBERS[node.state]
        yield Measured(metric=NODE_STATE, labels=(cluster, node.host), value=number)
    for host, score in sorted(lemons.items()):
        yield Measured(metric=LEMON_SCORE, labels=(cluster, host), value=score)


def _is_faulty(node: NodeState) -> bool:
    """Return whether a host is accused of what stops a run."""
    return node.state == "suspect" and bool({"crash", "hang", "link_fault"} & set(node.kinds))


def step_gauges(events: pl.DataFrame, scope: Scope) -> Iterator[Measured]:
    """Yield the seconds of the newest step of each run that is not over."""
    newest = (
        events.drop_nulls(["run", "end_time", "step_seconds"])
        .sort("end_time")
        .group_by("run", maintain_order=True)
        .agg(pl.col("step_seconds").last())
    )
    for run, seconds in newest.filter(pl.col("run").is_in(scope.runs)).iter_rows():
        yield Measured(metric=STEP_SECONDS, labels=(scope.cluster, run), value=seconds)
