"""Where NCCL's ranks run: the PCI device of each, and the driver's number of that device.

A communicator's line names its rank in it, not the job's: that is the same only where the printer
has a global rank, or the communicator holds every process of the log. `busId` is a number in hex:
domain, bus, device and function (`9b000` is `0000:9b:00.0`). `cudaDev` counts the devices a process
may use; only `nvmlDev` is the driver's. Source: formats of NCCL logs, section 3.1; NVIDIA/nccl
`src/misc/utils.cc` (busIdToInt64).
"""

from typing import Final

import polars as pl

from collectors.frames import ALIASES, PLACEMENTS, conform

_PLACE: Final = (
    r"comm (?P<comm>0x[0-9a-fA-F]+|\(nil\)) rank (?P<own>\d+) n[rR]anks (?P<world>\d+) "
    r"cudaDev -?\d+(?: nvmlDev (?P<nvml>\d+))? busId (?P<bus>[0-9a-fA-F]{1,16})\b"
    r"(?P<split> parent )?(?:.*? commId (?P<comm_id>0x[0-9a-fA-F]+))?"
)

_PROCESS: Final = ("host", "pid")


def read_places(records: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return `PLACEMENTS` and `ALIASES` that the lines of communicators tell.

    Args:
        records: NCCL records: `time`, `host`, `pid`, `rank` (the printer's, null if not known),
            `text`.

    Returns:
        A row a rank, its `gpu` a PCI address and its `index` the driver's; and a row for each time
        that a PCI address was said to have a number. Neither has a source.
    """
    hits = records.filter(pl.col("text").str.contains(_PLACE)).drop_nulls("host")
    parts = pl.col("text").str.extract_groups(_PLACE).struct
    fields = ("own", "world", "nvml", "bus", "split", "comm", "comm_id")
    known = hits.with_columns(
        parts.field(name).alias(f"comm_{name}" if name == "comm" else name) for name in fields
    ).with_columns(
        pl.col("own", "world", "nvml").cast(pl.Int32, strict=False), gpu=bus_address(pl.col("bus"))
    )
    world = known.join(_whole_jobs(known), on="comm_id", how="semi").with_columns(rank="own")
    told = pl.concat([known.filter(pl.col("rank").is_not_null()), world])
    places = told.group_by("rank", "host", maintain_order=True).agg(
        gpu=pl.col("gpu").unique().sort(), index=pl.col("nvml").drop_nulls().first()
    )
    sure = places.filter(pl.col("gpu").list.len() == 1).with_columns(pl.col("gpu").list.first())
    return conform(sure.lazy(), PLACEMENTS).collect(), _numbers(known)


def bus_address(bus: pl.Expr) -> pl.Expr:
    """Return the PCI address of a bus id in hex digits; null for one that is none."""
    digits = bus.str.to_lowercase().str.zfill(9)
    width = digits.str.len_chars()
    domain = digits.str.slice(0, width - 5).str.strip_chars_start("0").str.pad_start(4, "0")
    rest = [digits.str.slice(width - at, count) for at, count in ((5, 2), (3, 2), (1, 1))]
    address = pl.format("{}:{}:{}.{}", domain, *rest)
    return pl.when(domain.str.len_chars() <= 8).then(address)  # noqa: PLR2004 -- 32 bits


def _whole_jobs(known: pl.DataFrame) -> pl.DataFrame:
    """Return the `comm_id` of communicators that hold every process of the log, each once."""
    processes = known.select(_PROCESS).n_unique()
    groups = known.drop_nulls("comm_id").filter(pl.col("split").is_null())
    sizes = groups.group_by("comm_id").agg(
        world=pl.col("world").min(),
        ranks=pl.col("own").n_unique(),
        processes=pl.struct(_PROCESS).n_unique(),
    )
    is_whole = (
        (pl.col("ranks") == pl.col("world"))
        & (pl.col("processes") == processes)
        & (pl.col("ranks") == processes)
    )
    return sizes.filter(is_whole).select("comm_id")


def _numbers(known: pl.DataFrame) -> pl.DataFrame:
    rows = (
        known.lazy()
        .drop_nulls(["nvml", "gpu"])
        .select(
            "time",
            "host",
            device_kind=pl.lit("gpu"),
            device="gpu",
            alias_kind=pl.lit("index"),
            alias=pl.col("nvml").cast(pl.String),
        )
        .unique()
        .sort("host", "device", "time")
    )
    return conform(rows, ALIASES).collect()
