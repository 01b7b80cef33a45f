"""Who complains of waiting, where nobody counts collectives: what errors alone tell of a hang.

Source: methods of the NCCL and PyTorch reference, sections 8.4 and 12.2; gloo and Python report a
time-out or a lost peer and no sequence number. A monitored barrier names who did not come.
"""

from typing import Final

import polars as pl

from collectors.frames import EVENTS, require
from detectors.standings import MEMBERS

EVERYBODY: Final = "all ranks"
"""The group of a complaint that names none."""

_TIMEOUT: Final = "timeout"

_BARRIER: Final = "barrier"

LOST: Final = ("peer_closed", "connect", "backend", "remote", "aborted")
"""What a rank says when another gave up before it did, or when it comes late."""


def complaining_members(events: pl.LazyFrame, counted: pl.LazyFrame) -> pl.LazyFrame:
    """Return `MEMBERS` of one group that holds every rank, from communication errors.

    Args:
        events: `EVENTS`; a complaint's rank waited, the `peer` of a barrier did not come.
        counted: Column `run`: runs whose collectives are counted. There time-outs say nothing new.

    Returns:
        Rows only for runs in which somebody timed out or a barrier failed. Who complains waits in
        collective 0, whom a barrier names is behind it.
    """
    errors = events.pipe(require, EVENTS).filter(pl.col("kind") == "comm_error")
    barred = _named_by_barriers(errors)
    known = counted.select("run").unique().with_columns(is_counted=pl.lit(value=True))
    waited = (
        errors.drop_nulls("rank")
        .join(known, on="run", how="left", nulls_equal=True)
        .filter(pl.col("is_counted").is_null(), _waited())
        .join(barred, on=["run", "rank"], how="anti", nulls_equal=True)
    )
    rows = [_members(waited, enqueued=0, blocked=0), _members(barred, enqueued=-1, blocked=None)]
    return pl.concat([*rows, _members(_at_barriers(errors, barred), enqueued=0, blocked=0)]).unique(
        ["run", "rank"], keep="first", maintain_order=True
    )


def _waited() -> pl.Expr:
    """Return whether an error is that of a rank that was there.

    Where most that complain timed out, one that only lost its peers did not wait as long as they:
    it came when they had gone. Where few did, their end is what the others saw.
    """
    timed_out = pl.col("code") == _TIMEOUT
    late = pl.col("rank").filter(timed_out).n_unique().over("run")
    everyone = pl.col("rank").n_unique().over("run")
    left = pl.col("code").is_in(LOST) & (late > 0) & (2 * late <= everyone)
    return timed_out | left


def _named_by_barriers(errors: pl.LazyFrame) -> pl.LazyFrame:
    return (
        errors.filter(pl.col("code") == _BARRIER)
        .with_columns(rank=pl.col("peer").str.extract_all(r"\d+"))
        .explode("rank", empty_as_null=False)
        .with_columns(pl.col("rank").cast(pl.Int32, strict=False))
        .drop_nulls("rank")
    )


def _at_barriers(errors: pl.LazyFrame, barred: pl.LazyFrame) -> pl.LazyFrame:
    """Return who came to a barrier that failed."""
    came = errors.filter(pl.col("code") == _BARRIER).drop_nulls("rank")
    return came.join(barred, on=["run", "rank"], how="anti", nulls_equal=True)


def _members(rows: pl.LazyFrame, *, enqueued: int, blocked: int | None) -> pl.LazyFrame:
    """Return one row a rank, with its first complaint."""
    number = pl.lit(blocked, dtype=pl.Int64)
    return (
        rows.sort("time", "source", "position", nulls_last=True)
        .group_by("run", "rank", maintain_order=True)
        .agg(pl.col("time", "source", "position").first())
        .with_columns(
            scope=pl.lit(None, dtype=pl.String),
            group=pl.lit(EVERYBODY),
            group_name=pl.lit(None, dtype=pl.String),
            enqueued=pl.lit(enqueued, dtype=pl.Int64),
            completed=pl.lit(-1, dtype=pl.Int64),
            blocked=number,
            operation=pl.lit(None, dtype=pl.String),
            pairs=pl.lit(value=False),
            entered="time",
        )
        .select(MEMBERS.names())
    )
