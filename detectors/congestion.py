"""Find congestion: a fabric that stops its senders, one receiver that cannot drain, an incast.

Source: fabric reference, sections 6.2 and 6.3. Pause direction is read from the port that counts
it: a pause received means that the peer stops this port, a pause sent that this port stops its
peer. A lossless fabric shows congestion in no drop counter, and a low average of traffic is no
argument against it. Only the root of a tree of stops is reported, the others are its victims.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import polars as pl

from detectors.congestion_words import (
    fabric_verdict,
    incast_verdict,
    paused_verdict,
    receiver_verdict,
)
from detectors.dirty_bins import LINE_LIMITS, MIN_ERRORS
from detectors.fabric import Fabric
from detectors.growth import SpellParams, port_growth, run_numbers
from detectors.link_words import MAX_LISTED
from detectors.pause_shares import stop_shares
from detectors.stops import Stop, find_stops, roots
from detectors.verdicts import Verdict, verdict_frame

MARKS: Final = ("ecn_marked_packets_total",)


@dataclass(frozen=True, slots=True, kw_only=True)
class CongestionParams:
    """When pauses count.

    Attributes:
        spells: What lasts.
        min_pause_ratio: Share of time a port is paused; a starting point without measurement.
        min_wait_ratio: Share of time a port waits for credit; a starting point likewise.
        min_fabric_share: Share of ports at once from which it is the fabric's matter.
        min_devices: Hosts and switches below which nobody can say what is common.
        max_rooted_share: If no more than this share of the ports stop others, they are the cause
            of what the fabric shows.
        min_sources: Ports that a switch stops from which it is an incast.
    """

    spells: SpellParams = field(default_factory=SpellParams)
    min_pause_ratio: float = 0.05
    min_wait_ratio: float = 0.10
    min_fabric_share: float = 0.6
    min_devices: int = 4
    max_rooted_share: float = 0.25
    min_sources: int = 2


def find_congestion(fabric: Fabric, params: CongestionParams) -> pl.DataFrame:
    """Return fabrics, switches and single NICs that stop traffic for a noticeable share of time.

    Args:
        fabric: What is known of ports; a port that does not count pauses says nothing.
        params: The thresholds.

    Returns:
        `VERDICTS` of kind congestion: at level job when most ports pause at once; at level nic
        for a NIC that stops its network; at level link or group for the egress or switch that many
        sources meet; at level link for ports that are stopped by nobody knows whom. Partition
        key: fabric.
    """
    shares = stop_shares(fabric, params.spells.bin_seconds)
    runs = _fabric_runs(shares, params)
    marks = port_growth(fabric.intervals, MARKS, params.spells.bin_seconds)
    outside = _outside(shares, runs)
    found = find_stops(outside, fabric, _min_shares(params), params.spells)
    stops = [one for one in found if not _is_damaged(one, fabric)]
    return verdict_frame(
        [
            *(fabric_verdict(row, marks, params.spells) for row in runs),
            *_rooted(stops, fabric, marks, params),
        ]
    )


def _min_shares(params: CongestionParams) -> dict[str, float]:
    return {
        "received": params.min_pause_ratio,
        "sent": params.min_pause_ratio,
        "waited": params.min_wait_ratio,
    }


def _fabric_runs(shares: pl.DataFrame, params: CongestionParams) -> list[dict[str, Any]]:
    """Return runs of bins in which most ports pause at once and no few of them are the cause."""
    known = shares.with_columns(paused=pl.max_horizontal("received", "sent")).drop_nulls("paused")
    is_nic = pl.col("port_kind") == "nic"
    stopping = ((pl.col("sent") >= params.min_pause_ratio) & is_nic).fill_null(value=False).mean()
    bins = (
        known.group_by("bin")
        .agg(
            (pl.col("paused") >= params.min_pause_ratio).mean().alias("share"),
            pl.len().alias("ports"),
            pl.col("host").n_unique().alias("devices"),
            pl.col("paused").median().alias("ratio"),
            stopping.alias("stopping"),
        )
        .filter(
            pl.col("share") >= params.min_fabric_share,
            pl.col("devices") >= params.min_devices,
            ~pl.col("stopping").is_between(0.0, params.max_rooted_share, closed="right"),
        )
        .sort("bin")
    )
    spells = params.spells
    runs = (
        bins.with_columns(run=run_numbers([], spells.bin_seconds, spells.max_gap_bins))
        .group_by("run")
        .agg(
            pl.col("bin").min().alias("start"),
            pl.col("bin").max().alias("stop"),
            pl.len().alias("bins"),
            pl.col("share", "ratio").median(),
            pl.col("ports").max(),
        )
        .filter(pl.col("bins") >= spells.min_bins)
        .sort("start")
        .with_columns(first_bin=pl.lit(shares["bin"].min()), last_bin=pl.lit(shares["bin"].max()))
    )
    return list(runs.iter_rows(named=True))


def _outside(shares: pl.DataFrame, runs: list[dict[str, Any]]) -> pl.DataFrame:
    """Return the shares of times in which not the whole fabric pauses."""
    for row in runs:
        shares = shares.filter(~pl.col("bin").is_between(row["start"], row["stop"]))
    return shares


def _is_damaged(stop: Stop, fabric: Fabric) -> bool:
    """Return whether a wait is explained by errors of its own link: recoveries take its time."""
    if stop.direction != "waited":
        return False
    ends = [end for end in (stop.stopper, stop.stopped) if end]
    mine = fabric.intervals.filter(
        pl.col("signal").is_in(list(LINE_LIMITS)),
        pl.struct("host", "port").is_in([{"host": host, "port": port} for host, port in ends]),
        pl.col("end") >= stop.start,
    )
    return float(mine["min_delta"].sum()) >= MIN_ERRORS


def _rooted(
    stops: Sequence[Stop], fabric: Fabric, marks: pl.DataFrame, params: CongestionParams
) -> list[Verdict]:
    """Return the verdicts on the roots, and on what is stopped without a known one."""
    found, others = roots(stops)
    receivers = _by_stopper([one for one in found if one.by_nic])
    switches = _by_stopper([one for one in found if not one.by_nic], whole=True)
    incasts = [
        group for group in switches if len({one.counted for one in group}) >= params.min_sources
    ]
    told = [
        *(
            receiver_verdict(group, _victims(group, others), fabric, params.spells)
            for group in receivers
        ),
        *(
            incast_verdict(group, _victims(group, others), fabric, marks, params.spells)
            for group in incasts
        ),
    ]
    explained = [*receivers, *incasts]
    open_stops = [
        one
        for one in stops
        if one.direction == "received"
        and not any(one in group or _meets(one, group) for group in explained)
    ]
    return [*told, *paused_verdict(open_stops, marks, params.spells)]


def _by_stopper(stops: Sequence[Stop], *, whole: bool = False) -> list[list[Stop]]:
    """Return the stops in groups of one stopping end (one stopping device if `whole`) and time."""
    groups: list[list[Stop]] = []
    for one in sorted(stops, key=lambda stop: (stop.start, stop.counted, stop.direction)):
        home = next((group for group in groups if _same(one, group[0], whole=whole)), None)
        if home is None:
            groups.append([one])
        else:
            home.append(one)
    return groups


def _same(one: Stop, other: Stop, *, whole: bool) -> bool:
    if not one.stopper or not other.stopper or not one.meets(other):
        return False
    return one.stopper[0] == other.stopper[0] if whole else one.stopper == other.stopper


def _meets(one: Stop, group: Sequence[Stop]) -> bool:
    return any(one.meets(other) for other in group)


def _victims(group: Sequence[Stop], others: Sequence[Stop]) -> tuple[str, ...]:
    """Return who is held back: by the root itself, and by those it holds back."""
    names = {one.stopped[0] for one in group if one.stopped}
    names |= {one.stopped[0] for one in others if one.stopped and _meets(one, group)}
    culprits = {one.stopper[0] for one in group if one.stopper}
    return tuple(sorted(names - culprits))[:MAX_LISTED]
