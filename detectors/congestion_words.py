"""Put congestion into words: a paused fabric, a slow receiver, an incast, a port that is stopped.

Source: fabric reference, sections 6.2 and 6.3.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

import polars as pl

from detectors.fabric import Fabric
from detectors.growth import SpellParams, port_growth
from detectors.link_words import MAX_LISTED, end_text
from detectors.port_readings import SPEEDS
from detectors.stops import Stop
from detectors.verdicts import Confidence, Evidence, Subject, Verdict

FULL_SHARE: Final = 0.95
"""Of a port's speed, from which its egress is full."""

MAX_QUOTED: Final = 6

_HOST_SIGNS: Final = (
    "pci_read_stalled_ratio",
    "pci_write_stalled_ratio",
)
"""Gauges that say why a NIC cannot drain."""

MIN_STALLED_SHARE: Final = 0.3
"""Share of time a PCIe port stalls from which mlx5 counts the second as stalled."""

_WORDS: Final = {
    "received": "is told to stop by its peer",
    "sent": "tells its peer to stop",
    "waited": "waits for credit from its peer",
}


def stop_evidence(stop: Stop) -> Evidence:
    """Return one spell in words, with its share of time."""
    most = "up to " if stop.at_most else ""
    what = f"{_WORDS[stop.direction]} {most}{stop.share:.1%} of the time"
    return Evidence(source=end_text(stop.counted), time=stop.onset, what=what)


def fabric_verdict(row: dict[str, Any], marks: pl.DataFrame, spells: SpellParams) -> Verdict:
    """Return the verdict on a fabric most of whose ports pause at once.

    Args:
        row: The run of bins.
        marks: `GROWTH` of congestion marks.
        spells: Width and number of bins.
    """
    what = (
        f"{row['share']:.0%} of {row['ports']} ports paused at once, "
        f"{row['ratio']:.1%} of the time at the median"
    )
    seen = Evidence(source="pause counters", time=row["start"], what=what)
    ended = row["stop"] + spells.width
    return Verdict(
        kind="congestion",
        level="job",
        subject=Subject(group="fabric"),
        onset=row["start"],
        onset_before_data=row["start"] == row["first_bin"],
        detected=row["start"] + spells.width * spells.min_bins,
        cleared=None if ended >= row["last_bin"] else ended,
        cause="pause",
        confidence="high",
        peers="all ports that count pauses",
        peer_count=row["ports"],
        evidence=(seen, *_marks(row, marks)),
        action="compare the QoS profile (PFC, ECN thresholds, priority map) with the last good one",
    )


def silent_marks(marks: pl.DataFrame, stops: Sequence[Stop]) -> tuple[Evidence, ...]:
    """Return that nobody saw a congestion mark meanwhile, if marks are counted at all.

    Args:
        marks: `GROWTH` of congestion marks.
        stops: Spells of pauses.
    """
    start, end = min(one.start for one in stops), max(one.stop for one in stops)
    during = marks.filter(pl.col("bin").is_between(start, end))
    if during.is_empty() or float(during["grown"].sum()) > 0:
        return ()
    what = "no marks meanwhile: ECN is off or its thresholds are too high, pauses hold alone"
    return (Evidence(source=during["signal"][0], time=start, what=what),)


def _marks(row: dict[str, Any], marks: pl.DataFrame) -> tuple[Evidence, ...]:
    """Return how congestion marks moved: pauses without marks point at the ECN configuration."""
    rate = pl.col("rate").median()
    inside = marks.filter(pl.col("bin").is_between(row["start"], row["stop"])).select(rate).item()
    before = marks.filter(pl.col("bin") < row["start"]).select(rate).item()
    if inside is None or before is None:
        return ()
    what = f"ECN marks {before:.3g}/s a port before, {inside:.3g}/s during"
    return (Evidence(source="ecn_marked_packets_total", what=what),)


def receiver_verdict(
    stops: Sequence[Stop], victims: tuple[str, ...], fabric: Fabric, spells: SpellParams
) -> Verdict:
    """Return the verdict on a NIC that cannot drain what arrives.

    Args:
        stops: Its spells at one time, counted by itself or by the switch.
        victims: Who is held back by it.
        fabric: For what else its host shows.
        spells: Width and number of bins.
    """
    host, port = stops[0].stopper or stops[0].counted
    own = any(one.direction == "sent" for one in stops)
    sure = own and not any(one.brief or one.at_most for one in stops)
    what = "it cannot drain what arrives; a low average of traffic does not speak against it"
    return Verdict(
        level="nic",
        subject=Subject(host=host, device=port),
        cause="slow_receiver",
        confidence="high" if sure and len(stops) > 1 else "medium",
        evidence=(
            *(stop_evidence(one) for one in stops[:MAX_QUOTED]),
            Evidence(source="pause counters", what=f"{host} {port}: {what}"),
            *_host_signs(fabric, host),
        ),
        victims=victims,
        action="look at this host's PCIe link, memory and posted buffers; not the cable",
        **_times(stops, spells),
    )


def _host_signs(fabric: Fabric, host: str) -> tuple[Evidence, ...]:
    """Return what says that the host's own bus is in the way."""
    stalled = (
        fabric.readings.filter(
            pl.col("host") == host,
            pl.col("signal").is_in(_HOST_SIGNS),
            pl.col("value") >= MIN_STALLED_SHARE,
        )
        .group_by("port", "signal")
        .agg(pl.col("value").max(), pl.col("time").min())
        .sort("port", "signal")
    )
    return tuple(
        Evidence(source=f"{host} {port}", time=time, what=f"{signal} up to {value:.0%}")
        for port, signal, value, time in stalled.rows()
    )


def incast_verdict(
    stops: Sequence[Stop],
    victims: tuple[str, ...],
    fabric: Fabric,
    marks: pl.DataFrame,
    spells: SpellParams,
) -> Verdict:
    """Return the verdict on a switch that stops several sources and is stopped by nobody.

    Args:
        stops: Its spells at one time.
        victims: Who is held back by it.
        fabric: For the egress that is full.
        marks: `GROWTH` of congestion marks.
        spells: Width and number of bins.
    """
    switch = (stops[0].stopper or stops[0].counted)[0]
    egress = _full_egress(fabric, switch, stops, spells)
    names = sorted({one.stopper[1] for one in stops if one.stopper and one.stopper[1]})
    told: Confidence = "medium" if egress else "low"
    full = f"egress {egress[0]} is {egress[1]:.0%} full" if egress else "no full egress is known"
    what = f"{switch} stops {len(stops)} sources (ports {', '.join(names)}) and nobody stops it: "
    return Verdict(
        level="link" if egress else "group",
        subject=Subject(switch=switch, port=egress[0] if egress else None),
        cause="incast",
        confidence="low" if all(one.brief for one in stops) and not egress else told,
        evidence=(
            Evidence(source=switch, time=stops[0].onset, what=what + full),
            *(stop_evidence(one) for one in stops[:MAX_QUOTED]),
            *silent_marks(marks, stops),
        ),
        victims=victims,
        action=(
            "find who sends to this egress at once: routing, placement of the job, "
            "oversubscription; the cables are sound"
        ),
        needed=None if egress else "traffic, queue or ECN counters of this switch's ports",
        **_times(stops, spells),
    )


def _full_egress(
    fabric: Fabric, switch: str, stops: Sequence[Stop], spells: SpellParams
) -> tuple[str, float] | None:
    """Return the port of a switch that sends at its speed meanwhile, and how full it is."""
    start, end = min(one.start for one in stops), max(one.stop for one in stops) + spells.width
    speeds = fabric.readings.filter(
        pl.col("signal").is_in(SPEEDS),
        pl.col("value") > 0,
    )
    speed = speeds.group_by("host", "port").agg(speed=pl.col("value").max())
    mine = fabric.intervals.filter(pl.col("host") == switch)
    counted = port_growth(mine, ("transmitted_bytes_total",), spells.bin_seconds)
    in_time = pl.col("bin").is_between(start, end)
    moved = counted.filter(in_time).join(speed, on=["host", "port"])
    gauged = fabric.readings.filter(
        pl.col("signal") == "transmit_busy_ratio", pl.col("time").is_between(start, end)
    )
    shares = pl.concat(
        [
            moved.select("host", "port", share=pl.col("rate") / pl.col("speed")),
            gauged.select("host", "port", share="value"),
        ]
    )
    full = (
        shares.filter(pl.col("host") == switch, pl.col("share") >= FULL_SHARE)
        .sort("share", "port", descending=[True, False])
        .select("port", "share")
        .rows()
    )
    return full[0] if full else None


def paused_verdict(
    stops: Sequence[Stop], marks: pl.DataFrame, spells: SpellParams
) -> list[Verdict]:
    """Return the verdict on ports that are stopped by nobody knows whom: victims, all of them."""
    if not stops:
        return []
    ordered = sorted(stops, key=lambda one: (one.onset, one.counted))
    ends = list(dict.fromkeys(one.counted for one in ordered))
    alone = ends[0] if len(ends) == 1 else None
    is_nic = ordered[0].counted_kind == "nic"
    host, port = alone or (None, None)
    subject = Subject(host=host, device=port) if is_nic else Subject(switch=host, port=port)
    return [
        Verdict(
            level="link" if alone else "group",
            subject=subject if alone else Subject(group="paused ports"),
            cause="paused_by_peer",
            confidence="low" if all(one.brief for one in ordered) else "medium",
            evidence=(
                *(stop_evidence(one) for one in ordered[:MAX_QUOTED]),
                *silent_marks(marks, ordered),
            ),
            victims=tuple(end_text(end) for end in ends)[:MAX_LISTED],
            action="look behind the other end of these cables: they are stopped, not at fault",
            needed="the topology, and pause counters of the switches and of the hosts behind them",
            **_times(ordered, spells),
        )
    ]


def _times(stops: Sequence[Stop], spells: SpellParams) -> dict[str, Any]:
    """Return kind and times of a verdict on spells of one time."""
    onset = min(one.onset for one in stops)
    start = min(one.start for one in stops)
    ended: Any = max(one.stop for one in stops) + timedelta(seconds=spells.bin_seconds)
    return {
        "kind": "congestion",
        "onset": onset,
        "onset_before_data": any(one.from_start for one in stops),
        "detected": max(start + spells.width * spells.min_bins, onset),
        "cleared": None if any(one.to_end for one in stops) else ended,
    }
