"""How long the network told each port to stop, and over how long that was counted."""

from typing import Final

import polars as pl

from detectors.pause_shares import RECEIVED_SECONDS
from paceline.watching.totals import Totals
from slo.metrics import PORT_PAUSED_SECONDS_TOTAL, PORT_WATCHED_SECONDS_TOTAL

MAX_GAP_SECONDS: Final = 300.0
"""Readings that are farther apart leave a gap: what was counted in it is of no known time."""


def count_ports(totals: Totals, samples: pl.DataFrame, cluster: str) -> None:
    """Let the counters of ports grow by what their newest readings say.

    Args:
        totals: The counters. A port begins at 0 with its first reading, whatever it counted before.
        samples: `SAMPLES` of the window.
        cluster: The label of that name.
    """
    seconds = pl.col("time").dt.epoch("us") / 1e6
    newest = (
        samples.filter(pl.col("signal").is_in(RECEIVED_SECONDS))
        .drop_nulls(["time", "host", "device", "value"])
        .sort("time", "value")
        .group_by("host", "device", maintain_order=True)
        .agg(seconds.last(), pl.col("value").last())
    )
    for host, device, at, paused in newest.iter_rows():
        labels = (cluster, host, device)
        gap = totals.since((PORT_WATCHED_SECONDS_TOTAL.name, labels), at)
        is_known = 0.0 < gap <= MAX_GAP_SECONDS
        totals.follow((PORT_WATCHED_SECONDS_TOTAL.name, labels), at, is_counted=is_known)
        totals.follow((PORT_PAUSED_SECONDS_TOTAL.name, labels), paused, is_counted=is_known)
