"""Events from the last-Xid gauge: its changes, never its level.

The gauge holds the last Xid until the exporter restarts: there is no series before the first Xid,
a level may be weeks old, and the same Xid again cannot be seen. The kernel log is the truth; an
event from here only says that something was there. Source: NVIDIA/dcgm-exporter #190, #500.
"""

from typing import Final

import polars as pl

from collectors.frames import EVENTS, conform
from collectors.gpus.measured_order import in_order, sample_order

METRIC_PREFIX: Final = "metric: "
"""How the message of an event from a metric begins; see `collectors.hosts.xid_hints`."""


def xid_events(measured: pl.DataFrame, source: str) -> pl.DataFrame:
    """Return one event for each change of a GPU's last Xid to another one.

    Args:
        measured: `MEASURED`; a null value says nothing.
        source: The name to quote.

    Returns:
        `EVENTS` of kind `xid` and severity `low`. A GPU that was already watched when its Xid
        series began has had a change. One whose first sample shows an Xid has a history that is
        not known: it is no event, unless the source holds nothing but Xids (then `info`).
    """
    gpu = ("host", "device")
    watched = (
        measured.lazy()
        .filter(pl.col("device_kind") == "gpu")
        .group_by(gpu)
        .agg(since=sample_order().min(), only=(pl.col("signal") == "xid_last").all())
    )
    is_watched = pl.col("order") > pl.col("since")
    is_last = (pl.col("signal") == "xid_last") & (pl.col("device_kind") == "gpu")
    rows = (
        in_order(measured, is_last)
        .join(watched, on=gpu, how="left", nulls_equal=True, maintain_order="left")
        .filter((pl.col("value") > 0) & pl.col("before").ne_missing(pl.col("value")))
        .filter(is_watched | pl.col("only"))
        .with_columns(
            kind=pl.lit("xid"),
            code=pl.col("value").cast(pl.Int64).cast(pl.String),
            severity=pl.when(is_watched).then(pl.lit("low")).otherwise(pl.lit("info")),
            count=pl.lit(1),
            message=pl.format(
                METRIC_PREFIX + "the last Xid became {}", pl.col("value").cast(pl.Int64)
            ),
            source=pl.lit(source),
        )
    )
    return conform(rows, EVENTS).collect()
