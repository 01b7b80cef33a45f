"""Optical power of ports lane by lane: which lanes are lit, and which is dimmer than the others.

Source: fabric reference, section 3.7 and table 6.4. Received power is measured at this end and
describes the far laser, the fibre and this connector; sent power describes this end's laser. A
module with one laser fills its other lanes with 0.0 dBm; copper has no power at all. Neither is
dark.
"""

from datetime import datetime
from typing import Final

import polars as pl

RECEIVED_POWER: Final = "rx_power_dbm"
SENT_POWER: Final = "tx_power_dbm"

NO_LIGHT_DBM: Final = -39.0
"""From here down a module says that there is no light, or that it cannot measure: no level."""


def lane_powers(readings: pl.DataFrame, signal: str, end: tuple[str, str]) -> pl.DataFrame:
    """Return the power of a port's lit lanes.

    Args:
        readings: `READINGS` of ports and lanes; a null value is not measured (copper, say).
        signal: `RECEIVED_POWER` or `SENT_POWER`.
        end: Host and port.

    Returns:
        `device` (the lane, or the port where it has but one), `time` and `value` in dBm, without
        filler lanes, by these columns.
    """
    value = pl.col("value")
    filler = (value == 0.0) & ((value != 0.0).any().over("time") | (pl.len().over("time") > 1))
    return (
        readings.filter(
            pl.col("host") == end[0],
            pl.col("port") == end[1],
            pl.col("signal") == signal,
            value.is_finite(),
            value > NO_LIGHT_DBM,
        )
        .filter(~filler)
        .select("device", "time", "value")
        .sort("device", "time")
    )


def last_powers(
    readings: pl.DataFrame, signal: str, end: tuple[str, str], until: datetime
) -> dict[str, float]:
    """Return the last power of each lit lane of a port up to a time, by lane, in dBm.

    Args:
        readings: `READINGS`.
        signal: `RECEIVED_POWER` or `SENT_POWER`.
        end: Host and port.
        until: Readings after this are left out.
    """
    mine = lane_powers(readings, signal, end).filter(pl.col("time") <= until)
    last = mine.group_by("device", maintain_order=True).agg(pl.col("value").last())
    return dict(zip(last["device"].to_list(), last["value"].to_list(), strict=True))
