"""Raw bit error ratios of receivers, as reported or from counters of corrected bits.

Source: fabric reference, sections 3.5 and 7.2: corrected bits over the bits that could have come.
"""

from typing import Final

import polars as pl

from collectors.frames import TIME, schema_of
from detectors.error_ratios import FLOOR_RATIO
from detectors.fabric import Fabric
from detectors.growth import PORT

RATIOS: Final = ("pre_fec_error_ratio",)

RAW_RATIOS: Final = schema_of(
    {
        "host": pl.String,
        "port": pl.String,
        "port_kind": pl.String,
        "time": TIME,
        "value": pl.Float64,
    }
)
"""One row a receiver and time: errors a bit, above the floor that means "none seen"."""

_ERRORS: Final = "fec_corrected_bits_total"
_BITS: Final = "receivable_bits_total"


def raw_ratios(fabric: Fabric) -> pl.DataFrame:
    """Return `RAW_RATIOS`, by port and time; of a port that reports the ratio that one stands.

    Args:
        fabric: Error ratios of ports (not of lanes), and counters of corrected bits.
    """
    whole = pl.col("device") == pl.col("port")
    reported = fabric.readings.filter(
        pl.col("signal").is_in(RATIOS), whole, pl.col("value") > FLOOR_RATIO
    ).select(RAW_RATIOS.names())
    sound = fabric.intervals.filter(
        pl.col("delta").is_not_null(), ~pl.col("settling"), pl.col("near"), whole
    )
    errors, bits = (
        sound.filter(pl.col("signal") == name).select(*PORT, "start", time="end", grown="delta")
        for name in (_ERRORS, _BITS)
    )
    counted = (
        errors.join(bits, on=[*PORT, "start", "time"], suffix="_bits")
        .filter(pl.col("grown") > 0, pl.col("grown_bits") > 0)
        .with_columns(value=pl.col("grown") / pl.col("grown_bits"))
        .join(reported, on=PORT, how="anti")
        .select(RAW_RATIOS.names())
    )
    return pl.concat([reported, counted]).sort(*PORT, "time")
