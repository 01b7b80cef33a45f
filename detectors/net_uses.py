"""What each host's communication uses: plugin, version, paths, channels, environment.

Source: methods of the NCCL and PyTorch reference, sections 3.1, 3.2 and 12.5. Hosts of a job are
set up alike; a host whose processes differ uses all that they use.
"""

from collections.abc import Iterator
from typing import Final

import polars as pl

from collectors.texts.event_labels import label_value

QUOTE: Final = ("time", "source", "position", "message")

_NETWORK: Final = r"^NET/(.+?)/\d+(?:\(\d+\))?(?:/|\(|$)"
"""Plugin of a channel over the network: what stands before the last number."""

_SHARED_SETTINGS: Final = (
    r"^NCCL_(?:IB_|NET|P2P_|SHM_|CROSS_NIC|ALGO|PROTO|BUFFSIZE|NTHREADS|MIN_|MAX_|PXN_|CUMEM|NVLS|"
    r"COLLNET|GDR|DMABUF|IGNORE_)"
)

_OWN_SETTINGS: Final = r"^NCCL_IB_HCA$|^NCCL_NET_PLUGIN$"
"""Variables that name things of a host, and differ rightly."""

_DIRECT: Final = {"1": "GPUDirect", "0": "no GPUDirect"}

_UNSET: Final = "not set"


def host_values(rows: pl.DataFrame, value: pl.Expr) -> pl.DataFrame:
    """Return one row a host: what it uses, several uses in alphabetical order, and where said.

    Args:
        rows: `EVENTS`; those without a host, or a value, say nothing.
        value: What is used.
    """
    return (
        rows.with_columns(value=value)
        .drop_nulls(["host", "value"])
        .sort("host", "value", *QUOTE[:3], nulls_last=True)
        .group_by("host", maintain_order=True)
        .agg(pl.col("value").unique().sort().str.join(" and "), pl.col(QUOTE).first())
    )


def of_kind(events: pl.DataFrame, kind: str) -> pl.DataFrame:
    """Return the events of a kind."""
    return events.filter(pl.col("kind") == kind)


def plugins(events: pl.DataFrame) -> pl.DataFrame:
    """Return the network that each host chose; where none is said, that of its channels."""
    chosen = host_values(of_kind(events, "net_choice"), pl.col("code"))
    if chosen.height:
        return chosen
    return host_values(of_kind(events, "channel"), pl.col("code").str.extract(_NETWORK))


def versions(events: pl.DataFrame) -> pl.DataFrame:
    """Return the version on each host."""
    return host_values(of_kind(events, "version"), pl.col("code"))


def gpudirect(events: pl.DataFrame) -> pl.DataFrame:
    """Return whether a host's channels go from the GPU to the NIC directly: all, some, or none.

    Where no channel is told, what a communicator says of its rings stands for them.
    """
    code = pl.col("code")
    channels = of_kind(events, "channel").filter(
        code.str.contains(_NETWORK), ~code.str.starts_with("NET/Socket")
    )
    direct = code.str.contains("/GDRDMA")
    words = (
        pl.when(direct.all().over("host"))
        .then(pl.lit("GPUDirect"))
        .when(direct.any().over("host"))
        .then(pl.lit("GPUDirect on some channels"))
        .otherwise(pl.lit("no GPUDirect"))
    )
    if channels.height:
        return host_values(channels, words)
    rings = label_value("gdr").replace_strict(_DIRECT, default=None, return_dtype=pl.String)
    return host_values(of_kind(events, "rings_connected"), rings)


def transports(events: pl.DataFrame) -> pl.DataFrame:
    """Return how the GPUs of a host reach each other: through host memory at all, or never."""
    code = pl.col("code")
    is_shared = code.str.contains(r"^SHM|^direct shared memory")
    channels = of_kind(events, "channel").filter(is_shared | code.str.starts_with("P2P"))
    words = pl.when(is_shared.any().over("host")).then(pl.lit("SHM")).otherwise(pl.lit("P2P"))
    return host_values(channels, words)


def channel_counts(events: pl.DataFrame) -> pl.DataFrame:
    """Return how many channels the first communicator of a host's processes has."""
    first = (
        of_kind(events, "channel_counts")
        .with_columns(pid=label_value("pid"))
        .sort("source", "position", nulls_last=True)
        .unique(["source", "host", "pid"], keep="first", maintain_order=True)
    )
    return host_values(first, pl.format("{} channels", pl.col("code").str.zfill(2)))


def environment(events: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yield, of each variable that hosts should share, what it is on each host that tells any."""
    told = of_kind(events, "setting").drop_nulls("host").sort("host", *QUOTE[1:3], nulls_last=True)
    hosts = told.unique("host", keep="first", maintain_order=True).select("host", *QUOTE)
    code = pl.col("code")
    shared = told.filter(code.str.contains(_SHARED_SETTINGS), ~code.str.contains(_OWN_SETTINGS))
    for (name,), part in shared.group_by("code", maintain_order=True):
        value = pl.format("{}={}", pl.lit(name), label_value("value"))
        said = host_values(part, value)
        silent = hosts.join(said, on="host", how="anti").with_columns(
            value=pl.format("{} {}", pl.lit(name), pl.lit(_UNSET))
        )
        yield pl.concat([said, silent.select(said.columns)])
