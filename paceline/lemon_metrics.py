"""The metrics behind the lemon board, for the textfile collector of node_exporter.

A watch sees hours, a lemon takes weeks of accounts: a job that runs once a day writes these.

Source: node_exporter, "Textfile Collector": a file is replaced at once, so that none is read half.
"""

import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Final

import polars as pl

from detectors.decayed_counts import SECONDS_PER_DAY
from detectors.lemon_histories import HALF, FleetHistory
from detectors.lemons import LemonReview
from paceline.watching.exposition import exposition
from paceline.watching.gauges import Measured
from slo.metrics import LEMON_SCORE, LEMON_SIGNALS

WINDOW: Final = timedelta(days=28)
"""Over which signals are counted, as the contract of the metrics says."""

_XID: Final = r"^xid (\d+)"
"""What `NODE_SIGNALS` call an error that the driver numbered."""

_DRAIN: Final = "node state "
"""What `NODE_SIGNALS` call a node that was taken out, and not one that was lost with its job."""


def lemon_metrics(review: LemonReview, jobs: pl.DataFrame, cluster: str) -> bytes:
    """Return scores and signals of nodes in the text form of Prometheus.

    Args:
        review: What was found. Of a history that is too short nothing is told.
        jobs: `JOBS`, for how many nodes each had.
        cluster: The label of that name.
    """
    if review.history is None:
        return b""
    scores = review.ranking.filter(pl.col("part").is_null()).sort("host")
    found = [
        Measured(metric=LEMON_SCORE, labels=(cluster, host), value=score)
        for host, score in scores.select("host", "failures").iter_rows()
    ]
    signals = lemon_signals(review.history, jobs, scores["host"])
    found += [
        Measured(metric=LEMON_SIGNALS, labels=(cluster, host, signal), value=value)
        for host, signal, value in signals.iter_rows()
    ]
    return exposition(found, {})


def write_textfile(path: Path, text: bytes) -> None:
    """Write a file that a collector may read at any moment: it sees the old one or the new one.

    Raises:
        OSError: It cannot be written.
    """
    # The collector reads what ends in .prom, so the half-written one ends in something else.
    begun = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        begun.write_bytes(text)
        begun.replace(path)
    finally:
        begun.unlink(missing_ok=True)


def lemon_signals(history: FleetHistory, jobs: pl.DataFrame, hosts: pl.Series) -> pl.DataFrame:
    """Return `host`, `signal` and `value` over the last 28 days, by host and signal.

    Every node that ran jobs has its failures counted, and be it zero. Of Xids and drains, whoever
    has none may just have nobody who counts them, and has no row.

    Args:
        history: What happened.
        jobs: `JOBS`, for how many nodes each had; of a job whose nodes are not known, a failure
            is neither alone nor shared.
        hosts: The nodes that ran jobs.
    """
    parts = [*_failures(history, jobs, hosts), *_events(history), _hours(history)]
    return pl.concat(parts).sort("host", "signal")


def _failures(
    history: FleetHistory, jobs: pl.DataFrame, hosts: pl.Series
) -> Iterator[pl.DataFrame]:
    """Yield failures of jobs on one node, and of jobs on several, blamed on each node."""
    nodes = jobs.group_by("run").agg(nodes=pl.col("hosts").list.n_unique().max())
    own = (
        history.failures.filter(
            pl.col("time") > history.as_of - WINDOW, pl.col("blame") >= HALF, pl.col("is_named")
        )
        .join(nodes, on="run", how="inner")
        .select("host", "nodes")
    )
    for signal, is_such in (("alone", pl.col("nodes") == 1), ("shared", pl.col("nodes") > 1)):
        counts = own.filter(is_such).group_by("host").agg(value=pl.len().cast(pl.Float64))
        yield (
            pl.DataFrame({"host": hosts})
            .join(counts, on="host", how="left")
            .select(
                "host",
                signal=pl.lit(f"failures_{signal}"),
                value=pl.col("value").fill_null(0.0),
            )
        )


def _events(history: FleetHistory) -> Iterator[pl.DataFrame]:
    """Yield how many different Xids each node had, and how often it left the service."""
    late = history.signals.filter(pl.col("time") > history.as_of - WINDOW)
    xids = late.select("host", xid=pl.col("what").str.extract(_XID)).drop_nulls("xid").unique()
    drains = late.filter(pl.col("what").str.starts_with(_DRAIN))
    for signal, rows in (("xids", xids), ("drains", drains)):
        counts = rows.group_by("host").agg(value=pl.len().cast(pl.Float64))
        yield counts.select("host", signal=pl.lit(signal), value="value")


def _hours(history: FleetHistory) -> pl.DataFrame:
    """Return for how long each node was busy."""
    begin = pl.max_horizontal("start", pl.lit(history.as_of - WINDOW))
    seconds = (pl.min_horizontal("end", pl.lit(history.as_of)) - begin).dt.total_microseconds()
    hours = seconds.clip(lower_bound=0) / 1e6 / (SECONDS_PER_DAY / 24)
    return (
        history.spans.group_by("host")
        .agg(value=hours.sum())
        .select("host", signal=pl.lit("hours"), value="value")
    )
