"""The events of a profiler trace, paired: what ended, and what is open.

Source: formats of NCCL logs, section 6.2. Events pair by category, id and name: one id serves the
steps of an operation one after the other.
"""

from typing import Final

import polars as pl

from collectors.texts.event_labels import event_labels
from collectors.texts.templates import filled

WAITS: Final = {
    "RecvWait": "peer",
    "SendPeerWait": "peer",
    "Recv": "peer",
    "ProgressRecv": "peer",
    "SendWait": "wire",
    "RecvFlushWait": "local_gpu",
    "RecvGpuWait": "local_gpu",
    "SendGpuWait": "local_gpu",
}
"""Whom an open step waits for: the other side, the wire, or the GPU of its own process."""

DATATYPE_BYTES: Final = {
    "ncclInt8": 1,
    "ncclUint8": 1,
    "ncclFloat8e4m3": 1,
    "ncclFloat8e5m2": 1,
    "ncclFloat16": 2,
    "ncclBfloat16": 2,
    "ncclInt32": 4,
    "ncclUint32": 4,
    "ncclFloat32": 4,
    "ncclInt64": 8,
    "ncclUint64": 8,
    "ncclFloat64": 8,
}

_OPERATIONS: Final = ("COLL", "P2P")

_MICRO: Final = 1e-6


def paired(events: pl.DataFrame) -> pl.DataFrame:
    """Return one row an event that began, with `end_ts`; null while it is open.

    Args:
        events: The beginnings and ends of a trace: `cat`, `id`, `name`, `pid`, `ph`, `ts`.

    Returns:
        In the order in which they began. The n-th beginning of a key has its n-th end.
    """
    key = ["pid", "cat", "id", "name"]
    nth = pl.int_range(pl.len()).over([*key, "ph"])
    numbered = events.with_columns(nth=nth)
    ends = numbered.filter(pl.col("ph") == "e").select(*key, "nth", end_ts="ts")
    return numbered.filter(pl.col("ph") == "b").join(
        ends, on=[*key, "nth"], how="left", nulls_equal=True, maintain_order="left"
    )


def timed(events: pl.DataFrame) -> pl.DataFrame:
    """Return `TRANSFERS` of the operations that ended."""
    each = pl.col("datatype").replace_strict(DATATYPE_BYTES, default=None, return_dtype=pl.Int64)
    names = [pl.col(name).str.to_lowercase() for name in ("algorithm", "protocol")]
    variant = pl.concat_str(names, separator=" ", ignore_nulls=True)
    done = events.filter(pl.col("cat").is_in(_OPERATIONS)).drop_nulls("end_ts")
    return done.select(
        "host",
        "group",
        "position",
        rank=pl.col("group_rank").cast(pl.Int64, strict=False),
        operation="name",
        sequence=pl.col("sequence").cast(pl.Int64, strict=False),
        peer_rank=pl.col("peer").cast(pl.Int64, strict=False),
        bytes=pl.col("elements").cast(pl.Int64, strict=False) * each,
        seconds=(pl.col("end_ts") - pl.col("ts")) * _MICRO,
        timing=pl.lit("collective_cpu"),
        variant=pl.when(variant != "").then(variant),
    )


def open_operations(events: pl.DataFrame) -> pl.DataFrame:
    """Return `COLLECTIVES` in state `open` of the operations that did not end."""
    is_open = pl.col("end_ts").is_null() & (pl.col("cat") == "COLL")
    return events.filter(is_open).select(
        "host",
        "group",
        "position",
        group_rank=pl.col("group_rank").cast(pl.Int64, strict=False),
        sequence=pl.col("sequence").cast(pl.Int64, strict=False),
        operation="name",
        input_count=pl.col("elements").cast(pl.Int64, strict=False),
        state=pl.lit("open"),
    )


def open_events(events: pl.DataFrame) -> pl.DataFrame:
    """Return `EVENTS` of kind `open_operation` of everything that did not end."""
    still = events.filter(pl.col("end_ts").is_null())
    last = pl.col("ts") == pl.col("ts").max()
    waits = pl.col("name").replace_strict(WAITS, default=None, return_dtype=pl.String)
    peer = pl.col("peer").cast(pl.Int64, strict=False)
    towards = pl.when(peer >= 0).then(pl.format(" with peer {}", peer)).otherwise(pl.lit(""))
    labels = {name: pl.col(name) for name in ("cat", "group", "group_rank", "sequence", "channel")}
    return still.select(
        "host",
        "position",
        peer=pl.when(peer >= 0).then(peer.cast(pl.String)),
        kind=pl.lit("open_operation"),
        code="name",
        severity=pl.lit("info"),
        count=pl.lit(1, pl.Int32),
        message=filled("{} of {}{} began and did not end", pl.col("name"), pl.col("cat"), towards),
        attributes=event_labels(
            {
                **labels,
                "waits_for": waits,
                "last": pl.when(last.fill_null(value=False)).then(pl.lit("true")),
            }
        ),
    )
