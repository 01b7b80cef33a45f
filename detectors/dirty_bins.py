"""When a port's receiver errs more than a line may: the limits, and the bins that break them.

Source: fabric reference, sections 6.2 and 7.1, and there: IBTA guidance (symbol errors), thresholds
as NVSentinel's configuration states them (recoveries, integrity), vendor guides (uncorrectable
codewords). Each port is held against the other devices' ports as well, since what all ports do is
no link's fault.
"""

from dataclasses import dataclass
from typing import Final

import polars as pl

from detectors.growth import PORT

MIN_ERRORS: Final = 10.0
"""Errors below which it may be chance: fewer are the background of any fabric; ours."""


@dataclass(frozen=True, slots=True)
class Limit:
    """How many errors of the line are too many.

    Attributes:
        hourly: Errors an hour; more are bad.
        count: Errors of a spell below which it may be chance.
    """

    hourly: float
    count: float


LINE_LIMITS: Final[dict[str, Limit]] = {
    "symbol_errors_total": Limit(120.0, MIN_ERRORS),
    "fec_uncorrected_symbols_total": Limit(120.0, MIN_ERRORS),
    "fec_uncorrected_codewords_total": Limit(30.0, MIN_ERRORS),
    "coding_errors_total": Limit(120.0, MIN_ERRORS),
    "effective_errors_total": Limit(120.0, MIN_ERRORS),
    "local_physical_errors_total": Limit(120.0, MIN_ERRORS),
    "local_link_integrity_errors_total": Limit(1.0, 1.0),
    "link_error_recoveries_total": Limit(300.0, MIN_ERRORS),
}
"""Errors of the line itself. Symbol errors: 120 an hour break the InfiniBand specification's 1e-12;
recoveries: 5 a minute; integrity errors: any; uncorrectable codewords should be none, and a few are
what bringing a link up costs."""

_DAMAGED: Final = ("receive_errors_total", "crc_errors_total")

CONSEQUENCES: Final = (*_DAMAGED, "link_error_recoveries_total")
"""What a dirty line does to packets; together with errors of the line it accuses, never alone."""

MAX_DAMAGED_HOURLY: Final = 60.0
"""Damaged packets an hour beside which any error of the line is too many; ours."""

MIN_PEERS: Final = 4
"""Ports of other devices below which their median is no yardstick."""

SIGNALS_SEEN: Final = (*LINE_LIMITS, *CONSEQUENCES, "remote_physical_errors_total")
"""With what arrives already marked as bad."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DirtyParams:
    """When a bin is bad.

    Attributes:
        min_peer_ratio: Ratio to the median port of the same kind, where that port errs too.
        max_alike_share: Above this share of the other devices' ports it is not this one.
    """

    min_peer_ratio: float = 10.0
    max_alike_share: float = 0.25


def dirty_bins(growth: pl.DataFrame, params: DirtyParams) -> pl.DataFrame:
    """Return the bins in which a port's line errs beyond the limit and beyond its peers.

    Args:
        growth: `GROWTH` of `SIGNALS_SEEN`.
        params: Against whom a port is held.

    Returns:
        `GROWTH`, one row a bad counter and bin.
    """
    limits = pl.DataFrame(
        [(signal, limit.hourly) for signal, limit in LINE_LIMITS.items()],
        schema={"signal": pl.String, "hourly": pl.Float64},
        orient="row",
    )
    is_line = pl.col("signal").is_in(list(LINE_LIMITS))
    erring = ((pl.col("grown") > 0) & is_line).any().over(*PORT, "bin")
    is_damage = pl.col("signal").is_in(_DAMAGED) & erring
    own_limit = pl.coalesce("hourly", pl.when(is_damage).then(MAX_DAMAGED_HOURLY))
    return (
        growth.join(limits, on="signal", how="left")
        .with_columns(over=pl.col("rate") * 3600.0 > own_limit)
        .with_columns(over=pl.col("over").fill_null(value=False))
        .pipe(_beside_peers)
        .filter(
            pl.col("over"),
            pl.col("rate") > pl.col("usual") * params.min_peer_ratio,
            (pl.col("alike") <= params.max_alike_share)
            | (pl.col("others") * params.max_alike_share < 1),
        )
        .select(growth.columns)
    )


def _beside_peers(rated: pl.DataFrame) -> pl.DataFrame:
    """Return the bins with what ports of other devices do in them.

    The median is of all ports alike, so it is no yardstick where most are the device's own.
    """
    peers, own = ["port_kind", "signal", "bin"], ["port_kind", "signal", "bin", "host"]
    others = pl.len().over(peers) - pl.len().over(own)
    alike = pl.col("over").sum().over(peers) - pl.col("over").sum().over(own)
    is_yardstick = (others >= MIN_PEERS - 1) & (others >= pl.len().over(own))
    return rated.with_columns(
        others=others,
        alike=pl.when(others > 0).then(alike / others).otherwise(0.0),
        usual=pl.when(is_yardstick).then(pl.col("rate").median().over(peers)).otherwise(0.0),
    )
