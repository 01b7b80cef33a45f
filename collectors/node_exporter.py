"""Read what node_exporter knows of a host's network interfaces and processors into samples.

Source: prometheus/node_exporter collectors netclass, netdev, cpufreq, cpu, edac, pressure,
thermal_zone. Kernel byte counters are left out: RDMA traffic does not pass through them.
"""

from typing import Final

import polars as pl

from collectors.frames import conform, schema_of
from collectors.readings import Reading, reading_of
from collectors.samples import MEANINGS, conflict_events, measure, samples_of, settle_duplicates
from collectors.series import Series, label_of
from collectors.target_labels import fill_hosts, host_label

UNKNOWN_SPEED: Final = -125_000.0
"""A link of unknown speed: sysfs says -1 Mb/s, the exporter turns that into bytes."""

_NODE_FIELDS: Final = schema_of(
    {"name": pl.String, "signal": pl.String, "device_kind": pl.String, "label": pl.String}
)

FIELDS: Final = (
    ("network_speed_bytes", "network_speed_bytes_per_second", "nic", "device"),
    ("network_carrier_changes_total", "carrier_changes_total", "nic", "device"),
    ("network_carrier_down_changes_total", "carrier_downs_total", "nic", "device"),
    ("network_carrier_up_changes_total", "carrier_ups_total", "nic", "device"),
    ("network_receive_errs_total", "kernel_receive_errors_total", "nic", "device"),
    ("network_transmit_errs_total", "kernel_transmit_errors_total", "nic", "device"),
    ("network_receive_drop_total", "kernel_receive_drops_total", "nic", "device"),
    ("network_transmit_drop_total", "kernel_transmit_drops_total", "nic", "device"),
    ("cpu_scaling_frequency_hertz", "cpu_clock_hertz", "cpu", "cpu"),
    ("cpu_frequency_hertz", "cpu_clock_hertz", "cpu", "cpu"),
    ("cpu_core_throttles_total", "cpu_core_throttles_total", "cpu", "core"),
    ("cpu_package_throttles_total", "cpu_package_throttles_total", "cpu", "package"),
    ("thermal_zone_temp", "thermal_zone_celsius", "node", "zone"),
    ("edac_correctable_errors_total", "memory_corrected_errors_total", "node", "controller"),
    ("edac_uncorrectable_errors_total", "memory_uncorrected_errors_total", "node", "controller"),
    ("pressure_cpu_waiting_seconds_total", "cpu_waiting_seconds_total", "node", ""),
    ("pressure_io_waiting_seconds_total", "io_waiting_seconds_total", "node", ""),
    ("pressure_io_stalled_seconds_total", "io_stalled_seconds_total", "node", ""),
    ("pressure_memory_waiting_seconds_total", "memory_waiting_seconds_total", "node", ""),
    ("pressure_memory_stalled_seconds_total", "memory_stalled_seconds_total", "node", ""),
    ("boot_time_seconds", "boot_seconds", "node", ""),
)
"""Name after `node_`, signal, kind of device, and the label that names the device."""


def node_names() -> pl.Series:
    """Return the names of all metrics that `read_node` understands."""
    return pl.concat([_fields()["name"], pl.Series("name", ["node_uname_info"])])


def read_node(series: Series, source: str) -> Reading:
    """Return what node_exporter measured of hosts.

    Args:
        series: Series whose names are among `node_names`; others are left out.
        source: The name to quote in evidence.

    Returns:
        A reading with samples; a network speed that the kernel does not know is null (`unknown`).
    """
    known = series.identities.join(_fields(), on="name", how="inner", maintain_order="left")
    labelled = known.with_columns(
        host=host_label(),
        target=label_of("instance"),
        device=_device(),
        factor=pl.lit(1.0),
    )
    hosted = fill_hosts(labelled, series.identities, source)
    meanings = conform(hosted.lazy(), MEANINGS).collect()
    unknown = pl.col("value") == UNKNOWN_SPEED
    points = series.points.with_columns(
        value=pl.when(~unknown.fill_null(value=False)).then("value"),
        reason=pl.when(unknown).then(pl.lit("unknown")).otherwise("reason"),
    )
    settled, conflicts = settle_duplicates(measure(points, meanings))
    return reading_of(
        samples=samples_of(settled, source), events=conflict_events(conflicts, source)
    )


def _fields() -> pl.DataFrame:
    rows = [(f"node_{name}", *rest) for name, *rest in FIELDS]
    return pl.DataFrame(rows, schema=_NODE_FIELDS, orient="row")


def _device() -> pl.Expr:
    """Return the device in the label that the field says; a node as a whole has none."""
    labels = ("device", "cpu", "core", "package", "zone", "controller")
    named = [
        pl.when(pl.col("label") == label).then(
            label_of(label)
            if label == "device"
            else pl.concat_str(pl.lit(label), label_of(label).str.strip_prefix(label))
        )
        for label in labels
    ]
    package = pl.concat_str(pl.lit("package"), label_of("package"), pl.lit("/"))
    whole = pl.coalesce(*named)
    is_core = (pl.col("label") == "core") & label_of("package").is_not_null()
    return pl.when(is_core).then(pl.concat_str(package, whole)).otherwise(whole)
