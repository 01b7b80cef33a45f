"""Find the host whose processes went away first, where sockets alone tell of it.

Source: methods of the NCCL and PyTorch reference, sections 4.3 and 12.4. A closed connection is the
peer's doing, and a refused one a peer that never listened or is dead: both say to look there.
Whoever lost a peer goes away itself, so the first is the one that is named and names nobody.
"""

from typing import Any, Final, Literal

import polars as pl

from collectors.texts.event_labels import label_value
from detectors.addresses import known_addresses, with_hosts
from detectors.faults import is_complaint_of_waiting, is_hard_fault, is_outside_cause
from detectors.network_words import MAX_QUOTED, MAX_VICTIMS
from detectors.quotes import quoted
from detectors.verdicts import Subject, Verdict

_LOST: Final = ("peer_closed", "connect", "recv", "send")

_NO_ROUTE: Final = ("No route to host", "Connection timed out", "Network is unreachable")
"""Errors of a wrong interface, a firewall, or a host that is down."""

_NETWORK: Final = ("net_error", "link_down", "nic_fault", "net_recovery")
"""What explains lost peers better."""


MIN_EDGES: Final = 2
"""Hosts that must find no way for it to be a setting of all."""


def find_lost_peers(events: pl.DataFrame) -> list[Verdict]:
    """Return the verdict on the host that others lost, if nothing else tells why.

    Args:
        events: `EVENTS` of one run.

    Returns:
        A crash of the one host that several name and that names nobody, or a fault of the way to
        it; unknown where one alone names it, or several are named so; a setting of the job where
        all of them name each other and find no way. Nothing where a process ended its communicators
        in order: it left when it was done.
    """
    explained = is_hard_fault() | is_outside_cause() | is_complaint_of_waiting()
    told = pl.col("kind").is_in([*_NETWORK, "comm_end"])
    if events.filter(explained | told).height:
        return []
    edges = _edges(events)
    named, naming = set(edges["peer"]), set(edges["host"])
    first = sorted(named - naming)
    if not first:
        return _no_way(edges)
    rows = edges.filter(pl.col("peer").is_in(first)).to_dicts()
    return [_verdict(first, rows, sorted(naming))]


def _edges(events: pl.DataFrame) -> pl.DataFrame:
    """Return one row a host and the known host that it lost: the first time it says so."""
    known = events["host"].drop_nulls().unique()
    addresses = known_addresses(events.lazy())
    hosts = pl.concat([known, addresses["owner"]]).unique()
    lost = events.filter(pl.col("kind") == "comm_error", pl.col("code").is_in(_LOST))
    short = pl.col("peer").str.extract(r"^([^.]+)\.", 1)
    named = with_hosts(lost.lazy().drop_nulls(["host", "peer"]), "peer", addresses)
    return (
        named.with_columns(peer=pl.when(short.is_in(hosts.implode())).then(short).otherwise("peer"))
        .with_columns(error=label_value("error"))
        .filter(pl.col("peer").is_in(hosts.implode()), pl.col("peer") != pl.col("host"))
        .sort("host", "peer", "time", "source", "position", nulls_last=True)
        .unique(["host", "peer"], keep="first", maintain_order=True)
        .collect()
    )


def _cause(rows: list[dict[str, Any]]) -> str:
    """Return why a host was lost: it closed, it refuses all, or nothing gets there."""
    if any(row["code"] != "connect" for row in rows):
        return "peer_closed"
    lost = all(row["error"] in _NO_ROUTE for row in rows)
    return "no_route" if lost else "not_listening"


def _no_way(edges: pl.DataFrame) -> list[Verdict]:
    """Return the verdict where hosts that name each other find no way to each other: a setting."""
    rows = edges.sort("time", "source", "position", nulls_last=True).to_dicts()
    if len(rows) < MIN_EDGES or _cause(rows) != "no_route":
        return []
    return [
        Verdict(
            kind="config_drift",
            level="job",
            subject=Subject(),
            onset=rows[0]["time"],
            detected=rows[0]["time"],
            cause="no_route",
            confidence="low",
            evidence=tuple(quoted(row) for row in rows[:MAX_QUOTED]),
            victims=tuple(sorted({row["host"] for row in rows}))[:MAX_VICTIMS],
            alternatives=("firewall", "wrong interface", "network of all hosts"),
            action="check the interface that NCCL takes, and the firewall, on all hosts",
            needed="whether these hosts reach each other over the addresses that they print",
        )
    ]


def _verdict(first: list[str], rows: list[dict[str, Any]], naming: list[str]) -> Verdict:
    cause = _cause(rows)
    sure = len(first) == 1 and len(rows) > 1
    kind: Literal["link_fault", "crash"] = "link_fault" if cause == "no_route" else "crash"
    times = [row["time"] for row in rows if row["time"]]
    return Verdict(
        kind=kind if sure else "unknown",
        level="host" if sure else "job",
        subject=Subject(host=first[0]) if sure else Subject(),
        onset=min(times, default=None),
        detected=min(times, default=None),
        cause=cause,
        confidence="medium" if sure else "low",
        evidence=tuple(quoted(row) for row in rows[:MAX_QUOTED]),
        victims=tuple(naming)[:MAX_VICTIMS],
        alternatives=() if sure else tuple(first)[:MAX_VICTIMS],
        action="read the log of the processes on the host that was lost: they ended first",
        needed=f"the log of the processes on {', '.join(first[:MAX_QUOTED])}, and its kernel's",
    )
