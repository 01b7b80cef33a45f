"""Which host an address is, as far as the job's own messages tell.

Source: methods of the NCCL and PyTorch reference, sections 3.1, 5.1 and 12.4. Errors and RAS
reports name hosts by the address over which processes bootstrap. A process says which one it has
taken; else a process number that one host and one address alone have joins the two.
"""

from typing import Final

import polars as pl

from collectors.frames import schema_of
from collectors.texts.event_labels import label_value

ADDRESSES: Final = schema_of({"address": pl.String, "owner": pl.String})
"""An address in its bare form, and the only host that has it."""

IS_ADDRESS: Final = r"^(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-f]*:[0-9a-f:.]+(?:%.*)?)$"


def bare_address(name: pl.Expr) -> pl.Expr:
    """Return an address without brackets, zone and the prefix of a mapped IPv4."""
    plain = name.str.to_lowercase().str.replace(r"%.*$", "").str.strip_chars("[]")
    return plain.str.replace(r"^::ffff:", "")


def known_addresses(events: pl.LazyFrame) -> pl.DataFrame:
    """Return `ADDRESSES`, by address.

    Args:
        events: `EVENTS`; `oob_address` tells who has which, a `pid` among the attributes who runs
            a process, or at which address one runs.
    """
    said = (
        events.filter(pl.col("kind") == "oob_address")
        .drop_nulls(["host", "peer"])
        .select(address=bare_address(pl.col("peer")), owner="host")
    )
    guessed = _by_process(events).join(said, on="address", how="anti")
    return (
        pl.concat([said, guessed])
        .group_by("address")
        .agg(pl.col("owner").n_unique().alias("owners"), pl.col("owner").min())
        .filter(pl.col("owners") == 1)
        .select(ADDRESSES.names())
        .sort("address")
        .collect()
    )


def _by_process(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the pairs of an address and a host that share a process which nobody else has."""
    own = events.select("host", pid=label_value("pid"))
    theirs = events.select(host="peer", pid=label_value("peer_pid"))
    seen = pl.concat([own, theirs]).drop_nulls().unique()
    is_address = pl.col("host").str.contains(IS_ADDRESS)
    alone = pl.len().over("pid") == 1
    addresses = seen.filter(is_address).select("pid", address=bare_address(pl.col("host")))
    hosts = seen.filter(~is_address).select("pid", owner="host")
    return (
        addresses.filter(alone)
        .join(hosts.filter(alone), on="pid", how="inner")
        .select("address", "owner")
    )


def with_hosts(frame: pl.LazyFrame, column: str, addresses: pl.DataFrame) -> pl.LazyFrame:
    """Return a frame with the hosts of known addresses in `column`; other names stay."""
    key = bare_address(pl.col(column)).alias("address")
    return (
        frame.with_columns(key)
        .join(addresses.lazy(), on="address", how="left", maintain_order="left")
        .with_columns(pl.coalesce("owner", column).alias(column))
        .drop("address", "owner")
    )
