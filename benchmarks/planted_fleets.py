"""Fleets with planted lemons: jobs of many sizes that end at their first failure, seeded."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import polars as pl

from collectors.frames import ALIASES, EVENTS, JOBS, PLACEMENTS, TIME, conform
from detectors.lemon_histories import Records

START = datetime(2026, 1, 1, tzinfo=UTC)

MICROSECONDS_PER_DAY = 86_400e6


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetParams:
    """How a fleet is planted.

    Attributes:
        nodes: How many.
        days: How long.
        lemons: How many nodes fail more often.
        ratio: How many times as often.
        named_share: Share of the failures that an Xid on the culprit goes along with.
        failures_per_day: Of a good node: 6.5 in 1000 node-days.
    """

    nodes: int = 2048
    days: int = 60
    lemons: int = 20
    ratio: float = 30.0
    named_share: float = 0.8
    failures_per_day: float = 0.0065


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedFleet:
    """A fleet's records, and who its lemons are."""

    records: Records
    lemons: frozenset[str]


def planted_fleet(params: FleetParams, seed: int) -> PlantedFleet:
    """Return a fleet in which every node is always in a job of at most a day."""
    rng = np.random.default_rng(seed)
    rates = np.full(params.nodes, params.failures_per_day)
    bad = rng.choice(params.nodes, params.lemons, replace=False)
    rates[bad] *= params.ratio
    names = np.array([f"node{at:06d}" for at in range(params.nodes)])
    jobs, events = [], []
    for day in range(params.days):
        for group in _groups(params.nodes, rng):
            for begin, end, failed in _runs(day, float(rates[group].sum()), rng):
                jobs.append((begin, end, failed, names[group]))
                culprit = rng.choice(group, p=rates[group] / rates[group].sum())
                if failed and rng.random() < params.named_share:
                    events.append((end, names[culprit]))
    return PlantedFleet(records=_records(jobs, events), lemons=frozenset(names[bad].tolist()))


def _groups(nodes: int, rng: np.random.Generator) -> Iterator[np.ndarray[Any, Any]]:
    order, at = rng.permutation(nodes), 0
    while at < nodes:
        size = int(rng.choice([1, 8, 64, 256], p=[0.9, 0.05, 0.03, 0.02]))
        yield order[at : at + size]
        at += size


def _runs(day: int, rate: float, rng: np.random.Generator) -> Iterator[tuple[float, float, bool]]:
    """Yield begin, end and whether it failed, of the jobs of one group on one day."""
    begin = float(day)
    while begin < day + 1:
        end = begin + rng.exponential(1.0 / rate)
        yield begin, min(end, day + 1.0), end < day + 1
        begin = end


def _records(jobs: list[Any], events: list[Any]) -> Records:
    begins, ends, failed, hosts = zip(*jobs, strict=True)
    told = pl.LazyFrame(
        {
            "run": [str(at) for at in range(len(jobs))],
            "start": _times(begins),
            "end": _times(ends),
            "state": ["NODE_FAIL" if one else "COMPLETED" for one in failed],
            "hosts": [list(one) for one in hosts],
        }
    )
    said = pl.LazyFrame(
        {"time": _times([at for at, _ in events]), "host": [host for _, host in events]},
        schema={"time": TIME, "host": pl.String},
    )
    xids = said.with_columns(kind=pl.lit("xid"), code=pl.lit("79"), severity=pl.lit("critical"))
    return Records(
        jobs=conform(told.with_columns(attempt=0), JOBS),
        placements=PLACEMENTS.to_frame().lazy(),
        events=conform(xids, EVENTS),
        aliases=ALIASES.to_frame().lazy(),
    )


def _times(days: Any) -> pl.Series:
    moments = np.round(np.asarray(days, dtype=float) * MICROSECONDS_PER_DAY).astype(np.int64)
    return pl.Series(moments + int(START.timestamp() * 1e6), dtype=pl.Int64).cast(TIME)
