"""Tell that the store of a job is gone while nothing tells why.

Source: formats of NCCL and PyTorch-distributed logs, sections 8.4, 12.1 and 12.6: ranks that cannot
reach the store any more follow the end of the one that keeps it, normally rank 0. Once that has
ended well it is noise; where nothing was heard of its end, that is what to look at.
"""

from typing import Any, Final

import polars as pl

from detectors.faults import is_hard_fault
from detectors.hang_words import COLLECT, MAX_QUOTED, earliest, ranks_title
from detectors.quotes import quoted
from detectors.verdicts import Subject, Verdict

KEEPER: Final = 0
"""The rank that keeps the store."""

_ENDS: Final = ("run_end", "process_exit", "signal", "job_cancelled", "comm_end")

_NEEDED: Final = "the log of rank 0, which keeps the store, and the exit code of its process"


def lost_stores(events: pl.LazyFrame, steps: pl.LazyFrame) -> list[Verdict]:
    """Return one verdict a run whose ranks lost the store, and of whose end nothing is known.

    Args:
        events: `EVENTS` with their runs; `store_lost` tells who lost it. Hard faults and ends, and
            a word of rank 0 that it lost the store as well, say more.
        steps: `STEPS`; after the last step of a run that trained the store goes with the job.
    """
    explains = is_hard_fault() | pl.col("kind").is_in(_ENDS)
    lost = pl.col("kind") == "store_lost"
    told = events.filter(explains | (lost & (pl.col("rank") == KEEPER)))
    known = pl.concat([told.select("run"), steps.select("run")]).unique()
    rows = (
        events.filter(lost)
        .drop_nulls("rank")
        .join(known, on="run", how="anti", nulls_equal=True)
        .sort("run", "time", "rank", "position", nulls_last=True)
        .collect()
    )
    return [_verdict(part) for part in rows.partition_by("run", maintain_order=True)]


def _verdict(rows: pl.DataFrame) -> Verdict:
    shown: list[dict[str, Any]] = rows.head(MAX_QUOTED).to_dicts()
    return Verdict(
        kind="unknown",
        level="job",
        subject=Subject(run=shown[0]["run"]),
        onset=earliest(rows["time"]),
        detected=earliest(rows["time"]),
        cause="store_lost",
        confidence="low",
        evidence=tuple(quoted(row) for row in shown),
        victims=(ranks_title(rows["rank"].to_list()),),
        alternatives=("rank 0: nothing was heard of its end", "a job that ended well"),
        action=COLLECT,
        needed=_NEEDED,
    )
