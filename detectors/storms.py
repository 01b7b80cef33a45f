"""Find pause storms: a queue that its peer keeps stopped for longer than a watchdog bears.

Source: fabric reference, sections 4 and 6.3. A watchdog that masks the priority restores it and
finds the storm again at once, so pairs close together are one storm; that the pause counter stands
still meanwhile says nothing, since the hardware stopped counting. The stuck one is the peer.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import polars as pl

from detectors.fabric import Fabric
from detectors.link_words import End, end_text, far_end
from detectors.verdicts import Evidence, Subject, Verdict, verdict_frame

_STARTS: Final = "pfc_storm"
_ENDS: Final = "pfc_storm_end"

_STORM_SIGNALS: Final = ("pause_storms_total", "pause_storm_errors_total")
"""Counters of storms: a switch's watchdog by queue, and a NIC's own of having paused too long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StormParams:
    """When storms are one.

    Attributes:
        max_gap_seconds: A storm found again so soon after it was restored went on. Source: SONiC
            on chips whose watchdog oscillates every 0.6 s.
    """

    max_gap_seconds: float = 2.0


def find_storms(fabric: Fabric, params: StormParams) -> pl.DataFrame:
    """Return the pause storms of queues.

    Args:
        fabric: Events `pfc_storm` and `pfc_storm_end` with the queue among their attributes,
            counters of storms, and cables.
        params: When storms are one.

    Returns:
        `VERDICTS` of kind congestion and cause pfc_storm, one row a storm; its subject is the peer
        of the port that was stopped, where a listing names it. Partition key: fabric.
    """
    events = _events(fabric)
    logged = [_logged(row, fabric) for row in _storms(events, params).to_dicts()]
    told = set(events.select("host", "device").rows())
    counted = [
        _counted(row, fabric)
        for row in _grown(fabric).to_dicts()
        if (row["host"], row["port"]) not in told
    ]
    return verdict_frame([*logged, *counted])


def _events(fabric: Fabric) -> pl.DataFrame:
    """Return the events of storms, with port and queue."""
    queue = pl.col("attributes").list.eval(
        pl.element().filter(pl.element().struct["key"] == "queue").struct["value"]
    )
    part = pl.col("device").str.extract(r"/queue(\d+)$")
    return (
        fabric.events.filter(pl.col("kind").is_in([_STARTS, _ENDS]))
        .drop_nulls(["host", "device", "time"])
        .with_columns(
            queue=pl.coalesce(queue.list.first(), part),
            device=pl.col("device").str.replace(r"/queue\d+$", ""),
        )
    )


def _storms(events: pl.DataFrame, params: StormParams) -> pl.DataFrame:
    """Return one row a storm: a start more than a moment after the last end begins another."""
    queue = ["host", "device", "queue"]
    ended = pl.when(pl.col("kind") == _ENDS).then(pl.col("time"))
    last_end = ended.forward_fill().shift(1).over(queue)
    is_start = pl.col("kind") == _STARTS
    after_end = (pl.col("kind").shift(1).over(queue) == _ENDS).fill_null(value=True)
    gap = (pl.col("time") - last_end) > timedelta(seconds=params.max_gap_seconds)
    rows = events.sort(*queue, "time", "position", "kind", nulls_last=False)
    return (
        rows.with_columns(fresh=is_start & after_end & gap.fill_null(value=True))
        .with_columns(storm=pl.col("fresh").cum_sum().over(queue))
        .filter(pl.col("storm") > 0)
        .group_by(*queue, "storm")
        .agg(
            onset=pl.col("time").first(),
            last=pl.col("time").last(),
            closed=pl.col("kind").last() == _ENDS,
            times=(pl.col("kind") == _STARTS).sum(),
        )
        .sort(*queue, "storm")
    )


def _logged(row: dict[str, Any], fabric: Fabric) -> Verdict:
    onset: datetime = row["onset"]
    cleared: datetime | None = row["last"] if row["closed"] else None
    lasted = f"{(cleared - onset).total_seconds():.2f} s" if cleared else "not restored since"
    again = f", {row['times']} times found and restored" if row["times"] > 1 else ""
    what = f"queue {row['queue'] or '?'} stopped by its peer, {lasted}{again}"
    return _verdict((row["host"], row["device"]), (onset, cleared), what, fabric)


def _grown(fabric: Fabric) -> pl.DataFrame:
    """Return the ports whose counter of storms grew."""
    return (
        fabric.intervals.filter(
            pl.col("signal").is_in(_STORM_SIGNALS), pl.col("delta") > 0, ~pl.col("settling")
        )
        .group_by("host", "port", "port_kind")
        .agg(
            onset=pl.col("end").min(),
            count=pl.col("delta").sum(),
            device=pl.col("device").min(),
        )
        .sort("host", "port")
    )


def _counted(row: dict[str, Any], fabric: Fabric) -> Verdict:
    end: End = (row["host"], row["port"])
    what = f"{row['device']} counted {row['count']:.0f} pause storm(s)"
    if row["port_kind"] == "nic":
        return _of_nic(end, (row["onset"], None), Evidence(source=end_text(end), what=what))
    return _verdict(end, (row["onset"], None), what, fabric)


def _verdict(
    end: End, times: tuple[datetime, datetime | None], what: str, fabric: Fabric
) -> Verdict:
    """Return the verdict on the peer of a port of which a queue was stopped."""
    far = far_end(fabric.ends, end)
    seen = Evidence(source=end_text(end), time=times[0], what=what)
    if far:
        return _of_nic(far, times, seen, victim=end)
    return Verdict(
        kind="congestion",
        level="link",
        subject=Subject(switch=end[0], port=end[1]),
        onset=times[0],
        detected=times[0],
        cleared=times[1],
        cause="pfc_storm",
        confidence="medium",
        evidence=(seen,),
        alternatives=(f"peer of {end_text(end)}",),
        action=f"look at the device on {end_text(end)}: it keeps this queue stopped; not the cable",
        needed="the topology names the peer of this port",
    )


def _of_nic(
    culprit: End,
    times: tuple[datetime, datetime | None],
    seen: Evidence,
    victim: End | None = None,
) -> Verdict:
    """Return the verdict on the end that keeps a queue stopped."""
    return Verdict(
        kind="congestion",
        level="nic",
        subject=Subject(
            host=culprit[0],
            device=culprit[1],
            switch=victim[0] if victim else None,
            port=victim[1] if victim else None,
        ),
        onset=times[0],
        detected=times[0],
        cleared=times[1],
        cause="pfc_storm",
        confidence="high" if victim else "medium",
        evidence=(seen,),
        victims=(end_text(victim),) if victim else (),
        action="look at this host: its NIC keeps a queue stopped (PCIe, memory, hung GPU, driver)",
    )
