"""One device behind several scrape targets: it was measured once in each interval.

Two exporters on a host, or two service monitors of one exporter, double each series with another
`instance`, a few seconds apart. Source: NVIDIA/dcgm-exporter issues on duplicate series.
"""

import polars as pl

_TARGETED = ("entity", "target")


def one_target(measured: pl.DataFrame) -> pl.DataFrame:
    """Return the samples without those that another target of the same device doubles.

    Args:
        measured: `MEASURED`; rows without a target or a time are no doubles of anything.

    Returns:
        `MEASURED` in the same order. The target with the most samples speaks for a device; of
        another one only what lies in intervals without it stays, as when a pod got a new address.
    """
    timed = measured.lazy().drop_nulls(["target", "time"])
    told = timed.group_by(_TARGETED).agg(
        interval=pl.col("time").sort().diff().median(), count=pl.len()
    )
    several = told.filter(pl.len().over("entity") > 1).collect()
    if several.is_empty():
        return measured
    ranked = several.sort(
        "entity", "count", "target", descending=[False, True, False]
    ).with_columns(
        place=pl.int_range(pl.len()).over("entity"),
        width=pl.col("interval").dt.total_microseconds().max().over("entity"),
    )
    width = pl.col("width").fill_null(1).clip(lower_bound=1)
    placed = measured.join(
        ranked.select(*_TARGETED, "place", "width"),
        on=_TARGETED,
        how="left",
        nulls_equal=True,
        maintain_order="left",
    ).with_columns(bucket=pl.col("time").to_physical() // width)
    best = pl.col("place").min().over("entity", "bucket")
    double = (pl.col("place") > best) & pl.col("time").is_not_null()
    return placed.filter(~double.fill_null(value=False)).select(measured.columns)
