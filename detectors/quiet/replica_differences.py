"""Say which rank or host is a suspect for silent data corruption, by the numbers of its replicas.

Source: see `detectors.quiet.replica_values`. Level: the methods reference, section 6 (a host speaks
for its ranks where most of them are apart at once).
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

import polars as pl

from detectors.quiet.replica_values import ReplicaParams, odd_ranks
from detectors.quiet.restoring import proven_saves, restore_words
from detectors.verdicts import Confidence, Evidence, Level, Subject, Verdict, verdict_frame

MIN_HOST_RANKS: Final = 2

MIN_HOST_SHARE: Final = 0.6

MAX_QUOTED: Final = 4

SURE_STEPS: Final = 3
"""A figure that all share and one rank tells otherwise so often is no misprint."""

_CAUSES: Final = {
    "differs": "replica_differs",
    "drifts": "replica_drifts",
    "no_number": "replica_not_a_number",
}

_WORDS: Final = {
    "differs": "others agree on",
    "drifts": "the others' median is",
    "no_number": "the others still had numbers, median",
}


def find_replica_differences(
    steps: pl.LazyFrame, events: pl.LazyFrame, roles: pl.LazyFrame, params: ReplicaParams
) -> pl.DataFrame:
    """Return the ranks, or hosts, whose numbers are apart from those of their replicas.

    Args:
        steps: `STEPS`; only rows of a rank tell, and those of files that are each of one rank.
        events: `EVENTS`; checkpoints tell where to go back to.
        roles: `ROLES`.
        params: The thresholds.

    Returns:
        `VERDICTS` of kind numerical at level rank, or host where most ranks of one are apart;
        causes replica_differs, replica_drifts, replica_not_a_number. One a suspect and cause.
        Partition key: run and attempt.

    Raises:
        SchemaError: A frame lacks a column.
    """
    odd = odd_ranks(steps, roles, params)
    sizes = _host_sizes(steps, roles) if odd.height else {}
    saves = proven_saves(events)
    keys = ["run", "attempt", "why", "host", "rank"]
    first = odd.sort(*keys, "step", "figure", nulls_last=True).unique(
        keys, keep="first", maintain_order=True
    )
    parts = first.partition_by("run", "attempt", "why", "host", maintain_order=True)
    return verdict_frame(
        verdict for part in parts for verdict in _verdicts(part.to_dicts(), sizes, saves)
    )


def _host_sizes(steps: pl.LazyFrame, roles: pl.LazyFrame) -> dict[str, int]:
    """Return how many ranks each host has, as far as is known."""
    names = ["host", "rank"]
    told = pl.concat([steps.select(names), roles.select(names)]).drop_nulls().unique().collect()
    return dict(Counter(told["host"].to_list()))


def _verdicts(
    rows: list[dict[str, Any]], sizes: Mapping[str, int], saves: pl.DataFrame
) -> list[Verdict]:
    """Return the verdicts on the odd ranks of one host."""
    host = rows[0]["host"]
    is_host = (
        host is not None
        and len(rows) >= MIN_HOST_RANKS
        and len(rows) >= MIN_HOST_SHARE * sizes[host]
    )
    groups = [rows] if is_host else [[row] for row in rows]
    return [_verdict(group, saves, "host" if is_host else "rank") for group in groups]


def _verdict(rows: list[dict[str, Any]], saves: pl.DataFrame, level: Level) -> Verdict:
    first = min(rows, key=lambda row: (row["step"], row["rank"]))
    why = first["why"]
    way = restore_words(saves, first["run"], first["step"])
    where = first["host"] or "its host"
    data = "" if why == "differs" else "; bad data of that rank alone looks the same"
    return Verdict(
        kind="numerical",
        level=level,
        subject=Subject(
            run=first["run"],
            attempt=first["attempt"],
            host=first["host"],
            rank=first["rank"] if level == "rank" else None,
        ),
        onset=first["end_time"],
        detected=first["detected"],
        onset_step=first["step"],
        cause=_CAUSES[why],
        confidence=_confidence(first),
        peers="ranks that report the same figure at the same step",
        peer_count=first["ranks"] - len(rows),
        evidence=tuple(_evidence(row) for row in rows[:MAX_QUOTED]),
        alternatives=() if why == "differs" else ("the batches of that rank",),
        action=f"take {where} out of training and test its GPUs, then {way}{data}",
        needed="the same batch replayed on another host: another result convicts the device",
    )


def _confidence(row: dict[str, Any]) -> Confidence:
    if row["why"] == "differs":
        return "high" if row["steps"] >= SURE_STEPS else "medium"
    return "medium" if row["why"] == "drifts" else "low"


def _evidence(row: dict[str, Any]) -> Evidence:
    name = "gradient norm" if row["figure"] == "grad_norm" else "loss"
    what = (
        f"rank {row['rank']}: {name} {row['value']:.6g} at step {row['step']}, "
        f"{_WORDS[row['why']]} {row['shared']:.6g}; {row['steps']} such steps, the last "
        f"{row['last_step']}, among {row['ranks']} ranks"
    )
    return Evidence(source=row["source"] or "steps", time=row["end_time"], what=what)
