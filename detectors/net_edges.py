"""Who could not reach whom: network completion errors as edges between hosts.

Source: methods of the NCCL and PyTorch reference, sections 4.1 and 12.4. The peer of a completion
error is named by its bootstrap address; only addresses that one host alone bootstraps over map to
it, so a bridge's never does.
"""

from typing import Final

import polars as pl

from collectors.frames import TIME, schema_of
from collectors.identity import short_hosts
from collectors.texts.event_labels import label_value
from detectors.addresses import bare_address, known_addresses

FLUSHED: Final = "5"
"""Status of a request flushed after an earlier error on its queue pair: never first evidence."""

EDGES: Final = schema_of(
    {
        "run": pl.String,
        "host": pl.String,
        "peer": pl.String,
        "status": pl.String,
        "nic": pl.String,
        "named": pl.Boolean,
        "time": TIME,
        "source": pl.String,
        "position": pl.Int64,
        "message": pl.String,
    }
)
"""One row a reporting host, peer and status: the first errors of a process. `named` tells that
the peer is a known host, else it is an address; null `peer` is not said. `nic` is the reporter's.
"""

_KEY: Final = ("run", "host", "peer", "status")


def net_edges(events: pl.LazyFrame) -> pl.DataFrame:
    """Return `EDGES`, by run, host and peer.

    Args:
        events: `EVENTS` with run and host; `net_error` tells errors; see `known_addresses` for who
            has which address. Errors whose reporter is not known are left out, as are those that a
            process tells after its first: they follow it.
    """
    known = events.select("host").drop_nulls().unique().collect()["host"]
    owners = known_addresses(events).lazy()
    errors = _first_errors(events.filter(pl.col("kind") == "net_error").drop_nulls("host"))
    return (
        errors.with_columns(address=bare_address(pl.col("peer")))
        .join(owners, on="address", how="left")
        .with_columns(peer=pl.coalesce("owner", short_hosts(pl.col("address"), known)))
        .rename({"code": "status", "device": "nic"})
        .sort(*_KEY, "time", "source", "position", nulls_last=True)
        .group_by(_KEY, maintain_order=True)
        .agg(pl.col("nic", "time", "source", "position", "message").first())
        .with_columns(named=pl.col("peer").is_in(known.implode()))
        .select(EDGES.names())
        .collect()
    )


def _first_errors(errors: pl.LazyFrame) -> pl.LazyFrame:
    """Return of each process its first errors that are no flush; all where none is known.

    What it tells within a second of the first is as early: stamps are no finer.
    """
    process = ["run", "source", "host", "pid"]
    told = errors.with_columns(pid=label_value("pid"), flushed=pl.col("code") == FLUSHED)
    first = pl.col("position").filter(~pl.col("flushed")).min().over(process)
    begun = pl.col("time").filter(~pl.col("flushed")).min().over(process)
    at_once = (pl.col("time") - begun <= pl.duration(seconds=1)).fill_null(value=False)
    later = ~pl.col("flushed") & (pl.col("position") > first) & ~at_once
    return told.filter(pl.col("pid").is_null() | ~later.fill_null(value=False))
