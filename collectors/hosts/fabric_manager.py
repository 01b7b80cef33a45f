"""Read the log of NVIDIA's fabric manager, and its lines inside other logs.

Source: NVIDIA Fabric Manager user guide; formats of GPU and host streams, section 5.6. A record is
`[stamp] [LEVEL] [tid N] text`; it may go on for lines without a stamp.
"""

from pathlib import Path
from typing import Final

import polars as pl

from collectors.frames import TIME
from collectors.hosts.kernel_folds import finish_records, join_records
from collectors.hosts.kernel_records import event_frame, labels, matched, plain_digits, records
from collectors.identity import pci_address
from collectors.readings import Reading
from collectors.sniffing import Head, ReadOptions
from collectors.taken import taken_on
from collectors.texts.plain_lines import account, plain_lines
from collectors.texts.yearless_stamps import local_time

_START: Final = (
    r"^\s*\[(?P<stamp>[A-Z][a-z]{2} {1,2}\d{1,2} \d{4} \d\d:\d\d:\d\d)\] "
    r"\[(?P<level>[A-Z]+)\] \[tid (?P<tid>\d+)\] ?(?P<text>.*)$"
)

MANAGER_HINTS: Final = ("] [tid ", "NVSwitch fatal error", "NVSwitch non-fatal error")
"""Words one of which a line of interest has where it is not alone in its log."""

_SWITCH_ERROR: Final = r"NVSwitch (?P<word>fatal|non-fatal) error (?P<code>\d{1,6})"

_MISMATCH: Final = r"(?i)(?:nv)?switch.*(?:mismatch|n[o']t match)"

_HARMLESS: Final = "NV_WARN_NOTHING_TO_DO"

_LEVELS: Final = {"ERROR": "error", "CRITICAL": "critical", "WARNING": "warning", "WARN": "warning"}

MAX_MESSAGE_CHARACTERS: Final = 8_192
"""A record that runs on for longer is cut: no message of the fabric manager is as long."""

MIN_SHARE: Final = 0.3
"""Share of a head's lines that begin records; those that go on have no stamp."""


def wants_fabric_manager(head: Head) -> float:
    """Return how sure it is that a head is the log of a fabric manager."""
    lines = head.lines[:200]
    if head.is_binary or not lines:
        return 0.0
    starts = pl.Series(lines, dtype=pl.String).str.contains(_START)
    share = starts.sum() / len(lines)
    return 0.9 if starts[0] or share >= MIN_SHARE else 0.0


def read_fabric_manager(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return the records of a fabric manager's log.

    Args:
        path: The file.
        source: The name to quote.
        options: Zone of its stamps, which are local; host, which it does not name.

    Returns:
        `EVENTS` of kind `fabric_manager`; lines above the first record are rejects.

    Raises:
        OSError: The file cannot be read.
    """
    lines = plain_lines(path.read_bytes())
    own = lines.with_columns(record=pl.col("text").str.contains(_START).cum_sum()).filter(
        pl.col("record") > 0
    )
    whole = own.group_by("record", maintain_order=True).agg(
        pl.col("position").first(),
        pl.col("text").str.strip_chars().str.join(" ").str.head(MAX_MESSAGE_CHARACTERS),
    )
    host = pl.lit(taken_on(source, options), dtype=pl.String)
    placed = whole.with_columns(
        line="record",
        message="text",
        time=pl.lit(None, TIME),
        host=host,
        uptime=pl.lit(None, pl.Int64),
    )
    rows = finish_records(join_records(find_manager_lines(placed, options)))
    return account(lines, own["position"], source, events=event_frame(rows, source))


def find_manager_lines(lines: pl.DataFrame, options: ReadOptions) -> pl.DataFrame:
    """Return the records of a fabric manager's lines.

    Args:
        lines: `KERNEL_LINES`; a record's own stamp beats their time.
        options: Zone of its stamps.

    Returns:
        `RECORDS` of kind `fabric_manager`. `code` is the SXid, or `topology_mismatch` where the
        switches found are not those of the system; a warning that there was nothing to do is none.
    """
    stamped = matched(lines, _START)
    said = lines.filter(pl.col("message").str.contains(_SWITCH_ERROR)).join(
        stamped, on="line", how="anti"
    )
    told = said.with_columns(
        *(pl.lit(None, dtype=pl.String).alias(name) for name in ("stamp", "level", "tid")),
        text=pl.col("message"),
    )
    both = pl.concat([stamped.select(told.columns), told])
    return records(_timed(both, options), _columns())


def _timed(lines: pl.DataFrame, options: ReadOptions) -> pl.DataFrame:
    stamp = pl.col("stamp").str.to_datetime("%b %e %Y %H:%M:%S", time_unit="us", strict=False)
    own = local_time(stamp, options.time_zone)
    return lines.sort("position").with_columns(
        time=pl.coalesce(own, "time"), message=pl.col("text").str.strip_chars()
    )


def _columns() -> dict[str, pl.Expr]:
    message = pl.col("message")
    word = message.str.extract_groups(_SWITCH_ERROR).struct
    is_mismatch = message.str.contains(_MISMATCH)
    pci = pci_address(message.str.extract(r"(?i)pci bus id:? ?([0-9a-f:.]+)"))
    by_word = {"fatal": "critical", "non-fatal": "warning"}
    level = pl.col("level").replace_strict(_LEVELS, default="info", return_dtype=pl.String)
    return {
        "kind": pl.lit("fabric_manager"),
        "code": pl.coalesce(
            word.field("code"), pl.when(is_mismatch).then(pl.lit("topology_mismatch"))
        ),
        "severity": pl.when(message.str.contains(_HARMLESS, literal=True))
        .then(pl.lit("info"))
        .otherwise(
            pl.coalesce(
                word.field("word").replace_strict(by_word, default=None, return_dtype=pl.String),
                pl.when(is_mismatch & (level == "error")).then(pl.lit("critical")),
                level,
            )
        ),
        "device_kind": pl.when(message.str.contains(r"(?i)nvswitch"))
        .then(pl.lit("nvswitch"))
        .otherwise(pl.lit("node")),
        "device": pci,
        "attributes": labels(
            {
                "level": pl.col("level"),
                "tid": pl.col("tid"),
                "fid": message.str.extract(r"\bfid (\d+)"),
                "physical_id": message.str.extract(r"\bphysical id (\d+)"),
                "port": message.str.extract(r"\bport (\d+)"),
            }
        ),
        "fold": plain_digits(message),
    }
