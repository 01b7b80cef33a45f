"""Find the rank that entered a collective when all others had given it up.

Source: methods of the NCCL and PyTorch reference, sections 8.3, 8.4 and 12.2: a watchdog says how
long it ran, so the spread of what ranks report is the spread of their arrival. By the numbers such
a rank is in step, but whoever comes after the first time-out has been waited for.
"""

from typing import Final

import polars as pl

from collectors.texts.templates import filled

_AT: Final = ("run", "scope", "group", "sequence")

MIN_WAITERS: Final = 2
"""Of two ranks that entered far apart one clock may be off."""


def late_entries(collectives: pl.LazyFrame) -> pl.LazyFrame:
    """Return the ranks that entered what another had timed out in, where it is one of a group.

    Args:
        collectives: What `ranked` returns. Only members with the same time-out are compared. That
            several are late is left open: a host's clock may be off, or they wait elsewhere.

    Returns:
        The rows of those ranks, with `kind` late_entry and a `message`.
    """
    running = pl.duration(microseconds=(pl.col("running_seconds") * 1e6).round())
    late = (pl.col("entered") - pl.col("first_timeout")).dt.total_seconds()
    return (
        collectives.filter(pl.col("state") == "timed_out", pl.col("scope").is_null())
        .drop_nulls(["rank", "time", "running_seconds", "timeout_seconds"])
        .with_columns(
            entered=pl.col("time") - running,
            first_timeout=pl.col("time").min().over(_AT),
            alike=pl.col("timeout_seconds").n_unique().over(_AT) == 1,
            members=pl.col("rank").n_unique().over(_AT),
        )
        .with_columns(
            kind=pl.lit("late_entry"),
            message=filled("it came {} s after the first of the others had timed out", late),
            is_late=pl.col("entered") > pl.col("first_timeout"),
        )
        .filter("is_late", "alike", pl.col("members") > MIN_WAITERS)
        .filter(pl.len().over(_AT) == 1)
    )
