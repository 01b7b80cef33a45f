"""Times in which readings of a port are doubtful, and which intervals they touch.

Overlapping windows are made one first, so that the search costs the same however many there are: a
port that flaps all day has thousands.
"""

from typing import Final

import polars as pl

from collectors.frames import TIME, schema_of

DOUBTS: Final = schema_of({"host": pl.String, "port": pl.String, "since": TIME, "until": TIME})
"""A time (since, until] in which readings of a port are doubtful."""

_PORT: Final = ["host", "port"]


def touched(intervals: pl.DataFrame, doubts: pl.DataFrame) -> pl.Series:
    """Return for each interval whether a doubt of its port overlaps it.

    Args:
        intervals: Rows with `host`, `port`, `start` and `end`, in any order.
        doubts: `DOUBTS`, in any order; they may overlap.
    """
    rows = intervals.select(*_PORT, "start", "end").with_row_index("row").sort("end")
    found = rows.join_asof(
        _merged(doubts),
        left_on="end",
        right_on="since",
        by=_PORT,
        strategy="backward",
        allow_exact_matches=False,
        check_sortedness=False,
    ).sort("row")
    return (found["until"] > found["start"]).fill_null(value=False)


def _merged(doubts: pl.DataFrame) -> pl.DataFrame:
    """Return the doubts of each port without overlap, by their beginning."""
    before = pl.col("until").cum_max().shift(1).over(_PORT)
    return (
        doubts.drop_nulls()
        .sort(*_PORT, "since", "until")
        .with_columns(fresh=(pl.col("since") > before).fill_null(value=True))
        .with_columns(spell=pl.col("fresh").cum_sum().over(_PORT))
        .group_by(*_PORT, "spell")
        .agg(pl.col("since").min(), pl.col("until").max())
        .sort("since", *_PORT)
        .select(DOUBTS.names())
    )
