"""Read what NCCL logs: faults, network completions, the life of communicators, operations.

Source: formats of NCCL logs, sections 2 to 4 (prefix by release 2.10 to 2.30, messages). The
number in brackets is the CUDA device current on the printing thread, never a rank; the process is
known by host and pid.
"""

from typing import Final

import polars as pl

from collectors.communication.nccl_addresses import read_addresses
from collectors.communication.nccl_operations import read_operations
from collectors.communication.nccl_phrases import FAULTS, LIFE, NETWORK, SOCKETS
from collectors.communication.nccl_places import read_places
from collectors.identity import canonical_host
from collectors.line_reading import LineReading
from collectors.readings import reading_of
from collectors.sniffing import ReadOptions
from collectors.texts.phrases import match_phrases
from collectors.texts.stamps import iso_time

NCCL_LINE: Final = (
    r"(?:\[(?P<stamp>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{1,9})?)\] ?)?"
    r"(?P<nccl_host>[A-Za-z0-9][A-Za-z0-9_.-]*):(?P<pid>\d+):(?P<thread>\d+) "
    r"(?:\[(?P<cuda_device>-?\d+)\] )?(?:\d+\.\d+ )?(?:[A-Za-z0-9_./~:<>,-]+:\d+ )?"
    r"(?:\([A-Za-z0-9_:~<>]+\) )?(?:NCCL (?P<level>INFO|WARN|TRACE|CALL|ABORT)|INFO|WARN)"
    r"(?: (?P<message>.*))?$"
)
"""Text before the host is a stamp in the user's own format and is passed over."""

_VERSION: Final = r"^NCCL version \d"

_LOCATION: Final = r"^(?:[A-Za-z0-9_./-]+:\d+ \([^()]+\) )?(?:\[Rank \d+\] )?"
"""Where 2.30 puts the place in the source, and 2.29 the communicator's rank, before a message."""

_OVERRULED: Final = ("channel", "comm_start", "comm_ready", "comm_end", "net_devices", "note")
"""Kinds that a cut record cannot be trusted to be."""

_ON_GPU: Final = ("oom", "cuda_error", "channel")
"""Kinds that happen on the printing thread's current device, or belong to it."""

MAX_COPIES_APART_SECONDS: Final = 5
"""Each process on a host prints its own copy of a device's event, within a few seconds."""

_COPIED: Final = ("link_down", "link_up", "nic_fault", "nic_note")


def read_nccl(lines: pl.DataFrame, options: ReadOptions) -> LineReading:
    """Return the events and operations that NCCL's lines tell.

    Args:
        lines: `LINES`.
        options: The zone of NCCL's own stamps.

    Returns:
        `EVENTS` of the kinds in `collectors.communication.nccl_phrases`, `COLLECTIVES` of logged
        operations, and where ranks run as far as communicators tell (see
        `collectors.communication.nccl_places`). A line without an envelope or an own stamp has no
        time; a message keeps NCCL's prefix. A record that another cut short says only `torn`: what
        it does not show is not known. `count` counts the copies that the processes of one host
        print of a device's event.
    """
    records = _records_of(lines, options.time_zone)
    if records.is_empty():
        return LineReading()
    operations = read_operations(records)
    enqueued = operations.filter(pl.col("state") == "scheduled").select("line")
    events = _events_of(records.join(enqueued, on="line", how="anti"))
    placements, aliases = read_places(records)
    return LineReading(
        reading=reading_of(
            events=events, collectives=operations, placements=placements, aliases=aliases
        ),
        claimed=records["line"],
    )


def _records_of(lines: pl.DataFrame, time_zone: str) -> pl.DataFrame:
    """Return NCCL's lines with process, device, level and the bare message as `text`."""
    hits = lines.filter(pl.col("text").str.contains(f"(?:{NCCL_LINE})|{_VERSION}"))
    groups = hits.select(pl.col("text").str.extract_groups(NCCL_LINE)).unnest("text")
    return hits.hstack(groups).with_columns(
        canonical_host(pl.col("nccl_host")).fill_null(pl.col("host")).alias("host"),
        pl.col("cuda_device").cast(pl.Int32, strict=False),
        pl.col("time").fill_null(iso_time(pl.col("stamp"), time_zone)),
        whole=pl.col("text"),
        text=pl.when(pl.col("nccl_host").is_null())
        .then(pl.col("text"))
        .otherwise(pl.col("message").fill_null("").str.replace(_LOCATION, "")),
    )


def _events_of(records: pl.DataFrame) -> pl.DataFrame:
    """Return `EVENTS` with `line`, every record at least a note."""
    addresses = read_addresses(records)
    named = match_phrases(
        records.join(addresses, on="line", how="anti"), (*FAULTS, *NETWORK, *SOCKETS, *LIFE)
    )
    is_warning = pl.col("level").is_in(["WARN", "ABORT"]).fill_null(value=False)
    plain = records.join(pl.concat([addresses, named], how="diagonal"), on="line", how="anti")
    plain = plain.with_columns(
        kind=pl.when(is_warning).then(pl.lit("warning")).otherwise(pl.lit("note")),
        severity=pl.when(is_warning).then(pl.lit("warning")).otherwise(pl.lit("info")),
    )
    events = pl.concat([named, addresses, plain], how="diagonal").sort("line", maintain_order=True)
    on_gpu = pl.when(pl.col("kind").is_in(_ON_GPU) & (pl.col("cuda_device") >= 0))
    return _count_copies(_mark_torn(events)).with_columns(
        message=pl.col("whole"),
        code=_visitor_greeting().fill_null(pl.col("code")),
        device=on_gpu.then(pl.col("cuda_device").cast(pl.String)).otherwise("device"),
        device_kind=on_gpu.then(pl.lit("gpu")).otherwise("device_kind"),
    )


def _mark_torn(events: pl.DataFrame) -> pl.DataFrame:
    overruled = pl.col("is_torn") & pl.col("kind").is_in(_OVERRULED)
    return events.with_columns(
        kind=pl.when(overruled).then(pl.lit("torn")).otherwise("kind"),
        peer=pl.when(~overruled).then("peer"),
    )


def _visitor_greeting() -> pl.Expr:
    """Return the bytes of a wrong magic as text: its number is in little-endian order."""
    digits = pl.col("code").str.zfill(16)
    pairs = pl.concat_str(digits.str.slice(at, 2) for at in range(14, -1, -2))
    greeting = pairs.str.decode("hex", strict=False).cast(pl.String, strict=False)
    is_magic = (pl.col("kind") == "stray_visitor") & pl.col("code").is_not_null()
    return pl.when(is_magic & greeting.str.contains(r"^[ -~]{4,}$")).then(greeting)


def _count_copies(events: pl.DataFrame) -> pl.DataFrame:
    """Return the events, the copies that processes of one host print of one put together.

    With times, copies are those at most `MAX_COPIES_APART_SECONDS` after the one before; without,
    the n-th of each process is the n-th event.
    """
    is_copied = pl.col("kind").is_in(_COPIED)
    event = ("host", "kind", "text")
    apart = pl.col("time").diff().over(*event) > pl.duration(seconds=MAX_COPIES_APART_SECONDS)
    nth = pl.int_range(pl.len()).over(*event, "pid")
    copies = (
        events.filter(is_copied)
        .sort("time", "line", nulls_last=True)
        .with_columns(burst=apart.fill_null(value=False).cum_sum().over(*event))
        .with_columns(nth=pl.when(pl.col("time").is_null()).then(nth).otherwise(-1))
    )
    first = pl.all().exclude(*event, "burst", "nth", "count").first()
    joined = copies.group_by(*event, "burst", "nth", maintain_order=True).agg(first, count=pl.len())
    rest = events.filter(~is_copied).with_columns(count=pl.lit(1, dtype=pl.UInt32))
    return pl.concat([rest, joined.select(rest.columns)]).sort("line", maintain_order=True)
