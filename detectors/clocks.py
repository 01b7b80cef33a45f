"""Put the events of hosts whose clocks are proven wrong on one clock, before anybody orders them.

Source: methods of the NCCL and PyTorch reference, sections 1.4 and 5.1: a message that came before
it was sent proves that the receiver's clock is behind the sender's by at least that much. What is
not proven is left alone.
"""

from collections.abc import Mapping
from typing import Final

import polars as pl

from collectors.frames import EVENTS, require, schema_of
from detectors.addresses import known_addresses, with_hosts

OFFSETS: Final = schema_of({"host": pl.String, "offset_seconds": pl.Float64})
"""What to add to a host's times, at least, to have them on the clock that is most ahead."""

SKEW: Final = "clock_skew"


def with_one_clock(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return `EVENTS` with the times of hosts whose clocks are proven wrong moved.

    Args:
        events: `EVENTS`; `clock_skew` is a proof: `host` sent, `peer` received, `code` is the
            seconds that the message took, below 0.

    Returns:
        The events in their order. Clocks that are behind move forward, to that of the host that is
        ahead of them all; which of them tells the true time nobody knows.
    """
    offsets = clock_offsets(events).lazy()
    moved = pl.duration(microseconds=(pl.col("offset_seconds") * 1e6).round())
    return (
        events.pipe(require, EVENTS)
        .join(offsets, on="host", how="left", maintain_order="left")
        .with_columns(
            (pl.col(name) + moved).dt.cast_time_unit("us").fill_null(pl.col(name))
            for name in ("time", "last")
        )
        .drop("offset_seconds")
    )


def clock_offsets(events: pl.LazyFrame) -> pl.DataFrame:
    """Return `OFFSETS`, by host, of the hosts that have one."""
    seconds = -pl.col("code").cast(pl.Float64, strict=False)
    proofs = events.filter(pl.col("kind") == SKEW).select("host", "peer", seconds=seconds)
    if proofs.head(1).collect().is_empty():
        return OFFSETS.to_frame()
    addresses = known_addresses(events)
    named = with_hosts(with_hosts(proofs, "host", addresses), "peer", addresses)
    most = (
        named.filter(pl.col("seconds") > 0, pl.col("host") != pl.col("peer"))
        .group_by("host", "peer")
        .agg(pl.col("seconds").max())
        .sort("host", "peer")
        .collect()
    )
    lags = {(ahead, behind): lag for ahead, behind, lag in most.iter_rows()}
    rows = sorted((host, by) for host, by in _offsets(lags).items() if by)
    return pl.DataFrame(rows, schema=OFFSETS, orient="row")


def _offsets(lags: Mapping[tuple[str, str], float]) -> dict[str, float]:
    """Return what to add to each clock: the longest chain of proofs that it is behind."""
    hosts = {host for pair in lags for host in pair}
    moved = dict.fromkeys(hosts, 0.0)
    for _ in hosts:
        for (first, second), lag in lags.items():
            moved[second] = max(moved[second], moved[first] + lag)
    return moved
