"""How fast counters of ports grow, in bins that people can read.

Only a difference between two good samples is evidence: an old total is history (fabric reference,
section 0). Source of the delta rules: fabric reference, section 5.
"""

from datetime import timedelta
from typing import Final

import polars as pl

from collectors.frames import SAMPLES, TIME, require, schema_of
from detectors.cleaning import CleaningParams, counter_rates

GROWTH: Final = schema_of(
    {
        "host": pl.String,
        "device_kind": pl.String,
        "device": pl.String,
        "signal": pl.String,
        "bin": TIME,
        "first": TIME,
        "grown": pl.Float64,
        "seconds": pl.Float64,
        "rate": pl.Float64,
    }
)
"""One row a counter and bin. `grown` is how much it grew in the `seconds` that are known; `first`
is when it was first seen to grow in the bin, null if it did not. A bin with nothing known is no
row."""

PORT_KINDS: Final = ("nic", "switch_port")


def port_growth(
    samples: pl.LazyFrame, signals: tuple[str, ...], bin_seconds: float, cleaning: CleaningParams
) -> pl.LazyFrame:
    """Return the growth of ports' counters.

    Args:
        samples: `SAMPLES`; a null value (a saturated counter, say) tells nothing.
        signals: The counters wanted.
        bin_seconds: Width of a bin; bins start at multiples of it.
        cleaning: Gap and wrap rules.

    Returns:
        `GROWTH`, by port, signal and bin.
    """
    wanted = samples.pipe(require, SAMPLES).filter(
        pl.col("device_kind").is_in(PORT_KINDS), pl.col("signal").is_in(signals)
    )
    keys = ["host", "device_kind", "device", "signal"]
    width = int(bin_seconds * 1e6)
    return (
        counter_rates(wanted, cleaning)
        .drop_nulls("rate")
        .with_columns(
            grown=pl.col("rate") * pl.col("seconds"),
            bin=(pl.col("time").cast(pl.Int64) // width * width).cast(TIME),
        )
        .group_by(*keys, "bin")
        .agg(
            pl.col("time").filter(pl.col("grown") > 0).min().alias("first"),
            pl.col("grown").sum(),
            pl.col("seconds").sum(),
        )
        .with_columns(rate=pl.col("grown") / pl.col("seconds"))
        .select(GROWTH.names())
        .sort(*keys, "bin")
    )


def run_numbers(keys: list[str], bin_seconds: float, max_gap_bins: int) -> pl.Expr:
    """Return the number of the run of bins that a row belongs to.

    Args:
        keys: Columns that name whose bins these are; the frame is sorted by them and `bin`.
        bin_seconds: Width of a bin.
        max_gap_bins: Bins missing in between that do not end a run.
    """
    allowed = timedelta(seconds=bin_seconds * (max_gap_bins + 1))
    gap = pl.col("bin").diff()
    return ((gap.over(keys) if keys else gap) > allowed).fill_null(value=True).cum_sum()
