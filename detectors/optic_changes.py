"""Changes of optical power that are one event with a change of errors.

Source: fabric reference, section 3.3: modules are read about once a minute whatever the poll, so a
new power began at some time within the refresh before its first reading.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

import polars as pl

from detectors.lanes import RECEIVED_POWER, lane_powers
from detectors.link_words import End, end_text
from detectors.verdicts import Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class OpticParams:
    """When a change of power is an event, and one with another.

    Attributes:
        refresh_seconds: A module's values are up to this old.
        min_change_db: Change of power that counts. Source: UFM cable validation, 2 dB.
        max_gap_seconds: Beyond the interval of the change, this much apart is still one event.
    """

    refresh_seconds: float = 60.0
    min_change_db: float = 2.0
    max_gap_seconds: float = 60.0


def power_changes(
    readings: pl.DataFrame, end: End, at: datetime, params: OpticParams
) -> tuple[Evidence, ...]:
    """Return the falls of received power at a port that are one event with what began at a time.

    Args:
        readings: `READINGS`.
        end: Host and port.
        at: When errors began to rise.
        params: What counts as one.

    Returns:
        One evidence a lane, in words with the interval in which the power fell: from the refresh
        before the first new reading up to that reading.
    """
    powers = lane_powers(readings, RECEIVED_POWER, end)
    before = pl.col("value").shift(1).over("device")
    refresh = timedelta(seconds=params.refresh_seconds)
    slack = timedelta(seconds=params.max_gap_seconds)
    falls = (
        powers.with_columns(before=before)
        .filter(pl.col("before") - pl.col("value") >= params.min_change_db)
        .with_columns(since=pl.col("time") - refresh)
        .filter(
            pl.lit(at).is_between(pl.col("since") - slack, pl.col("time") + slack, closed="both")
        )
        .sort("time", "device")
    )
    return tuple(
        Evidence(
            source=f"{end_text(end)} {RECEIVED_POWER}",
            time=row["since"],
            what=(
                f"{row['device']} fell from {row['before']:.1f} to {row['value']:.1f} dBm between "
                f"{row['since']:%H:%M:%S} and {row['time']:%H:%M:%S}: one event with the errors"
            ),
        )
        for row in falls.to_dicts()
    )
