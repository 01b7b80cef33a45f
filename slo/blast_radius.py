"""How much work stands or falls with one GPU, host, rack, switch or storage server.

Source: ours. A synchronous job stands when any part of it does, so that a domain puts all ranks of
each job that touches it at risk, not only its own.
"""

from typing import Final

import polars as pl

from collectors.frames import EVENTS, LINKS, PLACEMENTS, require, schema_of
from collectors.readings import Reading
from detectors.promotion import RACK

BLAST_RADII: Final = schema_of(
    {
        "kind": pl.String,
        "domain": pl.String,
        "rail": pl.Int32,
        "runs": pl.Int64,
        "ranks_inside": pl.Int64,
        "ranks_at_risk": pl.Int64,
        "rank_hours_at_risk": pl.Float64,
        "share_at_risk": pl.Float64,
    }
)
"""One domain; `kind`: gpu, host, rack, switch, storage. `rail` is that of a switch with one alone.
`runs` touched it at any time; storage is touched by the hosts whose kernels name it, and by more
that nobody tells. `ranks_inside` ran in it, null where no placement tells; `ranks_at_risk` are all
ranks of the largest of those runs. `rank_hours_at_risk` are those of all of them, and
`share_at_risk` their share of the fleet's; null where the size of a run is not known."""

_MICROS_PER_HOUR: Final = 3_600e6

KINDS: Final = ("gpu", "host", "rack", "switch", "storage")


def budget_blast_radii(reading: Reading, lives: pl.DataFrame) -> pl.DataFrame:
    """Return how much each domain puts at risk.

    Args:
        reading: `PLACEMENTS`, `LINKS` for switches, and `EVENTS` for storage.
        lives: `LIVES`.

    Returns:
        `BLAST_RADII`, by kind, and the largest share first.
    """
    used = _used(reading.placements.lazy(), lives.lazy())
    hours = (pl.col("end") - pl.col("start")).dt.total_microseconds() / _MICROS_PER_HOUR
    runs = (
        lives.lazy()
        .group_by("run")
        .agg(run_ranks=pl.col("ranks").max(), run_hours=(hours * pl.col("ranks")).sum())
    )
    whole = float(runs.select(pl.col("run_hours").sum()).collect().item())
    return (
        _domains(used, reading)
        .join(runs, on="run", how="left", nulls_equal=True)
        .group_by("kind", "domain")
        .agg(
            runs=pl.len().cast(pl.Int64),
            ranks_inside=_known_sum("ranks_inside"),
            ranks_at_risk=pl.col("run_ranks").max(),
            rank_hours_at_risk=pl.when(pl.col("run_ranks").is_not_null().all()).then(
                pl.col("run_hours").sum()
            ),
        )
        .with_columns(
            share_at_risk=pl.when(pl.lit(whole) > 0.0).then(pl.col("rank_hours_at_risk") / whole)
        )
        .join(_rails(reading.links.lazy()), on=["kind", "domain"], how="left")
        .with_columns(order=pl.col("kind").replace_strict(dict(zip(KINDS, range(5), strict=True))))
        .sort("order", "share_at_risk", "domain", descending=[False, True, False], nulls_last=True)
        .select(pl.col(name).cast(kind) for name, kind in BLAST_RADII.items())
        .collect()
    )


def _known_sum(name: str) -> pl.Expr:
    """Return the sum of what is known; null where nothing is."""
    return pl.when(pl.col(name).is_not_null().any()).then(pl.col(name).sum())


def _used(placements: pl.LazyFrame, lives: pl.LazyFrame) -> pl.LazyFrame:
    """Return `run`, `host`, `gpu`, `index` and `rank`, each once; null where not told."""
    placed = (
        placements.pipe(require, PLACEMENTS)
        .drop_nulls("host")
        .select(
            *("run", "host", "rank", "index"),
            gpu=pl.coalesce("gpu", pl.format("gpu {}", "index")),
        )
        .unique()
    )
    named = (
        lives.select("run", host="hosts")
        .explode("host", empty_as_null=False, keep_nulls=False)
        .unique()
        .join(placed, on=["run", "host"], how="anti", nulls_equal=True)
    )
    return pl.concat([placed, named], how="diagonal_relaxed")


def _domains(used: pl.LazyFrame, reading: Reading) -> pl.LazyFrame:
    """Return `kind`, `domain`, `run` and `ranks_inside`, each once."""
    gpu = used.drop_nulls("gpu").with_columns(domain=pl.format("{} of {}", "gpu", "host"))
    rack = used.with_columns(domain=pl.col("host").str.extract(RACK, 1)).drop_nulls("domain")
    switch = _hanging(used, _switches(reading.links.lazy(), used))
    storage = used.join(_storage(reading.events.lazy()), on="host")
    kinds = (gpu, used.with_columns(domain="host"), rack, switch, storage)
    ranks = pl.col("rank").drop_nulls().n_unique()
    return pl.concat(
        one.group_by("domain", "run")
        .agg(ranks_inside=pl.when(ranks > 0).then(ranks).cast(pl.Int64))
        .select("domain", "run", "ranks_inside", kind=pl.lit(kind))
        for kind, one in zip(KINDS, kinds, strict=True)
    )


def _storage(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the storage servers and targets that kernels of hosts waited for, each once."""
    told = events.pipe(require, EVENTS).filter(pl.col("device_kind") == "storage")
    return told.select("host", domain="peer").drop_nulls().unique()


def _rails(links: pl.LazyFrame) -> pl.LazyFrame:
    """Return the rail of each switch whose cables are all of one: `kind`, `domain` and `rail`."""
    ends = links.pipe(require, LINKS).drop_nulls("rail")
    both = pl.concat([ends.select("rail", domain=node) for node in ("node_a", "node_b")])
    one = both.unique().group_by("domain").agg(pl.col("rail").first(), rails=pl.len())
    return one.filter(pl.col("rails") == 1).select("domain", "rail", kind=pl.lit("switch"))


def _hanging(used: pl.LazyFrame, cabled: pl.LazyFrame) -> pl.LazyFrame:
    """Return what hangs on each switch; on one of a rail, the ranks of that rail's GPUs alone.

    That holds where a host has as many rails as GPUs: GPU i talks through NIC i.
    """
    rails = pl.col("rail").drop_nulls().n_unique().over("run", "host")
    slots = pl.col("index").drop_nulls().n_unique().over("run", "host")
    is_other = (rails == slots) & (pl.col("index") != pl.col("rail"))
    own = pl.when(~is_other.fill_null(value=False)).then("rank")
    return used.join(cabled, on="host").with_columns(rank=own)


def _switches(links: pl.LazyFrame, used: pl.LazyFrame) -> pl.LazyFrame:
    """Return the switches that each host of a job is cabled to, by rail, each once."""
    ends = links.pipe(require, LINKS).drop_nulls(["node_a", "node_b"])
    both = pl.concat(
        [
            ends.select("rail", host="node_a", domain="node_b"),
            ends.select("rail", host="node_b", domain="node_a"),
        ]
    )
    hosts = used.select("host").unique()
    return (
        both.join(hosts, on="host", how="semi")
        .join(hosts.rename({"host": "domain"}), on="domain", how="anti")
        .unique()
    )
