"""Where NCCL's ranks run: the PCI device of each, and the driver's number of that device.

A communicator's line names its rank in it, not the job's: that is the same only where the printer
has a global rank, or the communicator holds every process of the run. `busId` is a number in hex:
domain, bus, device and function (`9b000` is `0000:9b:00.0`). `cudaDev` counts the devices a process
may use; only `nvmlDev` is the driver's. Source: formats of NCCL logs, section 3.1; NVIDIA/nccl
`src/misc/utils.cc` (busIdToInt64).
"""

from typing import Final

import polars as pl

from collectors.communication.communicators import communicator_lives
from collectors.frames import ALIASES, PLACEMENTS, conform
from collectors.texts.templates import filled

_PROCESS: Final = ("run", "source", "host", "pid")


def read_places(events: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return `PLACEMENTS` and `ALIASES` that the lines of communicators tell.

    Args:
        events: `EVENTS` of whole logs; `rank` is the printer's, null if not known.

    Returns:
        A row a rank, its `gpu` a PCI address and its `index` the driver's; and a row for each time
        that a PCI address was said to have a number.
    """
    lives = communicator_lives(events).drop_nulls(["host", "bus"])
    known = lives.with_columns(gpu=bus_address(pl.col("bus")), nvml=pl.col("nvml_device"))
    world = known.join(_whole_jobs(known), on=["run", "group"], how="semi", nulls_equal=True)
    unsaid = world.filter(pl.col("rank").is_null()).with_columns(rank="comm_rank")
    told = pl.concat([known.drop_nulls("rank"), unsaid])
    places = told.group_by("run", "source", "rank", "host", maintain_order=True).agg(
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
    address = filled("{}:{}:{}.{}", domain, *rest)
    return pl.when(domain.str.len_chars() <= 8).then(address)  # noqa: PLR2004 -- 32 bits


def _whole_jobs(known: pl.DataFrame) -> pl.DataFrame:
    """Return the groups that hold every process of their run, each once, and split off none."""
    processes = known.group_by("run").agg(processes=pl.struct(_PROCESS).n_unique())
    groups = known.filter(pl.col("parent").is_null()).drop_nulls("comm_id")
    sizes = groups.group_by("run", "group").agg(
        world=pl.col("world").min(),
        ranks=pl.col("comm_rank").n_unique(),
        members=pl.struct(_PROCESS).n_unique(),
    )
    is_whole = (
        (pl.col("ranks") == pl.col("world"))
        & (pl.col("members") == pl.col("processes"))
        & (pl.col("ranks") == pl.col("processes"))
    )
    return sizes.join(processes, on="run", nulls_equal=True).filter(is_whole)


def _numbers(known: pl.DataFrame) -> pl.DataFrame:
    rows = (
        known.lazy()
        .drop_nulls(["nvml", "gpu"])
        .select(
            "time",
            "host",
            "source",
            device_kind=pl.lit("gpu"),
            device="gpu",
            alias_kind=pl.lit("index"),
            alias=pl.col("nvml").cast(pl.String),
        )
        .unique()
        .sort("host", "device", "time")
    )
    return conform(rows, ALIASES).collect()
