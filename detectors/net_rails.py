"""Find channels whose two ends are on different rails: each end prints its own device.

Source: methods of the NCCL and PyTorch reference, sections 3.2 and 12.5. Ranks count inside a
communicator that the line does not name, so a channel counts only where one process sends it and
one receives it. A device reached through another rank is not the printer's own.
"""

from typing import Any, Final

import polars as pl

from collectors.texts.event_labels import label_value

_EDGE: Final = ("sender", "receiver", "channel")


def cross_rails(events: pl.DataFrame) -> pl.DataFrame:
    """Return the channels between hosts whose ends have devices of different numbers.

    Args:
        events: `EVENTS` of one run; `channel` tells the edges.

    Returns:
        By sender and channel: `host` sends from `device`, `other` receives on `other_device`, and
        where the sender says so.
    """
    names = ("comm_rank", "direction", "net_device", "proxy_rank", "channels", "transport")
    ends = (
        events.filter(pl.col("kind") == "channel")
        .with_columns(label_value(name).alias(name) for name in names)
        .filter(pl.col("transport") == "NET", pl.col("proxy_rank").is_null())
        .drop_nulls(["host", "net_device", "comm_rank", "peer"])
        .with_columns(channel=pl.col("channels").str.split(" "))
        .explode("channel", empty_as_null=False)
    )
    receives = pl.col("direction") == "receive"
    sent = _one_end(ends.filter(~receives), ("comm_rank", "peer"))
    received = _one_end(ends.filter(receives), ("peer", "comm_rank"))
    return (
        sent.join(received, on=_EDGE, suffix="_there")
        .filter(pl.col("net_device") != pl.col("net_device_there"))
        .rename({"host_there": "other", "net_device_there": "other_device"})
        .sort("host", "source", "position", *_EDGE)
    )


def _one_end(rows: pl.DataFrame, ranks: tuple[str, str]) -> pl.DataFrame:
    """Return one row a channel that a single process tells from this end."""
    sender, receiver = ranks
    edges = rows.with_columns(sender=sender, receiver=receiver, pid=label_value("pid"))
    return (
        edges.filter(pl.struct("host", "pid").n_unique().over(_EDGE) == 1)
        .sort("source", "position", nulls_last=True)
        .unique(_EDGE, keep="first", maintain_order=True)
        .select(*_EDGE, "host", "net_device", "time", "source", "position", "message")
    )


def crossing(row: dict[str, Any]) -> str:
    """Return a channel of `cross_rails` in words."""
    return (
        f"channel {row['channel']} goes from device {row['net_device']} of {row['host']} to device "
        f"{row['other_device']} of {row['other']}"
    )
