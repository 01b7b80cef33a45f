"""Find the ports that carry less than their peers while all are busy: slow and flapping links.

Source: methods reference, sections 5 and 8: bytes a second of a port when busy, against the ports
of the same rail in the same job. Nothing makes two ports carry alike but a job in lockstep, so we
judge only ports whose peers do carry alike; in a fabric of many jobs nobody is compared.
"""

from dataclasses import dataclass, field, replace
from itertools import groupby
from math import exp
from typing import Any, Final

import numpy as np
import polars as pl

from detectors.accusations import FLAP_RUNS, slow_kind
from detectors.episodes import EpisodeParams
from detectors.fabric import Fabric
from detectors.panels import Floats, Panel, build_panel
from detectors.peers import known_median, robust_scale
from detectors.suspects import Suspect, SuspectParams, find_suspects
from detectors.timelines import clock_timeline
from detectors.verdicts import Evidence, Subject, Verdict, verdict_frame

COUNTED: Final = (
    *("received_bytes_total", "transmitted_bytes_total"),
    *("rdma_received_bytes_total", "rdma_transmitted_bytes_total"),
)
MEASURED: Final = ("receive_bytes_per_second", "transmit_bytes_per_second")

MIN_PEERS: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class PortPaceParams:
    """When a port is slow.

    Attributes:
        suspects: Screens and verification.
        tick_seconds: Width of a tick.
        min_group_share: Of its busiest tick, below which a group is idle.
        min_own_share: Of its peers' rate, below which a port has no work instead of a fault.
        max_group_spread: Robust scale of the log rates of a group, at the median tick: above it the
            ports do not carry the same.
    """

    suspects: SuspectParams = field(
        default_factory=lambda: SuspectParams(
            episodes=EpisodeParams(min_slowdown=1.2, min_level=1.5, strong_slowdown=1.5)
        )
    )
    tick_seconds: float = 15.0
    min_group_share: float = 0.2
    min_own_share: float = 0.05
    max_group_spread: float = 0.1


def find_slow_ports(fabric: Fabric, params: PortPaceParams) -> pl.DataFrame:
    """Return the ports of hosts that carry less than the ports of the same rail.

    Args:
        fabric: Growth of byte counters, and gauges of bytes a second; a rate that is not known is
            no peer.
        params: The thresholds.

    Returns:
        `VERDICTS` of kind slow, degrading or flapping at level link, one row a port. Partition
        key: rail.
    """
    found: dict[tuple[str, str], list[list[Verdict]]] = {}
    for rates in _rates(fabric).partition_by("signal", maintain_order=True):
        verdicts = sorted(_judge(rates, params), key=_port)
        for port, told in groupby(verdicts, _port):
            found.setdefault(port, []).append(list(told))
    return verdict_frame(one for told in found.values() for one in max(told, key=_worst))


def _port(verdict: Verdict) -> tuple[str, str]:
    return verdict.subject.host or "", verdict.subject.port or ""


def _worst(told: list[Verdict]) -> float:
    """Return the largest slowdown of a port by one signal: its directions are one finding."""
    return max(one.slowdown or 1.0 for one in told)


def _rates(fabric: Fabric) -> pl.DataFrame:
    """Return bytes a second of hosts' ports, by host, port, signal and time."""
    names = ("host", "port", "signal")
    is_port = (pl.col("port_kind") == "nic") & (pl.col("port") == pl.col("device"))
    counted = fabric.intervals.filter(
        is_port & pl.col("signal").is_in(COUNTED) & pl.col("near") & (pl.col("seconds") > 0)
    ).select(*names, time="end", rate=pl.col("delta") / pl.col("seconds"))
    measured = fabric.readings.filter(is_port & pl.col("signal").is_in(MEASURED)).select(
        *names, "time", rate="value"
    )
    return pl.concat([counted, measured]).filter(pl.col("rate") > 0).sort(*names, "time")


def _judge(rates: pl.DataFrame, params: PortPaceParams) -> list[Verdict]:
    hosts = rates.group_by("port").agg(pl.col("host").n_unique())["host"]
    rail = pl.col("port") if int(str(hosts.max())) >= MIN_PEERS else pl.lit("any")
    width = int(params.tick_seconds * 1e6)
    panel = build_panel(
        rates.lazy().with_columns(
            rail=rail,
            tick=pl.col("time").cast(pl.Int64) // width * width,
            log_rate=-pl.col("rate").log(),
        ),
        group=("signal", "rail"),
        entity=("host", "port"),
        tick="tick",
        value="log_rate",
    )
    busy = replace(panel, values=_at_work(panel, params))
    return [_verdict(busy, one, width) for one in find_suspects(busy, params.suspects)]


def _at_work(panel: Panel, params: PortPaceParams) -> Floats:
    """Return the values at ticks at which the group is busy and the port has work; else NaN."""
    values = panel.values.copy()
    for group in np.unique(panel.groups):
        rows = np.flatnonzero(panel.groups == group)
        middle = known_median(values[rows], 0)
        idle = middle > np.nanmin(middle) - np.log(params.min_group_share)
        spread = robust_scale(values[rows][:, ~idle], 0)
        if rows.size < MIN_PEERS or not np.nanmedian(spread) <= params.max_group_spread:
            values[rows] = np.nan
            continue
        away = values[rows] - middle > -np.log(params.min_own_share)
        values[rows] = np.where(away | idle, np.nan, values[rows])
    return values


def _verdict(panel: Panel, suspect: Suspect, width: int) -> Verdict:
    names: dict[str, Any] = panel.entities.row(suspect.entity, named=True)
    episode, ratio = suspect.episode, exp(suspect.episode.effect)
    mates = panel.groups == panel.groups[suspect.entity]
    usual = float(np.exp(-np.nanmedian(panel.values[mates, episode.start : episode.stop])))
    runs = f" in {episode.runs} separate episodes" if episode.runs >= FLAP_RUNS else ""
    what = (
        f"{names['signal']} {usual / ratio / 1e9:.3g} GB/s where {suspect.members - 1} ports of "
        f"the same rail carry {usual / 1e9:.3g} GB/s{runs}"
    )
    span = clock_timeline(panel.ticks, width).span(episode)
    return Verdict(
        kind=slow_kind(suspect),
        level="link",
        subject=Subject(host=names["host"], device=names["port"], port=names["port"]),
        slowdown=ratio,
        cause="slow_link",
        confidence="medium",
        peers="ports of the same rail that carry alike",
        peer_count=suspect.members - 1,
        q_value=suspect.q_value,
        evidence=(Evidence(source="port counters", time=span["onset"], what=what),),
        action="look at this port's errors, retransmissions and marks, then at its cable",
        **span,
    )
