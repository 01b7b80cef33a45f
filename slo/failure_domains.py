"""What failures cost, summed by cause, by job, and by the part that they lie in.

Source: ours. A failure lies in one domain of each kind at most, so that sums of one kind are never
more than the whole, and sums of two kinds are never added. A job that had to make room for another
one's restart is charged to the domains of the failure that it made room for.
"""

from typing import Final

import polars as pl

from collectors.frames import LINKS, require, schema_of
from detectors.promotion import RACK
from slo.failure_costs import COSTS

DOMAIN_COSTS: Final = schema_of(
    {
        "kind": pl.String,
        "domain": pl.String,
        "failures": pl.Int64,
        "gpu_hours_lost": pl.Float64,
        "second_order": pl.Int64,
        "second_order_gpu_hours": pl.Float64,
    }
)
"""One domain; `kind`: cause, job, gpu, host, rack, switch, storage. `failures` began in it, and
`second_order` are those that they made; GPU-hours of either are null where none is known. `domain`
is null for jobs without a name, and for failures of which nothing tells the host."""

KINDS: Final = ("cause", "job", "gpu", "host", "rack", "switch", "storage")

_ALL: Final = ("cause", "job")
"""Kinds in which every failure lies."""

_GPU_CAUSES: Final = ("gpu", "gpu_memory")

_PORT: Final = r"^(.*?)(?:/\d+)?$"
"""A port of InfiniBand has a number behind its NIC's name."""


def budget_domains(costs: pl.DataFrame, links: pl.DataFrame) -> pl.DataFrame:
    """Return what failures cost by domain.

    Args:
        costs: `COSTS`. Causes and jobs are charged with all failures, parts with those by
            infrastructure alone. Of a failure that no event ties to a host, the only host of the
            attempt is it.
        links: `LINKS`: a port that failed is charged to the switch at its other end.

    Returns:
        `DOMAIN_COSTS`, by kind, the dearest first.
    """
    told = costs.lazy().pipe(require, COSTS).with_columns(is_first=pl.col("forced_by").is_null())
    placed = told.pipe(_placed, links.lazy())
    charged = told.select("root", "gpu_hours_lost", "is_first").join(
        placed, left_on="root", right_on="failure"
    )
    sums = [_summed(charged, kind) for kind in KINDS]
    order = {name: at for at, name in enumerate(KINDS)}
    whole = pl.sum_horizontal("gpu_hours_lost", "second_order_gpu_hours")
    return (
        pl.concat(sums)
        .with_columns(order=pl.col("kind").replace_strict(order), whole=whole)
        .sort(
            *("order", "whole", "failures", "domain"),
            descending=[False, True, True, False],
            nulls_last=True,
        )
        .select(pl.col(name).cast(kind) for name, kind in DOMAIN_COSTS.items())
        .collect()
    )


def _placed(costs: pl.LazyFrame, links: pl.LazyFrame) -> pl.LazyFrame:
    """Return `failure`, `is_ours` and a column for each kind: the domain that it lies in."""
    ends = links.pipe(require, LINKS)
    both = pl.concat(
        [
            ends.select(host="node_a", port="port_a", other="node_b"),
            ends.select(host="node_b", port="port_b", other="node_a"),
        ]
    ).drop_nulls()
    cabled = both.with_columns(port=pl.col("port").str.extract(_PORT)).unique(
        ["host", "port"], keep="any"
    )
    nodes = costs.select(host="hosts").explode("host", empty_as_null=False, keep_nulls=False)
    switches = (
        both.select(switch="host")
        .unique()
        .join(nodes.unique(), left_on="switch", right_on="host", how="anti")
    )
    is_switch = pl.col("named").is_not_null()
    alone = pl.when(pl.col("hosts").list.len() == 1).then(pl.col("hosts").list.first())
    is_gpu = pl.col("cause").is_in(_GPU_CAUSES)
    return (
        costs.filter("is_first")
        .with_columns(port=pl.col("device").str.extract(_PORT))
        .join(cabled, on=["host", "port"], how="left", maintain_order="left")
        .join(switches.with_columns(named="switch"), left_on="host", right_on="switch", how="left")
        .with_columns(node=pl.when(~is_switch).then(pl.coalesce("host", alone)))
        .select(
            "failure",
            "cause",
            is_ours="is_infrastructure",
            job="run",
            gpu=pl.when(is_gpu).then(pl.format("{} of {}", "device", "node")),
            host="node",
            rack=pl.col("node").str.extract(RACK, 1),
            switch=pl.when(pl.col("cause") == "network").then(pl.coalesce("named", "other")),
            storage=pl.when(pl.col("cause") == "storage").then("peer"),
        )
    )


def _summed(charged: pl.LazyFrame, kind: str) -> pl.LazyFrame:
    """Return the sums of one kind of domain."""
    is_theirs = pl.lit(value=True) if kind in _ALL else pl.col("is_ours")
    is_told = pl.lit(value=True) if kind in {*_ALL, "host"} else pl.col(kind).is_not_null()
    hours, first = pl.col("gpu_hours_lost"), pl.col("is_first")
    own, forced = hours.filter(first), hours.filter(~first)
    return (
        charged.filter(is_theirs, is_told)
        .group_by(domain=kind)
        .agg(
            failures=first.sum().cast(pl.Int64),
            gpu_hours_lost=pl.when(own.is_not_null().any()).then(own.sum()),
            second_order=(~first).sum().cast(pl.Int64),
            second_order_gpu_hours=pl.when(forced.is_not_null().any()).then(forced.sum()),
        )
        .select("domain", pl.all().exclude("domain"), kind=pl.lit(kind))
    )
