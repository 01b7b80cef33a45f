"""Put together what NCCL's processes say again and again: one event with a count.

Source: formats of NCCL logs, sections 2 (error-return trail) and 4.2 (each process on a host prints
its own copy of a device's event).
"""

from typing import Final

import polars as pl

from collectors.texts.file_places import file_number

MAX_COPIES_APART_SECONDS: Final = 5
"""Each process on a host prints its own copy of a device's event, within a few seconds."""

_COPIED: Final = ("link_down", "link_up", "nic_fault", "nic_note")

_BY_CODE: Final = ("net_choice", "version")

_BY_TEXT: Final = ("net_devices", "setting", "rings_connected", "channel_counts")

_BY_SHAPE: Final = ("note", "tuning")
"""Kinds whose texts differ in numbers and addresses alone."""

_BY_PEER: Final = ("comm_retry",)

_BY_PROCESS: Final = ("trail", "hint")
"""Kinds of which a process' first line tells all: a trail's first code is the cause's."""

_FLUSHED: Final = "5"
"""Status of all that still waits on a queue pair that failed: hundreds of lines."""

_NUMBER: Final = r"0x[0-9a-fA-F]+|\d+"

_PROCESS: Final = ("host", "rank", "pid", "kind")


def fold_repeats(events: pl.DataFrame) -> pl.DataFrame:
    """Return the events, what one process repeats put together under its first line.

    Args:
        events: Events with `line`, `text`, `pid`, `count` and `last`.

    Returns:
        The events by `line`; `count` adds up, `last` is the time of the last.
    """
    kind = pl.col("kind")
    is_flush = ((kind == "net_error") & (pl.col("code") == _FLUSHED)).fill_null(value=False)
    what = (
        pl.when(kind.is_in(_BY_CODE))
        .then("code")
        .when(kind.is_in(_BY_TEXT))
        .then("text")
        .when(kind.is_in(_BY_SHAPE))
        .then(pl.col("text").str.replace_all(_NUMBER, "#"))
        .when(kind.is_in(_BY_PEER) | is_flush)
        .then("peer")
    )
    is_folded = is_flush | kind.is_in([*_BY_CODE, *_BY_TEXT, *_BY_SHAPE, *_BY_PEER, *_BY_PROCESS])
    folded = events.filter(is_folded).with_columns(file_number(), what=what)
    first = pl.all().exclude(*_PROCESS, "file", "what", "count", "last").first()
    joined = folded.group_by(*_PROCESS, "file", "what", maintain_order=True).agg(
        first, pl.col("count").sum(), pl.col("time").max().alias("last")
    )
    rest = events.filter(~is_folded)
    return pl.concat([rest, joined.select(rest.columns)]).sort("line", maintain_order=True)


def count_copies(events: pl.DataFrame) -> pl.DataFrame:
    """Return the events with `count` and `last`, copies that processes of a host print as one.

    With times, copies are those at most `MAX_COPIES_APART_SECONDS` after the one before; without,
    the n-th of each process is the n-th event.

    Args:
        events: Events with `line`, `text`, `pid` and `task`; of copies `tasks` lists all.
    """
    is_copied = pl.col("kind").is_in(_COPIED)
    rest = events.filter(~is_copied).with_columns(
        count=pl.lit(1, dtype=pl.UInt32), last="time", tasks=pl.col("task").cast(pl.String)
    )
    if rest.height == events.height:
        return rest.sort("line", maintain_order=True)
    event = ("file", "host", "kind", "text")
    apart = pl.col("time").diff().over(*event) > pl.duration(seconds=MAX_COPIES_APART_SECONDS)
    nth = pl.int_range(pl.len()).over(*event, "pid")
    copies = (
        events.filter(is_copied)
        .with_columns(file_number())
        .sort("time", "line", nulls_last=True)
        .with_columns(burst=apart.fill_null(value=False).cum_sum().over(*event))
        .with_columns(nth=pl.when(pl.col("time").is_null()).then(nth).otherwise(-1))
    )
    first = pl.all().exclude(*event, "burst", "nth").first()
    tasks = (
        pl.col("task").drop_nulls().unique().sort().cast(pl.String).str.join(" ").replace("", None)
    )
    joined = copies.group_by(*event, "burst", "nth", maintain_order=True).agg(
        first, count=pl.len(), last=pl.col("time").max(), tasks=tasks
    )
    return pl.concat([rest, joined.select(rest.columns)]).sort("line", maintain_order=True)
