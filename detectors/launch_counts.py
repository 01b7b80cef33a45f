"""Judge ranks whose hosts have launched less, or more, than most of their communicator.

Source: methods of the NCCL reference, sections 5.1 and 12.2. Who is behind is waited for; who is
ahead, while all others rest, has called what they did not. A difference of one or two may be the
moment of the report: it counts if a second report shows it unchanged.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import polars as pl

from collectors.texts.event_labels import label_value
from detectors.quotes import quoted
from detectors.verdicts import Confidence, Subject, Verdict

MAX_QUOTED: Final = 3

COUNTS: Final = "launch_counts"
"""Cause of a finding that names nobody: counts differ, and may be about to agree."""

_SNAPSHOT: Final = ("run", "group", "operation", "snapshot")

_NEEDED: Final = "a second report at least 10 s later: only a difference that stays counts"

_NAMES: Final = ("source", "position", "time", "run", "group", "operation", "enqueued")


def gap_verdicts(
    launched: pl.DataFrame, events: pl.DataFrame, max_moving: int, max_share: float
) -> list[Verdict]:
    """Return the verdicts on ranks that differ from most of their communicator.

    Args:
        launched: `COLLECTIVES` of state `launched`: the ranks that reports list.
        events: `EVENTS`; `ras_standing` counts ranks that stand alike, `ras_group` tells reports.
        max_moving: Ranks may differ by so many operations while a report is made.
        max_share: Above this share of a communicator nobody is named.
    """
    tallies = _tallies(launched, events)
    found = [
        verdict
        for part in tallies.partition_by("run", "group", "operation", maintain_order=True)
        for verdict in _judged(part, max_moving, max_share)
    ]
    seen: dict[tuple[str | None, str | None, int | None], Verdict] = {}
    for one in found:
        seen.setdefault((one.subject.run, one.subject.group, one.subject.rank), one)
    return list(seen.values())


def _tallies(launched: pl.DataFrame, events: pl.DataFrame) -> pl.DataFrame:
    """Return one row a value of a snapshot: `ranks` that stand there, and `listed`, who they are.

    Only snapshots of the last report, and of the one before, are of use; they are numbered in the
    order of their time, source and position.
    """
    counts = events.filter(pl.col("kind") == "ras_standing").select(
        *(name for name in _NAMES if name not in {"group", "operation", "enqueued"}),
        "message",
        group=label_value("group"),
        operation=label_value("operation"),
        enqueued=label_value("enqueued").cast(pl.Int64, strict=False),
        counted=label_value("ranks").cast(pl.Int64, strict=False),
        size=label_value("size").cast(pl.Int64, strict=False),
    )
    listed = launched.drop_nulls("group_rank").select(*_NAMES, "host", "rank", "group_rank")
    both = pl.concat([counts, listed], how="diagonal").drop_nulls("enqueued")
    numbered = _numbered(both, events)
    return (
        numbered.group_by(*_SNAPSHOT, "enqueued", "is_latest")
        .agg(
            pl.col("size").max(),
            ranks=pl.max_horizontal(pl.col("counted").max(), pl.col("group_rank").n_unique()),
            listed=pl.struct("group_rank", "rank", "host")
            .filter(pl.col("group_rank").is_not_null())
            .unique()
            .sort(),
            first=pl.struct("source", "position", "time", "message").sort_by("position").first(),
        )
        .sort(*_SNAPSHOT, "enqueued", nulls_last=True)
    )


def _numbered(rows: pl.DataFrame, events: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with the number of their snapshot, and whether it is of the last report."""
    reports = _reports(events)
    ordered = rows.sort("position").join_asof(
        reports.drop("time").sort("position"),
        on="position",
        by="source",
        strategy="backward",
        check_sortedness=False,
    )
    last = reports.sort("time", "source", "report", nulls_last=False).tail(1)
    key = ["source", "run", "group", "operation"]
    apart = (pl.col("position").diff() > 1).fill_null(value=False).cum_sum()
    latest = pl.struct("source", "report").is_in(last.select("source", "report").to_struct())
    return (
        ordered.sort(*key, "position")
        .with_columns(pl.col("report").fill_null(0), block=apart.over(key))
        .with_columns(
            snapshot=pl.struct("time", "source", "report", "block")
            .rank("dense")
            .over("run", "group", "operation"),
            is_latest=latest if last.height else pl.lit(value=True),
        )
    )


def _reports(events: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of tables with the number of their report in their source."""
    index = label_value("index").cast(pl.Int64, strict=False)
    moved = pl.col("position") != pl.col("position").shift()
    starts = (index.is_null() & moved) | (index <= index.shift())
    return (
        events.filter(pl.col("kind") == "ras_group")
        .sort("source", "position")
        .with_columns(report=starts.fill_null(value=True).cum_sum().over("source"))
        .select("source", "position", "report", "time")
    )


def _judged(tallies: pl.DataFrame, max_moving: int, max_share: float) -> Iterator[Verdict]:
    """Yield the verdicts on one operation of one communicator, by its last snapshot."""
    snapshots = tallies.partition_by("snapshot", maintain_order=True)
    last = snapshots[-1].to_dicts()
    before = snapshots[-2].to_dicts() if len(snapshots) > 1 else None
    most = max(row["ranks"] for row in last)
    common = [row for row in last if row["ranks"] == most]
    if len(last) == 1 or not last[0]["is_latest"]:
        return
    if len(common) > 1:
        yield _open(last, "no number is the majority's")
        return
    odd = [row for row in last if row is not common[0]]
    frozen = before is not None and _values(before) == _values(last)
    gap = max(abs(row["enqueued"] - common[0]["enqueued"]) for row in odd)
    few = sum(row["ranks"] for row in odd) <= max(1.0, max_share * _size(last))
    if before is not None and not frozen:
        return
    if not few or not any(row["listed"] for row in odd) or (before is None and gap <= max_moving):
        yield _open(last, _NEEDED)
        return
    whole = sum(row["ranks"] for row in last) == _size(last)
    for row in odd:
        for who in row["listed"]:
            yield _accused(row, who, common[0], "high" if frozen and whole else "medium")


def _size(rows: Sequence[dict[str, Any]]) -> int:
    sizes = [int(row["size"]) for row in rows if row["size"]]
    return max(sizes, default=sum(int(row["ranks"]) for row in rows))


def _values(rows: Sequence[dict[str, Any]]) -> list[tuple[int, int, str]]:
    return [(row["enqueued"], row["ranks"], str(row["listed"])) for row in rows]


def _accused(
    row: dict[str, Any], who: dict[str, Any], common: dict[str, Any], confidence: Confidence
) -> Verdict:
    """Return the verdict on one rank that stands apart."""
    is_behind = row["enqueued"] < common["enqueued"]
    name = f"rank {who['group_rank']} of communicator {row['group']}"
    what = f"{name} has launched {_upto(row)}, {common['ranks']} others {_upto(common)}"
    return Verdict(
        kind="hang" if is_behind else "mismatch",
        level="rank",
        subject=Subject(run=row["run"], host=who["host"], rank=who["rank"], group=row["group"]),
        onset=row["first"]["time"],
        detected=row["first"]["time"],
        cause="behind" if is_behind else "ahead",
        confidence=confidence,
        peers="ranks of the same communicator",
        peer_count=common["ranks"],
        evidence=(quoted(row["first"], what),),
        action="take this rank's stack trace; compare its control flow with the others'",
        needed="flight recorder dumps tell what the others wait in",
    )


def _upto(row: dict[str, Any]) -> str:
    operation = row["operation"] or "operation"
    return f"no {operation}" if row["enqueued"] < 0 else f"{operation} {row['enqueued']}"


def _named(who: dict[str, Any]) -> str:
    """Return a listed rank in words: the job's where that is known."""
    number = who["group_rank"] if who["rank"] is None else who["rank"]
    name = f"rank {number} of its communicator" if who["rank"] is None else f"rank {number}"
    return f"{name} on {who['host']}" if who["host"] else name


def _open(rows: Sequence[dict[str, Any]], needed: str) -> Verdict:
    """Return the verdict that names nobody."""
    listed = [who for row in rows for who in row["listed"]]
    names = [_named(who) for who in listed]
    words = ", ".join(f"{row['ranks']} at {_upto(row)}" for row in rows)
    return Verdict(
        kind="unknown",
        level="group",
        subject=Subject(run=rows[0]["run"], group=rows[0]["group"]),
        onset=rows[0]["first"]["time"],
        detected=rows[0]["first"]["time"],
        cause=COUNTS,
        confidence="low",
        evidence=(quoted(rows[0]["first"], words),),
        alternatives=tuple(names[:MAX_QUOTED]),
        action="blame no rank yet; collect first",
        needed=needed,
    )
