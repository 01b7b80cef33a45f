"""Read what gnmic exports to Prometheus of the ports of switches.

The name of a metric is the path of its leaf, with a prefix and the subscription in front where that
is configured; labels are the keys. Series expire 60 s after their last update, so a leaf that is
sent on change vanishes while it is unchanged: its absence says nothing. Source: openconfig/gnmic
`pkg/outputs/prometheus_output`.
"""

from typing import Final

import polars as pl

from collectors.ethernet.gnmi_leaves import LEAF_NAMES, WRAP_64, gnmi_fields, leaf_of, scope_of
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
from collectors.signals import SIGNALS

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
    plain = pl.col("name").str.replace_all("_", "-")
    path = series.identities.filter(pl.col("name").str.contains(GNMI_NAME)).with_columns(path=plain)
    keys = path.with_columns(scope=scope_of(pl.col("path")), leaf=leaf_of(pl.col("path")))
    known = keys.join(gnmi_fields(), on=["scope", "leaf"], how="inner", maintain_order="left")
    counters = [name for name, one in SIGNALS.items() if one.kind == "counter"]
    port = label_of(*_PORT)
    number = pl.coalesce(label_of("queue_name"), label_of("channel_index")).str.extract(
        r"(\d+)$", 1
    )
    part = pl.concat_str(port, pl.lit("/"), "scope", number, ignore_nulls=False)
    placed = known.with_columns(
        host=pl.coalesce(canonical_host(label_of("target", "source")), host_label()),
        device=pl.when(pl.col("scope") == "port").then(port).otherwise(part),
        device_kind=pl.when(pl.col("scope") == "port")
        .then(pl.lit("switch_port"))
        .otherwise("scope"),
        wraps_at=pl.when(pl.col("signal").is_in(counters)).then(WRAP_64),
    ).pipe(_once)
    meanings = conform(placed.lazy(), MEANINGS).collect()
    settled, conflicts = settle_duplicates(measure(series.points, meanings))
    return reading_of(
        samples=samples_of(settled, source), events=conflict_events(conflicts, source)
    )


def _once(placed: pl.DataFrame) -> pl.DataFrame:
    """Return the label sets without a second name of one count."""
    port = ["host", "device"]
    told = placed.filter(pl.col("leaf") == "in-fcs-errors").select(port).unique()
    twice = placed.filter(pl.col("leaf") == "in-crc-errors").join(told, on=port, how="semi")
    return placed.filter(~pl.col("series").is_in(twice["series"].implode()))
