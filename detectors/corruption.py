"""Find data that came out wrong: the gravest thing that a test of communication can say.

Source: methods of the NCCL reference, section 7: elements that are not what they should be are a
fault of a GPU, of NVLink, of a NIC, or of the program; which of them takes a bisection to tell.
"""

from typing import Any, Final

import polars as pl

from collectors.frames import EVENTS, TRANSFERS, require
from collectors.texts.event_labels import label_value
from detectors.quotes import quoted
from detectors.verdicts import Level, Subject, Verdict, verdict_frame

MAX_QUOTED: Final = 4

HOSTS_BETWEEN: Final = "+"
"""What stands between the hosts of a benchmark in its group."""

_ACTION: Final = (
    "take these hosts out of training, and repeat the test with half of the GPUs until one is left"
)

_NEEDED: Final = "the same test on every host alone, then on every pair of GPUs"


def find_corruption(transfers: pl.LazyFrame, events: pl.LazyFrame) -> pl.DataFrame:
    """Return the runs of tests whose data came out wrong.

    Args:
        transfers: `TRANSFERS`; a null `wrong_count` was not checked and is no finding.
        events: `EVENTS`; `data_corruption` is a test's own sum of it.

    Returns:
        `VERDICTS` of kind numerical and cause data_corruption, one a source and set of hosts; on
        the host where the test ran on one alone, else on the job. No GPU is named. Partition key:
        source.

    Raises:
        SchemaError: A frame lacks a column.
    """
    rows = (
        transfers.pipe(require, TRANSFERS)
        .filter(pl.col("wrong_count") > 0)
        .select(*_SHARED, what=_words())
    )
    sums = (
        events.pipe(require, EVENTS)
        .filter(pl.col("kind") == "data_corruption")
        .with_columns(group=label_value("group"), what=pl.col("message"))
        .select(*_SHARED, "what")
    )
    found = pl.concat([sums, rows]).sort("source", "group", "position", nulls_last=True).collect()
    parts = found.partition_by("source", "group", maintain_order=True)
    return verdict_frame(_verdict(part.to_dicts()) for part in parts)


_SHARED: Final = ("run", "host", "group", "time", "source", "position")


def _words() -> pl.Expr:
    told = [
        pl.col("wrong_count").cast(pl.String),
        pl.lit("wrong elements in"),
        pl.col("operation").fill_null("an operation"),
        pl.lit("of"),
        pl.col("bytes").cast(pl.String).fill_null("unknown"),
        pl.lit("bytes,"),
        pl.col("variant").fill_null(""),
    ]
    return pl.concat_str(told, separator=" ")


def _verdict(rows: list[dict[str, Any]]) -> Verdict:
    """Return the verdict on one run of a test."""
    first = rows[0]
    hosts = str(first["group"]).split(HOSTS_BETWEEN) if first["group"] else []
    host = next((str(row["host"]) for row in rows if row["host"]), None)
    alone = hosts[0] if len(hosts) == 1 else None if hosts else host
    level: Level = "host" if alone else "job"
    times = [row["time"] for row in rows if row["time"]]
    return Verdict(
        kind="numerical",
        level=level,
        subject=Subject(run=first["run"], host=alone),
        onset=min(times, default=None),
        detected=min(times, default=None),
        cause="data_corruption",
        confidence="high",
        evidence=tuple(quoted(row, row["what"]) for row in rows[:MAX_QUOTED]),
        alternatives=() if alone else tuple(hosts),
        action=_ACTION,
        needed=_NEEDED,
    )
