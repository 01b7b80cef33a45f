"""Bound the time of events without a clock by what stands before them in their source."""

import polars as pl


def not_before() -> pl.Expr:
    """Return the time of each event; of one without a clock, that of the last before it.

    A log is written in order, so an event happened no earlier than the stamps above it. Null where
    nothing above has a stamp, or the event has no position. For rows of `EVENTS`.
    """
    above = pl.col("time").forward_fill().over("source", order_by="position")
    placed = pl.when(pl.col("position").is_not_null()).then(above)
    return pl.coalesce("time", placed)
