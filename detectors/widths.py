"""Find links that run narrower or slower than they can.

Source: fabric reference, sections 1.3, 2.1, 2.7 and 6.2 (W). Both ends of a link report the same
width and rate, so a link is held against what its ends support, or against its own past. A port
that is down reports the slowest rate there is; that is no degraded link.
"""

from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from collectors.texts.templates import filled
from detectors.fabric import Fabric
from detectors.link_words import End, end_text, far_end, link_subject, row_end
from detectors.port_readings import SPEEDS
from detectors.verdicts import Evidence, Verdict, verdict_frame

_LIMITS: Final = {
    "link_width_lanes": "max_link_width_lanes",
    "lane_rate_bytes_per_second": "max_lane_rate_bytes_per_second",
}
"""What a link runs at, and what its ends support."""

_LEVELS: Final = (*_LIMITS, *SPEEDS)

_STATES: Final = {"port_state": 4.0, "link_up": 1.0}
"""Value of each state of a port that is up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WidthParams:
    """When a link is degraded.

    Attributes:
        max_level_ratio: Of what it supports or had; a rate may be told in rounded units.
        min_readings: Readings at the lower level, if it was higher before.
    """

    max_level_ratio: float = 0.9
    min_readings: int = 2


def find_degraded_links(fabric: Fabric, params: WidthParams) -> pl.DataFrame:
    """Return the links that are up and run below what both ends support, or below their past.

    Args:
        fabric: Widths, rates and states of ports, and events `link_degraded`.
        params: The thresholds.

    Returns:
        `VERDICTS` of kind link_fault: cause `degraded_width` or `degraded_speed`, one row a link.
        Partition key: fabric.
    """
    told = [*_logged(fabric), *_measured(fabric, params)]
    links: dict[tuple[End, ...], dict[str, Any]] = {}
    for row in sorted(told, key=lambda one: (one["time"] is None, one["time"], row_end(one))):
        far = far_end(fabric.ends, row_end(row))
        links.setdefault(tuple(sorted([row_end(row), far])) if far else (row_end(row),), row)
    return verdict_frame(_verdict(row, fabric) for row in links.values())


def _logged(fabric: Fabric) -> list[dict[str, Any]]:
    """Return the links that a tool itself calls degraded."""
    rows = fabric.events.filter(pl.col("kind") == "link_degraded").drop_nulls(["host", "device"])
    words = pl.concat_str("code", "message", separator=" ", ignore_nulls=True)
    return rows.select(
        "host",
        "time",
        port="device",
        port_kind=pl.col("device_kind").fill_null("switch_port"),
        cause=pl.when(words.str.contains(r"(?i)width|could be \d+x"))
        .then(pl.lit("degraded_width"))
        .otherwise(pl.lit("degraded_speed")),
        what=words,
    ).to_dicts()


def _measured(fabric: Fabric, params: WidthParams) -> list[dict[str, Any]]:
    """Return the links whose last readings are below what they support, or were."""
    key = ["host", "port", "port_kind", "signal"]
    rows = _up(fabric).filter(pl.col("signal").is_in(_LEVELS), pl.col("value") > 0)
    limits = _limits(fabric)
    last = pl.col("value").last()
    lower = pl.col("value") <= last * (2.0 - params.max_level_ratio)
    tail = pl.col("value").is_not_null() & (lower.reverse().cum_min().reverse())
    return (
        rows.sort(*key, "time")
        .group_by(key)
        .agg(
            now=last,
            most=pl.col("value").max(),
            time=pl.col("time").filter(tail).first(),
            held=tail.sum(),
        )
        .join(limits, on=["host", "port", "signal"], how="left")
        .with_columns(best=pl.coalesce("limit", "most"))
        .filter(
            pl.col("now") < pl.col("best") * params.max_level_ratio,
            pl.col("limit").is_not_null() | (pl.col("held") >= params.min_readings),
        )
        .with_columns(
            cause=pl.when(pl.col("signal") == "link_width_lanes")
            .then(pl.lit("degraded_width"))
            .otherwise(pl.lit("degraded_speed")),
            what=filled("{} {}, it could be {}", "signal", "now", "best"),
        )
        .sort(key)
        .to_dicts()
    )


def _limits(fabric: Fabric) -> pl.DataFrame:
    """Return what both ends of each link support; a link of which one end tells has no row.

    A fast switch port with a slower adapter is no degraded link.
    """
    own = (
        fabric.readings.filter(pl.col("signal").is_in(list(_LIMITS.values())), pl.col("value") > 0)
        .with_columns(signal=pl.col("signal").replace({v: k for k, v in _LIMITS.items()}))
        .group_by("host", "port", "signal")
        .agg(limit=pl.col("value").max())
    )
    far = own.rename({"host": "far_host", "port": "far_port", "limit": "far_limit"})
    return (
        own.join(fabric.ends, on=["host", "port"])
        .join(far, on=["far_host", "far_port", "signal"])
        .select("host", "port", "signal", limit=pl.min_horizontal("limit", "far_limit"))
    )


def _up(fabric: Fabric) -> pl.DataFrame:
    """Return the readings without those of times at which their port was not up."""
    up = pl.col("signal").replace_strict(_STATES, default=None, return_dtype=pl.Float64)
    states = fabric.readings.filter(pl.col("signal").is_in(list(_STATES)))
    down = states.filter(pl.col("value") != up).select("host", "port", "time").unique()
    return fabric.readings.join(down, on=["host", "port", "time"], how="anti")


def _verdict(row: dict[str, Any], fabric: Fabric) -> Verdict:
    near = row_end(row)
    far = far_end(fabric.ends, near)
    return Verdict(
        kind="link_fault",
        level="link",
        subject=link_subject(near, row["port_kind"], far),
        onset=row["time"],
        detected=row["time"],
        cause=row["cause"],
        confidence="high" if far else "medium",
        evidence=(Evidence(source=end_text(near), time=row["time"], what=row["what"]),),
        action="reseat both ends and train the link again; then swap the cable, then the optics",
        needed=None if far else "the topology would name the other end",
    )
