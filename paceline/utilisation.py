"""What an alert on GPU utilisation, the one most fleets have, would have done on the same data.

Utilisation is a duty cycle: it stays near 97 % while NCCL waits, so a slow job looks busy
(field figures; DCGM field 203).
"""

from typing import Final

import polars as pl

from collectors.frames import SAMPLES, require

MIN_BUSY_RATIO: Final = 0.90
"""A usual threshold: the fleet's mean utilisation below 90 % for five minutes."""

WINDOW: Final = "5m"


def utilisation_alert(samples: pl.DataFrame) -> str:
    """Return one line that says whether, and when, an alert on GPU utilisation would have fired.

    Args:
        samples: `SAMPLES`; only gpu_busy_ratio matters.
    """
    busy = (
        samples.lazy()
        .pipe(require, SAMPLES)
        .filter(pl.col("signal") == "gpu_busy_ratio")
        .drop_nulls(["time", "value"])
        .sort("time")
        .group_by_dynamic("time", every=WINDOW)
        .agg(pl.col("value").mean(), pl.len().alias("readings"))
        .collect()
    )
    if not busy.height:
        return "no utilisation was reported, so an alert on it says nothing"
    low = busy.filter(pl.col("value") < MIN_BUSY_RATIO)
    lowest = float(str(busy["value"].min()))
    if not low.height:
        return (
            f"stays silent: mean utilisation never fell below {lowest:.0%} in any {WINDOW} "
            f"(threshold {MIN_BUSY_RATIO:.0%})"
        )
    return f"fires at {low['time'][0]:%H:%M} UTC: mean utilisation {float(low['value'][0]):.0%}"
