"""Put a run that slows from its first step on into words."""

from math import ceil, exp, log

import numpy as np
import polars as pl

from detectors.trends import Trend, TrendParams
from detectors.verdicts import Evidence, Subject, Verdict


def trend_verdict(
    rows: pl.DataFrame, trend: Trend, early: pl.DataFrame, params: TrendParams
) -> Verdict:
    """Return the verdict on a run whose pace grows worse all along.

    Args:
        rows: `JOB_PACES` of one attempt, by step.
        trend: Of their logarithms.
        early: `JOB_PACES` of the same attempt with its warm-up.
        params: Where a trend is as large as to be told.

    Returns:
        A verdict of kind degrading. It began with the first step that already lies on the line.
    """
    first = _first_row(rows, trend, early)
    older = early.filter(pl.col("step").is_between(first["step"][0], rows["step"][0], "left"))
    told = min(ceil(log(params.min_slowdown) / trend.per_tick), rows.height - 1)
    at = max(told, params.min_ticks - 1)
    ratio = exp(trend.rise + trend.per_tick * older.height)
    what = (
        f"steps take {exp(trend.per_tick) - 1:.2%} longer from report to report, from step "
        f"{first['step'][0]} to step {rows['step'][-1]}: throughput is down by {1 - 1 / ratio:.0%}"
    )
    return Verdict(
        kind="degrading",
        level="job",
        subject=Subject(run=rows["run"][0], attempt=rows["attempt"][0]),
        onset=first["end_time"][0],
        onset_step=first["step"][0],
        detected=rows["end_time"][at],
        slowdown=ratio,
        cause="trend",
        confidence="high",
        peers="the run's own earlier steps",
        peer_count=0,
        evidence=(Evidence(source="steps", time=first["end_time"][0], what=what),),
        alternatives=("memory that fills up", "storage or data loading", "heat"),
        action="look for what grows with the run: memory, open files, logs, the data's order",
    )


def _first_row(rows: pl.DataFrame, trend: Trend, early: pl.DataFrame) -> pl.DataFrame:
    """Return the first step on the line: of the warm-up's steps those may be that fit it."""
    before = early.filter(pl.col("step") < rows["step"][0]).sort("step", "end_time")
    values = np.log(before["step_seconds"].to_numpy())
    line = trend.level + trend.per_tick * np.arange(-before.height, 0)
    near = np.abs(values - line) <= 2 * trend.spread + abs(trend.per_tick)
    off = np.flatnonzero(~near)
    start = int(off[-1]) + 1 if off.size else 0
    return before[start:].head(1) if start < before.height else rows.head(1)
