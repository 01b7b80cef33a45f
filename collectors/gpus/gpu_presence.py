"""Which GPUs are there: scrapes that a GPU was in, and GPUs that vanish while siblings talk.

A GPU off the bus has no bad values, it has none: its series end. `max by (gpu)` only has fewer rows
then, so absence must be said. Source: NVIDIA/dcgm-exporter #164; DCGM 4.5 blanks a lost GPU.
"""

from typing import Final

import polars as pl

from collectors.frames import COVERAGE, EVENTS, conform
from collectors.texts.templates import filled

MIN_MISSED_SCRAPES: Final = 2
"""One missed scrape may be a page that was cut short, above all at the end of a file."""

_GPU: Final = ("host", "device")


def find_lost_gpus(measured: pl.DataFrame, source: str) -> pl.DataFrame:
    """Return when GPUs went silent while others of their host did not, and when they came back.

    Args:
        measured: `MEASURED`; samples without time or host say nothing here.
        source: The name to quote.

    Returns:
        `EVENTS` of kind `gpu_series_lost`, at the first scrape without the GPU, and
        `gpu_series_back`, at the first one with it again.
    """
    seen = _seen(measured)
    host_times = _host_times(seen)
    following = (
        seen.join(host_times, on=("host", "time"), how="left")
        .sort(*_GPU, "time")
        .with_columns(
            next_scrape=pl.col("scrape").shift(-1).over(_GPU),
            back=pl.col("time").shift(-1).over(_GPU),
        )
    )
    is_last = pl.col("back").is_null()
    missed = pl.coalesce("next_scrape", pl.col("scrapes") + 1) - pl.col("scrape") - 1
    # Two exporters of one host are scraped at different times: a gap must be long as well.
    gap = pl.coalesce("back", "host_last") - pl.col("time")
    due = pl.when(is_last).then(MIN_MISSED_SCRAPES - 0.5).otherwise(MIN_MISSED_SCRAPES + 0.5)
    gaps = (
        following.join(_intervals(seen), on="host", how="left")
        .filter((missed >= MIN_MISSED_SCRAPES) & (gap >= pl.col("interval") * due))
        .with_columns(scrape=pl.col("scrape") + 1)
        .join(
            host_times.select("host", "scrape", lost=pl.col("time")),
            on=("host", "scrape"),
            how="left",
        )
    )
    events = pl.concat([_events(gaps, "lost", source), _events(gaps, "back", source)])
    return conform(events.sort("time", *_GPU), EVENTS).collect()


def _events(gaps: pl.LazyFrame, moment: str, source: str) -> pl.LazyFrame:
    words = {
        "lost": "the GPU's series ended while others of its host went on",
        "back": "the GPU's series began again",
    }
    return gaps.drop_nulls(moment).select(
        "host",
        "device",
        time=moment,
        device_kind=pl.lit("gpu"),
        kind=pl.lit(f"gpu_series_{moment}"),
        severity=pl.lit("high" if moment == "lost" else "info"),
        message=pl.lit(words[moment]),
        source=pl.lit(source),
    )


def scrape_coverage(measured: pl.DataFrame, source: str) -> pl.DataFrame:
    """Return how many scrapes each GPU and each host was in, of those that were due.

    Args:
        measured: `MEASURED`.
        source: The name to quote.

    Returns:
        `COVERAGE` of the signal `scrape`: a GPU (`host/device`) from its first sample to its
        host's last, a host over the whole span of the source.
    """
    seen = _seen(measured)
    hosts = _host_times(seen).group_by("host").agg(pl.col("time"))
    span = seen.select(first=pl.col("time").min(), last=pl.col("time").max())
    gpus = (
        seen.group_by(_GPU)
        .agg(first=pl.col("time").min(), seen=pl.len())
        .join(hosts.select("host", last=pl.col("time").list.max()), on="host")
        .with_columns(entity=filled("{}/{}", "host", "device"))
    )
    whole = hosts.select("host", entity="host", seen=pl.col("time").list.len()).join(
        span, how="cross"
    )
    columns = ("host", "entity", "first", "last", "seen")
    due = (pl.col("last") - pl.col("first")) / pl.col("interval")
    rows = (
        pl.concat([gpus.select(columns), whole.select(columns)])
        .join(_intervals(seen), on="host", how="left")
        .with_columns(
            signal=pl.lit("scrape"),
            start="first",
            end=pl.col("last") + pl.col("interval").fill_null(pl.duration(microseconds=1)),
            expected=due.round().fill_null(0).cast(pl.Int64) + 1,
            source=pl.lit(source),
        )
        .sort("entity")
    )
    return conform(rows, COVERAGE).collect()


def gpu_counts(measured: pl.DataFrame, changes: pl.DataFrame, source: str) -> pl.DataFrame:
    """Return how many of a host's GPUs were there, over each stretch between changes.

    Args:
        measured: `MEASURED`.
        changes: `EVENTS` of `find_lost_gpus`.
        source: The name to quote.

    Returns:
        `COVERAGE` of the signal `gpus`: `expected` is how many of a host's GPUs were ever seen. A
        GPU counts as there from the host's first scrape until it is lost.
    """
    hosts = (
        _seen(measured)
        .group_by("host")
        .agg(
            time=pl.col("time").min(),
            stop=pl.col("time").max() + pl.duration(microseconds=1),
            expected=pl.col("device").n_unique().cast(pl.Int64),
        )
    )
    step = pl.when(pl.col("kind") == "gpu_series_lost").then(-1).otherwise(1)
    moves = changes.lazy().group_by("host", "time").agg(step=step.sum())
    start = hosts.select("host", "time", step=pl.lit(0, pl.Int32))
    rows = (
        pl.concat([start, moves.cast({"step": pl.Int32})])
        .sort("host", "time")
        .join(hosts.select("host", "stop", "expected"), on="host", how="inner")
        .with_columns(
            entity="host",
            signal=pl.lit("gpus"),
            start="time",
            end=pl.coalesce(pl.col("time").shift(-1).over("host"), "stop"),
            seen=pl.col("expected") + pl.col("step").cum_sum().over("host"),
            source=pl.lit(source),
        )
    )
    return conform(rows, COVERAGE).collect()


def _seen(measured: pl.DataFrame) -> pl.LazyFrame:
    """Return `host`, `device`, `time` of each scrape that a GPU was in."""
    is_gpu = pl.col("device_kind") == "gpu"
    return (
        measured.lazy()
        .filter(is_gpu)
        .select(*_GPU, "time")
        .drop_nulls()
        .unique()
        .sort(*_GPU, "time")
    )


def _host_times(seen: pl.LazyFrame) -> pl.LazyFrame:
    """Return the scrapes of each host, numbered from 1, with the last one's number and time."""
    return (
        seen.select("host", "time")
        .unique()
        .sort("host", "time")
        .with_columns(
            scrape=pl.col("time").rank("dense").over("host").cast(pl.Int64),
            scrapes=pl.len().over("host").cast(pl.Int64),
            host_last=pl.col("time").max().over("host"),
        )
    )


def _intervals(seen: pl.LazyFrame) -> pl.LazyFrame:
    """Return each host's usual time between two samples of a GPU."""
    steps = seen.with_columns(step=pl.col("time").diff().over(_GPU))
    return steps.group_by("host").agg(interval=pl.col("step").median())
