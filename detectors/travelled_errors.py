"""Find damage that came from elsewhere: bad packets over clean lines, and data that rots inside.

Source: fabric reference, sections 3.6, 6.2 (D3, D4, I) and 6.5. Switches forward a frame before its
check is known, so a damaged one is counted at every hop after the first; InfiniBand marks it. Who
counts that alone is innocent. A bad check over the payload with a good one on the wire was damaged
inside a device.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import polars as pl

from detectors.dirty_bins import LINE_LIMITS, MAX_DAMAGED_HOURLY, DirtyParams, dirty_bins
from detectors.fabric import Fabric
from detectors.growth import PORT, SpellParams, bad_spells, port_growth
from detectors.link_words import end_text, row_end
from detectors.verdicts import Evidence, Subject, Verdict, verdict_frame

_TRAVELLING: Final = ("crc_errors_total", "remote_physical_errors_total", "receive_errors_total")
_INSIDE: Final = ("end_to_end_crc_errors_total",)

MAX_LISTED: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class TravelledParams:
    """When damage that arrives is worth saying.

    Attributes:
        spells: What lasts.
        max_hourly: Damaged packets an hour at a port beyond which it is said; ours.
        min_inside: Payloads of a wrong sum from which a device is suspected.
    """

    spells: SpellParams = field(default_factory=SpellParams)
    max_hourly: float = MAX_DAMAGED_HOURLY
    min_inside: float = 1.0


def find_travelled_errors(fabric: Fabric, params: TravelledParams) -> pl.DataFrame:
    """Return damage whose origin no port shows.

    Args:
        fabric: What is known of ports.
        params: The thresholds.

    Returns:
        `VERDICTS` of kind unknown that name nobody: cause `damage_upstream` where packets arrive
        damaged over clean lines and no port of the fabric errs, `internal_corruption` where
        payloads rot between good frames. Partition key: fabric.
    """
    signals = (*LINE_LIMITS, *_TRAVELLING, *_INSIDE)
    growth = port_growth(fabric.intervals, tuple(dict.fromkeys(signals)), params.spells.bin_seconds)
    return verdict_frame([*_upstream(growth, params), *_inside(growth, params)])


def _upstream(growth: pl.DataFrame, params: TravelledParams) -> Iterable[Verdict]:
    """Yield the verdict on damaged packets that no dirty line of the same time explains."""
    is_line = pl.col("signal").is_in(list(LINE_LIMITS))
    sources = bad_spells(dirty_bins(growth, DirtyParams()), growth, params.spells)
    erring = growth.filter(is_line, pl.col("grown") > 0).select(PORT).unique()
    arrived = growth.filter(pl.col("signal").is_in(_TRAVELLING)).join(erring, on=PORT, how="anti")
    bad = arrived.filter(pl.col("rate") * 3600.0 > params.max_hourly)
    spells = bad_spells(bad, arrived, params.spells)
    if spells.is_empty() or sources.height:
        return
    rows = spells.sort("onset", *PORT).to_dicts()
    ports = [end_text(row_end(row)) for row in rows]
    sums = bad.group_by("signal").agg(pl.col("grown").sum()).sort("signal").rows()
    counted = ", ".join(f"{signal} +{grown:.0f}" for signal, grown in sums)
    what = f"{counted} at {len(set(ports))} ports whose own lines are clean: damaged before them"
    yield Verdict(
        kind="unknown",
        level="job",
        subject=Subject(group="fabric"),
        onset=rows[0]["onset"],
        onset_before_data=rows[0]["from_start"],
        detected=rows[0]["onset"],
        cause="damage_upstream",
        confidence="medium",
        evidence=(Evidence(source="error counters", time=rows[0]["onset"], what=what),),
        victims=tuple(dict.fromkeys(ports))[:MAX_LISTED],
        action="walk upstream to the first hop whose FEC or symbol errors grow; clear all of these",
        needed="error counters of the line (FEC, symbol) at every hop before these ports",
    )


def _inside(growth: pl.DataFrame, params: TravelledParams) -> Iterable[Verdict]:
    """Yield the verdict on payloads that rot inside of a device."""
    rows = (
        growth.filter(pl.col("signal").is_in(_INSIDE))
        .group_by(PORT)
        .agg(grown=pl.col("grown").sum(), first=pl.col("first").min())
        .filter(pl.col("grown") >= params.min_inside)
        .sort("first", *PORT)
        .to_dicts()
    )
    if not rows:
        return
    yield Verdict(
        kind="unknown",
        level="job",
        subject=Subject(group="fabric"),
        onset=rows[0]["first"],
        detected=rows[0]["first"],
        cause="internal_corruption",
        confidence="medium",
        evidence=tuple(
            Evidence(
                source=end_text(row_end(row)),
                time=row["first"],
                what=f"{_INSIDE[0]} +{row['grown']:.0f} with good frames: damaged inside a device",
            )
            for row in rows[:MAX_LISTED]
        ),
        victims=tuple(end_text(row_end(row)) for row in rows)[:MAX_LISTED],
        action="compare the paths of the flows that fail: a switch or NIC on all of them, no cable",
        needed="which senders and paths the damaged packets share",
    )
