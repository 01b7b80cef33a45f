"""What to do with flagged nodes and parts, and with how many at once.

Source: methods reference, section 10: tiers by the posterior of a mixture, and caps, so that a bad
threshold, or a bad day of one rack, never empties a pool.
"""

from dataclasses import dataclass

import polars as pl

from detectors.promotion import RACK


@dataclass(frozen=True, slots=True, kw_only=True)
class TierParams:
    """From when on something is taken out, and how much at once.

    Attributes:
        min_drain_chance: Chance to be of the bad kind from which a flagged node is drained.
        max_pool_share: Share of a pool that is drained at once; one node at least.
        max_rack_share: Share of a rack that is drained at once; one node at least.
        min_repairs: Repairs that did not help, from which it is to be returned.
    """

    min_drain_chance: float = 0.95
    max_pool_share: float = 0.02
    max_rack_share: float = 0.2
    min_repairs: int = 2

    def __post_init__(self) -> None:
        """Refuse shares that are none."""
        if not (0.0 < self.max_pool_share <= 1.0 and 0.0 < self.max_rack_share <= 1.0):
            raise ValueError(
                "max_pool_share and max_rack_share must be above 0 and at most 1, got "
                f"{self.max_pool_share} and {self.max_rack_share}"
            )


def with_tiers(rated: pl.DataFrame, repairs: pl.DataFrame, params: TierParams) -> pl.DataFrame:
    """Return `RATED` with `tier`: return, drain or watch for what is flagged, else null.

    Args:
        rated: `RATED` with `is_lemon` and `score`.
        repairs: `REPAIRS`.
        params: The limits. Of what is over them, the worst go first and the rest is watched.
    """
    nodes = rated.filter(pl.col("part").is_null()).with_columns(_rack())
    pools = nodes.group_by("pool").agg(pool_size=pl.len())
    racks = nodes.drop_nulls("rack").group_by("rack").agg(rack_size=pl.len())
    counts = repairs.group_by("host").agg(repairs=pl.len())
    flagged = (
        rated.filter("is_lemon")
        .with_columns(_rack())
        .join(pools, on="pool", how="left")
        .join(racks, on="rack", how="left")
        .join(counts, on="host", how="left")
        .sort("score", "host", "part", descending=[True, False, False])
    )
    tiers = _capped(flagged, params).select("host", "part", "tier")
    return rated.join(tiers, on=["host", "part"], how="left", nulls_equal=True)


def _rack() -> pl.Expr:
    return pl.col("host").str.extract(RACK, 1).alias("rack")


def _capped(flagged: pl.DataFrame, params: TierParams) -> pl.DataFrame:
    """Return flagged units with `tier`; a host with several bad parts is drained once."""
    wanted = flagged.with_columns(wanted=pl.col("bad_chance") >= params.min_drain_chance)
    once = pl.col("wanted") & pl.col("host").is_first_distinct().over("wanted")
    in_pool = once.cum_sum().over("pool")
    in_rack = pl.when(pl.col("rack").is_not_null()).then(once.cum_sum().over("rack")).fill_null(0)
    fits = (in_pool <= _limit("pool_size", params.max_pool_share)) & (
        in_rack <= _limit("rack_size", params.max_rack_share)
    )
    is_tried = pl.col("part").is_null() & (pl.col("repairs").fill_null(0) >= params.min_repairs)
    return wanted.with_columns(
        tier=pl.when(~pl.col("wanted") | ~fits)
        .then(pl.lit("watch"))
        .when(is_tried)
        .then(pl.lit("return"))
        .otherwise(pl.lit("drain"))
    )


def _limit(size: str, share: float) -> pl.Expr:
    """Return how many of a group may go at once: at least one."""
    return (pl.col(size).fill_null(0) * share).floor().clip(1)
