"""Which metric of node_exporter is which signal, and which labels name the device.

Source: prometheus/node_exporter collectors netclass, netdev, cpufreq, cpu, edac, hwmon,
thermal_zone, rapl, pressure, schedstat, timex, time, stat and pcidevice; names before 0.16 too.
"""

from typing import Final

import polars as pl

from collectors.frames import schema_of

NODE_FIELDS: Final = schema_of(
    {"name": pl.String, "signal": pl.String, "device_kind": pl.String, "naming": pl.String}
)
"""`naming` is how the labels name the device; see `collectors.hosts.node_exporter`."""

_NICS: Final = (
    ("network_speed_bytes", "network_speed_bytes_per_second"),
    ("network_mtu_bytes", "mtu_bytes"),
    ("network_up", "link_up"),
    ("network_carrier_changes_total", "carrier_changes_total"),
    ("network_carrier_down_changes_total", "carrier_downs_total"),
    ("network_carrier_up_changes_total", "carrier_ups_total"),
    ("network_receive_errs_total", "kernel_receive_errors_total"),
    ("network_transmit_errs_total", "kernel_transmit_errors_total"),
    ("network_receive_drop_total", "kernel_receive_drops_total"),
    ("network_transmit_drop_total", "kernel_transmit_drops_total"),
)

_CPUS: Final = (
    ("cpu_scaling_frequency_hertz", "cpu_clock_hertz"),
    ("cpu_frequency_hertz", "cpu_clock_hertz"),
    ("cpu_scaling_frequency_min_hertz", "cpu_min_clock_hertz"),
    ("cpu_frequency_min_hertz", "cpu_min_clock_hertz"),
    ("cpu_scaling_frequency_max_hertz", "cpu_max_clock_hertz"),
    ("cpu_frequency_max_hertz", "cpu_max_clock_hertz"),
    ("schedstat_waiting_seconds_total", "run_queue_waiting_seconds_total"),
    ("schedstat_running_seconds_total", "run_queue_running_seconds_total"),
)

_WHOLE: Final = (
    ("pressure_cpu_waiting_seconds_total", "cpu_waiting_seconds_total"),
    ("pressure_cpu_stalled_seconds_total", "cpu_stalled_seconds_total"),
    ("pressure_io_waiting_seconds_total", "io_waiting_seconds_total"),
    ("pressure_io_stalled_seconds_total", "io_stalled_seconds_total"),
    ("pressure_memory_waiting_seconds_total", "memory_waiting_seconds_total"),
    ("pressure_memory_stalled_seconds_total", "memory_stalled_seconds_total"),
    ("pressure_irq_stalled_seconds_total", "irq_stalled_seconds_total"),
    ("boot_time_seconds", "boot_seconds"),
    ("boot_time", "boot_seconds"),
    ("time_seconds", "clock_seconds"),
    ("timex_offset_seconds", "clock_offset_seconds"),
    ("timex_sync_status", "clock_synchronised"),
)

_MEMORY: Final = (
    ("edac_{}correctable_errors_total", "controller"),
    ("edac_csrow_{}correctable_errors_total", "csrow"),
    ("edac_channel_{}correctable_errors_total", "channel"),
)

CPU_MODES: Final = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
"""Modes of a processor's time; guests are in user time already."""

_OTHERS: Final = (
    ("cpu_seconds_total", "cpu_seconds_total", "cpu", "cpu"),
    ("cpu", "cpu_seconds_total", "cpu", "cpu"),
    ("cpu_core_throttles_total", "cpu_core_throttles_total", "cpu", "core"),
    ("cpu_package_throttles_total", "cpu_package_throttles_total", "cpu", "package"),
    ("thermal_zone_temp", "thermal_zone_celsius", "node", "zone"),
    ("hwmon_temp_celsius", "sensor_celsius", "node", "sensor"),
    ("cooling_device_cur_state", "cooling_level", "node", "cooler"),
    ("cooling_device_max_state", "cooling_max_level", "node", "cooler"),
    ("pcidevice_current_link_transfers_per_second", "pcie_link_transfers_per_second", "pci", "pci"),
    ("pcidevice_max_link_transfers_per_second", "pcie_max_link_transfers_per_second", "pci", "pci"),
    ("pcidevice_current_link_width", "pcie_link_lanes", "pci", "pci"),
    ("pcidevice_max_link_width", "pcie_max_link_lanes", "pci", "pci"),
)

_RAPL: Final = r"^node_rapl_(.+)_joules_total$"


def node_fields() -> pl.DataFrame:
    """Return `NODE_FIELDS`: one row a metric whose name is known in advance."""
    memory = [
        (name.format(prefix), f"memory_{ours}_errors_total", "node", naming)
        for name, naming in _MEMORY
        for prefix, ours in (("", "corrected"), ("un", "uncorrected"))
    ]
    rows = [
        *((name, signal, "nic", "device") for name, signal in _NICS),
        *((name, signal, "cpu", "cpu") for name, signal in _CPUS),
        *((name, signal, "node", "") for name, signal in _WHOLE),
        *memory,
        *_OTHERS,
    ]
    whole = [(f"node_{name}", *rest) for name, *rest in rows]
    return pl.DataFrame(whole, schema=NODE_FIELDS, orient="row")


def rapl_fields(names: pl.Series) -> pl.DataFrame:
    """Return `NODE_FIELDS` of those metrics that count the energy of a power domain."""
    found = names.unique().filter(names.unique().str.contains(_RAPL))
    return found.to_frame("name").select(
        "name",
        signal=pl.lit("cpu_energy_joules_total"),
        device_kind=pl.lit("cpu"),
        naming=pl.lit("domain"),
    )


def rapl_domain(name: pl.Expr) -> pl.Expr:
    """Return the power domain in a metric's name."""
    return name.str.extract(_RAPL, 1)
