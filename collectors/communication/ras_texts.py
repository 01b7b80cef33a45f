"""Read what NCCL's RAS client prints: job summary, communicators, errors, warnings, events.

Source: formats of NCCL logs, section 5 (NVIDIA/nccl `src/ras`, 2.24 to 2.30; text and monitor
mode). Counts are of operations that hosts have launched, not of those that are done: equal counts
acquit nobody. Numbers can be uninitialised memory, and are marked as such.
"""

from typing import Final

import polars as pl

from collectors.communication.ras_blocks import BLOCK_LINES, read_blocks
from collectors.communication.ras_tables import ROW, TRAVEL, read_groups, read_travel_times
from collectors.identity import canonical_host
from collectors.line_reading import LineReading
from collectors.readings import reading_of
from collectors.sniffing import ReadOptions
from collectors.texts.event_labels import event_labels
from collectors.texts.stamps import iso_time

RAS_HINT: Final = (
    r"(?:NOCOMM|UNKNOWN|INIT|RUNNING|FINALIZE|ABORT|MISMATCH) +(?:OK|INCOMPLETE|ERROR|MISMATCH)\b"
    r"|managed by process \d|process information not found|managing GPU|observed travel time"
    r"|negative travel times|\) (?:INCOMPLETE|ERROR|MISMATCH)$|launched up to operation"
    r"|RAS network|^Job summary|communicator data|outlier node|\] PEER_[A-Z]+"
)

_MONITOR: Final = (
    r"^\[(?P<stamp>\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[.,\d]*)\] "
    r"(?P<code>(?:PEER|RAS|CONN|COMM|COLL|KEEPALIVE|NET|LINK|TRACE)_[A-Z_]+): (?P<rest>.*)$"
)

_PEER: Final = r"Process (\d+) on node (\S+?)(?: managing GPUs? ([\d,]+))?(?:[ ,;(]|$)"

_SUMMARY: Final = (
    r"^\s*CUDA runtime version \d+, driver version \d+",
    r"^\s*Job summary\s*$",
    r"^\s*Communicators\.\.\.",
    r"^\s*No communicator data collected",
    r"^\s*(?:Nodes +)?Processes +GPUs",
    r"^\s*Nodes +Processes\s*$",
    r"^\s*\(total\) +(?:per node|\(total\))",
    r"^\s*per node(?: +per process)?\s*$",
    r"^\s*per process\s*$",
    r"^\s*Group +Comms +Nodes +Ranks",
    r"^\s*# +in group +per comm",
    r"^\s*The outlier nodes?:",
    r"^\s*Node \S+ running process(?:es)? [\d,]+",
    r"^\s*Gathering data about the (?:RAS network|NCCL communicators)",
    r"^\s*obtained a result in ",
    r"^\s*Warning: (?:encountered|missing data|negative travel times)",
    r"^\s*The missing process(?:es)?:",
    r"^\s*Collected data about \d+ unidirectional",
    r"^\s*No connection data collected",
    r"^\s*Travel times \(valid only",
    r"^\s*Minimum [-\d.]+s, maximum ",
    r"^\s*indicating that the system clocks are",
    r"^\s*Ordering of events based on local",
    r"^\s*The affected connections?:",
    r"^\s*\[could not find information on \d+ process",
)
"""Lines that are only parts of a report."""

_WEAK: Final = r"^\s*(?:=+|Errors|Warnings|\d+(?: +\d+){1,4})\s*$"
"""Parts of a report that any text may hold: taken only near lines that are surely of one."""

_MAX_APART: Final = 6
"""Logical lines between a weak part and the next sure one."""


def read_ras(lines: pl.DataFrame, options: ReadOptions) -> LineReading:
    """Return what reports and events of NCCL's RAS in a log tell.

    Args:
        lines: `LINES`.
        options: The zone of the monitor's stamps.

    Returns:
        `COLLECTIVES` in state `launched` (`enqueued` is the last operation that a rank's host has
        launched, -1 for none), or `missing` for ranks that the report knows nothing of; `group` is
        the communicator's hash. `rank` is known only where the communicator holds the whole job.
        `EVENTS` of kinds `ras_group`, `rank_missing`, `process_missing`, `process_dead`,
        `ras_timeout`, `ras_error`, `ras_standing`, `clock_skew`, `ras_event`; hosts are the
        addresses that the report prints.
    """
    is_sure = pl.col("text").str.contains("|".join(f"(?:{part})" for part in _SURE))
    is_weak = pl.col("text").str.contains(_WEAK)
    marked = lines.filter(is_sure | is_weak).with_columns(is_sure=is_sure)
    report = marked.filter(pl.col("is_sure") | _is_near())
    if not report["is_sure"].any():
        return LineReading()
    groups = read_groups(report)
    collectives, details = read_blocks(report, groups)
    events = pl.concat(
        [groups, details, read_travel_times(report), _read_monitor(report, options.time_zone)],
        how="diagonal",
    ).sort("position", maintain_order=True)
    return LineReading(
        reading=reading_of(events=events, collectives=collectives),
        claimed=report["line"],
    )


_SURE: Final = (ROW, TRAVEL, _MONITOR, *BLOCK_LINES, *_SUMMARY)


def _is_near() -> pl.Expr:
    """Return whether a line that is sure to be of a report stands close by."""
    at = pl.when("is_sure").then("line")
    before = pl.col("line") - at.forward_fill() <= _MAX_APART
    after = at.backward_fill() - pl.col("line") <= _MAX_APART
    return (before | after).fill_null(value=False)


def _read_monitor(report: pl.DataFrame, time_zone: str) -> pl.DataFrame:
    """Return `EVENTS` of the monitor's lines: who came, went, or is taken for dead."""
    text = pl.col("text")
    rest = text.str.extract_groups(_MONITOR).struct.field("rest")
    code = text.str.extract_groups(_MONITOR).struct.field("code")
    is_dead = code == "PEER_DEAD"
    return report.filter(text.str.contains(_MONITOR)).select(
        "position",
        time=pl.coalesce(iso_time(text, time_zone), "time"),
        host=canonical_host(rest.str.extract(_PEER, 2)),
        kind=pl.when(is_dead).then(pl.lit("process_dead")).otherwise(pl.lit("ras_event")),
        code=code,
        severity=pl.when(is_dead).then(pl.lit("error")).otherwise(pl.lit("info")),
        count=pl.lit(1, pl.Int32),
        message=text,
        attributes=event_labels(
            {"pid": rest.str.extract(_PEER, 1), "gpus": rest.str.extract(_PEER, 3)}
        ),
    )
