"""Which run, and which rank, an event is about, where its source does not say.

A kernel log knows no run and NCCL no rank: both know a host, and the job's placement knows who is
there.
"""

import polars as pl

from collectors.frames import EVENTS, require


def placed_events(events: pl.LazyFrame, roles: pl.LazyFrame) -> pl.LazyFrame:
    """Return `EVENTS` with run and rank filled in from where the run's ranks are.

    Args:
        events: `EVENTS`; a null run or rank is not said.
        roles: `ROLES`.

    Returns:
        The events. A run is taken from the only run on the event's host, else from the only run
        there is; a rank from the GPU's number, or name, on its host; a host from the rank.
    """
    placed = roles.select("run", "rank", "host", "gpu", pl.col("index").cast(pl.String))
    here = placed.drop_nulls("host").group_by("host").agg(_only("run").alias("run_here"))
    only = placed.select(_only("run").alias("run_only"))
    by_index = _ranks(placed, "index")
    by_gpu = _ranks(placed, "gpu")
    hosts = (
        placed.drop_nulls(["rank", "host"])
        .group_by("run", "rank")
        .agg(_only("host").alias("host_there"))
    )
    is_gpu = (pl.col("device_kind") == "gpu").fill_null(value=False)
    return (
        events.pipe(require, EVENTS)
        .join(here, on="host", how="left", maintain_order="left")
        .join(only, how="cross", maintain_order="left")
        .with_columns(run=pl.coalesce("run", "run_here", "run_only"))
        .join(by_index, on=["run", "host", "device"], how="left", nulls_equal=True)
        .join(by_gpu, on=["run", "host", "device"], how="left", nulls_equal=True, suffix="_named")
        .with_columns(
            rank=pl.coalesce("rank", pl.when(is_gpu).then(pl.coalesce("found", "found_named")))
        )
        .join(hosts, on=["run", "rank"], how="left", nulls_equal=True)
        .with_columns(host=pl.coalesce("host", "host_there"))
        .select(EVENTS.names())
    )


def _only(name: str) -> pl.Expr:
    """Return the one value that a column has; null if it has several."""
    values = pl.col(name).drop_nulls()
    return pl.when(values.n_unique() == 1).then(values.min())


def _ranks(placed: pl.LazyFrame, device: str) -> pl.LazyFrame:
    """Return the rank of each device on each host, where only one is known."""
    return (
        placed.drop_nulls([device, "rank"])
        .group_by("run", "host", pl.col(device).alias("device"))
        .agg(_only("rank").alias("found"))
    )
