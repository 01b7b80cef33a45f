"""What neighbours on a cable say of each other (LLDP), as links and names of hosts.

The identity of a port may be its interface, a number of its own, or a MAC address; a host that
sends a MAC address usually describes the port by its interface. Source: IEEE 802.1AB, lldpd.
"""

from typing import Final

import polars as pl

from collectors.frames import ALIASES, LINKS, TIME, conform, schema_of
from collectors.identity import canonical_host
from collectors.names.link_ends import ordered_links

NEIGHBOURS: Final = schema_of(
    {
        "position": pl.Int64,
        "time": TIME,
        "host": pl.String,
        "port": pl.String,
        "peer": pl.String,
        "peer_port": pl.String,
        "peer_description": pl.String,
        "peer_address": pl.String,
    }
)
"""One neighbour of a port. `peer_port` is the identity that the peer gave its port."""

_MAC: Final = r"(?i)^(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}$|^(?:[0-9a-f]{4}\.){2}[0-9a-f]{4}$"
_INTERFACE: Final = r"^[A-Za-z][\w.-]*\d[\w/.:-]*$"


def links_of_neighbours(neighbours: pl.DataFrame, source: str) -> pl.DataFrame:
    """Return `LINKS` of neighbours: both directions of a cable are one.

    Args:
        neighbours: `NEIGHBOURS`; rows without a host or a peer make no link.
        source: The name to quote.
    """
    identity, description = pl.col("peer_port"), pl.col("peer_description")
    own = pl.when(~identity.str.contains(_MAC)).then(identity)
    described = pl.when(description.str.contains(_INTERFACE)).then(description)
    links = (
        neighbours.lazy()
        .with_columns(canonical_host(pl.col("peer")))
        .drop_nulls(["host", "port", "peer"])
        .select(
            "time",
            node_a="host",
            port_a="port",
            node_b="peer",
            port_b=pl.coalesce(own, described),
            source=pl.lit(source),
        )
    )
    return ordered_links(conform(links, LINKS).collect())


def aliases_of_neighbours(neighbours: pl.DataFrame) -> pl.DataFrame:
    """Return `ALIASES` (without a source) of peers: the address that a host is managed by."""
    rows = (
        neighbours.lazy()
        .with_columns(host=canonical_host(pl.col("peer")))
        .drop_nulls(["host", "peer_address"])
        .select(
            "time",
            "host",
            device_kind=pl.lit("node"),
            alias_kind=pl.lit("ip"),
            alias="peer_address",
        )
        .unique()
        .sort("host", "alias", "time")
    )
    return conform(rows, ALIASES).collect()
