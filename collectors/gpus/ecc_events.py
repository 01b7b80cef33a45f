"""Events from counts of uncorrected memory errors: their growth, never their level.

The aggregate lives as long as the board and the volatile count as long as the driver, so what is
there at first sight is history. Both count the same error. Source: nvidia-smi manual, ECC errors.
"""

from typing import Final

import polars as pl

from collectors.frames import EVENTS, conform
from collectors.gpus.measured_order import in_order

_COUNTS: Final = ("ecc_uncorrected_volatile_total", "ecc_uncorrected_aggregate_total")


def ecc_events(measured: pl.DataFrame, source: str) -> pl.DataFrame:
    """Return one event for each time that a GPU's count of uncorrected errors grew.

    Args:
        measured: `MEASURED`; a null value says nothing, and a fall is a reset.
        source: The name to quote.

    Returns:
        `EVENTS` of kind `ecc`; `count` is by how much it grew.
    """
    is_count = pl.col("signal").is_in(_COUNTS) & (pl.col("device_kind") == "gpu")
    rows = (
        in_order(measured, is_count)
        .with_columns(grown=pl.col("value") - pl.col("before"))
        .filter(pl.col("grown") > 0)
        .group_by("host", "device", "order", maintain_order=True)
        .agg(pl.col("time", "position").first(), count=pl.col("grown").max())
        .with_columns(
            device_kind=pl.lit("gpu"),
            kind=pl.lit("ecc"),
            code=pl.lit("uncorrected"),
            severity=pl.lit("high"),
            message=pl.format("uncorrected memory errors grew by {}", pl.col("count").cast(int)),
            source=pl.lit(source),
        )
    )
    return conform(rows, EVENTS).collect()
