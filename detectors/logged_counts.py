"""Growth of counters that a log tells instead of their values: OpenSM's performance manager.

Source: fabric reference, section 4; opensm `perfmgr`: it sweeps all ports every three minutes and
logs a counter that grew, with by how much.
"""

from datetime import timedelta
from typing import Final

import polars as pl

from detectors.counters import INTERVALS

SWEEP_SECONDS: Final = 180.0
"""Time between two sweeps, as OpenSM comes."""


def logged_intervals(events: pl.DataFrame) -> pl.DataFrame:
    """Return the growth that logs tell, by port, counter and time.

    Args:
        events: `EVENTS`; of kind `counter_delta` the code is the counter and the attribute `delta`
            its growth since the sweep before. One without either is left out.

    Returns:
        `INTERVALS`, one row a line: a sweep that saw no growth says nothing in the log.
    """
    told = pl.element().filter(pl.element().struct["key"] == "delta").struct["value"]
    delta = pl.col("attributes").list.eval(told).list.first().cast(pl.Float64, strict=False)
    flags = ("reset", "wrapped", "saturated", "infeasible", "regrouped", "settling")
    rows = (
        events.filter(pl.col("kind") == "counter_delta")
        .drop_nulls(["host", "device", "code", "time"])
        .with_columns(delta=delta)
        .filter(pl.col("delta") > 0)
        .with_columns(
            port="device",
            port_kind="device_kind",
            signal="code",
            start=pl.col("time") - timedelta(seconds=SWEEP_SECONDS),
            end="time",
            seconds=pl.lit(SWEEP_SECONDS),
            value=pl.lit(None, pl.Float64),
            min_delta="delta",
            near=pl.lit(value=True),
            **{flag: pl.lit(value=False) for flag in flags},
        )
    )
    return rows.select(INTERVALS.names()).sort("host", "device", "signal", "end")
