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
from detectors.link_words import MAX_LISTED, end_text, row_end
from detectors.verdicts import Confidence, Evidence, Subject, Verdict, verdict_frame

_TRAVELLING: Final = ("crc_errors_total", "remote_physical_errors_total", "receive_errors_total")
_SIZED: Final = ("oversize_packets_total", "undersize_packets_total", "length_errors_total")
"""Packets of a wrong length: a receiver counts them among its errors, and no line damaged them."""

_INSIDE: Final = ("end_to_end_crc_errors_total",)


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
        damaged over clean lines and no port of the fabric errs, `damage_unplaced` where the ports
        tell nothing of their lines, `internal_corruption` where payloads rot between good frames.
        Partition key: fabric.
    """
    signals = (*LINE_LIMITS, *_TRAVELLING, *_SIZED, *_INSIDE)
    growth = port_growth(fabric.intervals, signals, params.spells.bin_seconds)
    return verdict_frame([*_arrived(growth, params), *_inside(growth, params)])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Origin:
    """What is said of damaged packets, by what is known of the line that they came over."""

    cause: str
    where: str
    confidence: Confidence
    action: str
    needed: str


_BEFORE: Final = _Origin(
    cause="damage_upstream",
    where="whose own lines are clean: damaged before them",
    confidence="medium",
    action="walk upstream to the first hop whose FEC or symbol errors grow; clear all of these",
    needed="error counters of the line (FEC, symbol) at every hop before these ports",
)

_ANYWHERE: Final = _Origin(
    cause="damage_unplaced",
    where="that tell nothing of their own lines: damaged on these or before them",
    confidence="low",
    action="read FEC and symbol errors of these ports: if they grow it is the line, else upstream",
    needed="error counters of the line (FEC, symbol) of these ports",
)


def _arrived(growth: pl.DataFrame, params: TravelledParams) -> Iterable[Verdict]:
    """Yield the verdicts on damaged packets, if no line of the fabric is dirty."""
    if bad_spells(dirty_bins(growth, DirtyParams()), growth, params.spells).height:
        return
    is_line = pl.col("signal").is_in(list(LINE_LIMITS))
    erring = growth.filter(is_line, pl.col("grown") > 0).select(PORT).unique()
    arrived = _damaged(growth).join(erring, on=PORT, how="anti")
    told = growth.filter(is_line).select(PORT).unique()
    yield from _unexplained(arrived.join(told, on=PORT, how="semi"), _BEFORE, params)
    yield from _unexplained(arrived.join(told, on=PORT, how="anti"), _ANYWHERE, params)


def _damaged(growth: pl.DataFrame) -> pl.DataFrame:
    """Return the growth of damaged packets, less those whose length was wrong."""
    keys = [*PORT, "bin"]
    sized = growth.filter(pl.col("signal").is_in(_SIZED)).group_by(keys).agg(pl.col("grown").sum())
    is_lump = pl.col("signal") == "receive_errors_total"
    other = pl.when(is_lump).then(pl.col("grown_right").fill_null(0.0)).otherwise(0.0)
    left = (pl.col("grown") - other).clip(lower_bound=0.0)
    return (
        growth.filter(pl.col("signal").is_in(_TRAVELLING))
        .join(sized, on=keys, how="left")
        .with_columns(grown=left, rate=left / pl.col("seconds"))
        .select(growth.columns)
    )


def _unexplained(
    arrived: pl.DataFrame, origin: _Origin, params: TravelledParams
) -> Iterable[Verdict]:
    """Yield the verdict on ports at which too many damaged packets arrived."""
    bad = arrived.filter(pl.col("rate") * 3600.0 > params.max_hourly)
    spells = bad_spells(bad, arrived, params.spells)
    if spells.is_empty():
        return
    rows = spells.sort("onset", *PORT).to_dicts()
    ports = [end_text(row_end(row)) for row in rows]
    sums = bad.group_by("signal").agg(pl.col("grown").sum()).sort("signal").rows()
    counted = ", ".join(f"{signal} +{grown:.0f}" for signal, grown in sums)
    what = f"{counted} at {len(set(ports))} ports {origin.where}"
    yield Verdict(
        kind="unknown",
        level="job",
        subject=Subject(group="fabric"),
        onset=rows[0]["onset"],
        onset_before_data=rows[0]["from_start"],
        detected=rows[0]["onset"],
        cause=origin.cause,
        confidence=origin.confidence,
        evidence=(Evidence(source="error counters", time=rows[0]["onset"], what=what),),
        victims=tuple(dict.fromkeys(ports))[:MAX_LISTED],
        action=origin.action,
        needed=origin.needed,
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
