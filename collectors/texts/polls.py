"""Polls of a tool that prints its devices one after the other, again and again."""

import polars as pl


def number_polls(rows: pl.DataFrame, *names: str) -> pl.DataFrame:
    """Return rows with the poll, from 0, that each belongs to.

    Args:
        rows: In printed order; a poll has its devices in one order that stays.
        *names: Columns that name a device.

    Returns:
        The rows with `page`, UInt32: a row whose device was first printed no later than the one
        before it opens the next poll.
    """
    order = pl.col("_row").first().over(names)
    begins = (order <= order.shift()).fill_null(value=False)
    return (
        rows.with_row_index("_row").with_columns(page=begins.cast(pl.UInt32).cum_sum()).drop("_row")
    )
