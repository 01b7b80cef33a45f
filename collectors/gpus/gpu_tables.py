"""What the readers of printed GPU tables share: the time of a poll, and unknown columns."""

import polars as pl

from collectors.frames import EVENTS, TIME, conform
from collectors.sniffing import ReadOptions
from collectors.taken import taken_at


def poll_time(source: str, options: ReadOptions) -> pl.Expr:
    """Return the time of a table without stamps: that of its only poll, null if it has several.

    Args:
        source: The file's name.
        options: What it does not say.
    """
    taken = pl.lit(taken_at(source, options)).cast(TIME)
    return pl.when(pl.col("page").n_unique() == 1).then(taken).otherwise(pl.lit(None, TIME))


def warnings_of(cells: pl.DataFrame) -> pl.DataFrame:
    """Return `EVENTS`, one for each column that nothing is known of.

    Args:
        cells: `position`, `name` and `number`; a null number is an unknown column.
    """
    rows = (
        cells.lazy()
        .filter(pl.col("number").is_null(), pl.col("name").is_not_null())
        .group_by("name", maintain_order=True)
        .agg(pl.col("position").min(), count=pl.len())
        .with_columns(
            kind=pl.lit("warning"),
            code=pl.lit("unknown_column"),
            severity=pl.lit("low"),
            message=pl.format("column {} is not read", "name"),
        )
    )
    return conform(rows, EVENTS).collect()
