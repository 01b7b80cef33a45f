"""Find GPUs whose readings end while those of their siblings in the same source go on.

Source: methods reference, section 11: the silence of one entity among talking peers is a finding of
its own. Readers of scrapes see a series end and say so; tables of samples do not.
"""

from typing import Final

import polars as pl

from collectors.frames import SAMPLES, require

MIN_SILENT_SECONDS: Final = 300.0
"""Shorter silence is a few lost readings."""

MIN_SILENT_TICKS: Final = 10
"""Of the source's usual interval, for sources that read seldom."""


def silent_gpus(samples: pl.LazyFrame) -> pl.DataFrame:
    """Return the GPUs that fell silent while another GPU of their host and source went on.

    Args:
        samples: `SAMPLES`; a null value is no reading.

    Returns:
        `host`, `device`, `time` of the last reading and `seconds` of silence, by host and device.
    """
    readings = (
        samples.pipe(require, SAMPLES)
        .filter(pl.col("device_kind") == "gpu")
        .drop_nulls(["time", "host", "device", "value"])
    )
    ends = readings.group_by("host", "source", "device").agg(
        pl.col("time").max(),
        first=pl.col("time").min(),
        ticks=pl.col("time").n_unique(),
    )
    spread = (pl.col("time") - pl.col("first")).dt.total_microseconds() / 1e6
    beside = ["host", "source"]
    silence = (pl.col("time").max().over(beside) - pl.col("time")).dt.total_microseconds() / 1e6
    return (
        ends.with_columns(seconds=silence, usual=spread / (pl.col("ticks") - 1))
        .filter(
            pl.col("ticks") > 1,
            pl.col("seconds") >= MIN_SILENT_SECONDS,
            pl.col("seconds") >= MIN_SILENT_TICKS * pl.col("usual"),
        )
        .group_by("host", "device")
        .agg(pl.col("time").max(), pl.col("seconds").min())
        .join(_others(readings), on=["host", "device"], how="left")
        .filter((pl.col("time") >= pl.col("last")).fill_null(value=True))
        .select("host", "device", "time", "seconds")
        .sort("host", "device")
        .collect()
    )


def _others(readings: pl.LazyFrame) -> pl.LazyFrame:
    """Return the last reading of each GPU by any source: who is heard elsewhere is not silent."""
    return readings.group_by("host", "device").agg(last=pl.col("time").max())
