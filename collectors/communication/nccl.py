"""Read what NCCL logs: faults, network completions, the life of communicators, operations.

Source: formats of NCCL logs, sections 2 to 4 (releases 2.3 to 2.30). The number in brackets is the
CUDA device current on the printing thread, never a rank; the process is known by host and pid.

A debug log is nearly all channels and operations: those are told by their first letters, taken
apart by anchored patterns, and whatever repeats itself becomes one event with a count.
"""

from typing import Final

import polars as pl

from collectors.communication.nccl_addresses import naming_addresses, read_addresses
from collectors.communication.nccl_channels import is_topology, read_channels
from collectors.communication.nccl_details import with_details
from collectors.communication.nccl_folds import count_copies, fold_repeats
from collectors.communication.nccl_operations import OPERATION_MARK, read_operations
from collectors.communication.nccl_phrases import FAULTS, LIFE, NETWORK, SOCKETS
from collectors.communication.nccl_records import Records, read_records, stamp_pieces
from collectors.line_reading import LineReading
from collectors.readings import reading_of
from collectors.sniffing import ReadOptions
from collectors.texts.phrases import match_phrases

_TRUSTED: Final = (
    "net_error", "link_down", "link_up", "nic_fault", "nic_note", "net_recovery", "oom",
    "cuda_error", "config_error", "mismatch", "comm_error", "comm_retry", "stray_visitor",
    "warning", "hint",
)  # fmt: skip
"""Kinds that a cut record still is: what makes them so stands before what is missing."""

_CUT_STATUS: Final = r"(?:error |status=)(?:[A-Z_]+\()?\d*$"
"""A status whose last digits may be missing."""

_ON_GPU: Final = ("oom", "cuda_error", "channel")
"""Kinds that happen on the printing thread's current device, or belong to it."""


def read_nccl(lines: pl.DataFrame, options: ReadOptions) -> LineReading:
    """Return the events and operations that NCCL's lines tell.

    Args:
        lines: `LINES`.
        options: The zone of NCCL's own stamps.

    Returns:
        `EVENTS` of the kinds in `collectors.communication.nccl_phrases` and `COLLECTIVES` of
        logged operations, whose `group` is a communicator of a process until
        `collectors.communication.communicators` names it. A line without an envelope or an own
        stamp has no time; a message keeps NCCL's prefix. A record that another cut short says only
        `torn`: what it does not show is not known. What a process repeats, and the copies that
        processes of one host print of a device's event, are one event with a `count`.
    """
    records = read_records(lines, options.time_zone)
    rows, texts = records.rows, records.texts
    if rows.is_empty():
        return LineReading()
    called, shapes = texts.str.contains(OPERATION_MARK, literal=True), is_topology(texts)
    operations, left = read_operations(records.whole(called))
    topology = read_channels(records.whole(shapes))
    is_other = rows["is_torn"] | ~(called | shapes).gather(rows["said"])
    rest = Records(rows=rows.filter(is_other), texts=texts).with_text()
    plain = _named(pl.concat([rest, left]) if left.height else rest)
    events = pl.concat([topology, plain], how="diagonal_relaxed").sort("line")
    return LineReading(
        reading=reading_of(events=_finished(events, lines), collectives=operations),
        claimed=pl.concat([rows["line"], stamp_pieces(lines, rows)]),
    )


def _named(records: pl.DataFrame) -> pl.DataFrame:
    """Return an event for each record; addresses, copies and repeats are put together."""
    texts = records.select("text").unique(maintain_order=True).with_row_index("line")
    found = match_phrases(texts, (*FAULTS, *NETWORK, *SOCKETS, *LIFE)).drop("line", "host", "rank")
    is_warning = pl.col("level").is_in(["WARN", "ABORT"]).fill_null(value=False)
    plain = pl.when(is_warning).then(pl.lit("warning"))
    named = records.join(found, on="text", how="left", maintain_order="left").with_columns(
        kind=pl.col("kind").fill_null(plain.otherwise(pl.lit("note"))),
        severity=pl.col("severity").fill_null(plain.otherwise(pl.lit("info"))),
    )
    events = named.filter(pl.col("kind") != "oob_address").pipe(_mark_torn)
    folded, addressed = fold_repeats(count_copies(events)), naming_addresses(records)
    if addressed.is_empty():
        return folded
    return pl.concat([folded, read_addresses(addressed)], how="diagonal_relaxed")


def _mark_torn(events: pl.DataFrame) -> pl.DataFrame:
    cut = pl.col("text").str.contains(_CUT_STATUS) | ~pl.col("kind").is_in(_TRUSTED)
    overruled = pl.col("is_torn") & cut
    return events.with_columns(
        kind=pl.when(overruled).then(pl.lit("torn")).otherwise("kind"),
        peer=pl.when(~overruled).then("peer"),
    )


def _finished(events: pl.DataFrame, lines: pl.DataFrame) -> pl.DataFrame:
    """Return the events with their whole message, device and attributes."""
    on_gpu = pl.when(pl.col("kind").is_in(_ON_GPU) & (pl.col("cuda_device") >= 0))
    places = lines["line"].search_sorted(events["line"])
    ahead, torn = pl.col("ahead"), pl.when("is_torn").then(pl.lit("true"))
    common = {
        "pid": pl.col("pid"),
        "tasks": pl.col("tasks"),
        "torn": torn,
        "clock_ahead_minutes": pl.when(ahead != 0).then(ahead),
    }
    both = pl.concat_list("attributes", "extra")
    is_visited = (events["kind"] == "stray_visitor").any()
    greeting = _visitor_greeting() if is_visited else pl.lit(None, dtype=pl.String)
    return (
        with_details(events, common)
        .with_columns(attributes=pl.coalesce(both, "attributes", "extra"))
        .with_columns(lines["text"].gather(places).alias("message"))
        .with_columns(
            code=greeting.fill_null(pl.col("code")),
            device=on_gpu.then(pl.col("cuda_device").cast(pl.String)).otherwise("device"),
            device_kind=on_gpu.then(pl.lit("gpu")).otherwise("device_kind"),
            last=pl.when(pl.col("count") > 1).then("last"),
        )
    )


def _visitor_greeting() -> pl.Expr:
    """Return the bytes of a wrong magic as text: its number is in little-endian order."""
    digits = pl.col("code").str.zfill(16)
    pairs = pl.concat_str(digits.str.slice(at, 2) for at in range(14, -1, -2))
    is_magic = (pl.col("kind") == "stray_visitor") & pl.col("code").str.contains(r"^[0-9a-fA-F]+$")
    bytes_ = pl.when(is_magic).then(pairs).str.decode("hex", strict=False)
    greeting = bytes_.cast(pl.String, strict=False)
    return pl.when(greeting.str.contains(r"^[ -~]{4,}$")).then(greeting)
