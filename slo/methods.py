"""The bad share of a period by each budgeting method, labelled with the method.

Source: OpenSLO, `budgetingMethod`; slok/sloth issues 332 and 618, where a mean of ratios was taken
for a share of events: a quiet night then weighs as much as a peak. Empty slices are left out and
counted, whichever the method.
"""

from typing import Final

import polars as pl

from collectors.frames import TIME, require, schema_of
from slo.objectives import Method

SLICES: Final = schema_of({"time": TIME, "bad": pl.Float64, "total": pl.Float64})
"""One slice of time: its bad and its total events."""

BAD_SHARES: Final = schema_of(
    {
        "method": pl.String,
        "bad_ratio": pl.Float64,
        "slice_count": pl.Int64,
        "empty_slice_count": pl.Int64,
    }
)
"""`bad_ratio` (0-1) is null when every slice is empty; `slice_count` counts all slices."""


def budget_bad_share(
    slices: pl.LazyFrame, method: Method, *, max_slice_error_ratio: float = 0.0
) -> pl.LazyFrame:
    """Return the bad share of the slices by one method.

    Args:
        slices: `SLICES`; a slice whose total is 0 or null is empty, and so is one whose bad or
            total events are no number or not known.
        method: How the share is counted.
        max_slice_error_ratio: For Timeslices, the error ratio up to which a slice is still good.

    Returns:
        `BAD_SHARES`, one row.

    Raises:
        SchemaError: `slices` is not a `SLICES`.
    """
    ratio = (pl.col("bad") / pl.col("total")).clip(0.0, 1.0)
    is_known = pl.col("bad").is_finite() & pl.col("total").is_finite()
    is_full = (is_known & (pl.col("total") > 0)).fill_null(value=False)
    share = {
        Method.OCCURRENCES: (
            pl.col("bad").filter(is_full).sum() / pl.col("total").filter(is_full).sum()
        ).clip(0.0, 1.0),
        Method.TIMESLICES: (ratio > max_slice_error_ratio).filter(is_full).mean(),
        Method.RATIO_TIMESLICES: ratio.filter(is_full).mean(),
    }[method]
    return (
        slices.pipe(require, SLICES)
        .select(
            method=pl.lit(method.value),
            bad_ratio=pl.when(is_full.any()).then(share),
            slice_count=pl.len().cast(pl.Int64),
            empty_slice_count=(~is_full).sum().cast(pl.Int64),
        )
        .select(BAD_SHARES.names())
    )
