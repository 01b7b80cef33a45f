"""Where the report of `nvidia-smi -q` says what a query of nvidia-smi asks for.

Source: nvidia-smi manual; public captures of drivers 450 to 590.
"""

from collections.abc import Mapping
from typing import Final

RENAMED: Final[Mapping[str, str]] = {
    "clocks throttle reasons": "clocks event reasons",
    "gpu power readings": "power readings",
    "gpu utilization": "utilization",
}
"""Sections by another driver's name, in lower case."""

_REASONS: Final[Mapping[str, str]] = {
    "idle": "gpu_idle",
    "applications clocks setting": "applications_clocks_setting",
    "sw power cap": "sw_power_cap",
    "hw slowdown": "hw_slowdown",
    "hw slowdown/hw thermal slowdown": "hw_thermal_slowdown",
    "hw slowdown/hw power brake slowdown": "hw_power_brake_slowdown",
    "hw thermal slowdown": "hw_thermal_slowdown",
    "hw power brake slowdown": "hw_power_brake_slowdown",
    "sync boost": "sync_boost",
    "sw thermal slowdown": "sw_thermal_slowdown",
}

_REASON_COUNTERS: Final[Mapping[str, str]] = {
    "sw power capping": "sw_power_cap",
    "sync boost": "sync_boost",
    "sw thermal slowdown": "sw_thermal_slowdown",
    "hw thermal slowdown": "hw_thermal_slowdown",
    "hw power braking": "hw_power_brake_slowdown",
}

_ECC: Final[Mapping[str, str]] = {
    "single bit/total": "corrected.{}.total",
    "double bit/total": "uncorrected.{}.total",
    "sram correctable": "corrected.{}.sram",
    "sram uncorrectable": "uncorrected.{}.sram",
    "sram uncorrectable parity": "uncorrected.{}.sram_parity",
    "sram uncorrectable sec-ded": "uncorrected.{}.sram_secded",
    "dram correctable": "corrected.{}.dram",
    "dram uncorrectable": "uncorrected.{}.dram",
}

_PLAIN: Final[Mapping[str, str]] = {
    "product name": "name",
    "gpu uuid": "uuid",
    "minor number": "minor_number",
    "pci/bus id": "pci.bus_id",
    "pci/gpu link info/pcie generation/max": "pcie.link.gen.max",
    "pci/gpu link info/pcie generation/current": "pcie.link.gen.current",
    "pci/gpu link info/link width/max": "pcie.link.width.max",
    "pci/gpu link info/link width/current": "pcie.link.width.current",
    "pci/replays since reset": "pcie.replays",
    "performance state": "pstate",
    "fan speed": "fan.speed",
    "gpu recovery action": "gpu_recovery_action",
    "fabric/state": "fabric.state",
    "retired pages/single bit ecc": "retired_pages.sbe",
    "retired pages/double bit ecc": "retired_pages.dbe",
    "retired pages/pending page blacklist": "retired_pages.pending",
    "remapped rows/correctable error": "remapped_rows.correctable",
    "remapped rows/uncorrectable error": "remapped_rows.uncorrectable",
    "remapped rows/pending": "remapped_rows.pending",
    "remapped rows/remapping failure occurred": "remapped_rows.failure",
    "temperature/gpu current temp": "temperature.gpu",
    "temperature/gpu t.limit temp": "temperature.gpu.tlimit",
    "temperature/gpu shutdown temp": "temperature.gpu.shutdown",
    "temperature/gpu slowdown temp": "temperature.gpu.slowdown",
    "temperature/gpu max operating temp": "temperature.gpu.max",
    "temperature/memory current temp": "temperature.memory",
    "temperature/memory max operating temp": "temperature.memory.max",
    "power readings/power draw": "power.draw",
    "power readings/average power draw": "power.draw",
    "power readings/instantaneous power draw": "power.draw.instant",
    "power readings/power limit": "power.limit",
    "power readings/requested power limit": "power.limit",
    "power readings/current power limit": "enforced.power.limit",
    "power readings/enforced power limit": "enforced.power.limit",
    "power readings/default power limit": "power.default_limit",
    "power readings/min power limit": "power.min_limit",
    "power readings/max power limit": "power.max_limit",
    "clocks/sm": "clocks.current.sm",
    "clocks/graphics": "clocks.current.graphics",
    "clocks/memory": "clocks.current.memory",
    "max clocks/sm": "clocks.max.sm",
    "max clocks/graphics": "clocks.max.graphics",
    "max clocks/memory": "clocks.max.memory",
    "applications clocks/graphics": "clocks.applications.graphics",
    "applications clocks/memory": "clocks.applications.memory",
}


def _report_keys() -> dict[str, str]:
    keys = dict(_PLAIN)
    for key, name in _REASONS.items():
        keys[f"clocks event reasons/{key}"] = f"clocks_event_reasons.{name}"
    for key, name in _REASON_COUNTERS.items():
        keys[f"clocks event reasons counters/{key}"] = f"clocks_event_reasons_counters.{name}"
    for span in ("volatile", "aggregate"):
        for key, name in _ECC.items():
            keys[f"ecc errors/{span}/{key}"] = "ecc.errors." + name.format(span)
    for key in ("gpu", "memory", "encoder", "decoder", "jpeg", "ofa"):
        keys[f"utilization/{key}"] = f"utilization.{key}"
    for key in ("total", "reserved", "used", "free"):
        keys[f"fb memory usage/{key}"] = f"memory.{key}"
    for key in ("max", "high", "partial", "low", "none"):
        section = "remapped rows/bank remap availability histogram"
        keys[f"{section}/{key}"] = f"remapped_rows.histogram.{key}"
    return keys


REPORT_KEYS: Final[Mapping[str, str]] = _report_keys()
"""The way to a value, in lower case with slashes between, to the query that asks for it."""
