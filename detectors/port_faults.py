"""Find damaged directions from the fault bits of ports that stay up.

Source: fabric reference, sections 4 and 6.4; SONiC port error events. A local fault says that this
receiver sees no good signal, a remote fault that the peer's receiver says so. When a link goes down
both come together, also when somebody shut the peer: such bits count for nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import polars as pl

from detectors.dirty_bins import LINE_LIMITS
from detectors.fabric import Fabric
from detectors.link_words import (
    End,
    direction_evidence,
    end_text,
    far_end,
    likely_part,
    link_subject,
)
from detectors.verdicts import Evidence, Verdict, verdict_frame

_LOCAL: Final = ("mac_local_fault", "signal_local_error", "no_rx_reachability", "high_ser_error")
_REMOTE: Final = ("mac_remote_fault",)
_COUNTERS: Final = {
    "mac_local_faults_total": "mac_local_fault",
    "mac_remote_faults_total": "mac_remote_fault",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PortFaultParams:
    """When fault bits name a direction.

    Attributes:
        min_faults: Bits in all below which it may be one hiccup.
        outage_seconds: Bits this near to a way down or up are its echo.
    """

    min_faults: int = 3
    outage_seconds: float = 5.0


def find_port_faults(fabric: Fabric, params: PortFaultParams) -> pl.DataFrame:
    """Return the links of which one direction is damaged, as ports that stay up tell.

    Args:
        fabric: Events `port_error`, counters of fault bits, and cables.
        params: The thresholds.

    Returns:
        `VERDICTS` of kind link_fault and cause `dirty`, one row a receiver whose counters of line
        errors do not tell it already (see `detectors.links`). Partition key: fabric.
    """
    faults = pl.concat([_logged(fabric, params), _counted(fabric)])
    return verdict_frame(_judged(faults, fabric, params))


_FAULTS: Final = ("host", "port", "port_kind", "code", "time", "count")


def _logged(fabric: Fabric, params: PortFaultParams) -> pl.DataFrame:
    """Return the fault events of ports that do not go down or come up at the time."""
    kind, span = pl.col("kind"), timedelta(seconds=params.outage_seconds)
    named = fabric.events.drop_nulls(["host", "device", "time"])
    faults = named.filter(kind == "port_error", pl.col("code").is_in([*_LOCAL, *_REMOTE]))
    moves = named.filter(kind.is_in(["link_down", "link_up"])).select(
        "host", "device", moved=pl.col("time")
    )
    echoes = (
        faults.join(moves, on=["host", "device"])
        .filter(pl.col("time").is_between(pl.col("moved") - span, pl.col("moved") + span))
        .select("host", "device", "time", "code")
    )
    port_kind = pl.col("device_kind").fill_null("switch_port")
    return faults.join(echoes, on=["host", "device", "time", "code"], how="anti").select(
        "host",
        pl.col("device").alias("port"),
        port_kind.alias("port_kind"),
        "code",
        "time",
        pl.col("count").fill_null(1).cast(pl.Float64).alias("count"),
    )


def _counted(fabric: Fabric) -> pl.DataFrame:
    code = pl.col("signal").replace_strict(_COUNTERS, default=None, return_dtype=pl.String)
    grown = fabric.intervals.filter(
        pl.col("signal").is_in(list(_COUNTERS)), pl.col("delta") > 0, ~pl.col("settling")
    )
    return grown.with_columns(code=code, time=pl.col("end"), count=pl.col("delta")).select(_FAULTS)


def _judged(faults: pl.DataFrame, fabric: Fabric, params: PortFaultParams) -> Iterator[Verdict]:
    """Yield one verdict a receiver; what its peer says of it stands beside its own word."""
    by_receiver: dict[End, list[dict[str, Any]]] = {}
    for row in faults.sort(*_FAULTS).to_dicts():
        end = (row["host"], row["port"])
        receiver = end if row["code"] in _LOCAL else far_end(fabric.ends, end)
        if receiver:
            by_receiver.setdefault(receiver, []).append(row)
    for receiver, rows in sorted(by_receiver.items()):
        enough = sum(row["count"] for row in rows) >= params.min_faults
        if enough and not _has_line_errors(fabric, receiver):
            yield _verdict(receiver, rows, fabric)


def _has_line_errors(fabric: Fabric, end: End) -> bool:
    mine = fabric.intervals.filter(
        pl.col("host") == end[0],
        pl.col("port") == end[1],
        pl.col("signal").is_in(list(LINE_LIMITS)),
    )
    return float(mine["min_delta"].sum()) > 0


def _verdict(receiver: End, rows: list[dict[str, Any]], fabric: Fabric) -> Verdict:
    far = far_end(fabric.ends, receiver)
    first, last = rows[0], rows[-1]
    onset: datetime = min(row["time"] for row in rows)
    part = likely_part(fabric.readings, receiver, far, last["time"])
    own = [row for row in rows if (row["host"], row["port"]) == receiver]
    kind = own[0]["port_kind"] if own else _other_kind(first["port_kind"], receiver, fabric)
    sums: dict[tuple[str, str], float] = {}
    for row in rows:
        key = (f"{row['host']} {row['port']}", row["code"])
        sums[key] = sums.get(key, 0.0) + row["count"]
    return Verdict(
        kind="link_fault",
        level="link",
        subject=link_subject(receiver, kind, far),
        onset=onset,
        detected=max(row["time"] for row in rows),
        cause="dirty",
        confidence="medium" if own and far else "low",
        evidence=(
            *(
                Evidence(source=port, time=onset, what=f"{code} {count:.0f} times, port stays up")
                for (port, code), count in sorted(sums.items())
            ),
            direction_evidence(receiver, far),
            *part.evidence,
        ),
        alternatives=part.suspects,
        action=part.action,
        needed=f"counters of line errors at {end_text(receiver)}",
    )


def _other_kind(kind: str, receiver: End, fabric: Fabric) -> str:
    """Return the kind of a receiver that only its peer tells of: between switches the same."""
    known = fabric.intervals.filter(pl.col("host") == receiver[0])["port_kind"].head(1).to_list()
    return known[0] if known else "nic" if kind == "switch_port" else "switch_port"
