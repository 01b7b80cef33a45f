"""The page as people get it: the firings of all pairs of one severity as one stretch.

Source: The Site Reliability Workbook, chapter 5: several burn rates fire for one outage, and only
one notification should come of it. As the incidents of the alert path do, a stretch bridges a gap
of ten minutes: a firing that comes back so soon is the same page.
"""

from datetime import timedelta
from typing import Final

import polars as pl

from collectors.frames import TIME, schema_of

ROUTED: Final = schema_of(
    {
        "severity": pl.String,
        "active_at": TIME,
        "fired_at": TIME,
        "resolved_at": TIME,
        "peak_bad": pl.Float64,
        "pairs": pl.List(pl.String),
    }
)
"""Beside the group labels: one row a page (or ticket). `resolved_at` is null while any pair fires;
`pairs` are the long windows' pairs behind it, as in `1h/5m`, the shortest first."""

MAX_BRIDGED: Final = timedelta(minutes=10)
"""A gap up to which two firings are one page."""

_NEVER: Final = pl.lit(2**62).cast(TIME)
"""Later than anything, with room for a gap after it."""


def routed_pages(firings: pl.DataFrame, group_labels: tuple[str, ...]) -> pl.DataFrame:
    """Return the firings of each group and severity, joined where they touch or nearly do.

    Args:
        firings: The group labels, `BURN_ALERTS`, `peak_bad`.
        group_labels: Labels that each have a page of their own.

    Returns:
        The group labels and `ROUTED`, by group, severity and time.
    """
    key = [*group_labels, "severity"]
    until = pl.col("resolved_at").fill_null(_NEVER)
    before = pl.col("_until").cum_max().shift(1).over(key)
    begins = (pl.col("fired_at") > before + MAX_BRIDGED).fill_null(value=True)
    ordered = firings.sort(*key, "fired_at", "long_seconds").with_columns(_until=until)
    return (
        ordered.with_columns(_page=begins.cum_sum())
        .group_by("_page", *key, maintain_order=True)
        .agg(
            pl.col("active_at", "fired_at").min(),
            pl.when(pl.col("resolved_at").is_not_null().all())
            .then(pl.col("resolved_at").max())
            .alias("resolved_at"),
            pl.col("peak_bad").max(),
            pairs=pair_name().sort_by("long_seconds").unique(maintain_order=True),
        )
        .select(*group_labels, *ROUTED.names())
    )


def pair_name() -> pl.Expr:
    """Return the name of a row's pair of windows, as in `1h/5m`."""
    return pl.concat_str(
        _duration("long_seconds"), pl.lit("/"), _duration("short_seconds"), separator=""
    )


def _duration(column: str) -> pl.Expr:
    """Return seconds as one Prometheus unit where whole."""
    seconds = pl.col(column)
    days, hours, minutes = (
        pl.when((seconds >= unit) & (seconds % unit == 0)).then(
            (seconds // unit).cast(pl.String) + pl.lit(name)
        )
        for unit, name in ((86400, "d"), (3600, "h"), (60, "m"))
    )
    return pl.coalesce(days, hours, minutes, seconds.cast(pl.String) + pl.lit("s"))
