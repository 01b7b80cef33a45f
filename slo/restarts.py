"""What a restart of Prometheus, or a rule over its limit, makes alerts forget.

Source: Prometheus, rules/manager.go (`RestoreForState`) and rules/alerting.go at 2.42. After an
outage of at most an hour, rules that wait at least ten minutes get back since when their alerts
were active; those that wait less begin again, pending. Over a rule's limit all of its alerts are
dropped. An alert that was only held by `keep_firing_for` is lost with any of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import polars as pl

from collectors.frames import TIME

FOR_GRACE: Final = timedelta(minutes=10)
"""`--rules.alert.for-grace-period`: rules that wait less are not restored."""
OUTAGE_TOLERANCE: Final = timedelta(hours=1)
"""`--rules.alert.for-outage-tolerance`."""
PAIR: Final = ("severity", "long_seconds", "short_seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """A stretch `[start, end)` in which no rule was evaluated.

    Attributes:
        start: When the server went down; aware.
        end: When it was back; aware.
    """

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        """Refuse a stretch without a zone or a length."""
        if self.start.tzinfo is None or self.end.tzinfo is None or self.start >= self.end:
            raise ValueError(
                f"an outage wants aware times, the end after the start, found {self.start} to "
                f"{self.end}"
            )


def evaluations(times: pl.Series, outages: Sequence[Outage]) -> pl.DataFrame:
    """Return the evaluations that took place: `time`, and their number `_n`."""
    # Burn rates are told to the millisecond, as Prometheus counts time.
    grid = pl.DataFrame({"time": times.dt.truncate("1ms").unique().sort()})
    for outage in outages:
        is_down = (pl.col("time") >= outage.start) & (pl.col("time") < outage.end)
        grid = grid.filter(~is_down)
    return grid.with_row_index("_n").with_columns(pl.col("_n").cast(pl.Int64))


def breaks_of(
    held: pl.DataFrame, grid: pl.DataFrame, outages: Sequence[Outage], limit: int | None
) -> pl.DataFrame:
    """Return at which evaluations alerts are lost.

    Args:
        held: Conditions that hold, with the pair, its `_for` and `_n`.
        grid: The evaluations.
        outages: When the server was down.
        limit: How many alerts a rule may have; null is any number. Those count whose condition
            holds.

    Returns:
        Pair, `_n`, and `_forgets`: whether everything is forgotten there, or only alerts whose
        condition no longer holds; `_drops`: whether the evaluation itself comes to nothing.
    """
    pairs = held.select(*PAIR, "_for").unique()
    down = [_after(each, pairs, grid) for each in outages]
    counted = held.group_by(*PAIR, "_n").agg(pl.len().alias("_count"))
    over = counted.filter(pl.col("_count") > limit) if limit is not None else counted.clear()
    over = over.select(*PAIR, "_n", _forgets=pl.lit(value=True), _drops=pl.lit(value=True))
    both = pl.concat([over, *down]).group_by(*PAIR, "_n")
    return both.agg(pl.col("_forgets", "_drops").any()).sort("_n", *PAIR)


def _after(outage: Outage, pairs: pl.DataFrame, grid: pl.DataFrame) -> pl.DataFrame:
    """Return the first evaluation after an outage, for each pair; none if that never comes."""
    first = grid.filter(pl.col("time") >= outage.end).head(1).select("_n")
    is_short = outage.end - outage.start <= OUTAGE_TOLERANCE
    restores = (pl.col("_for") >= FOR_GRACE) & pl.lit(is_short)
    told = pairs.join(first, how="cross").with_columns(
        _forgets=~restores, _drops=pl.lit(value=False)
    )
    return told.select(*PAIR, "_n", "_forgets", "_drops")


def active_since(outages: Sequence[Outage], began: pl.Expr) -> pl.Expr:
    """Return since when an alert counts as active at each evaluation, restarts considered.

    Args:
        outages: When the server was down.
        began: When its condition began to hold.
    """
    since, time, waits = began, pl.col("time"), pl.col("_for")
    for outage in sorted(outages, key=lambda each: each.start):
        left = waits - (pl.lit(outage.start, dtype=TIME) - since)
        up = pl.lit(outage.end, dtype=TIME)
        moved = (
            pl.when(left <= timedelta(0))
            .then(since)
            .when(left < FOR_GRACE)
            .then(up + FOR_GRACE - waits)
            .otherwise(since + (outage.end - outage.start))
        )
        was_there = (time >= up) & (since < pl.lit(outage.start, dtype=TIME))
        since = pl.when(was_there).then(moved).otherwise(since)
    return since
