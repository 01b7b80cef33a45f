"""The order of samples in which one tells what has changed since the one before it."""

import polars as pl


def in_order(measured: pl.DataFrame, is_wanted: pl.Expr) -> pl.LazyFrame:
    """Return the samples that have a value, in time, each with that of its entity before it.

    Args:
        measured: `MEASURED`; a null value says nothing.
        is_wanted: Which samples count.

    Returns:
        `MEASURED` with `order` and `before`. `order` is the time in microseconds, where there is
        none the number of the poll; `before` is null at an entity's first value.
    """
    return (
        measured.lazy()
        .filter(is_wanted)
        .drop_nulls("value")
        .with_columns(order=sample_order())
        .sort("order", "position", maintain_order=True)
        .with_columns(before=pl.col("value").shift().over("entity"))
    )


def sample_order() -> pl.Expr:
    """Return what samples are ordered by: their time, where there is none their poll."""
    return pl.coalesce(pl.col("time").to_physical(), pl.col("page").cast(pl.Int64))
