"""Which of some offered rows are worth storing: those that a table does not hold yet."""

from datetime import timedelta
from typing import Final

import polars as pl

from collectors.storage.store_tables import StoredTable

REPEATED: Final = timedelta(days=1)
"""A statement that still holds is kept again after so long: older days may have been forgotten."""


def unknown_rows(offered: pl.DataFrame, kept: pl.LazyFrame, table: StoredTable) -> pl.DataFrame:
    """Return the offered rows that the table does not hold, told by its identity.

    Args:
        offered: Rows as they are kept; none twice.
        kept: The table.
        table: What it is.
    """
    if table.clock:
        time = pl.col(table.clock)
        low, high, undated = offered.select(
            low=time.min(), high=time.max(), undated=time.null_count() > 0
        ).row(0)
        near = time.is_between(low, high)
        kept = kept.filter(near | time.is_null() if undated else near)
    known = kept.select(table.identity).collect()
    if known.is_empty():
        return offered
    on = list(table.identity)
    return offered.join(known, on=on, how="anti", nulls_equal=True, maintain_order="left")


def changed_statements(
    offered: pl.DataFrame, kept: pl.LazyFrame, table: StoredTable
) -> pl.DataFrame:
    """Return the offered rows without statements that repeat the last one about their subject.

    Args:
        offered: Rows as they are kept, that the table does not hold.
        kept: The table.
        table: What it is; without a subject its rows are no statements, and all are returned.
    """
    if not table.subject or table.clock is None or offered.is_empty():
        return offered
    time, before = pl.col(table.clock), pl.col("before")
    low, high = offered.select(low=time.min(), high=time.max()).row(0)
    about, said = list(table.subject), [n for n in table.identity if n not in table.subject]
    said.remove(table.clock)
    near = kept.filter(time.is_between(pl.lit(low) - REPEATED, high))
    known = near.select(*about, *said, before=time).collect()
    numbered = offered.with_row_index("row")
    is_same = pl.all_horizontal(pl.col(n).eq_missing(pl.col(f"{n}_right")) for n in said)
    repeated = (
        numbered.join(known, on=about, how="inner", nulls_equal=True)
        .filter(before < time, before >= time - REPEATED)
        .group_by("row")
        .agg(last=before.max(), last_same=before.filter(is_same).max())
        .filter(pl.col("last") == pl.col("last_same"))
    )
    return numbered.join(repeated, on="row", how="anti", maintain_order="left").drop("row")
