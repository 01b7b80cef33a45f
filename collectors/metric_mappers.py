"""Who understands which metric: adding a mapper is one line here.

A page may mix the metrics of several exporters. Each mapper gets the series it knows; names that
nobody knows are counted, one reject a metric.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import polars as pl

from collectors.communication.inspector_metrics import (
    inspector_metric_names,
    read_inspector_metrics,
)
from collectors.ethernet.gnmi_series import gnmi_names, read_gnmi_series
from collectors.ethernet.roce import read_roce, roce_names
from collectors.ethernet.snmp import read_snmp, snmp_names
from collectors.gpus.dcgm import dcgm_names, read_dcgm
from collectors.hosts.node_exporter import node_names, read_node
from collectors.infiniband.exporters import infiniband_names, read_infiniband
from collectors.infiniband.port_exporters import port_exporter_names, read_port_exporters
from collectors.infiniband.subnet_failures import complaint_names, read_complaints
from collectors.infiniband.subnet_hardware import hardware_names, read_hardware
from collectors.metrics.scrape_failures import failure_names, read_failures
from collectors.metrics.series import Series
from collectors.metrics.series_names import naming_names, read_series_names
from collectors.readings import Reading, join_readings, reading_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapper:
    """One reader of series.

    Attributes:
        knows: Returns those of the given metric names that it understands.
        read: Returns what such series say; the text is the source's name in evidence.
    """

    knows: Callable[[pl.Series], pl.Series]
    read: Callable[[Series, str], Reading]


MAPPERS: Final = (
    Mapper(knows=lambda _: dcgm_names(), read=read_dcgm),
    Mapper(knows=lambda _: infiniband_names(), read=read_infiniband),
    Mapper(knows=roce_names, read=read_roce),
    Mapper(knows=node_names, read=read_node),
    Mapper(knows=naming_names, read=read_series_names),
    Mapper(knows=lambda _: snmp_names(), read=read_snmp),
    Mapper(knows=gnmi_names, read=read_gnmi_series),
    Mapper(knows=lambda _: failure_names(), read=read_failures),
    Mapper(knows=port_exporter_names, read=read_port_exporters),
    Mapper(knows=lambda _: hardware_names(), read=read_hardware),
    Mapper(knows=lambda _: complaint_names(), read=read_complaints),
    Mapper(knows=lambda _: inspector_metric_names(), read=read_inspector_metrics),
)

NOT_READ: Final = {
    r"^node_scrape_collector_duration_seconds$": "says how long a scrape took",
    r"NVLINK_(?:COUNT_)?(?:SYMBOL|EFFECTIVE)_BER(?:_RAW)?$": "is packed, _RATIO is plain",
    r"^DCGM_FI_DEV_VGPU_LICENSE_STATUS$": "says nothing of health",
    r"^node_cpu_guest_seconds_total$": "is part of the time of its processor already",
    r"^node_infiniband_legacy_": "repeats another counter",
    r"_raw_rate_bytes_per_second$": "repeats another series",
    r"_info$": "names things, measures nothing",
    r"^infiniband_port(?:\w+discards|\w+physicalerrors|\w+pkterrors|\w+mappingerrors"
    r"|loopingerrors|bufferoverrunerrors)_total$": "its tool may exchange these names",
}
"""Patterns of metrics that are left out on purpose, with the reason."""


def readable_names(names: pl.Series) -> pl.Series:
    """Return those of some metric names that a mapper understands."""
    known = pl.concat([mapper.knows(names) for mapper in MAPPERS])
    return names.filter(names.is_in(known.implode()))


def read_series(series: Series, source: str) -> Reading:
    """Return what a set of series says, read by the mappers that know their names.

    Args:
        series: Series of any metrics.
        source: The name to quote in evidence.

    Returns:
        The reading; metrics without a reader are rejects, one a name for all its samples.
    """
    names = series.identities["name"].unique(maintain_order=True)
    parts: list[Reading] = []
    rest = names
    for mapper in MAPPERS:
        known = mapper.knows(names)
        if names.is_in(known.implode()).any():
            parts.append(mapper.read(series.of_names(known), source))
            rest = rest.filter(~rest.is_in(known.implode()))
    return join_readings([*parts, _unread(series.of_names(rest), source)])


def _unread(series: Series, source: str) -> Reading:
    """Return one reject for each metric that nobody reads."""
    reason = pl.coalesce(
        *(
            pl.when(pl.col("name").str.contains(pattern)).then(pl.lit(why))
            for pattern, why in NOT_READ.items()
        ),
        pl.lit("unknown metric"),
    )
    rows = (
        series.points.join(series.identities.select("series", "name"), on="series")
        .group_by("name")
        .agg(pl.col("position").min(), count=pl.len())
        .sort("position", "name")
        .select(
            "position",
            "count",
            source=pl.lit(source),
            text="name",
            reason=reason,
        )
    )
    return reading_of(rejects=rows)
