"""Cables of an InfiniBand subnet, from the node descriptions at their two ends."""

import polars as pl

from collectors.frames import LINKS, conform
from collectors.infiniband.node_names import is_aggregation, nodes_of, port_device


def cables_of(peers: pl.DataFrame) -> pl.DataFrame:
    """Return cables, each once however many ends tell of it.

    Args:
        peers: `time` and, for each end `a` and `b`, its node description `text_a`, its port
            `number_a` and whether it is a switch, `switch_a`.

    Returns:
        `LINKS` without a source, in alphabetical order, the aggregation node of a switch left out;
        `rail` is the number in the NIC's device name.
    """
    cables = peers.filter(~is_aggregation(pl.col("text_a")), ~is_aggregation(pl.col("text_b")))
    ends = [_end(side) for side in ("a", "b")]
    first, second = (pl.concat_list("a", "b").list.sort().list.get(at) for at in (0, 1))
    rows = (
        cables.lazy()
        .select("time", a=ends[0], b=ends[1])
        .select(
            "time",
            node_a=first.str.extract(r"^(.*)\n"),
            port_a=first.str.extract(r"\n(.*)$"),
            node_b=second.str.extract(r"^(.*)\n"),
            port_b=second.str.extract(r"\n(.*)$"),
        )
        .unique()
        .with_columns(
            rail=pl.coalesce(
                pl.col(port).str.extract(r"_(\d+)/").cast(pl.Int32, strict=False)
                for port in ("port_a", "port_b")
            )
        )
        .sort("node_a", "port_a", "node_b", "port_b", "time")
    )
    return conform(rows, LINKS).collect()


def _end(side: str) -> pl.Expr:
    """Return node and port of one end as a text that sorts by node, then port."""
    node, nic = nodes_of(pl.col(f"text_{side}"), is_switch=pl.col(f"switch_{side}"))
    return pl.concat_str(node, pl.lit("\n"), port_device(nic, pl.col(f"number_{side}")))
