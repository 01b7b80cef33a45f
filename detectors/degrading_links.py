"""Find links that get worse before they lose anything: raw error ratios against their own past.

Source: fabric reference, sections 6.2 (D2), 6.6 and 7; SONiC's and UFM's error ratios. Raw errors
are normal on PAM4, so only a change, or a distance from like ports, counts, and it must last: the
first reading after a boot starts from nothing and is huge. A floor value says that no error was
seen. The highest value since boot is never judged.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import log10
from typing import Any, Final

import polars as pl

from detectors.fabric import LOCK_LOSSES, Fabric
from detectors.growth import PORT
from detectors.link_words import end_text, far_end, link_subject, row_end
from detectors.optic_changes import OpticParams, power_changes
from detectors.raw_ratios import RATIOS, raw_ratios
from detectors.verdicts import Evidence, Verdict, verdict_frame


@dataclass(frozen=True, slots=True, kw_only=True)
class DegradingParams:
    """When a link gets worse.

    Attributes:
        optics: When a change of power is one event with it.
        min_ratio: Of the error ratio to the port's own past, or to like ports.
        min_error_ratio: A ratio below this is no worry yet: IBTA's 1e-12.
        min_readings: Readings of each side that must agree.
        min_peers: Like ports from which their level is known.
        min_peer_error_ratio: Beside peers only a ratio this near to what FEC bears (2e-4) counts.
        min_peer_scales: Robust scales of the peers' levels by which a port must stand out: links
            of one kind spread over decades.
        max_sync_seconds: A loss of FEC lock this near to a change, or to an outage, belongs to it.
    """

    optics: OpticParams = field(default_factory=OpticParams)
    min_ratio: float = 10.0
    min_error_ratio: float = 1e-12
    min_readings: int = 2
    min_peers: int = 8
    min_peer_error_ratio: float = 1e-7
    min_peer_scales: float = 5.0
    max_sync_seconds: float = 600.0

    def __post_init__(self) -> None:
        """Refuse a ratio that every port would pass."""
        if self.min_ratio <= 1.0:
            raise ValueError(f"min_ratio must be above 1, got {self.min_ratio}")


def find_degrading_links(fabric: Fabric, params: DegradingParams) -> pl.DataFrame:
    """Return the ports whose receiver sees many more raw errors than it used to.

    Args:
        fabric: Error ratios, counters of corrected bits, optical power, events, cables.
        params: The thresholds.

    Returns:
        `VERDICTS` of kind degrading, one row a receiver; onset is the first reading of the worse
        level, or the loss of lock that it began with (cause `retrain`). An early warning: nothing
        is lost yet. Partition key: fabric.
    """
    ratios = raw_ratios(fabric)
    changed = _own_changes(ratios, params)
    apart = _apart(ratios, changed, params)
    return verdict_frame(
        [
            *(_verdict(row, fabric, params) for row in changed.to_dicts()),
            *(_peer_verdict(row, fabric) for row in apart.to_dicts()),
        ]
    )


def _own_changes(ratios: pl.DataFrame, params: DegradingParams) -> pl.DataFrame:
    """Return the ports whose last readings are all far above the median of those before.

    The change is at the first reading from which on every one is `min_ratio` above that median.
    """
    level = pl.col("value").log10()
    place = pl.int_range(pl.len()).over(PORT)
    rows = (
        ratios.sort(*PORT, "time")
        .with_columns(level=level, place=place, left=pl.len().over(PORT) - place)
        .with_columns(
            kept=pl.col("level").reverse().cum_min().reverse().over(PORT),
            since=pl.col("time").shift(1).over(PORT),
            usual=_running_median(pl.col("level").shift(1)),
        )
    )
    is_change = (
        (pl.col("kept") - pl.col("usual") >= log10(params.min_ratio))
        & (pl.col("kept") >= log10(params.min_error_ratio))
        & (pl.col("place") >= params.min_readings)
        & (pl.col("left") >= params.min_readings)
    )
    first = rows.filter(is_change).group_by(PORT, maintain_order=True).first()
    after = ratios.join(first.select(*PORT, began="time"), on=PORT)
    now = after.filter(pl.col("time") >= pl.col("began")).group_by(PORT)
    return (
        first.select(*PORT, "time", "since", usual=10.0 ** pl.col("usual"))
        .join(now.agg(now=pl.col("value").median(), readings=pl.len()), on=PORT)
        .sort(PORT)
    )


def _running_median(before: pl.Expr) -> pl.Expr:
    """Return the median of all readings before each."""
    return before.rolling_median(window_size=_MANY, min_samples=1).over(PORT)


_MANY: Final = 10_000
"""Readings that a past is taken from: a week of minutes."""


def _apart(ratios: pl.DataFrame, changed: pl.DataFrame, params: DegradingParams) -> pl.DataFrame:
    """Return the ports that stand far out from like ports in all their readings."""
    logs = pl.col("value").log10()
    levels = ratios.group_by(PORT).agg(
        level=logs.median(),
        least=logs.min(),
        time=pl.col("time").min(),
        readings=pl.len(),
    )
    kind = "port_kind"
    usual = pl.col("level").median().over(kind)
    spread = (pl.col("level") - usual).abs().median().over(kind) * 1.4826
    far = pl.col("least") - usual
    return (
        levels.join(changed, on=PORT, how="anti")
        .filter(
            pl.len().over(kind) > params.min_peers,
            pl.col("readings") >= params.min_readings,
            pl.col("least") >= log10(params.min_peer_error_ratio),
            far >= log10(params.min_ratio),
            far >= spread * params.min_peer_scales,
        )
        .with_columns(usual=10.0**usual, now=10.0 ** pl.col("level"))
        .sort(PORT)
    )


def _verdict(row: dict[str, Any], fabric: Fabric, params: DegradingParams) -> Verdict:
    near, far = row_end(row), far_end(fabric.ends, row_end(row))
    lost = _lost_sync(row, fabric, params)
    onset: datetime = lost["time"] if lost else row["time"]
    changed = power_changes(fabric.readings, near, row["time"], params.optics)
    return Verdict(
        kind="degrading",
        level="link",
        subject=link_subject(near, row["port_kind"], far),
        onset=onset,
        detected=row["time"],
        cause="retrain" if lost else "error_ratio",
        confidence="high" if changed or lost else "medium",
        peers="the port's own past",
        evidence=(
            Evidence(source=end_text(near), time=row["time"], what=_words(row)),
            *_sync_evidence(lost, near),
            *changed,
        ),
        alternatives=(
            f"transmitter of {end_text(far) if far else 'the far end'}",
            "cable",
            "connector",
        ),
        action="schedule cleaning (early warning: nothing is lost yet), and watch the trend",
        needed=None if far else "the topology would name the sending end",
    )


def _words(row: dict[str, Any]) -> str:
    return (
        f"pre_fec_error_ratio {row['usual']:.1e} before, {row['now']:.1e} over {row['readings']} "
        f"readings since (x{row['now'] / row['usual']:.0f} its own past)"
    )


def _lost_sync(
    row: dict[str, Any], fabric: Fabric, params: DegradingParams
) -> dict[str, Any] | None:
    """Return the loss of lock that a change began with, if the link stayed up through it."""
    port = fabric.events.filter(
        pl.col("host") == row["host"], pl.col("device") == row["port"]
    ).drop_nulls("time")
    slack = timedelta(seconds=params.max_sync_seconds)
    near = (
        port.filter(
            pl.col("code").is_in(LOCK_LOSSES),
            pl.col("time").is_between(row["since"] - slack, row["time"] + slack),
        )
        .sort("time")
        .to_dicts()
    )
    if not near:
        return None
    first = near[0]
    down = port.filter(
        pl.col("kind") == "link_down",
        pl.col("time").is_between(first["time"] - slack, first["time"] + slack),
    )
    return None if down.height else first


def _sync_evidence(lost: dict[str, Any] | None, near: tuple[str, str]) -> Iterable[Evidence]:
    if lost is None:
        return ()
    what = f"retrain without link-down: {lost['code']} while the port stayed up"
    return (Evidence(source=end_text(near), time=lost["time"], what=what),)


def _peer_verdict(row: dict[str, Any], fabric: Fabric) -> Verdict:
    near, far = row_end(row), far_end(fabric.ends, row_end(row))
    factor = row["now"] / row["usual"]
    what = f"{RATIOS[0]} {row['now']:.1e}, like ports {row['usual']:.1e} (x{factor:.0f})"
    return Verdict(
        kind="degrading",
        level="link",
        subject=link_subject(near, row["port_kind"], far),
        onset=row["time"],
        onset_before_data=True,
        detected=row["time"],
        cause="error_ratio",
        confidence="low",
        peers=f"all {row['port_kind']} ports with error ratios",
        evidence=(Evidence(source=end_text(near), time=row["time"], what=what),),
        alternatives=("another kind of cable than its peers",),
        action="compare its cable and optics with its peers'; schedule cleaning",
        needed="this port's own past",
    )
