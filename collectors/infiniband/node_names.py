"""Who an InfiniBand node description speaks of (a switch, or a NIC of a host), and its ports.

Descriptions are free text: `leaf-r3-02`, `MF0;leaf-r3-02:MQM9700/U1` (a managed switch and its
chip), `gpu-r3-n07 mlx5_4` or `gpu-r3-n07 HCA-1` (a NIC), with blanks around them. Source: fixtures
of treydock/infiniband_exporter, Mellanox/ufm_sdk_3.0.
"""

from typing import Final

import polars as pl

from collectors.identity import canonical_host

AGGREGATION: Final = r"(?i)aggregation node"
"""The in-network-reduction endpoint of a switch: neither a host nor a cable."""

MAX_NIC_PORT: Final = 2
"""No NIC has more ports: a node with a higher one is a switch."""

_MANAGED: Final = r"^MF\d;([^:]+):([^/]*)(?:/(.+))?$"

_SWITCH_WORDS: Final = r"(?i)^(?:MF\d;|quantum|switch|infiniscale|spectrum|M?[SQ][BXM]\d{4})"


def nodes_of(name: pl.Expr, *, is_switch: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """Return the node and its NIC in a node description.

    Args:
        name: `leaf-r3-02`, or `gpu-r3-n07 mlx5_4`; blanks around it do not count.
        is_switch: Whether it is a switch, whose name may hold blanks.

    Returns:
        The canonical node and the NIC, null for a switch. Of a managed switch it is the name it
        was given; a chassis has many chips, so all but the first keep their place in it.
    """
    text = name.str.strip_chars()
    unit = text.str.extract(_MANAGED, 3)
    given = pl.concat_str(
        text.str.extract(_MANAGED, 1),
        pl.when(unit.is_null() | (unit == "U1"))
        .then(pl.lit(""))
        .otherwise(pl.concat_str(pl.lit("/"), unit)),
    )
    first = canonical_host(text.str.extract(r"^(\S+)", 1))
    nic = text.str.extract(r"^\S+\s+(.+)$", 1)
    node = pl.when(is_switch).then(canonical_host(pl.coalesce(given, text))).otherwise(first)
    return node, pl.when(~is_switch).then(nic)


def looks_like_switch(name: pl.Expr, port: pl.Expr) -> pl.Expr:
    """Return whether a description and a port number (text) are a switch's.

    A NIC's description has two words, its ports are 1 and 2; a name in one word is a switch's.
    """
    text = name.str.strip_chars()
    is_high = port.cast(pl.Int64, strict=False) > MAX_NIC_PORT
    one_word = ~text.str.contains(r"\s")
    return (is_high | text.str.contains(_SWITCH_WORDS) | one_word).fill_null(value=False)


def is_aggregation(name: pl.Expr) -> pl.Expr:
    """Return whether a description is that of a switch's in-network-reduction endpoint."""
    return name.str.contains(AGGREGATION).fill_null(value=False)


def port_device(nic: pl.Expr, port: pl.Expr) -> pl.Expr:
    """Return `mlx5_4/1` for a NIC's port, or the one of the two that is known alone."""
    return pl.coalesce(pl.concat_str(nic, pl.lit("/"), port), port, nic)
