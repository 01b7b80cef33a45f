"""Find the replica whose checksums differ from those that its peers tell of the same step.

Source: field reference (cross-replica checksums); a checksum has no size, so the majority is right
and the first step at which it was not shared is where the fault lies before.
"""

from typing import Any, Final

import polars as pl

from collectors.frames import EVENTS, require
from collectors.texts.event_labels import label_value
from detectors.placing import ROLES
from detectors.quiet.restoring import proven_saves, restore_words
from detectors.quotes import quoted
from detectors.verdicts import Subject, Verdict, verdict_frame

MIN_RANKS: Final = 3
"""Of two ranks nobody knows which is right."""

MIN_SHARE: Final = 0.6
"""Of the ranks that must tell the same checksum; the others are the odd ones."""

_GROUP: Final = ("run", "name", "pp", "tp", "step")
"""Shards of different stages and tensor ranks are different numbers."""

_NEEDED: Final = "the same batch replayed on another host: another result convicts the device"


def find_checksum_differences(events: pl.LazyFrame, roles: pl.LazyFrame) -> pl.DataFrame:
    """Return the ranks whose checksums are not those of the majority.

    Args:
        events: `EVENTS`; of kind checksum the code is the value, attributes are `step` and `name`.
        roles: `ROLES`, for hosts and shards.

    Returns:
        `VERDICTS` of kind numerical and cause checksum_differs: at level rank, or at level job
        where just two ranks tell theirs, agreed before and differ. Where no value has a majority
        the checksums are of different things, and nobody is named. Partition key: run.

    Raises:
        SchemaError: A frame lacks a column.
    """
    told = _told(events.pipe(require, EVENTS), roles.pipe(require, ROLES))
    saves = proven_saves(events)
    share = pl.len().over(*_GROUP, "code") / pl.len().over(_GROUP)
    rows = told.with_columns(share=share, ranks=pl.len().over(_GROUP).cast(pl.Int64)).with_columns(
        best=pl.col("share").max().over(_GROUP)
    )
    odd = rows.filter(
        pl.col("ranks") >= MIN_RANKS, pl.col("best") >= MIN_SHARE, pl.col("share") < MIN_SHARE
    )
    keys = ["run", "rank"]
    firsts = (
        odd.sort("run", "rank", "step", "name", nulls_last=True)
        .with_columns(steps=pl.col("step").n_unique().over(keys))
        .unique(keys, keep="first", maintain_order=True)
        .collect()
    )
    named = [_verdict(row, saves) for row in firsts.iter_rows(named=True)]
    return verdict_frame([*named, *_pairs(rows, saves)])


def _told(events: pl.LazyFrame, roles: pl.LazyFrame) -> pl.LazyFrame:
    """Return one row a checksum of a rank and step, with its place."""
    keys = ["run", "rank"]
    placed = (
        roles.sort(*keys, "attempt", nulls_last=True)
        .select(*keys, "host", "pp", "tp")
        .unique(keys, keep="last", maintain_order=True)
    )
    return (
        events.filter(pl.col("kind") == "checksum")
        .with_columns(name=label_value("name"), step=label_value("step").cast(pl.Int64))
        .drop_nulls(["rank", "step", "code"])
        .sort("time", "source", "position", nulls_last=True)
        .unique([*keys, "name", "step"], keep="last", maintain_order=True)
        .join(placed, on=keys, how="left", suffix="_role", nulls_equal=True)
        .with_columns(host=pl.coalesce("host", "host_role"))
    )


def _pairs(rows: pl.LazyFrame, saves: pl.DataFrame) -> list[Verdict]:
    """Return the verdicts on pairs that agreed before, and differ: one of them is wrong."""
    is_same = pl.col("share") == 1.0
    pair = (
        rows.filter(pl.col("ranks") == MIN_RANKS - 1)
        .sort("run", "step", "rank")
        .with_columns(agreed=pl.col("step").filter(is_same).min().over("run"))
        .filter(~is_same, pl.col("step") > pl.col("agreed"))
        .with_columns(both=pl.col("rank").unique().sort().over("run", mapping_strategy="join"))
        .unique("run", keep="first", maintain_order=True)
        .collect()
    )
    return [_pair(row, saves) for row in pair.iter_rows(named=True)]


def _verdict(row: dict[str, Any], saves: pl.DataFrame) -> Verdict:
    of = f" of {row['name']}" if row["name"] else ""
    share = f"{row['best']:.0%} of {row['ranks']} ranks tell another one"
    what = f"rank {row['rank']}: checksum{of} {row['code']} at step {row['step']}, {share}"
    way = restore_words(saves, row["run"], row["step"])
    return Verdict(
        kind="numerical",
        level="rank",
        subject=Subject(run=row["run"], host=row["host"], rank=row["rank"]),
        onset=row["time"],
        detected=row["time"],
        onset_step=row["step"],
        cause="checksum_differs",
        confidence="high",
        peers="ranks that hold the same shard, at the same step",
        peer_count=row["ranks"] - 1,
        evidence=(quoted(row, f"{what}; {row['steps']} such steps"), quoted(row)),
        action=f"take its host out of training and test its GPUs, then {way}",
        needed=_NEEDED,
    )


def _pair(row: dict[str, Any], saves: pl.DataFrame) -> Verdict:
    names = " and ".join(str(rank) for rank in row["both"])
    what = f"ranks {names} tell different checksums at step {row['step']}"
    way = restore_words(saves, row["run"], row["step"])
    return Verdict(
        kind="numerical",
        level="job",
        subject=Subject(run=row["run"]),
        onset=row["time"],
        detected=row["time"],
        onset_step=row["step"],
        cause="checksum_differs",
        confidence="medium",
        peers="2, pair",
        peer_count=1,
        evidence=(quoted(row, what),),
        alternatives=tuple(f"rank {rank}" for rank in row["both"]),
        action=f"test the GPUs of both, then {way}",
        needed="a third replica's checksum: the majority is right",
    )
