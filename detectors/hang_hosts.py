"""Ask the kernels why a rank does not come: a task, a processor or a storage that stands still.

Source: methods of the NCCL and PyTorch reference, sections 12.1 and 12.2: a process that its kernel
holds is stalled on the host and runs no kernel on its GPU; it supports who is behind by the
collectives, and where these tell nobody it is the lead.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

import polars as pl

from collectors.frames import EVENTS, require
from detectors.placing import ROLES
from detectors.quotes import quoted
from detectors.verdicts import Subject, Verdict

_CAUSES: Final[Mapping[str, str]] = {
    "storage_stall": "storage",
    "task_blocked": "task_blocked",
    "cpu_stuck": "cpu_stuck",
}
"""What a kernel says of its host, and what that is as a cause."""

MAX_BEFORE: Final = timedelta(minutes=15)
"""A kernel complains of a task after some minutes; what it said long before a hang is over."""

MAX_QUOTED: Final = 2


def told_by_kernels(
    verdicts: Sequence[Verdict], events: pl.LazyFrame, roles: pl.LazyFrame
) -> list[Verdict]:
    """Return the findings, hangs with what the kernel of one host says at the time.

    Args:
        verdicts: Of all detectors over the same inputs.
        events: `EVENTS`; `storage_stall`, `task_blocked` and `cpu_stuck` of hosts.
        roles: `ROLES`: hosts without a rank of the run have no part in its hang.

    Returns:
        The findings in order. A hang on a rank of the only host whose kernel complains, or of no
        known host, has its cause; one that names nobody is on that host. Where kernels of several
        hosts complain nothing changes.

    Raises:
        SchemaError: A frame lacks a column.
    """
    told = events.pipe(require, EVENTS).filter(pl.col("kind").is_in(list(_CAUSES)))
    rows = told.drop_nulls("host").sort("host", "time", "source", "position").collect().to_dicts()
    if not rows:
        return list(verdicts)
    places = roles.pipe(require, ROLES).select("run", "host").drop_nulls("host").unique().collect()
    return [
        _explained(one, _there(rows, one, places)) if one.kind == "hang" else one
        for one in verdicts
    ]


def _there(
    rows: Sequence[dict[str, Any]], hang: Verdict, places: pl.DataFrame
) -> list[dict[str, Any]]:
    """Return what kernels of the run's hosts said at the time of a hang."""
    run = pl.lit(hang.subject.run, dtype=pl.String)
    hosts = set(places.filter(pl.col("run").eq_missing(run))["host"])
    start, end = hang.onset or hang.detected, hang.detected
    return [
        row
        for row in rows
        if (not hosts or row["host"] in hosts)
        and row["run"] in {None, hang.subject.run}
        and (row["time"] is None or start is None or start - MAX_BEFORE <= row["time"])
        and (row["time"] is None or end is None or row["time"] <= end)
    ]


def _explained(hang: Verdict, rows: Sequence[dict[str, Any]]) -> Verdict:
    """Return a hang with the cause that the kernel of one host tells; as it is if several do."""
    if len({row["host"] for row in rows}) != 1 or hang.cause is not None:
        return hang
    first, host = rows[0], hang.subject.host
    seen = (*hang.evidence, *(quoted(row) for row in rows[:MAX_QUOTED]))
    cause = _CAUSES[first["kind"]]
    if hang.level != "job":
        return replace(hang, cause=cause, evidence=seen) if host in {None, first["host"]} else hang
    return replace(
        hang,
        level="host",
        subject=Subject(run=hang.subject.run, host=first["host"]),
        cause=cause,
        confidence="medium",
        evidence=(*seen[len(hang.evidence) :], *hang.evidence),
        alternatives=("any other host: by the collectives all are alike", *hang.alternatives),
        needed=f"stack traces of the processes on {first['host']}",
        action="look at what this host's processes wait for before any rank is blamed",
    )
