"""Find what ended a job: the first local fault before the cascade, or somebody outside.

Source: methods of the NCCL and PyTorch reference, sections 1.4, 8.5, 12.1 and 12.7. Within a host
events are ordered by time, across hosts only beyond the skew of their clocks. What a process says
of its peers, and what an agent does to its own, is a cascade: its host is a victim.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

import polars as pl

from collectors.frames import EVENTS, STEPS, require
from detectors.belonging import placed_events
from detectors.crash_words import KILLED, Crash, crash_verdict, fault_cause
from detectors.dating import not_before
from detectors.endings import EndingParams, attempt_begins, ending_faults, in_attempts
from detectors.rank_places import Places
from detectors.verdicts import Confidence, Verdict, verdict_frame


@dataclass(frozen=True, slots=True, kw_only=True)
class CrashParams:
    """When a fault is what ended a job, and whose came first.

    Attributes:
        endings: When a fault ended an attempt.
        max_doubtful_seconds: Up to here the order across hosts is told, but not surely.
        max_alike_share: Above this share of the hosts the same fault is no single host's.
    """

    endings: EndingParams = field(default_factory=EndingParams)
    max_doubtful_seconds: float = 60.0
    max_alike_share: float = 0.5


_CASCADE: Final = ("comm_error", "process_exit", "store_lost")
"""Kinds that victims print."""

_TIMELINE: Final = ("symptom", "time", "weight", "source", "position", "rank", "kind", "code")


def find_crashes(
    events: pl.LazyFrame, steps: pl.LazyFrame, roles: pl.LazyFrame, params: CrashParams
) -> pl.DataFrame:
    """Return what ended each attempt of each run.

    Args:
        events: `EVENTS`.
        steps: `STEPS`; a fault after which the same attempt goes on ended nothing.
        roles: `ROLES`, for the rank of a GPU and the host of a rank.
        params: The thresholds.

    Returns:
        `VERDICTS` of kind crash, one an attempt: on the rank, GPU or host of the first fault, or
        with cause `operator` or `scheduler` where somebody outside came first. Of kind unknown
        where faults of several hosts have no order. Partition key: run.

    Raises:
        SchemaError: A frame lacks a column.
    """
    placed = placed_events(events.pipe(require, EVENTS), roles).collect().lazy()
    known = steps.pipe(require, STEPS)
    begins = attempt_begins(placed, known, params.endings).collect().lazy()
    dated = placed.with_columns(not_before=not_before())
    told = in_attempts(dated, "not_before", begins).collect()
    done = in_attempts(known, "end_time", begins)
    causes = ending_faults(told.lazy(), done, params.endings).collect()
    hosts = _host_counts(told, roles)
    places = Places.of(roles)
    parts = causes.partition_by("run", "segment", maintain_order=True)
    return verdict_frame(
        _judged(part, told.filter(pl.col("kind").is_in(_CASCADE)), hosts, places, params)
        for part in parts
    )


def _host_counts(events: pl.DataFrame, roles: pl.LazyFrame) -> dict[str | None, int]:
    """Return how many hosts each run has, as far as any source names them."""
    named = pl.concat([events.select("run", "host"), roles.select("run", "host").collect()])
    counts = named.drop_nulls("host").group_by("run").agg(pl.col("host").n_unique())
    return dict(counts.iter_rows())


def _judged(
    part: pl.DataFrame,
    cascade: pl.DataFrame,
    hosts: dict[str | None, int],
    places: Places,
    params: CrashParams,
) -> Verdict:
    """Return the verdict on one attempt from all that could have ended it."""
    run, segment = part["run"][0], part["segment"][0]
    same = pl.col("run").eq_missing(pl.lit(run, dtype=pl.String)) & (pl.col("segment") == segment)
    heads = _heads(part)
    tied, later = _order(heads, params)
    alike = {(row["kind"], row["code"]) for row in tied}
    spread = len({row["place"] for row in tied}) / max(1, hosts.get(run, 0))
    is_common = len(alike) == 1 and len(tied) > 1 and spread > params.max_alike_share
    decided = len(tied) == 1 or is_common
    return crash_verdict(
        Crash(
            run=run,
            first=tied[0],
            tied=tuple(tied[1:]),
            later=tuple(later),
            others=tuple(_companions(part, tied[0])),
            cascade=cascade.filter(same),
            confidence=_confidence(tied[0], heads, params),
            decided=decided,
            common=is_common,
            places=places,
        )
    )


def _heads(part: pl.DataFrame) -> list[dict[str, Any]]:
    """Return the first fault of each host, or of each log that names none, the earliest first."""
    place = pl.coalesce("host", "source").fill_null("").alias("place")
    ordered = part.with_columns(place).sort("place", *_TIMELINE, nulls_last=True)
    firsts = ordered.group_by("place", maintain_order=True).first()
    return firsts.sort("time", "weight", "place", nulls_last=True).to_dicts()


def _companions(part: pl.DataFrame, first: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the other faults of the first one's host, in order."""
    same = pl.coalesce("host", "source").fill_null("") == first["place"]
    return part.filter(same).sort(_TIMELINE, nulls_last=True)[1:5].to_dicts()


def _order(
    heads: Sequence[dict[str, Any]], params: CrashParams
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return those of which none is known to be first, and those that came later.

    Among those without order the more telling ones lead: a device's own error over an exception.
    """
    skew = timedelta(seconds=params.endings.max_skew_seconds)
    first = heads[0]["time"]
    tied = [
        row for row in heads if first is None or row["time"] is None or row["time"] - first <= skew
    ]
    best = min(row["weight"] for row in tied)
    leading = _own_ends([row for row in tied if row["weight"] == best])
    return leading, [row for row in heads if row not in leading]


def _own_ends(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows without kills, where a process had ended by itself no later.

    A launcher kills what is left of a step in which one process failed.
    """
    own = [row for row in rows if fault_cause(row) != KILLED]
    if not own or own[0]["time"] is None:
        return rows
    early = [row for row in rows if row["time"] is None or row["time"] < own[0]["time"]]
    return rows if early else own


def _confidence(
    first: dict[str, Any], heads: Sequence[dict[str, Any]], params: CrashParams
) -> Confidence:
    """Return how sure the first fault is the first: an exit code alone is no identity.

    A process that is killed did nothing: whoever killed it is not known by that.
    """
    doubt = timedelta(seconds=params.max_doubtful_seconds)
    others = [row["time"] for row in heads if row["place"] != first["place"]]
    near = any(
        time is None or first["time"] is None or time - first["time"] <= doubt for time in others
    )
    is_killed = first["kind"] == "process_exit" and fault_cause(first) == KILLED
    return "medium" if near or is_killed or first["weight"] > 1 else "high"
