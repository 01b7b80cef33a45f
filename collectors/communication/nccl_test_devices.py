"""Who takes part in a run of nccl-tests, by the device lines before its table.

Source: formats of NCCL logs, section 7; two layouts: with a group and a PCI address, and the older
one without a group and with the bus alone.
"""

from typing import Final

import polars as pl

from collectors.identity import canonical_host, pci_address

DEVICE: Final = (
    r"^#\s+Rank\s+(?P<rank>\d+)(?:\s+Group\s+(?P<color>\d+))?\s+Pid\s+(?P<pid>\d+)\s+on\s+"
    r"(?P<host>\S+)\s+device\s+(?P<index>\d+)\s+\[(?P<bus>[0-9a-fA-Fx:.]+)\]"
)

HOSTS_BETWEEN: Final = "+"
"""What stands between the hosts in the name of a group."""


def read_devices(lines: pl.DataFrame) -> pl.DataFrame:
    """Return one row a device line: `table`, `rank`, `color`, `host`, `gpu`, `index`."""
    found = lines.select("table", pl.col("text").str.extract_groups(DEVICE)).unnest("text")
    bare = pl.col("bus").str.to_lowercase().str.extract(r"^0x([0-9a-f]{1,2})$", 1)
    address = pl.concat_str(bare, pl.lit(":00")).fill_null(pl.col("bus"))
    return found.select(
        "table",
        pl.col("rank", "index", "color").cast(pl.Int32, strict=False),
        host=canonical_host(pl.col("host")),
        gpu=pci_address(address),
    ).drop_nulls("rank")


def run_shapes(marked: pl.DataFrame, devices: pl.DataFrame) -> pl.DataFrame:
    """Return of each table its `operation`, and the ranks and hosts of its run.

    Args:
        marked: All lines of benchmarks with `table` and `program`.
        devices: What `read_devices` returns.

    Returns:
        `table`, `operation`, `world`, `nodes`, `group`, `host`; ranks split into colours run apart,
        and the table is that of the first. Null where ranks from 0 on are missing.
    """
    named = marked.group_by("table", maintain_order=True).agg(
        operation=pl.col("program").drop_nulls().first()
    )
    first = pl.col("color").fill_null(0) == pl.col("color").fill_null(0).min().over("table")
    hosts = pl.col("host").unique().sort()
    sizes = (
        devices.filter(first)
        .group_by("table", maintain_order=True)
        .agg(
            world=pl.col("rank").n_unique().cast(pl.Int32),
            nodes=pl.col("host").n_unique().cast(pl.Int32),
            group=hosts.str.join(HOSTS_BETWEEN),
            host=pl.when(pl.col("host").n_unique() == 1).then(pl.col("host").first()),
            lowest=pl.col("rank").min(),
        )
        .filter(pl.col("lowest") == 0)
        .drop("lowest")
    )
    return named.join(sizes, on="table", how="left", maintain_order="left")
