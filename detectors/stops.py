"""Who stops whom: spells in which a port is held back by the other end of its cable.

Source: fabric reference, section 6.3. A pause received, and a wait for credit, is an edge from the
port that counts it to its peer; a pause sent is one from the peer to it. Walking towards the
stopper ends at the one that is not stopped itself.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import polars as pl

from detectors.fabric import Fabric
from detectors.growth import SpellParams, bad_spells, of_spell
from detectors.link_words import End, far_end, row_end

_DIRECTIONS: Final = ("received", "sent", "waited")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """A spell in which one end of a cable stops the other.

    Attributes:
        counted: The end that counts it.
        counted_kind: Its port's kind.
        direction: What it counts: received, sent or waited.
        share: Of the time, at the median of the spell's bins.
        at_most: The share is known from frames alone, so it is an upper bound.
        stopper: The end that stops the other; null if no listing names it.
        stopped: The end that is stopped; null if no listing names it.
        by_nic: Whether the stopper is a NIC; null if not known.
        onset: When it was first seen.
        start: First bad bin.
        stop: Last bad bin.
        brief: It does not last; there is no more data.
        from_start: It was so when the data began.
        to_end: It is so when the data ends.
    """

    counted: End
    counted_kind: str
    direction: str
    share: float
    at_most: bool
    stopper: End | None
    stopped: End | None
    by_nic: bool | None
    onset: datetime
    start: datetime
    stop: datetime
    brief: bool
    from_start: bool
    to_end: bool

    def meets(self, other: "Stop") -> bool:
        """Return whether two spells overlap."""
        return self.start <= other.stop and other.start <= self.stop


def find_stops(
    shares: pl.DataFrame, fabric: Fabric, min_shares: dict[str, float], spells: SpellParams
) -> list[Stop]:
    """Return the spells in which ports are stopped, by direction and port.

    Args:
        shares: `STOPS`.
        fabric: For the cables, and which ends are NICs.
        min_shares: By direction, the share of time from which a bin is bad.
        spells: What lasts.
    """
    nics = _nics(fabric)
    return [
        stop
        for direction in _DIRECTIONS
        for stop in _of_direction(shares, direction, min_shares[direction], (fabric, nics, spells))
    ]


def _of_direction(
    shares: pl.DataFrame,
    direction: str,
    min_share: float,
    context: tuple[Fabric, frozenset[End], SpellParams],
) -> Iterator[Stop]:
    fabric, nics, params = context
    known = shares.drop_nulls(direction)
    bad = known.filter(pl.col(direction) >= min_share)
    for row in bad_spells(bad, known, params).to_dicts():
        near = row_end(row)
        far = far_end(fabric.ends, near)
        yield _stop(row, (direction, of_spell(bad, row)), far, nics)


def _stop(
    row: dict[str, Any], seen: tuple[str, pl.DataFrame], far: End | None, nics: frozenset[End]
) -> Stop:
    direction, bins = seen
    near = row_end(row)
    stopper, stopped = (near, far) if direction == "sent" else (far, near)
    is_nic = row["port_kind"] == "nic"
    far_is_nic = far in nics if far else False if is_nic else None
    return Stop(
        counted=near,
        counted_kind=row["port_kind"],
        direction=direction,
        share=bins.select(pl.col(direction).median()).item(),
        at_most=direction != "waited" and bool(bins["at_most"].all()),
        stopper=stopper,
        stopped=stopped,
        by_nic=is_nic if direction == "sent" else far_is_nic,
        onset=row["onset"] or row["start"],
        start=row["start"],
        stop=row["stop"],
        brief=row["brief"],
        from_start=row["from_start"],
        to_end=row["to_end"],
    )


def _nics(fabric: Fabric) -> frozenset[End]:
    """Return the ends of cables that are no switch's.

    What counts no port of a switch and has no peer behind several ports is a host.
    """
    frames = (fabric.intervals, fabric.readings)
    seen = pl.concat([frame.select("host", "port_kind") for frame in frames]).unique()
    switches = set(seen.filter(pl.col("port_kind") == "switch_port")["host"].to_list())
    hosts = set(seen.filter(pl.col("port_kind") == "nic")["host"].to_list())
    ends = fabric.ends.select("host", "port").rows()
    plain = {(host, port) for host, port in ends if host in hosts}
    unseen = {
        (host, port)
        for host, port in ends
        if host not in hosts | switches and _looks_like_nic(port or "")
    }
    return frozenset(plain | unseen)


def _looks_like_nic(port: str) -> bool:
    return port.startswith(("mlx5", "mlx4", "eth", "ib", "en", "bnxt", "irdma"))


def roots(stops: Sequence[Stop]) -> tuple[list[Stop], list[Stop]]:
    """Return the stops whose stopper is the root of what they belong to, and the others.

    A NIC is always a root: it forwards nothing. A switch is one unless one of its own ports is
    stopped meanwhile. A stopper that is not known is no root.

    Args:
        stops: All spells.
    """
    found = [one for one in stops if one.stopper and not _is_stopped(one, stops)]
    return found, [one for one in stops if one not in found]


def _is_stopped(one: Stop, stops: Sequence[Stop]) -> bool:
    """Return whether the stopper of a spell is itself held back at the time."""
    return not one.by_nic and any(
        other.stopped and one.stopper and other.stopped[0] == one.stopper[0] and other.meets(one)
        for other in stops
    )
