"""Put what stands into words: groups, collectives, silent jobs, stuck watchdogs.

Source: methods of the NCCL and PyTorch reference, sections 8.4 and 12.2.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

import polars as pl

from detectors.complaints import EVERYBODY
from detectors.quotes import quoted
from detectors.rank_places import Places
from detectors.silences import Silence
from detectors.standings import INIT
from detectors.verdicts import Evidence, Subject, Verdict

MAX_QUOTED: Final = 3
"""Groups, or lines, that a verdict quotes."""

MAX_SPANS: Final = 6
"""Stretches of ranks that are told one by one."""

MIN_HEARD: Final = 3
"""Ranks that were heard, one with a stuck watchdog among them, to name that one."""

COMPARE: Final = "compare this rank's control flow with the others' just before the collective"

COLLECT: Final = "blame no rank yet; collect first"


def group_title(row: dict[str, Any]) -> str:
    """Return a group's name and number in a row of it."""
    name, group = row.get("group_name"), row["group"]
    return f"{name} ({group})" if name else str(group)


def collective_title(row: dict[str, Any]) -> str:
    """Return what stands in a row of `detectors.waits.places`, as words."""
    if row["group"] == EVERYBODY:
        return "a collective of all ranks"
    name = row.get("operation")
    if row["sequence"] == 0 and name not in {None, INIT}:
        return f"a {name} of {group_title(row)}"
    operation = f" {name}" if name else ""
    return f"collective {row['sequence']}{operation} of {group_title(row)}"


def ranks_title(ranks: Sequence[int]) -> str:
    """Return ranks as words: `ranks 0 to 3, 7`; of very many stretches only the first."""
    ordered = sorted(set(ranks))
    starts = [one for one in ordered if one - 1 not in set(ordered)]
    ends = [one for one in ordered if one + 1 not in set(ordered)]
    spans = [
        f"{first}" if first == last else f"{first} to {last}"
        for first, last in zip(starts, ends, strict=True)
    ]
    more = f" and {len(spans) - MAX_SPANS} more stretches" if len(spans) > MAX_SPANS else ""
    return f"rank{'s' * (len(ordered) > 1)} {', '.join(spans[:MAX_SPANS])}{more}"


def earliest(times: pl.Series) -> datetime | None:
    """Return the first of some times; null if none is known."""
    return times.min()  # type: ignore[return-value]  # the column is a time


def merged_hosts(culprits: list[Verdict], run: str | None, placed: Places) -> list[Verdict]:
    """Return the culprits, as their host where they are all of its ranks."""
    ranks = [one.subject.rank for one in culprits if one.subject.rank is not None]
    host = placed.whole_host(run, ranks)
    if host is None:
        return culprits
    first = culprits[0]
    what = f"all {len(ranks)} ranks of {host} have not come: {ranks[0]} to {ranks[-1]}"
    return [
        replace(
            first,
            level="host",
            subject=Subject(run=run, host=host),
            evidence=(*first.evidence, Evidence(source="placements", what=what)),
        )
    ]


def silent_job(silence: Silence) -> Verdict:
    """Return the verdict on a job that reports no step any more."""
    progress = silence.progress
    what = (
        f"no step after {progress.last_step} for {silence.seconds:.0f} s; "
        f"{progress.silence.total_seconds():.0f} s are a hang"
    )
    return Verdict(
        kind="hang",
        level="job",
        subject=Subject(run=progress.run, attempt=progress.attempt),
        onset=silence.onset,
        detected=silence.detected,
        onset_step=progress.last_step + 1,
        confidence="high",
        evidence=(Evidence(source="steps", time=silence.onset, what=what),),
        needed="watchdog lines or flight recorder dumps name the rank that the others wait for",
        action="take stack traces of all ranks, then restart from the last checkpoint",
    )


def stuck_watchdogs(events: pl.LazyFrame) -> list[Verdict]:
    """Return one verdict a run whose watchdogs are stuck while no collective stands.

    Args:
        events: `EVENTS` with run; storage that a kernel waits for explains it, as does a rank that
            holds its interpreter's lock.
    """
    stuck = events.filter(pl.col("kind") == "heartbeat_stuck").sort("time", "rank").collect()
    held = events.filter(pl.col("kind") == "gil_blocked").drop_nulls("rank").collect()
    stalls = events.filter(pl.col("kind") == "storage_stall").collect()
    ranks = dict(events.group_by("run").agg(pl.col("rank").n_unique()).collect().iter_rows())
    return [
        _holder(_stuck(part), _of_run(held, part["run"][0]))
        or _alone(_stuck(part), part, ranks[part["run"][0]])
        or _explained(_stuck(part), _of_run(stalls, part["run"][0]))
        for part in stuck.partition_by("run", maintain_order=True)
    ]


def _of_run(stalls: pl.DataFrame, run: str | None) -> pl.DataFrame:
    """Return the stalls that may be a run's: its own, and those of hosts without a run."""
    return stalls.filter(pl.col("run").is_null() | (pl.col("run") == pl.lit(run, dtype=pl.String)))


def _stuck(part: pl.DataFrame) -> Verdict:
    return Verdict(
        kind="hang",
        level="job",
        subject=Subject(run=part["run"][0]),
        onset=earliest(part["time"]),
        detected=earliest(part["time"]),
        cause="outside_collectives",
        confidence="low",
        evidence=tuple(quoted(row) for row in part.head(MAX_QUOTED).to_dicts()),
        alternatives=("storage", "compilation", "initialisation"),
        needed="kernel and storage logs of the hosts, stack traces of the ranks",
        action=COLLECT,
    )


def _holder(verdict: Verdict, held: pl.DataFrame) -> Verdict | None:
    """Return the verdict on the one rank that holds its lock; null if none does, or several do."""
    rows = held.sort("rank", "time", "position", nulls_last=True).head(1).to_dicts()
    if held["rank"].n_unique() != 1:
        return None
    return replace(
        verdict,
        level="rank",
        subject=replace(verdict.subject, rank=rows[0]["rank"], host=rows[0]["host"]),
        cause="gil",
        confidence="medium",
        evidence=(*(quoted(row) for row in rows), *verdict.evidence),
        alternatives=(),
        needed="a stack trace of this rank",
        action="take this rank's stack trace, then restart",
    )


def _alone(verdict: Verdict, stuck: pl.DataFrame, heard: int) -> Verdict | None:
    """Return the verdict on the one rank whose watchdog stands still; null if others' do too."""
    ranks = stuck["rank"].drop_nulls().unique()
    if ranks.len() != 1 or heard < MIN_HEARD:
        return None
    return replace(
        verdict,
        level="rank",
        subject=replace(verdict.subject, rank=ranks.item()),
        cause="watchdog_stuck",
        alternatives=("any other rank: its watchdog may be held up by whom it waits for",),
        needed="the stack trace of this rank",
        action="take this rank's stack trace, then restart",
    )


def _explained(verdict: Verdict, stalls: pl.DataFrame) -> Verdict:
    """Return the verdict with the storage that kernels wait for; one host's is that host's."""
    hosts = stalls["host"].drop_nulls().unique().sort().to_list()
    if stalls.is_empty():
        return verdict
    ordered = stalls.sort("time", "host", "position", nulls_last=True).head(MAX_QUOTED)
    host = hosts[0] if len(hosts) == 1 else None
    return replace(
        verdict,
        level="host" if host else "job",
        subject=replace(verdict.subject, host=host),
        cause="storage",
        confidence="medium",
        evidence=(*(quoted(row) for row in ordered.to_dicts()), *verdict.evidence),
        alternatives=("compilation", "initialisation"),
        action="look at the storage and its network before any rank; all ranks wait outside NCCL",
    )
