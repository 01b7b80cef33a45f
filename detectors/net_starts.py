"""Find the rank that came last to the start of a communicator: it alone waited for nobody.

Source: methods of the NCCL and PyTorch reference, section 3.1 (init timings). A communicator that
several of the same size could be is not judged: their lines name none.
"""

from typing import Any, Final

import polars as pl

from collectors.texts.event_labels import label_value
from detectors.quotes import quoted
from detectors.verdicts import Subject, Verdict

MIN_RANKS: Final = 4
"""Ranks below which nobody can say who is usual."""

MIN_WAIT_SECONDS: Final = 10.0
"""A start for which the others waited less is no loss."""

MAX_SHARE: Final = 0.2
"""The last one's wait, of the usual one."""


def find_late_starts(events: pl.DataFrame) -> list[Verdict]:
    """Return the verdicts on ranks for which all others waited at a communicator's start.

    Args:
        events: `EVENTS` of one run; `init_timing` tells how long each rank's bootstrap took.
    """
    names = ("comm_rank", "world", "bootstrap_seconds")
    told = events.filter(pl.col("kind") == "init_timing").with_columns(
        label_value(name).cast(pl.Float64, strict=False).alias(name) for name in names
    )
    waits = told.drop_nulls(names).sort("source", "position", nulls_last=True)
    usual = pl.col("bootstrap_seconds").median().over("world")
    one = (pl.len() == pl.col("comm_rank").n_unique()).over("world")
    late = waits.with_columns(usual=usual, ranks=pl.len().over("world")).filter(
        one,
        pl.col("ranks") >= MIN_RANKS,
        pl.col("usual") >= MIN_WAIT_SECONDS,
        pl.col("bootstrap_seconds") <= MAX_SHARE * pl.col("usual"),
    )
    alone = late.filter(pl.len().over("world") == 1)
    return [_verdict(row) for row in alone.sort("world").to_dicts()]


def _verdict(row: dict[str, Any]) -> Verdict:
    rank, others = int(row["comm_rank"]), row["ranks"] - 1
    what = (
        f"rank {rank} of {row['ranks']} waited {row['bootstrap_seconds']:.3g} s for the others at "
        f"the start, they {row['usual']:.3g} s: it came last"
    )
    return Verdict(
        kind="slow",
        level="host" if row["host"] else "job",
        subject=Subject(host=row["host"]),
        onset=row["time"],
        detected=row["time"],
        cause="late_start",
        confidence="medium",
        peers="ranks of the communicator",
        peer_count=others,
        evidence=(quoted(row, what),),
        alternatives=(f"its rank {rank}",),
        action="look at what this rank does before it starts: imports, data, storage, its node",
    )
