"""Read the metrics of NCCL's Inspector: means of a bucket of messages since the last dump.

Source: formats of NCCL logs, section 6.1 (NVIDIA/nccl `inspector_prom.cc`, 2.29 on). A mean over a
bucket is no operation of its own, so its timing is of its own kind and compared with its like only.
"""

from typing import Final

import polars as pl

from collectors.frames import TRANSFERS, conform
from collectors.identity import canonical_host
from collectors.metrics.series import Series, label_of
from collectors.readings import Reading, reading_of

BUS: Final = "nccl_bus_bandwidth_gbs"

PAIR_BUS: Final = "nccl_p2p_bus_bandwidth_gbs"

SECONDS: Final = "nccl_collective_exec_time_microseconds"

PAIR_SECONDS: Final = "nccl_p2p_exec_time_microseconds"

TIMING: Final = "bucket_mean"

_UNITS: Final = {"B": 0, "KB": 1, "MB": 2, "GB": 3, "TB": 4}

_RANGE: Final = r"^(\d+)(?:-\d+)?([KMGT]?B)$"


def inspector_metric_names() -> pl.Series:
    """Return the names of all metrics that `read_inspector_metrics` understands."""
    return pl.Series("name", [BUS, PAIR_BUS, SECONDS, PAIR_SECONDS])


def read_inspector_metrics(series: Series, source: str) -> Reading:
    """Return the means that a page of the Inspector tells.

    Args:
        series: Series whose names are among `inspector_metric_names`; others are left out.
        source: The name to quote in evidence.

    Returns:
        `TRANSFERS`, one a point, with either a bandwidth or a time; `bytes` is the lower end of the
        bucket, `group` the communicator's name where it has one.
    """
    named = label_of("comm_name")
    told = series.identities.select(
        "series",
        "name",
        host=canonical_host(label_of("node", "hostname")),
        group=pl.when(named != "unknown").then(named),
        world=label_of("nranks").cast(pl.Int32, strict=False),
        nodes=label_of("n_nodes").cast(pl.Int32, strict=False),
        operation=label_of("collective", "p2p_operation"),
        bytes=_bucket(label_of("message_size")),
        variant=label_of("algo_proto").str.to_lowercase(),
    )
    is_rate = pl.col("name").is_in([BUS, PAIR_BUS])
    value = pl.col("value")
    rows = (
        series.points.filter(value.is_not_null())
        .join(told, on="series", maintain_order="left")
        .with_columns(
            bus_bytes_per_second=pl.when(is_rate).then(value * 1e9),
            seconds=pl.when(~is_rate).then(value * 1e-6),
            timing=pl.lit(TIMING),
            source=pl.lit(source),
        )
    )
    return reading_of(transfers=conform(rows.lazy(), TRANSFERS))


def _bucket(text: pl.Expr) -> pl.Expr:
    """Return the lower end of a bucket such as `4-5MB` in bytes."""
    power = text.str.extract(_RANGE, 2).replace_strict(_UNITS, default=None, return_dtype=pl.Int64)
    number = text.str.extract(_RANGE, 1).cast(pl.Int64, strict=False)
    return number * pl.lit(1024, pl.Int64).pow(power)
