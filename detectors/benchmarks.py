"""Find tests of communication that failed by their own word: they died, stood, or were too slow.

Source: methods of the NCCL reference, section 7. Who prints a failure has seen it and need not be
at fault; a table without an end may be of a test that still runs, and is no finding.
"""

from typing import Any, Final

import polars as pl

from collectors.frames import EVENTS, require
from collectors.texts.event_labels import label_value
from detectors.corruption import HOSTS_BETWEEN
from detectors.quotes import quoted
from detectors.verdicts import Kind, Subject, Verdict, verdict_frame

MAX_QUOTED: Final = 4

FAILED: Final = "benchmark_failed"
"""Cause of a test that says no more than that it failed."""

_TIMEOUT: Final = "timeout"

_NEEDED: Final = "NCCL's own warnings of every host, and kernel logs"


def find_failed_benchmarks(events: pl.LazyFrame) -> pl.DataFrame:
    """Return the tests that failed.

    Args:
        events: `EVENTS`; `benchmark_failure` and `benchmark_end`.

    Returns:
        `VERDICTS` at level job, one a source: of kind crash, or hang where a time ran out, that
        names nobody and lists who complained; of kind slow where the average is below the limit
        that the test was given. Partition key: source.

    Raises:
        SchemaError: A frame lacks a column.
    """
    order = ["source", "position"]
    rows = events.pipe(require, EVENTS).sort(order, nulls_last=True)
    failures = rows.filter(pl.col("kind") == "benchmark_failure").collect()
    slow = rows.filter(pl.col("kind") == "benchmark_end", pl.col("code") == "below_threshold")
    told = slow.with_columns(group=label_value("group")).collect()
    parts = failures.partition_by("source", maintain_order=True)
    found = [_failure(part.to_dicts()) for part in parts]
    return verdict_frame([*found, *(_slow(row) for row in told.to_dicts())])


def _failure(rows: list[dict[str, Any]]) -> Verdict:
    """Return the verdict on a test that says that it failed."""
    first = rows[0]
    kind: Kind = "hang" if any(row["code"] == _TIMEOUT for row in rows) else "crash"
    hosts = sorted({row["host"] for row in rows if row["host"]})
    return Verdict(
        kind=kind,
        level="job",
        subject=Subject(run=first["run"]),
        onset=first["time"],
        detected=first["time"],
        cause=FAILED,
        confidence="low",
        evidence=tuple(quoted(row) for row in rows[:MAX_QUOTED]),
        alternatives=tuple(hosts),
        action="blame no host yet; collect first",
        needed=_NEEDED,
    )


def _slow(row: dict[str, Any]) -> Verdict:
    """Return the verdict on a test whose average is below its limit."""
    hosts = str(row["group"]).split(HOSTS_BETWEEN) if row["group"] else []
    return Verdict(
        kind="slow",
        level="host" if len(hosts) == 1 else "job",
        subject=Subject(run=row["run"], host=hosts[0] if len(hosts) == 1 else None),
        onset=row["time"],
        detected=row["time"],
        cause="below_threshold",
        confidence="medium",
        evidence=(quoted(row),),
        alternatives=tuple(hosts) if len(hosts) > 1 else (),
        action="repeat the test with half of the hosts until the slow one is left",
        needed="the same test on pairs of these hosts",
    )
