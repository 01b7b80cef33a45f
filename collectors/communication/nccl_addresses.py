"""Which addresses NCCL's processes bootstrap over: the map from out-of-band IP to host.

Source: formats of NCCL logs, section 3.1 (`Bootstrap : Using`, `OOB`). An address on a bridge or a
tunnel is the same on every host and maps nothing: it is told apart as `oob_bridge`.
"""

from typing import Final

import polars as pl

from collectors.texts.file_places import file_number

_ADDRESS: Final = r"([A-Za-z][\w.@-]*):(\[?[0-9A-Fa-f.:]+(?:%[\w.@-]+)?\]?)<\d+>"

_SAYS: Final = r"^Bootstrap ?: Using|^NET : Using interface|; OOB "

_BRIDGE: Final = r"^(?:docker|veth|br-|cni|flannel|cali|virbr|tun|tap|ip6tnl|podman|lxc)"

_BRIDGE_NET: Final = r"^172\.17\.|^fe80:"
"""Docker's default network, and link-local addresses that mean nothing on another host."""


def naming_addresses(records: pl.DataFrame) -> pl.DataFrame:
    """Return the NCCL records whose `text` names addresses."""
    return records.filter(pl.col("text").str.contains(_SAYS))


def read_addresses(records: pl.DataFrame) -> pl.DataFrame:
    """Return one event for each address that a host's processes name.

    Args:
        records: NCCL records that name addresses.

    Returns:
        Events of kind `oob_address` or `oob_bridge`; `code` is the interface, `peer` the address
        without its port and zone; `count` is how many lines say so.
    """
    code, peer = pl.col("code"), pl.col("peer")
    bridge = code.str.contains(_BRIDGE) | peer.str.contains(_BRIDGE_NET)
    return (
        records.with_columns(found=pl.col("text").str.extract_all(_ADDRESS))
        .explode("found", empty_as_null=False)
        .with_columns(
            code=pl.col("found").str.extract(_ADDRESS, 1),
            peer=pl.col("found").str.extract(_ADDRESS, 2).str.strip_chars("[]"),
        )
        .group_by(file_number(), "host", "code", "peer", maintain_order=True)
        .agg(
            pl.col("line", "position", "time", "rank", "pid", "text").first(),
            last=pl.col("time").max(),
            count=pl.len(),
        )
        .drop("file")
        .with_columns(
            kind=pl.when(bridge).then(pl.lit("oob_bridge")).otherwise(pl.lit("oob_address")),
            severity=pl.lit("info"),
        )
    )
