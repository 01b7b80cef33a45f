"""Rows of several sources that are looked at together."""

import polars as pl

from collectors.texts.file_places import FILE_LINES


def with_many(rows: pl.DataFrame, min_rows: int) -> pl.DataFrame:
    """Return the rows of the sources that have so many."""
    if rows.height < min_rows:
        return rows.clear()
    sizes = rows.group_by("source").agg(size=pl.len())
    few = sizes.filter(pl.col("size") < min_rows)
    if few.is_empty():
        return rows
    return rows.join(few, on="source", how="anti", nulls_equal=True, maintain_order="left")


def is_of(members: pl.DataFrame) -> pl.Expr:
    """Return whether a row is of the source of some member."""
    if members.is_empty():
        return pl.lit(value=False)
    return pl.col("source").is_in(members["source"].unique().implode(), nulls_equal=True)


def by_source(rows: pl.DataFrame, sources: pl.Series) -> pl.DataFrame:
    """Return rows in the order of their sources."""
    if len(sources) == 1:
        return rows
    places = sources.to_frame().with_row_index("place")
    placed = rows.join(places, on="source", how="left", nulls_equal=True, maintain_order="left")
    return placed.sort("place", maintain_order=True).drop("place")


def placed_by_source(rows: pl.DataFrame, sources: pl.Series) -> pl.DataFrame:
    """Return rows whose positions tell which of some sources they are of, if there are several."""
    if len(sources) == 1:
        return rows
    files = sources.to_frame().with_row_index("file")
    file = rows.select("source").join(files, on="source", how="left", maintain_order="left")["file"]
    first = file.cast(pl.Int64).fill_null(0) * FILE_LINES
    return rows.with_columns(pl.col("position") + first)
