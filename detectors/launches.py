"""Judge what NCCL's RAS reports: ranks that do not answer, and ranks that have launched less.

Source: methods of the NCCL reference, sections 5.1, 12.1 and 12.2. Reports count what hosts have
launched, not what is done: equal counts acquit nobody and accuse nobody. Ranks move while a report
is made, so a small difference counts only if a second report shows it unchanged.
"""

from dataclasses import dataclass
from typing import Final

import polars as pl

from collectors.frames import COLLECTIVES, EVENTS, require
from detectors.absences import absent_verdicts
from detectors.addresses import known_addresses, with_hosts
from detectors.belonging import placed_events
from detectors.departures import departed_verdicts
from detectors.launch_counts import gap_verdicts
from detectors.verdicts import verdict_frame

RAS_STATES: Final = ("launched", "missing")
"""States that RAS tells: nobody follows such an operation to its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchParams:
    """When a report of RAS accuses.

    Attributes:
        max_moving_operations: Ranks may differ by so many operations while a report is made.
        max_suspect_share: Above this share of the ranks nobody is named.
    """

    max_moving_operations: int = 2
    max_suspect_share: float = 0.4


def find_launch_gaps(
    collectives: pl.LazyFrame, events: pl.LazyFrame, roles: pl.LazyFrame, params: LaunchParams
) -> pl.DataFrame:
    """Return the ranks that RAS reports accuse.

    Args:
        collectives: `COLLECTIVES`; of state `launched` and `missing`.
        events: `EVENTS` with their runs; addresses tell which hosts the reports mean. What is
            marked as invalid is no evidence.
        roles: `ROLES`, for the rank of a GPU on a host.
        params: The thresholds.

    Returns:
        `VERDICTS` of kind hang on ranks or hosts that do not answer, are behind or have left; of
        kind crash where a process is taken for dead or has an error of its own; of kind mismatch on
        ranks that are ahead; and unknown where one report alone shows a difference that may pass.
        Partition key: run.

    Raises:
        SchemaError: A frame lacks a column.
    """
    addresses = known_addresses(events.pipe(require, EVENTS))
    told = placed_events(with_hosts(events, "host", addresses), roles).collect()
    rows = with_hosts(
        collectives.pipe(require, COLLECTIVES).filter(pl.col("state") == "launched"),
        "host",
        addresses,
    ).collect()
    found = [
        *absent_verdicts(told, params.max_suspect_share),
        *departed_verdicts(told, params.max_suspect_share),
        *gap_verdicts(rows, told, params.max_moving_operations, params.max_suspect_share),
    ]
    return verdict_frame(found)


def without_launches(collectives: pl.LazyFrame) -> pl.LazyFrame:
    """Return the collectives that somebody follows: not those that RAS counts."""
    return collectives.filter(~pl.col("state").is_in(RAS_STATES).fill_null(value=False))
