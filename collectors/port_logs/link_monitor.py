"""Read `ip -timestamp monitor link`: a block for each change of an interface.

Source: iproute2 `ip/ipmonitor.c` and `ip/ipaddress.c`; formats of fabric counters, section 4. The
kernel sends a block for every change of anything, so only a state that differs is a change of it.
"""

import re
from typing import Final

import polars as pl

from collectors.frames import TIME
from collectors.line_reading import LineReading
from collectors.port_logs.port_event_folds import PORT_LINES, fold_port_lines
from collectors.port_logs.port_kinds import device_kind_of
from collectors.readings import reading_of
from collectors.sniffing import Head, ReadOptions
from collectors.texts.event_labels import event_labels
from collectors.texts.line_stamps import stamp_of
from collectors.texts.stamps import iso_time

_BLOCK: Final = (
    r"^(?:\[(?P<stamp>[^\]]+)\] ?)?(?P<deleted>Deleted )?(?:\[LINK\] ?)?(?:\d+: )?"
    r"(?P<device>[^\s:@]+)(?:@\S+)?: <(?P<flags>[A-Z_,0-9-]*)> mtu "
)

_STATE: Final = r"> mtu .* state ([A-Z]+)\b"

MONITOR_HINT: Final = (
    r"^(?:\[[^\]]+\] ?)?(?:Deleted )?(?:\[LINK\] ?)?(?:\d+: )?[^\s:@]+(?:@\S+)?: "
    r"<[A-Z_,0-9-]*> mtu "
)
"""The head of a block. Its number may be gone: it looks like the task that a launcher prefixes."""

_MONITORED: Final = (
    r"(?m)^(?:Timestamp: .*\d usec\s*\n|\[\d{4}-\d\d-\d\dT[^\]]*\] ?)(?:Deleted )?(?:\[LINK\] ?)?"
    r"\d+: [^\s:@]+(?:@\S+)?: <[A-Z_,0-9-]*>"
)
"""A head of a block with its time: a plain listing of interfaces has none."""

_TIMESTAMP: Final = r"^Timestamp: (.*?)(?: (\d{1,6}) usec)?$"

_MORE: Final = r"^\s+(?:link/|altname |inet6? |vlan |RX:|TX:|[a-z]+ )"

_STATES: Final = {"UP": "up", "DOWN": "down", "LOWERLAYERDOWN": "down", "NOTPRESENT": "down"}


def wants_link_monitor(head: Head) -> float:
    """Return how sure it is that a head is of a monitor with time stamps."""
    return 0.95 if re.search(_MONITORED, head.text) else 0.0


def read_link_monitor(lines: pl.DataFrame, options: ReadOptions) -> LineReading:
    """Return the changes of links that a monitor printed.

    Args:
        lines: `LINES`.
        options: The zone of stamps without one.

    Returns:
        `EVENTS` of the kinds link_down, link_up, link_unchanged, and admin_down where the
        interface itself was set down. The first block of an interface is a change as well: nothing
        is printed before one.
    """
    blocks = _blocks(lines, options)
    if blocks.is_empty():
        return LineReading()
    own = pl.col("line").is_in(blocks["line"].implode())
    is_stamp = pl.col("text").str.contains(_TIMESTAMP)
    is_more = pl.col("text").str.contains(_MORE)
    follows = (own | is_more).shift(1).fill_null(value=False)
    starts = (
        pl.when(own | is_stamp).then(pl.lit(value=True)).when(~is_more).then(pl.lit(value=False))
    )
    inside = is_more & follows & starts.forward_fill().fill_null(value=False)
    claimed = lines.filter(own | is_stamp | inside)["line"]
    return LineReading(reading=reading_of(events=fold_port_lines(blocks)), claimed=claimed)


def _blocks(lines: pl.DataFrame, options: ReadOptions) -> pl.DataFrame:
    """Return `PORT_LINES` of the heads of blocks."""
    stamp, micros = (pl.col("text").str.extract(_TIMESTAMP, group) for group in (1, 2))
    fraction = pl.duration(microseconds=micros.cast(pl.Int64, strict=False).fill_null(0))
    above = (stamp_of(stamp, options.time_zone) + fraction).forward_fill()
    groups = pl.col("text").str.extract_groups(_BLOCK).struct
    heads = lines.with_columns(above=above).filter(pl.col("text").str.contains(_BLOCK))
    named = heads.with_columns(
        **{name: groups.field(name) for name in ("stamp", "deleted", "device", "flags")},
        state=pl.col("text").str.extract(_STATE, 1),
    )
    flags = pl.col("flags").str.split(",")
    is_set_down = ~flags.list.contains("UP") & (pl.col("state") == "DOWN")
    state = pl.col("state").replace_strict(_STATES, default=None, return_dtype=pl.String)
    now = pl.when(pl.col("deleted").is_not_null()).then(pl.lit("down")).otherwise(state)
    told = named.with_columns(now=now.fill_null("unknown"), is_set_down=is_set_down)
    key = ["host", "device"]
    same = (pl.col("now") == pl.col("now").shift(1).over(key)).fill_null(value=False)
    same |= pl.col("now") == "unknown"
    kind = (
        pl.when(same)
        .then(pl.lit("link_unchanged"))
        .when("is_set_down")
        .then(pl.lit("admin_down"))
        .when(pl.col("now") == "down")
        .then(pl.lit("link_down"))
        .otherwise(pl.lit("link_up"))
    )
    null = pl.lit(None, pl.String)
    return told.with_columns(
        time=pl.coalesce(
            iso_time(pl.col("stamp"), options.time_zone), "above", pl.col("time")
        ).cast(TIME),
        kind=kind,
        code=pl.when(same).then("now").otherwise(pl.lit("netlink")),
        severity=pl.when(kind == "link_down").then(pl.lit("warning")).otherwise(pl.lit("info")),
        device_kind=device_kind_of(pl.col("device")),
        message="text",
        attributes=event_labels({"state": pl.col("state"), "flags": pl.col("flags")}),
        peer=null,
        part=null,
    ).select(PORT_LINES.names())
