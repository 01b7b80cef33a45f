"""Keep apart what two counters of one port count, although both go by the same signal.

The RDMA side and the interface of one NIC port both count bytes, and not the same ones: under
one name, each reading of one would look like a reset of the other.
"""

from typing import Final

import polars as pl

from collectors.names.device_names import family_of
from collectors.signals import COUNTERS

_ENTITY: Final = ("host", "device", "signal")


def keep_counters_apart(before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    """Return renamed samples, of which those keep their old name that would mix two counters.

    Args:
        before: `SAMPLES` with the names that their sources use.
        after: The same rows, renamed.

    Returns:
        `SAMPLES` in the same order. Of several names under which a port counts the same signal at
        the same time, the canonical one has it, else the first in alphabetical order.
    """
    was = before["device"]
    may_mix = (family_of(pl.col("device_kind")) == "port") & pl.col("signal").is_in(COUNTERS)
    rows = after.with_columns(was=was)
    mixed = _mixed(rows.filter(may_mix))
    if mixed.is_empty():
        return after
    apart = pl.col("apart").fill_null(value=False)
    return (
        rows.join(mixed, on=[*_ENTITY, "was"], how="left", maintain_order="left")
        .with_columns(device=pl.when(apart & may_mix).then("was").otherwise("device"))
        .select(after.columns)
    )


def _mixed(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the old names whose counts overlap in time with those of a better name."""
    is_moved = (pl.col("was") != pl.col("device")).any().over(_ENTITY)
    spans = (
        rows.filter(is_moved)
        .group_by(*_ENTITY, "was")
        .agg(
            since=pl.col("time").min(),
            until=pl.col("time").max(),
            is_timed=pl.col("time").is_not_null().all(),
        )
        .filter(pl.len().over(_ENTITY) > 1)
        .sort(*_ENTITY, pl.col("was") != pl.col("device"), "was")
        .with_columns(order=pl.int_range(pl.len()).over(_ENTITY))
    )
    better = spans.rename({name: f"{name}_2" for name in ("was", "since", "until", "is_timed")})
    overlaps = (pl.col("since") <= pl.col("until_2")) & (pl.col("since_2") <= pl.col("until"))
    untimed = ~pl.col("is_timed") | ~pl.col("is_timed_2")
    return (
        spans.join(better, on=list(_ENTITY), suffix="_2")
        .filter(pl.col("order_2") < pl.col("order"), overlaps.fill_null(value=False) | untimed)
        .select(*_ENTITY, "was", apart=pl.lit(value=True))
        .unique()
    )
