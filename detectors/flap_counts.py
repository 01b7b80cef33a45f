"""Count flaps from counters of both ends of a link.

Source: fabric reference, section 6.6, and there: UFM (`link_flapping`), kernel carrier counters.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import polars as pl

from detectors.fabric import Fabric, duration_of
from detectors.link_words import End, far_end, row_end

_WEIGHTS: Final = {
    "link_downed_total": 1.0,
    "carrier_downs_total": 1.0,
    "carrier_changes_total": 0.5,
}
"""Flaps a count of each counter is: changes count on the way down and on the way up."""


MANAGEMENT: Final = (
    r"(?i)^(?:lo\d?$|docker|veth|br-|br\d|virbr|cni|flannel|cali|tap|tun|usb|idrac|bmc|mgmt|ma\d"
    r"|management|eno\d|em\d|bond|port-?channel|ae\d|po\d)"
)
"""Interfaces that carry no training traffic, and bundles, which flap with their members."""

_COMMANDED: Final = frozenset({"15", "16", "17", "18", "22", "23", "24"})
"""Reasons of a link-down that are somebody's doing: a command, a cable pulled. Source: UFM."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flap:
    """One or several times that a port went down and came back.

    Attributes:
        end: Host and port.
        kind: The port's kind.
        time: When it went down, as near as is known.
        seen: When it could first be known.
        back: When it was up again; null if not known or not yet.
        count: How many times.
        seconds: For how long it was down; null if not known.
        how: Who tells: log or counters.
        agreed: Whether the other end tells the same.
        what: In words.
    """

    end: End
    kind: str
    time: datetime
    seen: datetime
    back: datetime | None
    count: int
    seconds: float | None
    how: str
    agreed: bool
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FlapRules:
    """How growing counters are read.

    Attributes:
        max_age_gap_seconds: Ages of both ends' counters this close are of one event. Source: UFM.
        shutdown_seconds: A host's links go down this long before it boots, at most.
        boot_seconds: And may go down again while it starts.
        max_device_share: Above this share of a device's ports at once it is the device.
        min_device_ports: Ports of a device below which that cannot be told.
    """

    max_age_gap_seconds: float = 600.0
    shutdown_seconds: float = 900.0
    boot_seconds: float = 600.0
    max_device_share: float = 0.5
    min_device_ports: int = 3


def counted_flaps(fabric: Fabric, rules: FlapRules) -> list[Flap]:
    """Return the flaps that counters tell, by port and time.

    Args:
        fabric: Counters, ages of counters, cables and boots.
        rules: Which growth is a flap.

    Returns:
        Flaps of ports whose far end agrees, or has no counters at all. A port that alone counts
        one has none: its end was reset, or its driver loaded anew.
    """
    drops = _drops(fabric)
    grown = drops.filter(pl.col("count") >= 1).pipe(_without_devices, drops, rules)
    return [
        flap
        for row in grown.sort("host", "port", "start").to_dicts()
        if not rebooted(fabric, row["host"], (row["start"], row["end"]), rules)
        for flap in _flap(row, drops, fabric, rules)
    ]


def _drops(fabric: Fabric) -> pl.DataFrame:
    """Return how often each port went down in each interval, at least."""
    weight = pl.col("signal").replace_strict(_WEIGHTS, return_dtype=pl.Float64)
    count = (pl.col("min_delta") * weight).floor().max()
    return (
        fabric.intervals.filter(
            pl.col("signal").is_in(list(_WEIGHTS)),
            pl.col("min_delta").is_not_null(),
            ~pl.col("port").str.contains(MANAGEMENT),
        )
        .group_by("host", "port", "port_kind", "start", "end")
        .agg(
            count=count.cast(pl.Int64),
            fell=(pl.col("reset") & (pl.col("min_delta") == pl.col("value"))).any(),
        )
        .join(_counted_on(fabric.intervals), on=["host", "port", "start", "end"], how="left")
        .with_columns(fell=pl.col("fell") & pl.col("counted_on").is_null())
        .drop("counted_on")
    )


def _counted_on(intervals: pl.DataFrame) -> pl.DataFrame:
    """Return the intervals of ports whose traffic was counted on: neither booted nor loaded anew.

    There a counter that fell was cleared alone, and what it shows since are drops.
    """
    return (
        intervals.filter(
            pl.col("signal").str.contains("_(?:bytes|packets)_total$"),
            pl.col("min_delta") < pl.col("value"),
        )
        .select("host", "port", "start", "end", counted_on=pl.lit(value=True))
        .unique()
    )


def _without_devices(grown: pl.DataFrame, drops: pl.DataFrame, rules: FlapRules) -> pl.DataFrame:
    """Return the drops without those of devices most of whose ports drop at once."""
    at = ["host", "start", "end"]
    ports = drops.group_by(at).agg(ports=pl.col("port").n_unique())
    alike = pl.col("port").n_unique().over(at)
    is_device = (pl.col("ports") >= rules.min_device_ports) & (
        alike > pl.col("ports") * rules.max_device_share
    )
    return grown.join(ports, on=at).filter(~is_device)


def rebooted(fabric: Fabric, host: str, span: tuple[datetime, datetime], rules: FlapRules) -> bool:
    """Return whether a host booted so near to a time that its links went down for that."""
    early = span[0] - timedelta(seconds=rules.boot_seconds)
    late = span[1] + timedelta(seconds=rules.shutdown_seconds)
    boots = fabric.boots.filter(pl.col("host") == host, pl.col("time").is_between(early, late))
    return boots.height > 0


def _flap(
    row: dict[str, Any], drops: pl.DataFrame, fabric: Fabric, rules: FlapRules
) -> Iterator[Flap]:
    """Yield the flap that a port's growth is, if it is one."""
    near, far = row_end(row), far_end(fabric.ends, row_end(row))
    span = (row["start"], row["end"])
    if far and rebooted(fabric, far[0], span, rules):
        return
    other = _at(drops, far, span) if far else None
    reasons = [told for end in (near, far) if end and (told := _reason(fabric, end, span))]
    if any(told["code"] in _COMMANDED for told in reasons):
        return
    age = _age(fabric, near, row["end"])
    if age is not None and row["end"] - age < row["start"]:
        return
    agreed = _agrees(row, other, (near, far), fabric, rules)
    if agreed is False or (agreed is None and row["fell"]):
        return
    count = min(row["count"], other) if other else row["count"]
    yield Flap(
        end=near,
        kind=row["port_kind"],
        time=row["end"] - age if age is not None else row["end"],
        seen=row["end"],
        back=row["end"],
        count=count,
        seconds=None,
        how="counters",
        agreed=bool(agreed),
        what="; ".join(
            [
                f"went down {row['count']} time(s) between two readings",
                *(f"{told['host']} says: {told['message']}" for told in reasons),
            ]
        ),
    )


def _reason(fabric: Fabric, end: End, span: tuple[datetime, datetime]) -> dict[str, Any] | None:
    """Return what a port says of its last link-down, if it says so for the first time now."""
    told = fabric.events.filter(
        pl.col("kind") == "link_down_cause",
        pl.col("host") == end[0],
        pl.col("device") == end[1],
        pl.col("time").is_between(*span, closed="right"),
    )
    rows = told.tail(1).to_dicts()
    return rows[0] if rows else None


def _at(drops: pl.DataFrame, end: End, span: tuple[datetime, datetime]) -> int | None:
    """Return how often a port went down meanwhile; null if it has no counter of it."""
    mine = drops.filter(
        pl.col("host") == end[0],
        pl.col("port") == end[1],
        pl.col("start") < span[1],
        pl.col("end") > span[0],
    )
    if mine.is_empty():
        return None
    return int(mine["count"].sum())


def _age(fabric: Fabric, end: End, at: datetime) -> timedelta | None:
    """Return how long before a time a port's counters began; null if it does not tell.

    A port that is down tells no age: its last one stands, grown by the time since.
    """
    told = _ages(fabric, end[0], at).filter(pl.col("port") == end[1])
    return told["age"][0] if told.height else None


def _ages(fabric: Fabric, host: str, at: datetime) -> pl.DataFrame:
    """Return how old the counters of a host's ports are at a time, by the last reading up to it."""
    age = duration_of(pl.col("value"))
    return (
        fabric.readings.filter(
            pl.col("host") == host,
            pl.col("signal") == "seconds_since_clear",
            pl.col("value").is_not_null(),
            pl.col("time") <= at,
        )
        .sort("time")
        .group_by("port")
        .last()
        .select("port", age=age + (pl.lit(at) - pl.col("time")))
    )


def _agrees(
    row: dict[str, Any],
    other: int | None,
    ends: tuple[End, End | None],
    fabric: Fabric,
    rules: FlapRules,
) -> bool | None:
    """Return whether the far end tells the same; null if it tells nothing.

    With the ages of both ends' counters: they are of one event and both counted, or the far node
    has older counters elsewhere, so it did not boot.
    """
    near, far = ends
    if far is None or other is None:
        return None
    mine, theirs = _age(fabric, near, row["end"]), _age(fabric, far, row["end"])
    if mine is None or theirs is None:
        return other > 0
    oldest: timedelta = _ages(fabric, far[0], row["end"]).select(pl.col("age").max()).item()
    close = timedelta(seconds=rules.max_age_gap_seconds)
    return (abs(mine - theirs) <= close and other > 0) or oldest - theirs > close
