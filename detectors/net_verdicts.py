"""Judge network completion errors that nothing else explains: a host, a rail, a link, a side.

Source: methods of the NCCL and PyTorch reference, sections 4.1 and 12.4.
"""

from dataclasses import replace
from typing import Any, Final

import polars as pl

from detectors.network_words import MAX_QUOTED, MAX_VICTIMS, PORT_ACTION
from detectors.quotes import quoted
from detectors.verdicts import Evidence, Level, Subject, Verdict

LOCAL_STATUSES: Final = ("1", "2", "4")
"""Completion statuses of the reporter's own memory or queue pair."""

REMOTE_STATUSES: Final = ("9", "10", "11")
"""Completion statuses by which the other side refused."""

_NOT_READY: Final = "13"
"""The peer lives and posts no buffers."""

_SETUP_ACTION: Final = "check GID index, routing, MTU and flow control of all hosts; blame none"

MIN_HOSTS_ALL: Final = 3
"""Hosts from which it tells something that all of their pairs fail."""

_STALLED_ACTION: Final = "take stack traces of this host's processes: they post no buffers"

_PAIR_ACTION: Final = "test the pair in both directions, then each end against a third host"


def local_verdicts(edges: pl.DataFrame) -> list[Verdict]:
    """Return the verdicts on errors whose status names a side: the reporter's, or the other."""
    local = edges.filter(pl.col("status").is_in(LOCAL_STATUSES)).to_dicts()
    remote = edges.filter(pl.col("status").is_in(REMOTE_STATUSES)).to_dicts()
    at_home = {row["host"]: row for row in reversed(local)}
    abroad = {row["peer"]: row for row in reversed(remote)}
    return [
        *(_memory(row) for _, row in sorted(at_home.items())),
        *(_refusal(row) for _, row in sorted(abroad.items())),
    ]


def _memory(row: dict[str, Any]) -> Verdict:
    return Verdict(
        kind="config_drift",
        level="host",
        subject=Subject(host=row["host"], device=row["nic"]),
        onset=row["time"],
        detected=row["time"],
        cause="memory_registration",
        confidence="medium",
        evidence=(quoted(row),),
        action="check ACS, IOMMU and the peer-memory module of this host",
        needed="the host's kernel log, and the same test with GPUDirect off",
    )


def _refusal(row: dict[str, Any]) -> Verdict:
    return Verdict(
        kind="link_fault",
        level="host" if row["named"] else "link",
        subject=Subject(host=row["peer"]) if row["named"] else Subject(link=_link(row)),
        onset=row["time"],
        detected=row["time"],
        cause="remote_access",
        confidence="medium" if row["named"] else "low",
        evidence=(quoted(row),),
        victims=(row["host"],),
        alternatives=(row["host"],),
        action="look for a queue pair's own error on this host: it refused what it was sent",
        needed="the asynchronous events of this host",
    )


def edge_verdicts(edges: pl.DataFrame, min_edge_share: float) -> list[Verdict]:
    """Return what unanswered requests tell: a host, a rail, the fabric, or single links.

    Args:
        edges: `EDGES` that nothing else explains.
        min_edge_share: Of the links that a host must be an end of to be named.
    """
    sided = (*LOCAL_STATUSES, *REMOTE_STATUSES)
    rows = edges.filter(~pl.col("status").is_in(sided)).sort("host", "peer", "status").to_dicts()
    links = {_link(row): row for row in reversed(rows)}
    ends = [{row["host"], row["peer"]} for row in links.values()]
    center = _center(ends, min_edge_share)
    if center is not None:
        return [_unreached(center, rows)]
    names = {name for pair in ends for name in pair}
    if len(names) >= MIN_HOSTS_ALL and 2 * len(links) == len(names) * (len(names) - 1):
        return [_every_pair(rows)]
    nics = {row["nic"] for row in rows}
    if len(links) > 1 and len(nics) == 1 and None not in nics:
        return [_shared(rows, Subject(group=f"rail {nics.pop()}"), "group", "rail")]
    if len(links) > 2:  # noqa: PLR2004 -- two pairs may break by themselves
        return [_shared(rows, Subject(), "job", "fabric")]
    return [_pair(row) for _, row in sorted(links.items())]


def _center(ends: list[set[str]], min_share: float) -> str | None:
    """Return the one end that most links share, if nearly all do and there are at least two."""
    names = sorted({name for pair in ends for name in pair})
    counts = {name: sum(name in pair for pair in ends) for name in names}
    most = max(counts.values(), default=0)
    hits = [name for name, count in counts.items() if count == most]
    return hits[0] if len(hits) == 1 and most >= max(2.0, min_share * len(ends)) else None


def _unreached(host: str, rows: list[dict[str, Any]]) -> Verdict:
    """Return the verdict on a host that is an end of all links that fail."""
    mine = [row for row in rows if host in {row["host"], row["peer"]}]
    naming = sorted({row["host"] for row in mine if row["peer"] == host})
    others = sorted({end for row in mine for end in (row["host"], row["peer"])} - {host})
    stalled = all(row["status"] == _NOT_READY for row in mine)
    known = any(row["named"] if row["peer"] == host else True for row in mine)
    what = f"{len(naming)} hosts cannot reach {host}; no other pair fails"
    times = [row["time"] for row in mine if row["time"]]
    return Verdict(
        kind="link_fault",
        level="host",
        subject=Subject(host=host),
        onset=min(times, default=None),
        detected=min(times, default=None),
        cause="receiver_not_ready" if stalled else "unreachable",
        confidence="medium" if len(naming) > 1 and known else "low",
        evidence=(
            Evidence(source="net_error", what=what),
            *(quoted(row) for row in mine[:MAX_QUOTED]),
        ),
        victims=tuple(others)[:MAX_VICTIMS],
        action=PORT_ACTION,
        needed=f"the kernel log of {host}, and whether its processes still lived",
    )


def _every_pair(rows: list[dict[str, Any]]) -> Verdict:
    """Return the verdict where no pair of hosts works: it is how all are set up, or the fabric."""
    found = _shared(rows, Subject(), "job", "every_pair")
    return replace(
        found, kind="config_drift", alternatives=("switch", "subnet manager"), action=_SETUP_ACTION
    )


def _shared(rows: list[dict[str, Any]], subject: Subject, level: Level, cause: str) -> Verdict:
    """Return the verdict on what failing pairs without a common end share."""
    hosts = sorted({end for row in rows for end in (row["host"], row["peer"])})
    times = [row["time"] for row in rows if row["time"]]
    return Verdict(
        kind="link_fault",
        level=level,
        subject=subject,
        onset=min(times, default=None),
        detected=min(times, default=None),
        cause=cause,
        confidence="low",
        evidence=tuple(quoted(row) for row in rows[:MAX_QUOTED]),
        victims=tuple(hosts)[:MAX_VICTIMS],
        alternatives=("switch", "subnet manager", "configuration of all hosts"),
        action="look at what these pairs share; blame no host",
        needed="switch counters, the subnet manager's log, and whether any pair ever worked",
    )


def _pair(row: dict[str, Any]) -> Verdict:
    """Return the verdict on one pair: a receiver that answers and is not ready is the side."""
    stalled = row["status"] == _NOT_READY and row["named"]
    return Verdict(
        kind="link_fault",
        level="host" if stalled else "link",
        subject=Subject(host=row["peer"]) if stalled else Subject(link=_link(row)),
        onset=row["time"],
        detected=row["time"],
        cause="receiver_not_ready" if row["status"] == _NOT_READY else "unreachable",
        confidence="low",
        evidence=(quoted(row),),
        victims=(row["host"],) if stalled else (),
        alternatives=(row["host"],) if stalled else (row["host"], row["peer"]),
        action=_STALLED_ACTION if stalled else _PAIR_ACTION,
        needed="errors of other pairs, the kernel logs of both ends",
    )


def _link(row: dict[str, Any]) -> str:
    """Return both ends of an edge in alphabetical order."""
    return " - ".join(sorted([row["host"], row["peer"]]))
