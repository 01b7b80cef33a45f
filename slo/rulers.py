"""One ruler for each objective: recorded targets that replicas wrote more than once.

Source: slok/sloth issue 153, "found duplicate series": two replicas record the same objective, and
a join on its id finds two partners. In PromQL the way out is `max without (replica)`; it hides that
the replicas disagree, which here is said.
"""

from collections.abc import Sequence
from typing import Final

import polars as pl

RULERS_DIFFER: Final = "rulers_differ"


def budget_rulers(records: pl.DataFrame, *, replica_labels: Sequence[str]) -> pl.DataFrame:
    """Return one recorded value for each set of labels without those of replicas.

    Args:
        records: Labels and `value`, one row a recorded series; a null value or NaN says nothing.
        replica_labels: Labels that only tell who recorded it.

    Returns:
        The other labels, `value` (the largest, as `max without` has it; null when none says
        anything), `replica_count` and `fault`: `rulers_differ` where values are unequal, else null.
        By label.
    """
    labels = [name for name in records.columns if name not in {"value", *replica_labels}]
    told = pl.col("value").filter(pl.col("value").is_not_nan())
    differs = told.n_unique() > 1
    return (
        records.with_columns(_all=0)
        .group_by("_all", *labels)
        .agg(
            value=told.max(),
            replica_count=pl.len().cast(pl.Int64),
            fault=pl.when(differs).then(pl.lit(RULERS_DIFFER)),
        )
        .sort("_all", *labels)
        .drop("_all")
    )
