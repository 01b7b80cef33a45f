"""Find dirty links: receivers whose errors grow now, and the direction that is damaged.

Source: fabric reference, sections 6 and 7. Errors are counted by the receiver, so the suspects are
the far transmitter, the cable and the near receiver; one end alone never convicts. Counters that
travel (marked-bad packets, CRC errors without errors of the line code) accuse nobody here; where a
dirty link stands beside them they are its consequence.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import polars as pl

from detectors.dirty_bins import (
    CONSEQUENCES,
    LINE_LIMITS,
    MIN_ERRORS,
    SIGNALS_SEEN,
    DirtyParams,
    dirty_bins,
)
from detectors.fabric import Fabric
from detectors.growth import PORT, SpellParams, bad_spells, of_spell, port_growth
from detectors.link_words import (
    MAX_LISTED,
    End,
    Part,
    both_ways,
    counted_evidence,
    direction_evidence,
    end_text,
    far_end,
    likely_part,
    link_subject,
    row_end,
)
from detectors.verdicts import Confidence, Evidence, Subject, Verdict, verdict_frame


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkParams:
    """When a link counts as dirty.

    Attributes:
        spells: What lasts.
        dirty: Which bins are bad.
        min_device_ports: Bad ports of one switch or host from which they may be its own fault.
        min_device_share: Share of its judged ports that must be bad at once for it.
    """

    spells: SpellParams = field(default_factory=SpellParams)
    dirty: DirtyParams = field(default_factory=DirtyParams)
    min_device_ports: int = 4
    min_device_share: float = 0.6


def find_link_faults(fabric: Fabric, params: LinkParams) -> pl.DataFrame:
    """Return the links whose receiver counts errors of the line.

    Args:
        fabric: What is known of ports; a port without a counter says nothing, never "no errors".
        params: The thresholds.

    Returns:
        `VERDICTS` of kind link_fault, one row a link (of a port whose far end nobody names: one a
        port), or one row a switch or host most of whose ports err at once. Partition key: fabric.
    """
    growth = port_growth(fabric.intervals, SIGNALS_SEEN, params.spells.bin_seconds)
    spells = bad_spells(dirty_bins(growth, params.dirty), growth, params.spells)
    rows = [row for row in spells.to_dicts() if _counts(row, growth)]
    groups = _devices(rows, growth, params)
    grouped = {id(row) for group in groups for row in group}
    single = [row for row in rows if id(row) not in grouped]
    return verdict_frame(
        [
            *(_device_verdict(group, growth) for group in groups),
            *_link_verdicts(single, growth, fabric, params),
        ]
    )


def _counts(row: dict[str, Any], growth: pl.DataFrame) -> bool:
    """Return whether a spell holds enough errors of any kind to be more than chance."""
    sums = of_spell(growth, row).group_by("signal").agg(pl.col("grown").sum())
    return any(
        grown >= (LINE_LIMITS[signal].count if signal in LINE_LIMITS else MIN_ERRORS)
        for signal, grown in sums.iter_rows()
    )


def _devices(
    rows: Sequence[dict[str, Any]], growth: pl.DataFrame, params: LinkParams
) -> list[list[dict[str, Any]]]:
    """Return the spells of devices most of whose ports err at once, one group a device."""
    ports = dict(growth.group_by("host").agg(pl.struct("port").n_unique()).iter_rows())
    by_host: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_host.setdefault(row["host"], []).append(row)
    return [
        mine
        for host, mine in by_host.items()
        if (count := len({row["port"] for row in mine})) >= params.min_device_ports
        and count >= params.min_device_share * ports[host]
        and max(row["start"] for row in mine) <= min(row["stop"] for row in mine)
    ]


def _device_verdict(rows: Sequence[dict[str, Any]], growth: pl.DataFrame) -> Verdict:
    """Return the verdict on a device whose ports err together: no cable does that."""
    first = min(rows, key=lambda row: (row["onset"], row["port"]))
    is_switch = first["port_kind"] == "switch_port"
    name = first["host"]
    ports = sorted({row["port"] for row in rows})
    what = f"{len(ports)} ports count errors of the line at once: {', '.join(ports[:MAX_LISTED])}"
    return Verdict(
        kind="link_fault",
        level="group" if is_switch else "host",
        subject=Subject(switch=name) if is_switch else Subject(host=name),
        onset=first["onset"],
        onset_before_data=all(row["from_start"] for row in rows),
        detected=first["detected"],
        cleared=max(rows, key=lambda row: row["stop"])["cleared"],
        cause="switch" if is_switch else "nic",
        confidence="medium",
        evidence=(
            Evidence(source=name, time=first["onset"], what=what),
            *counted_evidence(of_spell(growth, first), row_end(first), first["onset"]),
        ),
        alternatives=("clock, power or firmware of this device", "what its cables share"),
        action="look at this device's clock, power and firmware before any of its cables",
    )


def _link_verdicts(
    rows: Sequence[dict[str, Any]], growth: pl.DataFrame, fabric: Fabric, params: LinkParams
) -> Iterable[Verdict]:
    """Return one verdict a link; of a link whose ends both count, one with both of them."""
    done: set[int] = set()
    for row in rows:
        if id(row) in done:
            continue
        far = far_end(fabric.ends, row_end(row))
        back = [other for other in rows if row_end(other) == far and _together(row, other)]
        done |= {id(other) for other in back}
        yield _verdict([row, *back], far, growth, fabric, params)


def _together(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return bool(one["start"] <= other["stop"] and other["start"] <= one["stop"])


def _verdict(
    rows: Sequence[dict[str, Any]],
    far: End | None,
    growth: pl.DataFrame,
    fabric: Fabric,
    params: LinkParams,
) -> Verdict:
    row, last = min(rows, key=_by_onset), max(rows, key=lambda one: one["stop"])
    near = row_end(rows[0])
    part = _part(rows, far, fabric, last["stop"] + params.spells.width)
    seen = [(one, of_spell(growth, one)) for one in rows]
    alike = growth.filter(pl.col("port_kind") == row["port_kind"])
    return Verdict(
        kind="link_fault",
        level="link",
        subject=link_subject(near, rows[0]["port_kind"], far),
        onset=row["onset"],
        onset_before_data=row["from_start"],
        detected=row["detected"],
        cleared=last["cleared"],
        cause="dirty",
        confidence=_confidence(seen, far),
        peers=f"all {row['port_kind']} counters of the fabric",
        peer_count=alike.select("host", "port").n_unique() - 1,
        evidence=(
            *(one for told, rows_ in seen for one in _counted(told, rows_)),
            *((direction_evidence(near, far),) if len(rows) == 1 else ()),
            *part.evidence,
        ),
        victims=_victims(rows, growth),
        alternatives=part.suspects,
        action=part.action,
        needed=None if far else "the topology (uplink or LLDP data) would name the other end",
    )


def _by_onset(row: dict[str, Any]) -> tuple[datetime, str, str]:
    return row["onset"], row["host"], row["port"]


def _counted(row: dict[str, Any], stretch: pl.DataFrame) -> tuple[Evidence, ...]:
    return counted_evidence(stretch, row_end(row), row["onset"])


def _part(rows: Sequence[dict[str, Any]], far: End | None, fabric: Fabric, until: datetime) -> Part:
    near = row_end(rows[0])
    if far and len(rows) > 1:
        return both_ways(near, far)
    return likely_part(fabric.readings, near, far, until)


def _confidence(seen: Sequence[tuple[dict[str, Any], pl.DataFrame]], far: End | None) -> Confidence:
    """Return high where damaged packets stand beside errors of the line and both ends are known."""
    if any(row["brief"] for row, _ in seen):
        return "low"
    rows = pl.concat([stretch for _, stretch in seen])
    supported = rows.filter(pl.col("signal").is_in(CONSEQUENCES), pl.col("grown") > 0).height > 0
    return "high" if supported and far else "medium"


def _victims(rows: Sequence[dict[str, Any]], growth: pl.DataFrame) -> tuple[str, ...]:
    """Return the ports that count what travels and no error of their own line meanwhile."""
    start, stop = min(row["start"] for row in rows), max(row["stop"] for row in rows)
    meanwhile = growth.filter(pl.col("bin").is_between(start, stop), pl.col("grown") > 0)
    own = meanwhile.filter(pl.col("signal").is_in(list(LINE_LIMITS))).select(PORT)
    heard = meanwhile.filter(~pl.col("signal").is_in(list(LINE_LIMITS)))
    mine = [row_end(row) for row in rows]
    ports = heard.join(own, on=PORT, how="anti").filter(pl.col("grown") >= MIN_ERRORS)
    ends = sorted({row_end(row) for row in ports.to_dicts()} - set(mine))
    return tuple(end_text(end) for end in ends)[:MAX_LISTED]
