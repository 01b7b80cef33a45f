"""Judge who does not answer: ranks and processes that RAS misses, or takes for dead.

Source: methods of the NCCL reference, sections 5.1 and 12.1: a member that is absent outranks all
that the others say; a process is taken for dead after a minute without a sign of life.
"""

from collections.abc import Sequence
from typing import Any, Final

import polars as pl

from collectors.texts.event_labels import label_value
from detectors.quotes import quoted
from detectors.verdicts import Level, Subject, Verdict

MAX_QUOTED: Final = 4

INVALID: Final = "invalid"
"""Code of rows whose numbers are memory that nobody set."""

DEAD: Final = "considered_dead"
"""Code of a missing rank whose process is taken for dead."""

_KINDS: Final = ("rank_missing", "process_missing", "process_dead")

_ACTION: Final = "look at this process and its host's kernel log; if it lives, take its stack trace"

_NEEDED: Final = "a flight recorder dump of this rank, and whether its process still lives"


def absent_verdicts(events: pl.DataFrame, max_share: float) -> list[Verdict]:
    """Return one verdict a host, or rank without one, that does not answer.

    Args:
        events: `EVENTS` with the hosts of known addresses.
        max_share: Above this share of a group's ranks nobody is named.
    """
    labels = {name: label_value(name) for name in ("pid", "gpus", "group_rank", "size")}
    rows = (
        events.filter(
            pl.col("kind").is_in(_KINDS), (pl.col("code") != INVALID).fill_null(value=True)
        )
        .with_columns(**labels)
        .with_columns(pl.col("group_rank", "size").cast(pl.Int64, strict=False))
        .sort("run", "host", "rank", "source", "position", nulls_last=True)
    )
    return [
        verdict
        for part in rows.partition_by("run", maintain_order=True)
        for verdict in _of_run(part, max_share)
    ]


def _of_run(rows: pl.DataFrame, max_share: float) -> list[Verdict]:
    who = pl.coalesce("pid", pl.col("group_rank").cast(pl.String))
    count = rows.select(pl.struct("host", who).n_unique()).item()
    size = rows["size"].max()
    if isinstance(size, int) and count > max(1.0, max_share * size):
        return [_too_many(rows.to_dicts(), count)]
    place = pl.coalesce("host", pl.format("rank {}", pl.coalesce("rank", "group_rank")))
    parts = rows.with_columns(place=place).partition_by("place", maintain_order=True)
    return [_verdict(part.to_dicts()) for part in parts]


def _verdict(rows: Sequence[dict[str, Any]]) -> Verdict:
    """Return the verdict on one host, or on the only rank of it that does not answer."""
    first = rows[0]
    is_dead = any(row["kind"] == "process_dead" or row["code"] == DEAD for row in rows)
    ranks = sorted({row["rank"] for row in rows if row["rank"] is not None})
    alone = len({row["pid"] for row in rows if row["pid"]}) <= 1 and len(ranks) <= 1
    gpus = {row["device"] or row["gpus"] for row in rows if row["device"] or row["gpus"]}
    gpu = next(iter(gpus)) if alone and len(gpus) == 1 else None
    number = int(gpu) if gpu and gpu.isdecimal() else None
    rank = ranks[0] if alone and ranks else None
    level: Level = "rank" if rank is not None else "gpu" if number is not None else "host"
    times = [row["time"] for row in rows if row["time"]]
    return Verdict(
        kind="crash" if is_dead else "hang",
        level=level if first["host"] or rank is not None else "rank",
        subject=Subject(run=first["run"], host=first["host"], rank=rank, gpu=number),
        onset=min(times, default=None),
        detected=min(times, default=None),
        cause="process_dead" if is_dead else "silent",
        confidence="medium" if first["host"] or rank is not None else "low",
        evidence=tuple(quoted(row) for row in rows[:MAX_QUOTED]),
        action=_ACTION,
        needed=_NEEDED,
    )


def _too_many(rows: Sequence[dict[str, Any]], count: int) -> Verdict:
    return Verdict(
        kind="unknown",
        level="job",
        subject=Subject(run=rows[0]["run"]),
        cause="silent",
        confidence="low",
        evidence=tuple(quoted(row) for row in rows[:MAX_QUOTED]),
        alternatives=("the RAS network", "the job's end"),
        action="blame no rank yet; collect first",
        needed=f"{count} processes do not answer: a report from another host tells who is cut off",
    )
