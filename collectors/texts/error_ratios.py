"""Bit error ratios as switches and NICs print them.

Source: mlxlink and ibdiagnet outputs. `15E-255` and `1.5e-254` are the least that the firmware can
say: no error was seen. It is no measurement, and its logarithm would ruin any mean.
"""

from typing import Final

import polars as pl

MAX_FLOOR_RATIO: Final = 1e-60
"""Below it a ratio is the firmware's floor: it would take longer than the universe to measure."""

NO_ERRORS: Final = "no_errors_seen"
"""Reason of a ratio that is null because no error was seen yet: neither 0 nor unknown health."""


def floor_reason(ratio: pl.Expr) -> pl.Expr:
    """Return `no_errors_seen` for a ratio that is 0 or the firmware's floor; null for others."""
    is_floor = (ratio >= 0) & (ratio < MAX_FLOOR_RATIO)
    return pl.when(is_floor.fill_null(value=False)).then(pl.lit(NO_ERRORS))


def floored(samples: pl.DataFrame) -> pl.DataFrame:
    """Return samples of error ratios without those that only say that no error was seen."""
    reason = floor_reason(pl.col("value"))
    return samples.with_columns(
        value=pl.when(reason.is_null()).then("value"), reason=pl.coalesce("reason", reason)
    )


def ratio_of(coefficient: pl.Expr, exponent: pl.Expr) -> pl.Expr:
    """Return coefficient times ten to the minus exponent.

    Args:
        coefficient: Float64, as the column of the register has it.
        exponent: Float64; its sign does not count, since sources differ.
    """
    return coefficient * pl.lit(10.0).pow(-exponent.abs())
