"""Read what guilbaults/infiniband-exporter counts of its tool's complaints.

It makes metrics of the lines that `ibqueryerrors` writes to its error output: a node that did not
answer has no counters this round, which is neither 0 nor a link that is down.
"""

from typing import Final

import polars as pl

from collectors.frames import EVENTS, conform
from collectors.infiniband.node_names import looks_like_switch, nodes_of
from collectors.metrics.series import Series, label_of
from collectors.readings import Reading, reading_of

COMPLAINTS: Final = (
    "infiniband_bad_status_error",
    "infiniband_query_failed_error",
    "infiniband_mad_rpc_failed_error",
    "infiniband_query_cap_mask_error",
    "infiniband_print_error",
)

_LABELS: Final = ("path", "status", "error", "counter_name", "local_name", "lid", "port", "portid")


def complaint_names() -> pl.Series:
    """Return the names of all metrics that `read_complaints` understands."""
    return pl.Series("name", [name + end for name in COMPLAINTS for end in ("", "_total")])


def read_complaints(series: Series, source: str) -> Reading:
    """Return an event for each node that the exporter could not ask.

    Args:
        series: Series whose names are among `complaint_names`; others are left out.
        source: The name to quote in evidence.

    Returns:
        `EVENTS` of kind `collector_failed`, with the time of the first and the last complaint.
    """
    name = label_of("local_name")
    switch = looks_like_switch(name, label_of("port"))
    what = pl.col("name").str.strip_prefix("infiniband_").str.replace_all("_", " ")
    words = [pl.concat_str(pl.lit(f"{key} "), label_of(key)) for key in _LABELS]
    told = series.identities.select(
        "series",
        host=nodes_of(name, is_switch=switch)[0],
        device=label_of("port"),
        message=pl.concat_str([what, *words], separator=", ", ignore_nulls=True),
    )
    points = series.points.filter(pl.col("value") > 0).join(
        told, on="series", maintain_order="left"
    )
    rows = points.group_by("host", "device", "message", maintain_order=True).agg(
        **spell(),
        kind=pl.lit("collector_failed"),
        code=pl.lit("ibqueryerrors"),
        severity=pl.lit("medium"),
        source=pl.lit(source),
    )
    return reading_of(events=conform(rows.lazy(), EVENTS))


def spell() -> dict[str, pl.Expr]:
    """Return when something was first and last said, how often, and where first."""
    return {
        "time": pl.col("time").min(),
        "last": pl.col("time").max(),
        "count": pl.len(),
        "position": pl.col("position").min(),
    }
