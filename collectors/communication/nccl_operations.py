"""Read the operations and communicators that NCCL logs, as collectives.

Source: formats of NCCL logs, sections 3.1 (life of a communicator) and 3.3 (COLL lines; `opCount`
is hex without a mark and counts inside a communicator). A logged operation was enqueued by the
host: it says nothing about start or end on the GPU.
"""

from typing import Final

import polars as pl

_OPERATION: Final = (
    r"^(?P<operation>\w+): opCount (?P<op_count>[0-9a-f]+) sendbuff \S+ recvbuff \S+ "
    r"count (?P<input_count>\d+) .*comm (?P<comm>0x[0-9a-f]+|\(nil\))"
)

_LIFE: Final = (
    r"comm (?P<comm>0x[0-9a-fA-F]+|\(nil\)) rank (?P<group_rank>\d+) n[rR]anks (?P<world>\d+) "
    r"cudaDev -?\d+.*?(?: commId (?P<comm_id>0x[0-9a-fA-F]+))? ?- ?(?P<what>Init|Destroy|Abort|"
    r"Revoke) (?P<phase>START|COMPLETE)"
)

_PROCESS: Final = ("host", "pid", "comm")

MAX_WORLD: Final = 1_000_000
"""A communicator is not larger; a torn number is."""


def read_operations(records: pl.DataFrame) -> pl.DataFrame:
    """Return `COLLECTIVES` of logged operations and of communicators' initialisation.

    Args:
        records: NCCL records: `line`, `position`, `time`, `host`, `pid`, `cuda_device`, `text`.

    Returns:
        `COLLECTIVES` with `line`. An operation is `scheduled`; `group` is the communicator's id,
        else its address in the process, and `group_rank` the rank in it, else, on a single host,
        the CUDA device. `init` is `started` or `completed`, its `group_ranks` count inside the
        communicator.
    """
    lives = _lives_of(records)
    members = lives.select(*_PROCESS, "group", "group_rank").unique(_PROCESS, keep="first")
    single_host = records["host"].n_unique() == 1
    device = pl.col("cuda_device") if single_host and lives.is_empty() else pl.lit(None)
    operations = (
        _matched(records, _OPERATION)
        .join(members, on=_PROCESS, how="left", maintain_order="left")
        .with_columns(
            group=pl.col("group").fill_null(pl.col("comm")),
            group_rank=pl.col("group_rank").fill_null(device.cast(pl.Int32)),
            sequence=pl.col("op_count").str.to_integer(base=16, strict=False),
            input_count=pl.col("input_count").cast(pl.Int64, strict=False),
            state=pl.lit("scheduled"),
        )
    )
    return pl.concat([operations, _inits_of(lives)], how="diagonal")


def _matched(records: pl.DataFrame, pattern: str) -> pl.DataFrame:
    hits = records.filter(pl.col("text").str.contains(pattern))
    return hits.hstack(hits.select(pl.col("text").str.extract_groups(pattern)).unnest("text"))


def _lives_of(records: pl.DataFrame) -> pl.DataFrame:
    known_id = pl.col("comm_id").drop_nulls().first().over(_PROCESS)
    return _matched(records, _LIFE).with_columns(
        pl.col("group_rank").cast(pl.Int32, strict=False),
        pl.col("world").cast(pl.Int64, strict=False),
        group=known_id.fill_null(pl.col("comm")),
    )


def _inits_of(lives: pl.DataFrame) -> pl.DataFrame:
    """Return one `init` for each communicator of a process: completed, or started and no more."""
    init = lives.filter(pl.col("what") == "Init")
    done = (pl.col("phase") == "COMPLETE").any()
    ranks = pl.int_ranges(pl.col("world").clip(0, MAX_WORLD), dtype=pl.Int32)
    return (
        init.group_by(*_PROCESS, "group", "group_rank", maintain_order=True)
        .agg(
            pl.col("line", "position", "time").last(),
            pl.col("world").first(),
            state=pl.when(done).then(pl.lit("completed")).otherwise(pl.lit("started")),
        )
        .with_columns(
            operation=pl.lit("init"), group_ranks=pl.when(pl.col("world") <= MAX_WORLD).then(ranks)
        )
    )
