"""Read what gnmic exports to Prometheus of the ports of switches.

The name of a metric is the path of its leaf, with a prefix and the subscription in front where that
is configured; labels are the keys. Series expire 60 s after their last update, so a leaf that is
sent on change vanishes while it is unchanged: its absence says nothing. A leaf that is a word has
it in a label of its own name, where that is configured, and the value 1. Source: openconfig/gnmic
`pkg/outputs/prometheus_output`.
"""

from typing import Final

import polars as pl

from collectors.ethernet.gnmi_leaves import LEAF_NAMES, known_leaves, leaf_of
from collectors.ethernet.port_values import counter_width
from collectors.frames import conform
from collectors.identity import canonical_host
from collectors.metrics.samples import (
    MEANINGS,
    conflict_events,
    measure,
    samples_of,
    settle_duplicates,
)
from collectors.metrics.series import Series, label_of
from collectors.metrics.target_labels import host_label
from collectors.readings import Reading, reading_of
from collectors.texts.templates import filled

_LEAF: Final = "|".join(name.replace("-", "_") for name in LEAF_NAMES)

GNMI_NAME: Final = (
    r"(?:^|_)(?:interfaces_interface_(?:[a-z0-9_]+_)?|queues_queue_(?:state_)?"
    rf"|channels?_channel_(?:state_)?)(?:{_LEAF})(?:_instant|_avg)?$"
)

_PORT: Final = (
    "interface_name",
    "interface_interface_id",
    "interface_id",
    "component_name",
    "interface",
)

_WORDED: Final = ("oper-status", "admin-status", "port-speed", "negotiated-port-speed")
"""Leaves that are words."""


def gnmi_names(names: pl.Series) -> pl.Series:
    """Return those of `names` that gnmic made of leaves that are read."""
    return names.filter(names.str.contains(GNMI_NAME))


def read_gnmi_series(series: Series, source: str) -> Reading:
    """Return what metrics of gnmic say of ports, queues and optical lanes.

    Args:
        series: Series whose names are among `gnmi_names`; others are left out.
        source: The name to quote in evidence.

    Returns:
        A reading with samples.
    """
    part = filled("{}/{}{}", "port", "part", "index")
    placed = known_leaves(_leaves(series.identities)).with_columns(
        device=pl.when(pl.col("part").is_null()).then("port").otherwise(part),
        device_kind=pl.coalesce("part", pl.lit("switch_port")),
        factor=pl.when(pl.col("text").is_null())
        .then("factor")
        .otherwise(pl.col("text").cast(pl.Float64, strict=False)),
        wraps_at=counter_width(),
    )
    meanings = conform(placed.drop("index").lazy(), MEANINGS).collect()
    settled, conflicts = settle_duplicates(measure(series.points, meanings))
    return reading_of(
        samples=samples_of(settled, source), events=conflict_events(conflicts, source)
    )


def _leaves(identities: pl.DataFrame) -> pl.DataFrame:
    """Return the label sets of leaves as `known_leaves` wants them; `text` is a leaf's word."""
    path = pl.col("name").str.replace_all("_", "-")
    words = [
        pl.when(leaf_of(path) == leaf).then(label_of(leaf.replace("-", "_"))) for leaf in _WORDED
    ]
    return identities.filter(pl.col("name").str.contains(GNMI_NAME)).with_columns(
        host=pl.coalesce(canonical_host(label_of("target", "source")), host_label()),
        port=label_of(*_PORT),
        queue=label_of("queue_name"),
        channel=label_of("channel_index", "physical_channel_index"),
        path=path,
        text=pl.coalesce(words),
    )
