"""Put network errors into words: ports, devices, hosts that nobody reaches, single pairs.

Source: methods of the NCCL and PyTorch reference, sections 4.1, 4.2, 12.4 and 12.7.
"""

from typing import Any, Final

import polars as pl

from detectors.addresses import known_addresses, with_hosts
from detectors.net_edges import FLUSHED
from detectors.quotes import quoted
from detectors.verdicts import Level, Subject, Verdict

MAX_QUOTED: Final = 4

MAX_VICTIMS: Final = 16

PORT_ACTION: Final = (
    "read the host's kernel log and the port's counters; drain the host if it recurs"
)


def device_verdict(row: dict[str, Any], edges: pl.DataFrame) -> Verdict:
    """Return the verdict on a port or a device that reported its own failure.

    Args:
        row: Its first event, with `back`, the event that it is up again or null, and `times`.
        edges: `EDGES`; those that touch its host are its victims' and support it.
    """
    host, back = row["host"], row["back"]
    touching = edges.filter((pl.col("host") == host) | (pl.col("peer") == host))
    seen = touching.sort("host", "peer").head(MAX_QUOTED).to_dicts()
    fatal = row["kind"] == "nic_fault"
    level: Level = "nic" if row["device"] else "host"
    return Verdict(
        kind="link_fault",
        level=level,
        subject=Subject(host=host, device=row["device"]),
        onset=row["time"],
        detected=row["time"],
        cleared=back["time"] if back else None,
        cause="device_fatal" if fatal else "flap" if back else "link_down",
        confidence="medium" if back and not seen else "high",
        evidence=(
            quoted(row),
            *((quoted(back),) if back else ()),
            *(quoted(one) for one in seen),
        ),
        victims=_others(touching, host),
        action=PORT_ACTION,
        needed=None if row["device"] else "the host's kernel log names the NIC",
    )


def switch_verdict(rows: list[dict[str, Any]]) -> Verdict:
    """Return the verdict on ports of several hosts that went down together."""
    hosts = tuple(dict.fromkeys(row["host"] for row in rows))
    nics = {row["device"] for row in rows}
    rail = f"rail {rows[0]['device']}" if len(nics) == 1 and rows[0]["device"] else None
    return Verdict(
        kind="link_fault",
        level="group" if rail else "job",
        subject=Subject(group=rail),
        onset=rows[0]["time"],
        detected=rows[0]["time"],
        cause="switch",
        confidence="medium",
        evidence=tuple(quoted(row) for row in rows[:MAX_QUOTED]),
        victims=hosts[:MAX_VICTIMS],
        needed="the topology: which switch these ports share",
        action="look at the switch that these ports share before any of the hosts",
    )


def given_up(events: pl.DataFrame) -> list[Verdict]:
    """Return the verdicts on hosts whose port recovery failed for good."""
    rows = events.filter(pl.col("kind") == "net_recovery").drop_nulls("host")
    last = rows.sort("host", "time", "source", "position").group_by("host", maintain_order=True)
    lost = last.agg(
        pl.col("time", "source", "position", "message").last(),
        outcome=pl.col("code").filter(pl.col("code") != "started").last(),
    ).filter(pl.col("outcome").is_in(["gave_up", "failed"]))
    return [
        Verdict(
            kind="link_fault",
            level="host",
            subject=Subject(host=row["host"]),
            onset=row["time"],
            detected=row["time"],
            cause="link_down",
            confidence="medium",
            evidence=(quoted(row),),
            alternatives=("its peer",),
            action=PORT_ACTION,
            needed="port events and kernel logs of this host and of its peer",
        )
        for row in lost.to_dicts()
    ]


def size_mismatches(events: pl.DataFrame) -> list[Verdict]:
    """Return the verdict on two ends that disagree on sizes or ranks: the calls differ."""
    told = events.lazy().filter(pl.col("kind") == "mismatch")
    placed = with_hosts(told, "peer", known_addresses(events.lazy())).collect()
    ordered = placed.sort("time", "source", "position", nulls_last=True)
    rows = ordered.head(MAX_QUOTED).to_dicts()
    ends = sorted({end for row in rows for end in (row["host"], row["peer"]) if end})
    return [
        Verdict(
            kind="mismatch",
            level="job",
            subject=Subject(),
            onset=rows[0]["time"],
            detected=rows[0]["time"],
            cause=rows[0]["code"],
            confidence="low",
            evidence=tuple(quoted(row) for row in rows),
            alternatives=tuple(ends),
            action="compare versions, environment and calls of the two ends",
            needed="flight recorder dumps of both ends",
        )
        for _ in rows[:1]
    ]


def flush_verdict(edges: pl.DataFrame) -> list[Verdict]:
    """Return the verdict on errors that only follow others, or that name no peer."""
    rows = edges.sort("time", "source", "position", nulls_last=True).head(MAX_QUOTED).to_dicts()
    ends = sorted({end for row in rows for end in (row["host"], row["peer"]) if end})
    flushed = all(row["status"] == FLUSHED for row in rows)
    return [
        Verdict(
            kind="unknown",
            level="job",
            subject=Subject(),
            onset=rows[0]["time"],
            detected=rows[0]["time"],
            cause="network",
            confidence="low",
            evidence=tuple(quoted(row) for row in rows),
            alternatives=tuple(ends),
            action="blame no host yet; collect first",
            needed=(
                "the first error on these queue pairs, at either end"
                if flushed
                else "the peer of these errors, and port events of the hosts"
            ),
        )
        for _ in rows[:1]
    ]


def _others(edges: pl.DataFrame, host: str) -> tuple[str, ...]:
    ends = set(edges["host"].to_list()) | set(edges["peer"].to_list())
    return tuple(sorted(end for end in ends if end and end != host))[:MAX_VICTIMS]
