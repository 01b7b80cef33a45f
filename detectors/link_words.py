"""Put links into words: their ends, the damaged direction, and which part is likely at fault.

Source: fabric reference, table 6.4. Errors are counted by the receiver, so the far transmitter, the
cable and the near receiver are suspects alike until optical power or the other direction tells.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import polars as pl

from detectors.lanes import RECEIVED_POWER, SENT_POWER, last_powers
from detectors.lasers import worn_laser
from detectors.verdicts import Evidence, Subject

MAX_LANE_SPREAD_DB: Final = 2.0
"""Lanes of one module stay within this of the best. Source: UFM cable validation."""

MAX_PATH_LOSS_DB: Final = 4.0
"""More than this between far laser and this receiver is a bad path; ours: the loss budget of 500 m
optics is 3 dB."""

MAX_LISTED: Final = 16
"""Hosts and ports that a finding names; a page has no room for more."""

End = tuple[str, str]
"""A host or switch, and its port."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Which part of a link is likely at fault.

    Attributes:
        suspects: Parts, most likely first.
        evidence: What was seen of them.
        action: What to do first.
    """

    suspects: tuple[str, ...]
    evidence: tuple[Evidence, ...] = ()
    action: str


def far_end(ends: pl.DataFrame, end: End) -> End | None:
    """Return the other end of a port's cable; null if no listing names it.

    Args:
        ends: `ENDS`.
        end: Host and port.
    """
    mine = ends.filter(pl.col("host") == end[0], pl.col("port") == end[1])
    return (mine["far_host"][0], mine["far_port"][0]) if mine.height else None


def end_text(end: End) -> str:
    """Return an end in words: `leaf-1 17`; a port that is not known is left out."""
    return " ".join(part for part in end if part)


def link_subject(near: End, kind: str, far: End | None) -> Subject:
    """Return the subject of a link from one of its ends.

    Args:
        near: The end that is known.
        kind: Its port's kind: nic or switch_port.
        far: The other end; null if not known.
    """
    switch, nic = (near, far) if kind == "switch_port" else (far, near)
    ends = sorted([near, far]) if far else [near]
    return Subject(
        switch=switch[0] if switch else None,
        port=switch[1] if switch else near[1],
        host=nic[0] if nic else None,
        device=nic[1] if nic else None,
        link=" - ".join(f"{node}:{port}" for node, port in ends),
    )


def direction_evidence(near: End, far: End | None) -> Evidence:
    """Return which direction is damaged when a receiver counts errors."""
    here = end_text(near)
    there = end_text(far) if far else "the far end"
    what = (
        f"direction {there} -> {here}, receiver {here}: damaged is {there} -> {here} "
        "(far transmitter, cable, receiver); no errors at the far end do not clear its transmitter"
    )
    return Evidence(source="topology", what=what)


def both_ways(near: End, far: End) -> Part:
    """Return the part at fault when both ends count errors: what both directions share."""
    here, there = end_text(near), end_text(far)
    return Part(
        suspects=(f"cable {here} - {there}", f"connectors of {here} and {there}"),
        evidence=(Evidence(source="topology", what="both ends count errors: both directions"),),
        action="reseat both connectors, then replace the cable; the optics come after it",
    )


def likely_part(readings: pl.DataFrame, near: End, far: End | None, until: datetime) -> Part:
    """Return the part at fault when one end alone counts errors.

    Args:
        readings: `READINGS`, for the optical power of both ends.
        near: The receiver.
        far: The sender; null if not known.
        until: Power is read up to here.
    """
    received = last_powers(readings, RECEIVED_POWER, near, until)
    sent = last_powers(readings, SENT_POWER, far, until) if far else {}
    worn = worn_laser(readings, far, near, until) if far else None
    named = _worn_part(far, worn) or _named_part(near, far, received, sent)
    here, there = end_text(near), end_text(far) if far else "the far end"
    others = (
        f"transmitter of {there}",
        f"cable or fibre {there} -> {here}",
        f"receiver of {here}",
    )
    action = "clean or reseat the connector at the receiving end, then swap the cable"
    return named or Part(suspects=others, action=action)


def _worn_part(far: End | None, worn: str | None) -> Part | None:
    """Return the sending optic, if something says that its laser is worn."""
    if far is None or worn is None:
        return None
    seen = Evidence(source=end_text(far), what=worn)
    return _part(f"transmitter of {end_text(far)}", seen, "replace the optic at the sending end")


def _named_part(
    near: End, far: End | None, received: dict[str, float], sent: dict[str, float]
) -> Part | None:
    """Return the part that optical power names; null if it names none."""
    here, there = end_text(near), end_text(far) if far else "the far end"
    dim_sent, dim = _dim_lane(sent), _dim_lane(received)
    if dim_sent:
        return _part(f"transmitter of {there}", dim_sent, "replace the optic at the sending end")
    if dim:
        action = "clean and reseat the connector at the receiving end, then swap the strand"
        return _part(f"connector at {here} or that strand of fibre", dim, action)
    if received and sent and max(sent.values()) - max(received.values()) > MAX_PATH_LOSS_DB:
        what = (
            f"best lane sent at {max(sent.values()):.1f} dBm arrives at "
            f"{max(received.values()):.1f} dBm"
        )
        seen = Evidence(source=SENT_POWER, what=what)
        action = "clean both connectors and each patch between them, then swap the cable"
        return _part(f"cable or patch {there} -> {here}", seen, action)
    if received and sent:
        what = f"received {max(received.values()):.1f} dBm, all lanes alike: the light is good"
        seen = Evidence(source=RECEIVED_POWER, what=what)
        action = "swap the optic at the receiving end with a good port's and see what moves"
        return _part(f"receiver of {here}", seen, action)
    return None


def _part(suspect: str, seen: Evidence, action: str) -> Part:
    return Part(suspects=(suspect,), evidence=(seen,), action=action)


def _dim_lane(powers: dict[str, float]) -> Evidence | None:
    """Return the lane that is too far below the best one; null if none is."""
    if not powers:
        return None
    best = max(powers.values())
    lane = min(powers, key=lambda name: (powers[name], name))
    if best - powers[lane] <= MAX_LANE_SPREAD_DB:
        return None
    what = f"lane {lane} at {powers[lane]:.1f} dBm, {best - powers[lane]:.1f} dB below the best"
    return Evidence(source="optical power", what=what)


def counted_evidence(rows: pl.DataFrame, near: End, onset: datetime) -> tuple[Evidence, ...]:
    """Return what counters of a port grew by, one a counter.

    Args:
        rows: `GROWTH` of the port in the time that matters.
        near: The port.
        onset: The time to put beside it.
    """
    sums = (
        rows.group_by("signal")
        .agg(pl.col("grown").sum(), pl.col("seconds").sum())
        .filter(pl.col("grown") > 0)
        .sort("signal")
    )
    return tuple(
        Evidence(
            source=end_text(near),
            time=onset,
            what=f"{signal} +{grown:.0f} in {seconds / 60:.0f} min, {grown / seconds * 3600:.0f}/h",
        )
        for signal, grown, seconds in sums.iter_rows()
    )


def row_end(row: dict[str, Any]) -> End:
    """Return host and port of a row."""
    return row["host"], row["port"]
