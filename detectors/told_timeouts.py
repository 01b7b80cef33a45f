"""Tell those who judge events which collectives timed out: only their counts say so.

Source: methods of the NCCL and PyTorch reference, sections 8.3 and 12.1. A process that its own
watchdog ended is a victim of whoever it waited for.
"""

import polars as pl

from collectors.frames import EVENTS, conform


def with_timeouts(events: pl.LazyFrame, collectives: pl.LazyFrame) -> pl.LazyFrame:
    """Return events with one `comm_error` of code `timeout` for each rank that timed out.

    Args:
        events: `EVENTS`.
        collectives: `COLLECTIVES`; the first one of a rank that is `timed_out` counts.
    """
    waited = (
        collectives.filter(pl.col("state") == "timed_out")
        .sort("time", "source", "position", nulls_last=True)
        .unique(["run", "rank", "group"], keep="first", maintain_order=True)
        .select("run", "host", "rank", "time", "source", "position")
        .with_columns(
            kind=pl.lit("comm_error"),
            code=pl.lit("timeout"),
            severity=pl.lit("warning"),
            count=pl.lit(1),
            message=pl.lit("a collective timed out"),
        )
    )
    return pl.concat([events, conform(waited, EVENTS)])
