"""Count flaps from what ports' logs say: one way down, one way up.

Source: fabric reference, sections 4 and 6.6. A log repeats itself (by process, without a change of
state), so only a change counts; a window in which somebody shut the port, and a boot, explain it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

import polars as pl

from detectors.fabric import Fabric
from detectors.flap_counts import MANAGEMENT, Flap, FlapRules, rebooted
from detectors.link_words import End, far_end

_MOVES: Final = ("link_down", "link_up")
_COMMANDS: Final = ("admin_down", "admin_up")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedParams:
    """How port events are read.

    Attributes:
        rules: What boots explain.
        command_seconds: A port may go down this long before its shutting is logged, and settle
            this long after it was opened.
        max_together_seconds: Ports of one device that go down within this went together.
        min_together: So many of them, and most of its ports that the log knows, are the device.
    """

    rules: FlapRules = field(default_factory=FlapRules)
    command_seconds: float = 60.0
    max_together_seconds: float = 10.0
    min_together: int = 4


def logged_flaps(fabric: Fabric, params: LoggedParams) -> list[Flap]:
    """Return the flaps of switch ports that logs tell, by port and time.

    Args:
        fabric: Events, cables and boots.
        params: What explains a port that went down.

    Returns:
        One a time that a port went down; `back` is null where it did not come up again. NICs' own
        events are judged with the runs they hurt, in `detectors.network_faults`.
    """
    return [
        _flap(down, up)
        for down, up in _outages(fabric, params)
        if down["device_kind"] == "switch_port"
    ]


def _outages(
    fabric: Fabric, params: LoggedParams
) -> Iterator[tuple[dict[str, Any], dict[str, Any] | None]]:
    """Yield each unexplained way down with the way up that followed it; null if none did."""
    port = ["host", "device"]
    kind = pl.col("kind")
    moves = (
        fabric.events.filter(kind.is_in(_MOVES), ~pl.col("device").str.contains(MANAGEMENT))
        .drop_nulls([*port, "time"])
        .sort(*port, "time", "position", "kind", nulls_last=True)
        .filter((kind != kind.shift(1).over(port)).fill_null(value=True))
    )
    rows = moves.to_dicts()
    together = _devices_down(moves, params)
    commands = fabric.events.filter(kind.is_in(_COMMANDS))
    for row, after in zip(rows, [*rows[1:], None], strict=False):
        if row["kind"] != "link_down" or (row["host"], row["time"]) in together:
            continue
        if _explained(fabric, commands, row, params):
            continue
        same = after is not None and [after[name] for name in port] == [row[name] for name in port]
        yield row, after if same else None


def _devices_down(moves: pl.DataFrame, params: LoggedParams) -> set[tuple[str, datetime]]:
    """Return the host and time of each way down in which most ports of the device went together."""
    ports = moves.group_by("host").agg(ports=pl.col("device").n_unique())
    span = timedelta(seconds=params.max_together_seconds)
    near = (
        moves.filter(pl.col("kind") == "link_down")
        .sort("host", "time")
        .rolling("time", period=2 * span, offset=-span, closed="both", group_by="host")
        .agg(near=pl.col("device").n_unique())
        .join(ports, on="host")
    )
    enough = (pl.col("near") >= params.min_together) & (2 * pl.col("near") > pl.col("ports"))
    return set(near.filter(enough).select("host", "time").rows())


def _explained(
    fabric: Fabric, commands: pl.DataFrame, down: dict[str, Any], params: LoggedParams
) -> bool:
    """Return whether a command at either end, or a boot of either, explains a way down."""
    end: End = (down["host"], down["device"])
    far = far_end(fabric.ends, end)
    span = (down["time"], down["time"])
    return any(
        rebooted(fabric, one[0], span, params.rules)
        or _is_shut(commands, one, down["time"], params)
        for one in (end, far)
        if one
    )


def _is_shut(commands: pl.DataFrame, end: End, at: datetime, params: LoggedParams) -> bool:
    """Return whether the last command, by time, shut a port, or just opened it."""
    slack = timedelta(seconds=params.command_seconds)
    last = commands.filter(
        pl.col("host") == end[0], pl.col("device") == end[1], pl.col("time") <= at + slack
    ).tail(1)
    return any(
        kind == "admin_down" or time >= at - slack
        for kind, time in last.select("kind", "time").rows()
    )


def _flap(down: dict[str, Any], up: dict[str, Any] | None) -> Flap:
    seconds = (up["time"] - down["time"]).total_seconds() if up else None
    ended = f", up again after {seconds:.0f} s" if seconds is not None else ", not up since"
    return Flap(
        end=(down["host"], down["device"]),
        kind=down["device_kind"],
        time=down["time"],
        seen=up["time"] if up else down["time"],
        back=up["time"] if up else None,
        count=1,
        seconds=seconds,
        how="log",
        agreed=False,
        what=f"went down{ended}",
    )
