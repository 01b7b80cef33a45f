"""Find pauses: a fabric that stops its senders, or one receiver that cannot drain.

Source: fabric reference, section 6.3. Pause direction is read from the port that counts it: a
pause received means that the network stops this NIC, a pause sent that this NIC stops the network.
A lossless fabric shows congestion in no drop counter.
"""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

import polars as pl

from detectors.cleaning import CleaningParams
from detectors.growth import port_growth, run_numbers
from detectors.verdicts import Evidence, Subject, Verdict, verdict_frame

RECEIVED: Final = ("pause_received_seconds_total", "global_pause_received_seconds_total")
SENT: Final = ("pause_sent_seconds_total", "global_pause_sent_seconds_total")
MARKS: Final = ("ecn_marked_packets_total",)


@dataclass(frozen=True, slots=True, kw_only=True)
class CongestionParams:
    """When pauses count.

    Attributes:
        cleaning: Gap and wrap rules of counters.
        bin_seconds: Growth is looked at in bins of this width.
        min_pause_ratio: Share of time a port is paused; a starting point without measurement.
        min_bins: Bins in a row that must be bad.
        max_gap_bins: Good or unknown bins that do not end a run.
        min_fabric_share: Share of ports at once from which it is the fabric's matter.
        min_ports: Ports below which nobody can say what is common.
    """

    cleaning: CleaningParams = field(default_factory=CleaningParams)
    bin_seconds: float = 300.0
    min_pause_ratio: float = 0.05
    min_bins: int = 2
    max_gap_bins: int = 1
    min_fabric_share: float = 0.6
    min_ports: int = 4


def find_congestion(samples: pl.LazyFrame, params: CongestionParams) -> pl.DataFrame:
    """Return fabrics, or single NICs, that pause for a noticeable share of time.

    Args:
        samples: `SAMPLES` of ports; a port that does not count pauses says nothing.
        params: The thresholds.

    Returns:
        `VERDICTS` of kind congestion: at level job when most ports pause at once, else at level
        nic for each NIC that stops its network. Partition key: fabric.
    """
    growth = port_growth(
        samples, (*RECEIVED, *SENT, *MARKS), params.bin_seconds, params.cleaning
    ).collect()
    ratios = _pause_ratios(growth)
    fabric = _fabric_runs(ratios, params)
    verdicts = [_fabric_verdict(row, growth, params) for row in fabric]
    return verdict_frame([*verdicts, *_receivers(ratios, fabric, params)])


def _pause_ratios(growth: pl.DataFrame) -> pl.DataFrame:
    """Return the paused share of time of each port and bin, by direction."""
    port = ["host", "device", "bin"]
    return (
        growth.filter(pl.col("signal").is_in([*RECEIVED, *SENT]))
        .group_by(port)
        .agg(
            pl.col("rate").filter(pl.col("signal").is_in(RECEIVED)).max().alias("received"),
            pl.col("rate").filter(pl.col("signal").is_in(SENT)).max().alias("sent"),
            pl.col("first").min(),
        )
        .with_columns(paused=pl.max_horizontal("received", "sent"))
        .sort(port)
    )


def _fabric_runs(ratios: pl.DataFrame, params: CongestionParams) -> list[dict[str, Any]]:
    """Return runs of bins in which most ports pause at once."""
    share = (
        ratios.drop_nulls("paused")
        .group_by("bin")
        .agg(
            (pl.col("paused") >= params.min_pause_ratio).mean().alias("share"),
            pl.len().alias("ports"),
            pl.col("paused").median().alias("ratio"),
        )
        .filter(pl.col("share") >= params.min_fabric_share, pl.col("ports") >= params.min_ports)
        .sort("bin")
    )
    runs = (
        share.with_columns(run=run_numbers([], params.bin_seconds, params.max_gap_bins))
        .group_by("run")
        .agg(
            pl.col("bin").min().alias("start"),
            pl.col("bin").max().alias("stop"),
            pl.len().alias("bins"),
            pl.col("share").median(),
            pl.col("ratio").median(),
            pl.col("ports").max(),
        )
        .filter(pl.col("bins") >= params.min_bins)
        .sort("start")
        .with_columns(first_bin=pl.lit(ratios["bin"].min()), last_bin=pl.lit(ratios["bin"].max()))
    )
    return list(runs.iter_rows(named=True))


def _fabric_verdict(row: dict[str, Any], growth: pl.DataFrame, params: CongestionParams) -> Verdict:
    width = timedelta(seconds=params.bin_seconds)
    what = (
        f"{row['share']:.0%} of {row['ports']} ports paused at once, "
        f"{row['ratio']:.1%} of the time at the median"
    )
    seen = Evidence(source="pause counters", time=row["start"], what=what)
    return Verdict(
        kind="congestion",
        level="job",
        subject=Subject(group="fabric"),
        onset=row["start"],
        onset_before_data=row["start"] == row["first_bin"],
        detected=row["start"] + width * params.min_bins,
        cleared=None if row["stop"] + width >= row["last_bin"] else row["stop"] + width,
        cause="pause",
        confidence="high",
        peers="all ports that count pauses",
        peer_count=row["ports"],
        evidence=(seen, *_marks(row, growth)),
        action="compare the QoS profile (PFC, ECN thresholds, priority map) with the last good one",
    )


def _marks(row: dict[str, Any], growth: pl.DataFrame) -> tuple[Evidence, ...]:
    """Return how congestion marks moved: pauses without marks point at the ECN configuration."""
    marks = growth.filter(pl.col("signal").is_in(MARKS))
    inside = marks.filter(pl.col("bin").is_between(row["start"], row["stop"]))["rate"].median()
    before = marks.filter(pl.col("bin") < row["start"])["rate"].median()
    if inside is None or before is None:
        return ()
    what = f"ECN marks {float(str(before)):.3g}/s a port before, {float(str(inside)):.3g}/s during"
    return (Evidence(source="ecn_marked_packets_total", what=what),)


def _receivers(
    ratios: pl.DataFrame, fabric: list[dict[str, Any]], params: CongestionParams
) -> list[Verdict]:
    """Return the NICs that stop their network outside of fabric-wide pauses."""
    port = ["host", "device"]
    bad = ratios.filter(pl.col("sent") >= params.min_pause_ratio)
    for row in fabric:
        bad = bad.filter(~pl.col("bin").is_between(row["start"], row["stop"]))
    runs = (
        bad.sort(*port, "bin")
        .with_columns(run=run_numbers(port, params.bin_seconds, params.max_gap_bins))
        .group_by(*port, "run")
        .agg(
            pl.len().alias("bins"),
            pl.col("bin").min().alias("start"),
            pl.col("bin").max().alias("stop"),
            pl.col("first").min().alias("onset"),
            pl.col("sent").median(),
        )
        .filter(pl.col("bins") >= params.min_bins)
        .sort(*port, "start")
        .with_columns(first_bin=pl.lit(ratios["bin"].min()), last_bin=pl.lit(ratios["bin"].max()))
    )
    return [_receiver_verdict(row, params) for row in runs.iter_rows(named=True)]


def _receiver_verdict(row: dict[str, Any], params: CongestionParams) -> Verdict:
    what = f"sends pauses {row['sent']:.1%} of the time: it cannot drain what arrives"
    source = f"{row['host']} {row['device']}"
    width = timedelta(seconds=params.bin_seconds)
    return Verdict(
        kind="congestion",
        level="nic",
        subject=Subject(host=row["host"], device=row["device"]),
        onset=row["onset"],
        onset_before_data=row["start"] == row["first_bin"],
        detected=row["start"] + width * params.min_bins,
        cleared=None if row["stop"] + width >= row["last_bin"] else row["stop"] + width,
        cause="slow_receiver",
        confidence="medium",
        evidence=(Evidence(source=source, time=row["onset"], what=what),),
        action="look at this host's PCIe link, memory and posted buffers; not the cable",
    )
