"""Count what several lines say of a port once, and the many lines of a reboot as one.

Source: formats of fabric counters, sections 4 and 6.6: several processes of a switch report the
same change within a second, a state is logged again although it did not change, and a device that
restarts moves all its ports at once.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

import polars as pl

from collectors.frames import LABEL, TIME, schema_of

PORT_LINES: Final = schema_of(
    {
        "line": pl.Int64,
        "position": pl.Int64,
        "time": TIME,
        "host": pl.String,
        "device_kind": pl.String,
        "device": pl.String,
        "kind": pl.String,
        "code": pl.String,
        "severity": pl.String,
        "peer": pl.String,
        "message": pl.String,
        "attributes": pl.List(LABEL),
        "part": pl.String,
    }
)
"""What one line says of a port. `part` is the part of it that is meant, such as a queue."""

SAME_SECONDS: Final = 1
"""Lines of several processes on one change are at most this far apart."""

MIN_BURST: Final = 51
"""So many changes of one device's ports within `BURST_SECONDS` are its restart. Source: Imbue's
parsing of UFM events (more than 50 in a second)."""

BURST_SECONDS: Final = 1

STATES: Final[Mapping[str, tuple[str, str]]] = {
    "link_down": ("link", "down"),
    "link_up": ("link", "up"),
    "pfc_storm": ("storm", "on"),
    "pfc_storm_end": ("storm", "off"),
    "admin_down": ("admin", "down"),
    "admin_up": ("admin", "up"),
}
"""What of a port a kind of event speaks of, and what it says of that."""

_UNCHANGED: Final = "link_unchanged"

_WEAK: Final = "host_interface"
"""Code of lines that repeat what another process decided."""


def fold_port_lines(lines: pl.DataFrame) -> pl.DataFrame:
    """Return events of the lines on ports, in the order of their first lines.

    Args:
        lines: `PORT_LINES`, in the order of the log: it decides within equal times.

    Returns:
        Columns of `EVENTS` and `line`; `count` says for how many lines a row stands. A change that
        several lines tell has the time of the first; a line that says that nothing changed is
        `link_unchanged`, unless others tell of the change; moves of more than 50 ports of a device
        in a second are one event `boot` with code `burst`.
    """
    return _with_bursts(_with_copies(lines.sort("line")))


def _with_copies(lines: pl.DataFrame) -> pl.DataFrame:
    aspect, state = _column(0), _column(1)
    told = pl.when(pl.col("kind") == _UNCHANGED).then(pl.lit("link")).otherwise(aspect)
    key = ["host", "device", "part", "aspect"]
    stated = lines.with_columns(
        aspect=told, state=pl.when(pl.col("kind") == _UNCHANGED).then("code").otherwise(state)
    )
    moves = stated.filter(pl.col("aspect").is_not_null())
    changes = pl.col("state") != pl.col("state").shift(1).over(key)
    apart = pl.col("time").diff().over(key).abs() > pl.duration(seconds=SAME_SECONDS)
    begins = changes.fill_null(value=True) | apart.fill_null(value=False)
    moves = moves.with_columns(group=begins.cum_sum().over(key))
    others = stated.filter(pl.col("aspect").is_null())
    same = ["host", "device", "part", "kind", "code", "time", "message"]
    return pl.concat([_joined(moves, [*key, "group"]), _joined(others, same)]).sort("line")


def _column(at: int) -> pl.Expr:
    table = {kind: pair[at] for kind, pair in STATES.items()}
    return pl.col("kind").replace_strict(table, default=None, return_dtype=pl.String)


def _joined(lines: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    """Return one row a group; the line that knows best gives all but the time."""
    weight = (
        pl.when(pl.col("code") == _WEAK)
        .then(2)
        .when(pl.col("kind") == _UNCHANGED)
        .then(1)
        .otherwise(0)
    )
    best = ("device_kind", "kind", "code", "severity", "message", "attributes")
    ranked = lines.with_columns(weight=weight).sort("weight", "line")
    keys = [pl.col(name).alias(f"by_{name}") for name in key]
    joined = ranked.group_by(keys, maintain_order=True).agg(
        pl.col("line", "position").min(),
        pl.col("time").filter(pl.col("weight") == pl.col("weight").min()).min(),
        pl.col("host", "device", *best).first(),
        pl.col("peer").drop_nulls().first(),
        last=pl.when(pl.len() > 1).then(pl.col("time").max()),
        count=pl.len().cast(pl.Int32),
    )
    return joined.drop(f"by_{name}" for name in key)


def _with_bursts(events: pl.DataFrame) -> pl.DataFrame:
    """Return events with those of a device that moves more than 50 ports in a second as one."""
    is_move = pl.col("kind").is_in(["link_down", "link_up"]) & pl.col("time").is_not_null()
    moves = events.filter(is_move).sort("host", "time", "line")
    if moves.height < MIN_BURST:
        return events
    second = timedelta(seconds=BURST_SECONDS)
    counted = moves.rolling("time", period=second, closed="both", group_by="host").agg(
        near=pl.len()
    )
    ends = counted.filter(pl.col("near") >= MIN_BURST).select("host", "time", end="time").unique()
    if ends.is_empty():
        return events
    marked = moves.sort("time", "line").join_asof(
        ends.sort("time"), on="time", by="host", strategy="forward", check_sortedness=False
    )
    burst = marked.filter(pl.col("end") - pl.col("time") <= second).sort("host", "time", "line")
    gap = pl.col("time").diff().over("host") > second
    joined = (
        burst.with_columns(burst=gap.fill_null(value=False).cum_sum().over("host"))
        .group_by("host", "burst", maintain_order=True)
        .agg(
            pl.col("line", "position", "time").min(),
            last=pl.col("time").max(),
            count=pl.col("device").n_unique().cast(pl.Int32),
        )
    )
    boots = joined.with_columns(
        device_kind=pl.lit("node"),
        kind=pl.lit("boot"),
        code=pl.lit("burst"),
        severity=pl.lit("warning"),
        message=pl.format("{} ports moved together", "count"),
    )
    rest = events.join(burst, on="line", how="anti")
    return pl.concat([rest, boots.drop("burst")], how="diagonal").sort("line")
