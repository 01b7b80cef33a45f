"""Find lossless classes that lose packets: no headroom, or traffic outside of the paused priority.

Source: fabric reference, sections 3.3, 3.5 and 6.2 (C5); SONiC issue on drops of a paused port. A
port that asks its sender to stop and drops all the same has no room for what is under way. One that
drops in a priority without ever pausing it treats it as lossy. Neither is a cable.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import polars as pl

from detectors.fabric import Fabric
from detectors.growth import SpellParams, bad_spells, of_spell, port_growth
from detectors.link_words import counted_evidence, end_text, row_end
from detectors.pause_shares import stop_shares
from detectors.verdicts import Confidence, Evidence, Level, Subject, Verdict, verdict_frame

_PORT_DROPS: Final = ("receive_discards_total", "buffer_drops_total")
"""Drops for want of room that may be of any class."""

_CLASS_DROPS: Final = ("priority_discards_total", "queue_drops_total")
"""Drops that a priority, queue or priority group counts."""

_HEADROOM: Final = ("headroom_bytes", "headroom_watermark_bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class BufferParams:
    """When drops are a matter of buffers.

    Attributes:
        spells: What lasts.
        min_drops_per_second: Of a port; ours, a lossless class should have none.
        min_pause_ratio: Share of time from which a port that pauses its sender counts as pausing.
    """

    spells: SpellParams = field(default_factory=SpellParams)
    min_drops_per_second: float = 1.0
    min_pause_ratio: float = 0.01


def find_buffer_faults(fabric: Fabric, params: BufferParams) -> pl.DataFrame:
    """Return the ports that drop what they should have held back.

    Args:
        fabric: Drops, pauses and headroom of ports and their priorities; a port that tells nothing
            of its headroom is judged by the drops of its priority groups alone.
        params: The thresholds.

    Returns:
        `VERDICTS` of kind config_drift: cause `headroom` for a port that drops while it pauses its
        sender, `lossy_class` for one whose priority drops and never pauses; kind congestion and
        cause `nic_buffer` for a NIC that drops and hardly pauses. Partition key: fabric.
    """
    drops = port_growth(fabric.intervals, (*_PORT_DROPS, *_CLASS_DROPS), params.spells.bin_seconds)
    bad = drops.filter(pl.col("rate") >= params.min_drops_per_second)
    shares = stop_shares(fabric, params.spells.bin_seconds)
    rows = bad_spells(bad, drops, params.spells).to_dicts()
    return verdict_frame(
        verdict for row in rows for verdict in _judged(row, (drops, shares), fabric, params)
    )


def _judged(
    row: dict[str, Any],
    frames: tuple[pl.DataFrame, pl.DataFrame],
    fabric: Fabric,
    params: BufferParams,
) -> Iterable[Verdict]:
    drops, shares = (of_spell(frame, row) for frame in frames)
    sent: float | None = shares.select(pl.col("sent").max()).item()
    by_class = drops.filter(pl.col("signal").is_in(_CLASS_DROPS), pl.col("grown") > 0).height > 0
    room = _headroom(fabric, row)
    counted = counted_evidence(drops, row_end(row), row["onset"])
    if sent is not None and sent >= params.min_pause_ratio:
        if room is not None or by_class:
            paused = f"asks its sender to stop {sent:.1%} of the time and drops all the same"
            yield _headroom_verdict(row, (room, paused), counted)
        return
    if by_class:
        yield _lossy_verdict(row, counted, known=sent is not None)
    elif row["port_kind"] == "nic":
        yield _nic_verdict(row, counted)


def _headroom(fabric: Fabric, row: dict[str, Any]) -> str | None:
    """Return what says that a port has no headroom; null if nothing says so.

    The mark that no buffer was ever needed, beside pauses and drops, means that there is none.
    """
    told = fabric.readings.filter(
        pl.col("host") == row["host"],
        pl.col("port") == row["port"],
        pl.col("signal").is_in(_HEADROOM),
        pl.col("value").is_not_null(),
    )
    most = dict(told.group_by("signal").agg(pl.col("value").max()).iter_rows())
    empty = [name for name in _HEADROOM if most.get(name) == 0]
    return ", ".join(f"{name} 0" for name in empty) or None


def _headroom_verdict(
    row: dict[str, Any],
    told: tuple[str | None, str],
    counted: tuple[Evidence, ...],
) -> Verdict:
    room, paused = told
    what = f"{paused}; {room}" if room else paused
    near = row_end(row)
    return _verdict(
        row,
        "headroom",
        "medium" if room else "low",
        (Evidence(source=end_text(near), time=row["onset"], what=what), *counted),
    )


def _lossy_verdict(row: dict[str, Any], counted: tuple[Evidence, ...], *, known: bool) -> Verdict:
    pauses = "and never asks its sender to stop" if known else "and counts no pauses"
    what = f"drops in a priority {pauses}: that priority is not lossless here"
    near = row_end(row)
    return _verdict(
        row,
        "lossy_class",
        "medium" if known else "low",
        (Evidence(source=end_text(near), time=row["onset"], what=what), *counted),
    )


def _nic_verdict(row: dict[str, Any], counted: tuple[Evidence, ...]) -> Verdict:
    near = row_end(row)
    what = "has no room for what arrives: slow at home, or its class is not lossless; no cable"
    seen = Evidence(source=end_text(near), time=row["onset"], what=what)
    return _verdict(row, "nic_buffer", "low", (seen, *counted))


_ACTIONS: Final = {
    "nic_buffer": "look at this host's PCIe link, memory and ring sizes, and whether PFC is on",
    "headroom": "give the lossless priority group of this port headroom (XOFF room) for its cable",
    "lossy_class": "map the RDMA traffic class to the paused priority on every hop and on the NIC",
}


def _verdict(
    row: dict[str, Any],
    cause: str,
    confidence: Confidence,
    evidence: tuple[Evidence, ...],
) -> Verdict:
    host, port = row_end(row)
    is_switch = row["port_kind"] == "switch_port"
    level: Level = "link" if is_switch else "nic"
    return Verdict(
        kind="congestion" if cause == "nic_buffer" else "config_drift",
        level=level,
        subject=Subject(switch=host, port=port) if is_switch else Subject(host=host, device=port),
        onset=row["onset"],
        onset_before_data=row["from_start"],
        detected=row["detected"],
        cleared=row["cleared"],
        cause=cause,
        confidence=confidence,
        evidence=evidence,
        action=_ACTIONS[cause],
        needed="which priority carries RDMA, and the buffer profile of this port",
    )
