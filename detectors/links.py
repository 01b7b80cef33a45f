"""Find dirty links: receivers whose errors grow now, and the direction that is damaged.

Source: fabric reference, sections 6 and 7. Errors are counted by the receiver, so the suspects are
the far transmitter, the cable and the near receiver; one end alone never convicts. Counters that
travel (marked-bad packets, CRC errors without errors of the line code) accuse nobody here.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

import polars as pl

from collectors.frames import LINKS, require
from detectors.cleaning import CleaningParams
from detectors.growth import port_growth, run_numbers
from detectors.verdicts import Evidence, Subject, Verdict, verdict_frame

LINE_ERRORS: Final[dict[str, float]] = {
    "symbol_errors_total": 120.0,
    "fec_uncorrected_symbols_total": 120.0,
    "coding_errors_total": 120.0,
    "local_link_integrity_errors_total": 1.0,
    "link_error_recoveries_total": 300.0,
}
"""Errors of the line itself and how many an hour are too many. Symbol errors: 120 an hour break
the InfiniBand specification's 1e-12; recoveries: 5 a minute; integrity errors: any. Sources: IBTA
guidance and thresholds as NVSentinel's configuration states them."""

MIN_PORTS: Final = 4
"""Ports of a kind below which their median is no yardstick: it may be the dirty port's own."""

SUPPORTING: Final = ("receive_errors_total", "crc_errors_total", "link_error_recoveries_total")
"""Counters that rise with a dirty line; they raise confidence and never accuse by themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkParams:
    """When a link counts as dirty.

    Attributes:
        cleaning: Gap and wrap rules of counters.
        bin_seconds: Growth is looked at in bins of this width.
        min_bins: Bins in a row that must be bad.
        max_gap_bins: Good or unknown bins that do not end a run.
        min_peer_ratio: Ratio to the median port of the same kind, where that port errs too.
        max_alike_share: Above this share of ports of one kind it is not one link.
    """

    cleaning: CleaningParams = field(default_factory=CleaningParams)
    bin_seconds: float = 300.0
    min_bins: int = 2
    max_gap_bins: int = 1
    min_peer_ratio: float = 10.0
    max_alike_share: float = 0.25


def find_link_faults(
    samples: pl.LazyFrame, links: pl.LazyFrame, params: LinkParams
) -> pl.DataFrame:
    """Return the links whose receiver counts errors of the line.

    Args:
        samples: `SAMPLES` of ports; a port without a counter says nothing, never "no errors".
        links: `LINKS`, to name the far end; a port that is in none is named alone.
        params: The thresholds.

    Returns:
        `VERDICTS` of kind link_fault, one row a receiving end. Partition key: fabric.
    """
    signals = tuple(dict.fromkeys([*LINE_ERRORS, *SUPPORTING]))
    growth = port_growth(samples, signals, params.bin_seconds, params.cleaning).collect()
    runs = _runs(_bad_bins(growth, params), params)
    ends = links.pipe(require, LINKS).collect()
    return verdict_frame(_verdict(row, growth, ends, params) for row in runs.iter_rows(named=True))


def _bad_bins(growth: pl.DataFrame, params: LinkParams) -> pl.DataFrame:
    """Return the bins in which a port's line errs beyond the limit and beyond its peers."""
    limits = pl.DataFrame(
        {"signal": list(LINE_ERRORS), "limit": list(LINE_ERRORS.values())},
        schema={"signal": pl.String, "limit": pl.Float64},
    )
    peers = ["device_kind", "signal", "bin"]
    rated = growth.join(limits, on="signal").with_columns(
        usual=pl.when(pl.len().over(peers) >= MIN_PORTS).then(pl.col("rate").median().over(peers)),
        hourly=pl.col("rate") * 3600.0,
    )
    is_bad = (pl.col("hourly") > pl.col("limit")) & (
        pl.col("rate") > pl.col("usual").fill_null(0.0) * params.min_peer_ratio
    )
    return (
        rated.with_columns(bad=is_bad)
        .with_columns(alike=pl.col("bad").mean().over(peers), ports=pl.len().over(peers))
        .filter(
            "bad",
            (pl.col("alike") <= params.max_alike_share)
            | (pl.col("ports") * params.max_alike_share < 1),
        )
    )


def _runs(bad: pl.DataFrame, params: LinkParams) -> pl.DataFrame:
    """Return runs of bad bins that are long enough, one row a port and run."""
    port = ["host", "device_kind", "device"]
    bins = bad.group_by(*port, "bin").agg(pl.col("first").min()).sort(*port, "bin")
    return (
        bins.with_columns(run=run_numbers(port, params.bin_seconds, params.max_gap_bins))
        .group_by(*port, "run")
        .agg(
            pl.col("first").min().alias("onset"),
            pl.col("bin").min().alias("start"),
            pl.col("bin").max().alias("stop"),
            pl.len().alias("bins"),
        )
        .filter(pl.col("bins") >= params.min_bins)
        .sort(*port, "start")
    )


def _verdict(
    row: dict[str, Any], growth: pl.DataFrame, ends: pl.DataFrame, params: LinkParams
) -> Verdict:
    mine = growth.filter(pl.col("host") == row["host"], pl.col("device") == row["device"])
    stretch = mine.filter(pl.col("bin").is_between(row["start"], row["stop"]))
    far = _far_end(row, ends)
    width = timedelta(seconds=params.bin_seconds)
    last: datetime = mine["bin"].max()  # type: ignore[assignment]  # the column is a time
    supported = stretch.filter(pl.col("signal").is_in(SUPPORTING), pl.col("grown") > 0).height > 0
    return Verdict(
        kind="link_fault",
        level="link",
        subject=_subject(row, far),
        onset=row["onset"],
        onset_before_data=row["start"] == mine["bin"].min(),
        detected=row["start"] + width * params.min_bins,
        cleared=None if row["stop"] + width >= last else row["stop"] + width,
        cause="dirty",
        confidence="high" if supported and far else "medium",
        peers=f"all {row['device_kind']} counters of the fabric",
        peer_count=growth.filter(pl.col("device_kind") == row["device_kind"])
        .select("host", "device")
        .n_unique()
        - 1,
        evidence=(*_counted(stretch, row), _direction(row, far)),
        action="clean or reseat the connector at the receiving end, then swap the cable",
        needed=None if far else "the topology (uplink or LLDP data) would name the other end",
    )


def _far_end(row: dict[str, Any], ends: pl.DataFrame) -> tuple[str, str] | None:
    """Return the node and port at the other end; null if no listing names it."""
    node, port = row["host"], row["device"]
    forward = ends.filter(pl.col("node_a") == node, pl.col("port_a") == port)
    backward = ends.filter(pl.col("node_b") == node, pl.col("port_b") == port)
    if forward.height:
        return forward["node_b"][0], forward["port_b"][0]
    return (backward["node_a"][0], backward["port_a"][0]) if backward.height else None


def _subject(row: dict[str, Any], far: tuple[str, str] | None) -> Subject:
    near = (row["host"], row["device"])
    is_switch = row["device_kind"] == "switch_port"
    switch, nic = (near, far) if is_switch else (far, near)
    ends = sorted([near, far]) if far else [near]
    return Subject(
        switch=switch[0] if switch else None,
        port=switch[1] if switch else near[1],
        host=nic[0] if nic else None,
        device=nic[1] if nic else None,
        link=" - ".join(f"{node}:{port}" for node, port in ends),
    )


def _counted(stretch: pl.DataFrame, row: dict[str, Any]) -> list[Evidence]:
    sums = (
        stretch.group_by("signal")
        .agg(pl.col("grown").sum(), pl.col("seconds").sum())
        .filter(pl.col("grown") > 0)
        .sort("signal")
    )
    return [
        Evidence(
            source=f"{row['host']} {row['device']}",
            time=row["onset"],
            what=f"{signal} +{grown:.0f} in {seconds / 60:.0f} min, {grown / seconds * 3600:.0f}/h",
        )
        for signal, grown, seconds in sums.iter_rows()
    ]


def _direction(row: dict[str, Any], far: tuple[str, str] | None) -> Evidence:
    here = f"{row['host']} {row['device']}"
    there = f"{far[0]} {far[1]}" if far else "the far end"
    what = (
        f"the receiver is {here}: damaged is {there} -> {here} (far transmitter, cable, receiver)"
    )
    return Evidence(source="topology", what=what)
