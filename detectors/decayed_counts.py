"""Counts of failures and days in use, both fading with age and with each repair.

Source: methods reference, section 10. A count and its exposure fade alike, so that their ratio
stays a rate. What lies before a repair keeps a quarter of its weight: the node is not a new one.
"""

from dataclasses import dataclass
from datetime import datetime
from math import log
from typing import Final

import polars as pl

from collectors.frames import TIME, schema_of

EXPOSURES: Final = schema_of({"host": pl.String, "days": pl.Float64, "squared_days": pl.Float64})
"""Weighted days in use of a host, and the same under the square of the weight: their ratio is how
much less a weighted count varies than a plain one."""

SECONDS_PER_DAY: Final = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DecayParams:
    """How history fades.

    Attributes:
        half_life_days: After so long a failure, or a day in use, counts half.
        repaired_weight: Share of its weight that history keeps at each repair.
    """

    half_life_days: float = 90.0
    repaired_weight: float = 0.25

    def __post_init__(self) -> None:
        """Refuse a history that never counts, or that grows at repairs."""
        if self.half_life_days <= 0.0 or not 0.0 <= self.repaired_weight <= 1.0:
            raise ValueError(
                "half_life_days must be above 0 and repaired_weight between 0 and 1, got "
                f"{self.half_life_days} and {self.repaired_weight}"
            )


def with_weights(
    rows: pl.LazyFrame, repairs: pl.LazyFrame, as_of: datetime, params: DecayParams
) -> pl.LazyFrame:
    """Return rows with `weight`: what each counts at the end of the data.

    Args:
        rows: Any rows with `host` and `time`.
        repairs: `REPAIRS`; null time never.
        as_of: The end of the data.
        params: The half-life, and what a repair leaves.
    """
    age = (pl.lit(as_of, TIME) - pl.col("time")).dt.total_microseconds() / 1e6 / SECONDS_PER_DAY
    later = pl.col("repaired") > pl.col("time")
    keyed = rows.with_row_index("row")
    counts = (
        keyed.select("row", "host", "time")
        .join(repairs.select("host", repaired="time").unique(), on="host")
        .filter(later)
        .group_by("row")
        .agg(repairs=pl.len())
    )
    fades = (-log(2.0) / params.half_life_days * age).exp()
    kept = pl.lit(params.repaired_weight).pow(pl.col("repairs").fill_null(0))
    return (
        keyed.join(counts, on="row", how="left")
        .with_columns(weight=fades * kept)
        .drop("row", "repairs")
    )


def exposures_of(
    spans: pl.LazyFrame, repairs: pl.LazyFrame, as_of: datetime, params: DecayParams
) -> pl.LazyFrame:
    """Return `EXPOSURES`, one a host.

    Args:
        spans: Spans of hosts: `host`, `start`, `end`.
        repairs: `REPAIRS`.
        as_of: The end of the data.
        params: The half-life, and what a repair leaves.
    """
    parts = _cut_at_repairs(spans, repairs)
    kept = pl.lit(params.repaired_weight).pow(pl.col("repairs"))
    rate = log(2.0) / params.half_life_days
    return parts.group_by("host").agg(
        days=(kept * _faded_days(as_of, rate)).sum(),
        squared_days=(kept.pow(2) * _faded_days(as_of, 2.0 * rate)).sum(),
    )


def _cut_at_repairs(spans: pl.LazyFrame, repairs: pl.LazyFrame) -> pl.LazyFrame:
    """Return the spans in pieces, with `repairs`: how many came after each piece."""
    moments = repairs.select("host", "time").unique().sort("host", "time")
    place = pl.int_range(pl.len()).over("host")
    before = moments.select(
        "host",
        low=pl.col("time").shift(1).over("host"),
        high="time",
        repairs=pl.len().over("host") - place,
    )
    last = (
        moments.group_by("host")
        .agg(low=pl.col("time").max())
        .with_columns(high=pl.lit(None, TIME), repairs=pl.lit(0))
    )
    pieces = pl.concat(
        [before, last.select("host", "low", "high", "repairs")], how="vertical_relaxed"
    )
    return (
        spans.join(pieces, on="host", how="left")
        .with_columns(
            start=pl.max_horizontal("start", "low"),
            end=pl.min_horizontal("end", "high"),
            repairs=pl.col("repairs").fill_null(0),
        )
        .filter(pl.col("end") > pl.col("start"))
    )


def _faded_days(as_of: datetime, rate_per_day: float) -> pl.Expr:
    """Return the weighted days of a span: the integral of its fading weight."""
    end, start = (
        (pl.lit(as_of, TIME) - pl.col(name)).dt.total_microseconds() / 1e6 / SECONDS_PER_DAY
        for name in ("end", "start")
    )
    return ((-rate_per_day * end).exp() - (-rate_per_day * start).exp()) / rate_per_day
