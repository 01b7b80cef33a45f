"""Judge ranks that RAS finds in another state than most, or with an error of their own.

Source: methods of the NCCL reference, sections 5.1 and 12.1: a rank that has aborted, finalised or
left a communicator in which most still run does not come to its collectives; a CUDA error is local,
errors of a remote process follow somebody else's.
"""

from collections.abc import Sequence
from typing import Any, Final

import polars as pl

from collectors.texts.event_labels import label_value
from detectors.quotes import quoted
from detectors.verdicts import Kind, Subject, Verdict

RUNNING: Final = "RUNNING"

_LEFT: Final = ("ABORT", "FINALIZE", "NOCOMM", "INIT")

_ABSENT: Final = "INIT"
"""A rank in this state has not left: it has not come."""

_LOCAL: Final = r"(?i)cuda"

_GROUP: Final = ("run", "source", "group")


def departed_verdicts(events: pl.DataFrame, max_share: float) -> list[Verdict]:
    """Return one verdict a rank that has left, or has an error of its own.

    Args:
        events: `EVENTS` with the hosts of known addresses.
        max_share: Above this share of a communicator nobody is named.
    """
    rows = events.with_columns(
        group=label_value("group"),
        group_rank=label_value("group_rank").cast(pl.Int64, strict=False),
        size=label_value("size").cast(pl.Int64, strict=False),
    )
    standing = rows.filter(pl.col("kind") == "ras_standing")
    runs = standing.filter(pl.col("code") == RUNNING).select(_GROUP).unique()
    left = (
        standing.filter(pl.col("code").is_in(_LEFT), pl.col("group_rank").is_not_null())
        .join(runs, on=_GROUP, how="semi", nulls_equal=True)
        .unique([*_GROUP, "group_rank"], keep="first", maintain_order=True)
        .filter(pl.len().over(_GROUP) <= pl.max_horizontal(1, max_share * pl.col("size")))
    )
    failed = rows.filter(pl.col("kind") == "ras_error", pl.col("code").str.contains(_LOCAL))
    order = ["run", "source", "position"]
    return [
        *_verdicts(left.sort(order, nulls_last=True).to_dicts(), kind="hang", cause="left"),
        *_verdicts(failed.sort(order, nulls_last=True).to_dicts(), kind="crash", cause="cuda"),
    ]


def _verdicts(rows: Sequence[dict[str, Any]], *, kind: Kind, cause: str) -> list[Verdict]:
    """Return one verdict a row."""
    return [
        Verdict(
            kind=kind,
            level="rank",
            subject=Subject(
                run=row["run"],
                host=row["host"],
                rank=row["rank"],
                gpu=_gpu(row),
                group=row["group"],
            ),
            onset=row["time"],
            detected=row["time"],
            cause="init" if row["code"] == _ABSENT else cause,
            confidence="medium",
            evidence=(quoted(row),),
            action="read this rank's log; the others wait for it",
            needed="the log of this rank",
        )
        for row in rows
    ]


def _gpu(row: dict[str, Any]) -> int | None:
    """Return the number of a row's GPU; null where it tells none."""
    name = row["device"] if row["device_kind"] == "gpu" else None
    return int(name) if name and name.isdecimal() else None
