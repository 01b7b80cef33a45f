"""Find what broke in the network: ports and devices that say so, and hosts that nobody reaches.

Source: methods of the NCCL and PyTorch reference, sections 4.1, 4.2, 12.4 and 12.6. A port's own
event names it; a completion error blames an edge, and the side of it takes more than one edge.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

import polars as pl

from collectors.frames import EVENTS, require
from detectors.belonging import placed_events
from detectors.faults import HARD_KINDS, is_hard_fault
from detectors.net_edges import FLUSHED, net_edges
from detectors.net_lost_peers import find_lost_peers
from detectors.net_settings import find_odd_settings
from detectors.net_starts import find_late_starts
from detectors.net_verdicts import edge_verdicts, local_verdicts
from detectors.net_visitors import find_visitors
from detectors.network_words import (
    device_verdict,
    flush_verdict,
    given_up,
    size_mismatches,
    switch_verdict,
)
from detectors.verdicts import Verdict, verdict_frame


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkFaultParams:
    """When network errors name somebody.

    Attributes:
        max_flap_seconds: A port that is back so soon has flapped.
        max_together_seconds: Ports of several hosts that go down within this went together.
        min_hosts_together: So many hosts together are their switch.
        min_edge_share: Of the edges that a host must be an end of to be named.
    """

    max_flap_seconds: float = 30.0
    max_together_seconds: float = 10.0
    min_hosts_together: int = 3
    min_edge_share: float = 0.9


_PORT_KINDS: Final = ("link_down", "nic_fault")

_MOMENTS: Final = ("run_start", "run_end")
"""Without a host they are a scheduler's: a month of accounts has thousands of runs and no more."""


def find_network_faults(
    events: pl.LazyFrame, roles: pl.LazyFrame, params: NetworkFaultParams
) -> pl.DataFrame:
    """Return the faults of network devices and paths, and odd settings of the communication.

    Args:
        events: `EVENTS`; what ports, completions, recovery and bootstrap tell.
        roles: `ROLES`, for hosts and runs.
        params: The thresholds.

    Returns:
        `VERDICTS` of kind link_fault on the NIC or host whose port or device failed, on the host
        that several others could not reach, or on the link where one pair alone complains;
        of kind config_drift on hosts set up unlike the others, and on strangers at the bootstrap's
        ports; crash of a host that several lost; slow who came last to the start; unknown where
        only consequences were logged. Events that are no fault give no row. Partition key: run.

    Raises:
        SchemaError: A frame lacks a column.
    """
    is_moment = pl.col("kind").is_in(_MOMENTS) & pl.col("host").is_null()
    placed = placed_events(events.pipe(require, EVENTS), roles).remove(is_moment).collect()
    parts = placed.partition_by("run", maintain_order=True)
    return verdict_frame(
        replace(one, subject=replace(one.subject, run=part["run"][0]))
        for part in parts
        for one in _judged(part, params)
    )


def _judged(events: pl.DataFrame, params: NetworkFaultParams) -> list[Verdict]:
    edges = net_edges(events.lazy()).filter(
        pl.col("peer").is_not_null() | ~pl.col("host").is_in(_recovered(events))
    )
    first = edges.filter(pl.col("status") != FLUSHED)
    ports = _ports(events, params)
    recoveries = given_up(events)
    ruled_out = {row["host"] for row in ports} | _crashed(events)
    open_edges = first.filter(
        pl.col("peer").is_not_null(),
        ~pl.col("host").is_in(ruled_out),
        ~pl.col("peer").is_in(ruled_out).fill_null(value=False),
    )
    died = _died_somewhere(events)
    found = [
        *_port_verdicts(ports, first, params),
        *recoveries,
        *local_verdicts(open_edges),
        *([] if died else edge_verdicts(open_edges, params.min_edge_share)),
        *size_mismatches(events),
    ]
    if not found and not ruled_out and not died:
        found = flush_verdict(edges)
    told = [*find_odd_settings(events), *find_visitors(events), *find_late_starts(events)]
    return [*found, *find_lost_peers(events), *told]


def _crashed(events: pl.DataFrame) -> set[str]:
    """Return the hosts on which a process died of its own: to reach them in vain is a cascade."""
    return set(events.filter(is_hard_fault()).drop_nulls("host")["host"].to_list())


def _died_somewhere(events: pl.DataFrame) -> bool:
    """Return whether a process died of its own on a host that nobody names.

    Its peers' requests stay unanswered: which edges those are cannot be told.
    """
    died = events.filter(pl.col("kind").is_in(HARD_KINDS), pl.col("host").is_null())
    errors = events.filter(pl.col("kind") == "net_error")["time"].drop_nulls()
    if died.is_empty() or died["time"].null_count() or errors.is_empty():
        return not died.is_empty()
    return bool((died["time"] <= errors.min()).any())


def _recovered(events: pl.DataFrame) -> set[str]:
    """Return the hosts on which a port recovery succeeded: what it recovered from is over."""
    done = events.filter(pl.col("kind") == "net_recovery", pl.col("code") == "succeeded")
    return set(done.drop_nulls("host")["host"].to_list())


def _ports(events: pl.DataFrame, params: NetworkFaultParams) -> list[dict[str, Any]]:
    """Return one row a port or device that failed: its first event, and when it was back."""
    is_port = pl.col("device_kind").fill_null("nic") == "nic"
    rows = events.filter(is_port).drop_nulls("host").sort("time", "source", "position")
    down = (
        rows.filter(pl.col("kind").is_in(_PORT_KINDS))
        .group_by("host", "device", "kind", maintain_order=True)
        .agg(
            pl.col("time", "source", "position", "message", "code").first(),
            times=pl.len(),
        )
    )
    back = rows.filter(pl.col("kind") == "link_up").to_dicts()
    flap = timedelta(seconds=params.max_flap_seconds)
    return [
        row | {"back": next((up for up in back if _is_back(row, up, flap)), None)}
        for row in down.sort("host", "device", "kind", nulls_last=True).to_dicts()
    ]


def _is_back(row: dict[str, Any], up: dict[str, Any], flap: timedelta) -> bool:
    """Return whether an event says that a port is up again: soon, or next in the same log."""
    if row["kind"] != "link_down" or (row["host"], row["device"]) != (up["host"], up["device"]):
        return False
    if row["time"] is None or up["time"] is None:
        in_order = (row["position"] or 0) < (up["position"] or 0)
        return bool(row["source"] == up["source"] and in_order)
    return bool(timedelta(0) <= up["time"] - row["time"] <= flap)


def _port_verdicts(
    ports: list[dict[str, Any]], edges: pl.DataFrame, params: NetworkFaultParams
) -> Iterable[Verdict]:
    """Return the verdicts on ports; of many hosts' that went together, one on their switch."""
    span = timedelta(seconds=params.max_together_seconds)
    timed = sorted(
        (row for row in ports if row["time"] and row["kind"] == "link_down"),
        key=lambda row: (row["time"], row["host"]),
    )
    hosts = {row["host"] for row in timed}
    together = bool(timed) and timed[-1]["time"] - timed[0]["time"] <= span
    if together and len(hosts) >= params.min_hosts_together:
        rest = [row for row in ports if row["kind"] == "nic_fault"]
        return [switch_verdict(timed), *(device_verdict(row, edges) for row in rest)]
    return [device_verdict(row, edges) for row in ports]
