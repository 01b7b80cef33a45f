"""Read what `ethtool -S` prints: a driver's own counters of a port, by priority and lane.

Statistics that are known keep their priority or lane as a part of the port, and their sum is the
port's. The many others (queues, software counters) are counted under one reason.
"""

from typing import Final

import polars as pl

from collectors.ethernet.capture_sections import Section, set_aside
from collectors.ethernet.ethtool_fields import NUMBERED, ethtool_fields
from collectors.ethernet.port_values import PORT_VALUES, port_totals
from collectors.frames import conform
from collectors.sniffing import ReadOptions

HEADER: Final = r"^\s*NIC statistics(?: for (\S+?))?:?$"

STATISTIC: Final = r"^\s*(?:\[\d+\]: )?([A-Za-z][^:]*?)\s*: (-?\d+)$"

UNKNOWN: Final = "statistic of no use here"

TOTALLED: Final = (
    "pause_received_frames_total",
    "pause_received_seconds_total",
    "pause_received_transitions_total",
    "pause_sent_frames_total",
    "pause_sent_seconds_total",
    "pause_sent_transitions_total",
    "priority_discards_total",
    "priority_marked_packets_total",
    "lane_errors_total",
)
"""Signals of priorities and lanes whose sum is the port's; a port counts its traffic itself."""

_SWITCH_DEVICE: Final = r"^swp\d"
"""Ports of Cumulus switches."""


def read_statistics(lines: pl.DataFrame, _options: ReadOptions) -> Section:
    """Return the counters in the output of `ethtool -S`.

    Args:
        lines: `CAPTURED`. A line belongs to the output below a header, below the command, or
            where it is a known statistic by its name.

    Returns:
        The counters; statistics that have no signal are set aside.
    """
    name = pl.col("text").str.extract(STATISTIC, 1)
    header = pl.col("text").str.contains(HEADER)
    own = pl.col("text").str.extract(HEADER, 1)
    placed = (
        lines.with_columns(name=name, is_header=header, own=own)
        .with_columns(
            began=pl.col("is_header").cum_max().over("segment"),
            dump=(pl.col("is_header") | pl.col("is_mark")).cum_sum(),
            device=pl.coalesce(pl.col("own").forward_fill().over("segment"), "device"),
            key=pl.col("name").str.replace(NUMBERED, "${1}N"),
            index=pl.col("name").str.extract(NUMBERED, 2).cast(pl.Int32, strict=False),
            text=pl.col("text").str.extract(STATISTIC, 2),
        )
        .with_columns(
            below=pl.col("began")
            | pl.col("command").str.contains(r"ethtool (?:-S|--statistics)").fill_null(value=False)
        )
    )
    known = placed.filter(pl.col("name").is_not_null()).join(
        ethtool_fields(), on="key", how="inner", maintain_order="left"
    )
    headers = placed.filter("is_header")["position"]
    others = placed.filter("below", pl.col("name").is_not_null()).join(
        known, on="position", how="anti"
    )["position"]
    return Section(
        values=_values(known),
        used=pl.concat([known["position"], headers]),
        aside=set_aside(others, UNKNOWN),
    )


def _values(known: pl.DataFrame) -> pl.DataFrame:
    """Return `PORT_VALUES`: statistics that are one signal of one device in a dump are added."""
    is_switch = pl.col("device").str.contains(_SWITCH_DEVICE)
    keys = ["dump", "time", "host", "device_kind", "device", "part", "index", "signal", "factor"]
    count = pl.col("text").cast(pl.Int128, strict=False)
    rows = (
        known.with_columns(
            device_kind=pl.when(is_switch).then(pl.lit("switch_port")).otherwise(pl.lit("nic")),
            index=pl.when(pl.col("part").is_not_null()).then("index"),
        )
        .unique(["dump", "host", "device", "name"], keep="last", maintain_order=True)
        .group_by(keys, maintain_order=True)
        .agg(pl.col("position").min(), text=count.sum().cast(pl.String))
    )
    return port_totals(conform(rows.lazy(), PORT_VALUES).collect(), TOTALLED)
