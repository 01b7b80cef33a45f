"""Find the writer that all others wait for at each checkpoint, and stores that slow all of them.

A checkpoint is as slow as its slowest writer (field reference). A writer is compared with those of
its own stage, since a stage with the embedding writes more, and over several saves: one slow save
is nobody's fault. Who writes more by design (the first rank gathers what is common, the first rank
of each host writes for it) is slower from the first save on and on every host, so the first rank is
named only if it became slow, and slow writers on many hosts name nobody: there it is the store.
Levels: methods reference, section 6.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import log
from statistics import median
from typing import Any, Final

import polars as pl

from collectors.frames import require
from detectors.quiet.rank_saves import SAVE_TIMES
from detectors.verdicts import Evidence, Level, Subject, Verdict, verdict_frame

CAUSE: Final = "checkpoint_writer"

STORE: Final = "storage"

JOB: Final = ("run", "attempt")

RANK: Final = (*JOB, "rank")

MAX_QUOTED: Final = 4

MIN_SURE_SAVES: Final = 5
"""More slow saves than that are no chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterParams:
    """When a writer, or the store, is slow.

    Attributes:
        min_ratio: Seconds over those of the peers, or of the job's own saves before.
        min_excess_seconds: And so much more; nobody minds less.
        min_saves: Saves that must be slow.
        min_slow_share: Of the saves from the first slow one to the last.
        min_writers: Writers of a stage that are compared.
        max_host_share: Of the hosts with a slow writer, above which it is no single host's fault.
        min_usual_saves: Saves at the usual pace before the store became slow, or the first rank.
    """

    min_ratio: float = 1.5
    min_excess_seconds: float = 1.0
    min_saves: int = 3
    min_slow_share: float = 0.8
    min_writers: int = 4
    max_host_share: float = 0.25
    min_usual_saves: int = 3

    def __post_init__(self) -> None:
        """Refuse a ratio that each writer has, and a verdict on one save."""
        if self.min_ratio <= 1.0:
            raise ValueError(f"min_ratio must be above 1.0, found {self.min_ratio}")
        if self.min_saves < 2:  # noqa: PLR2004 -- one slow save is nobody's fault
            raise ValueError(f"min_saves must be 2 at least, found {self.min_saves}")


def find_slow_writers(saves: pl.LazyFrame, params: WriterParams) -> pl.DataFrame:
    """Return the writers that the others wait for, and the jobs whose store became slow.

    Args:
        saves: `SAVE_TIMES`; a rank without a row did not write.
        params: The thresholds.

    Returns:
        `VERDICTS`: of kind slow and cause checkpoint_writer at level rank, or host where all
        writers of one are slow (and it has several); of kind group_slow and cause storage at level
        job where saves became slow on many hosts at once, or as a whole. Partition key: run and
        attempt.

    Raises:
        SchemaError: `saves` is not a `SAVE_TIMES`.
    """
    rows = saves.pipe(require, SAVE_TIMES).filter(pl.col("seconds") > 0)
    slow = _slow_ranks(rows, params).collect()
    stores = _slow_stores(rows, params).collect()
    named = [
        verdict
        for part in slow.partition_by(*JOB, maintain_order=True)
        for verdict in _named(part.to_dicts(), params)
    ]
    shared = {_job(one) for one in named if one.cause == STORE}
    whole = [_store(row) for row in stores.iter_rows(named=True)]
    return verdict_frame([*named, *(one for one in whole if _job(one) not in shared)])


def _job(verdict: Verdict) -> tuple[str | None, int | None]:
    return verdict.subject.run, verdict.subject.attempt


def _slow_ranks(rows: pl.LazyFrame, params: WriterParams) -> pl.LazyFrame:
    """Return the writers that are slow in most saves from their first slow one on."""
    peers = [*JOB, "pp", "save"]
    seconds, usual = pl.col("seconds"), pl.col("usual")
    is_slow = (seconds >= params.min_ratio * usual) & (seconds >= usual + params.min_excess_seconds)
    hosts = pl.col("host").n_unique().over(JOB)
    return (
        rows.drop_nulls("rank")
        .with_columns(
            hosts=hosts,
            first_rank=pl.col("rank").min().over(JOB),
            host_writers=pl.col("rank").n_unique().over([*JOB, "host"]),
        )
        .filter(pl.len().over(peers) >= params.min_writers)
        .with_columns(usual=seconds.median().over(peers), writers=pl.len().over(peers))
        .with_columns(is_slow=is_slow)
        .sort(*RANK, "save")
        .with_columns(begun=pl.col("is_slow").cum_sum().over(RANK))
        .group_by(RANK)
        .agg(
            pl.col("host", "hosts", "first_rank", "host_writers", "writers").first(),
            good=(pl.col("begun") == 0).sum(),
            slow=pl.col("is_slow").sum(),
            since=(pl.col("begun") > 0).sum(),
            tail=pl.col("is_slow").arg_true().last() - pl.col("is_slow").arg_true().first() + 1,
            ratio=(seconds / usual).filter("is_slow").median(),
            excess=(seconds - usual).filter("is_slow").median(),
            seconds=seconds.filter("is_slow").median(),
            usual=usual.filter("is_slow").median(),
            onset=pl.col("end_time").filter("is_slow").first(),
            detected=pl.col("end_time").filter("is_slow").slice(params.min_saves - 1).first(),
            onset_step=pl.col("step").filter("is_slow").first(),
            source=pl.col("source").filter("is_slow").first(),
        )
        .filter(
            pl.col("slow") >= params.min_saves,
            pl.col("slow") >= params.min_slow_share * pl.col("tail"),
            (pl.col("rank") != pl.col("first_rank")) | (pl.col("good") >= params.min_usual_saves),
        )
        .sort(*RANK)
    )


def _named(rows: list[dict[str, Any]], params: WriterParams) -> Iterator[Verdict]:
    """Yield the verdicts on the slow writers of a job; where they are on many hosts, on the store.

    Who was slow on many hosts from the first save on writes more by design.
    """
    hosts = {row["host"] for row in rows}
    total = 0 if None in hosts else rows[0]["hosts"]
    found, all_of = (len(hosts), total) if total > 1 else (len(rows), rows[0]["writers"])
    if found > max(1.0, params.max_host_share * all_of):
        if all(row["good"] >= params.min_usual_saves for row in rows):
            yield _crowd(rows)
        return
    for host in sorted(hosts, key=str):
        mine = [row for row in rows if row["host"] == host]
        several = host is not None and total > 1 and mine[0]["host_writers"] > 1
        if several and len(mine) == mine[0]["host_writers"]:
            yield _verdict(mine, "host")
        else:
            yield from (_verdict([row], "rank") for row in mine)


def _verdict(rows: list[dict[str, Any]], level: Level) -> Verdict:
    first = max(rows, key=lambda row: (row["excess"], -row["rank"]))
    onsets = [row for row in rows if row["onset"] is not None]
    begin = min(onsets, key=lambda row: row["onset"]) if onsets else first
    return Verdict(
        kind="slow",
        level=level,
        subject=Subject(
            run=first["run"],
            attempt=first["attempt"],
            host=first["host"],
            rank=first["rank"] if level == "rank" else None,
        ),
        onset=None if begin["good"] == 0 else begin["onset"],
        onset_before_data=begin["good"] == 0,
        detected=begin["detected"],
        onset_step=None if begin["good"] == 0 else begin["onset_step"],
        slowdown=first["ratio"],
        cause=CAUSE,
        confidence="high" if first["slow"] > MIN_SURE_SAVES else "medium",
        peers="writers of the same stage, at the same saves",
        peer_count=first["writers"] - len(rows),
        evidence=tuple(_evidence(row) for row in rows[:MAX_QUOTED]),
        action="look at this host's path to the store: NIC, mount, local disk, memory pressure",
        needed="what the host writes a second tells a slow path from more data",
    )


def _crowd(rows: list[dict[str, Any]]) -> Verdict:
    """Return the verdict on a store that slowed writers on many hosts."""
    first = min(rows, key=lambda row: (row["onset_step"] or 0, row["rank"]))
    hosts = sorted({row["host"] for row in rows if row["host"] is not None})
    ratio = median(row["ratio"] for row in rows)
    what = f"{len(rows)} writers on {len(hosts) or 'unknown'} hosts became slow, x{ratio:.2f}"
    seen = Evidence(source=first["source"] or "steps", time=first["onset"], what=what)
    return Verdict(
        kind="group_slow",
        level="job",
        subject=Subject(run=first["run"], attempt=first["attempt"]),
        onset=first["onset"],
        detected=first["detected"],
        onset_step=first["onset_step"],
        slowdown=ratio,
        cause=STORE,
        confidence="medium",
        peers="writers of the same stage, at the same saves",
        peer_count=first["writers"] - len(rows),
        evidence=(seen, *(_evidence(row) for row in rows[:MAX_QUOTED])),
        victims=tuple(hosts),
        action=_LOOK,
        needed=_STORE_NEEDED,
    )


_LOOK: Final = "look at the store, its network and who else writes to it; no rank is at fault"

_STORE_NEEDED: Final = (
    "writes a second of the store's servers, and what other jobs wrote at the time"
)


def _evidence(row: dict[str, Any]) -> Evidence:
    what = (
        f"rank {row['rank']} writes {row['seconds']:.3g} s at a checkpoint, its peers "
        f"{row['usual']:.3g} s (medians of {row['slow']} slow saves); all wait "
        f"{row['excess']:.3g} s for it"
    )
    return Evidence(source=row["source"] or "steps", time=row["onset"], what=what)


def _slow_stores(rows: pl.LazyFrame, params: WriterParams) -> pl.LazyFrame:
    """Return the jobs whose saves became slow as a whole, at the median writer."""
    seconds, usual = pl.col("seconds"), pl.col("usual")
    count = pl.int_range(pl.len()).over(JOB)
    is_slow = (seconds >= params.min_ratio * usual) & (seconds >= usual + params.min_excess_seconds)
    begins = pl.col("is_slow") & ~pl.col("is_slow").shift(1, fill_value=False).over(JOB)
    return (
        rows.group_by(*JOB, "save")
        .agg(
            pl.col("seconds").median(),
            pl.col("end_time").max(),
            pl.col("step", "source").min(),
            writers=pl.len(),
            hosts=pl.col("host").n_unique(),
        )
        .sort(*JOB, "save")
        .with_columns(
            usual=seconds.head(params.min_usual_saves).median().over(JOB),
            turn=count,
        )
        .with_columns(is_slow=is_slow & (pl.col("turn") >= params.min_usual_saves))
        .with_columns(spell=begins.cum_sum().over(JOB))
        .filter("is_slow")
        .group_by(*JOB, "spell")
        .agg(
            pl.col("usual", "source", "step", "end_time", "writers", "hosts").first(),
            seconds=seconds.median(),
            slow=pl.len(),
            detected=pl.col("end_time").slice(params.min_saves - 1).first(),
            cleared=pl.col("end_time").last(),
        )
        .filter(pl.col("slow") >= params.min_saves)
        .sort(*JOB, "spell")
        .unique(JOB, keep="first", maintain_order=True)
    )


def _store(row: dict[str, Any]) -> Verdict:
    log_ratio = log(row["seconds"] / row["usual"])
    what = (
        f"{row['slow']} checkpoints in a row take {row['seconds']:.3g} s, the job's first ones "
        f"{row['usual']:.3g} s, at the median of {row['writers']} writers"
    )
    return Verdict(
        kind="group_slow",
        level="job",
        subject=Subject(run=row["run"], attempt=row["attempt"]),
        onset=row["end_time"],
        detected=row["detected"],
        onset_step=row["step"],
        slowdown=row["seconds"] / row["usual"],
        cause=STORE,
        confidence="medium" if log_ratio < log(2.0) else "high",
        peers="the run's own earlier checkpoints",
        peer_count=0,
        evidence=(Evidence(source=row["source"] or "steps", time=row["end_time"], what=what),),
        action=_LOOK,
        needed=_STORE_NEEDED,
    )
