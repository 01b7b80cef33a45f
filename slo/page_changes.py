"""Which pages a proposed policy would have added or removed, by the overlap of their stretches."""

from typing import Final

import polars as pl

from collectors.frames import TIME, schema_of
from slo.page_routes import routed_pages
from slo.policy_replays import PolicyReplay

PAGE_CHANGES: Final = schema_of(
    {
        "change": pl.String,
        "severity": pl.String,
        "fired_at": TIME,
        "resolved_at": TIME,
        "earlier_seconds": pl.Float64,
    }
)
"""Beside the labels that both policies group by: one row a page of either policy. `change`: added
(only the proposed one fires), removed (only the current one did), kept. Times are the proposed
policy's, of a removed page the current one's; `earlier_seconds` is by how much the proposed one
fires earlier (below 0: later), null unless kept."""


def page_changes(current: PolicyReplay, proposed: PolicyReplay) -> pl.DataFrame:
    """Return the routed pages and tickets of two policies over the same history, side by side.

    Args:
        current: What pages now.
        proposed: What would page.

    Returns:
        The labels that both group by and `PAGE_CHANGES`, by time, severity and label.
    """
    both = [one for one in current.objective.group_labels if one in proposed.objective.group_labels]
    before, after = (
        routed_pages(one.firings, one.objective.group_labels)
        .select(*both, "severity", "fired_at", "resolved_at")
        .with_columns(_until=pl.col("resolved_at").fill_null(one.end))
        .with_row_index("_page")
        for one in (current, proposed)
    )
    kept = (
        after.join(before, on=["severity", *both], suffix="_before", nulls_equal=True)
        .filter(
            pl.col("fired_at") <= pl.col("_until_before"),
            pl.col("fired_at_before") <= pl.col("_until"),
        )
        .with_columns(
            earlier_seconds=(pl.col("fired_at_before") - pl.col("fired_at")).dt.total_microseconds()
            / 1e6
        )
    )
    changes = [
        kept.sort("fired_at_before").unique("_page", keep="first").with_columns(_is("kept")),
        after.join(kept, on="_page", how="anti").with_columns(_is("added")),
        before.join(kept, left_on="_page", right_on="_page_before", how="anti").with_columns(
            _is("removed")
        ),
    ]
    columns = [*both, *PAGE_CHANGES.names()]
    whole = pl.concat(changes, how="diagonal")
    return whole.select(columns).sort("fired_at", "severity", *both, "change")


def _is(change: str) -> pl.Expr:
    return pl.lit(change).alias("change")
