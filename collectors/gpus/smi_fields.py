"""The fields of nvidia-smi: what each is called in its forms, and which of DCGM's it is.

Source: nvidia-smi manual and `--help-query-gpu` (drivers 440 to 610). NVML is below both tools, so
unit and range are DCGM's, but for the counters of clock event reasons, which are microseconds
here, and for what only nvidia-smi prints.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from collectors.gpus.dcgm_field_table import BUSY, FLAG, MEBI, PERCENT, Scale
from collectors.gpus.dcgm_fields import BY_NUMBER

MICRO: Final = 1e-6

IDENTITY: Final = ("timestamp", "index", "uuid", "pci.bus_id", "name", "minor_number")
"""Columns that name the GPU or the time of a row."""

NAMES_ONLY: Final = (
    *("serial", "driver_version", "count", "vbios_version", "pci.bus"),
    *("date", "time", "pid", "type", "command"),
)
"""Columns that name things and measure nothing."""

_ALIASES: Final[Mapping[str, str]] = {
    r"^gpu_(name|uuid|serial)$": r"\1",
    r"^gpu_bus_id$": "pci.bus_id",
    r"^clocks_throttle_reasons": "clocks_event_reasons",
    r"^clocks\.(sm|mem|memory|gr|graphics|video)$": r"clocks.current.\1",
    r"(?<=\.)mem$": "memory",
    r"(?<=\.)gr$": "graphics",
    r"^retired_pages\.single_bit_ecc\.count$": "retired_pages.sbe",
    r"^retired_pages\.double_bit\.count$": "retired_pages.dbe",
    r"^pcie\.link\.gen\.gpucurrent$": "pcie.link.gen.current",
}
"""Patterns of names to what newer drivers call them; applied in turn."""

_NUMBERS: Final[Mapping[str, int]] = {
    "temperature.gpu": 150,
    "temperature.gpu.tlimit": 153,
    "temperature.memory": 140,
    "temperature.memory.max": 151,
    "temperature.gpu.max": 152,
    "temperature.gpu.slowdown": 158,
    "temperature.gpu.shutdown": 159,
    "fan.speed": 191,
    "power.draw": 155,
    "power.draw.average": 155,
    "power.draw.instant": 157,
    "power.limit": 160,
    "power.min_limit": 161,
    "power.max_limit": 162,
    "power.default_limit": 163,
    "enforced.power.limit": 164,
    "clocks.current.sm": 100,
    "clocks.current.graphics": 100,
    "clocks.current.memory": 101,
    "clocks.applications.graphics": 110,
    "clocks.applications.memory": 111,
    "clocks.max.sm": 113,
    "clocks.max.graphics": 113,
    "clocks.max.memory": 114,
    "clocks_event_reasons.active": 112,
    "clocks_event_reasons_counters.sw_power_cap": 1420,
    "clocks_event_reasons_counters.sync_boost": 1421,
    "clocks_event_reasons_counters.sw_thermal_slowdown": 1422,
    "clocks_event_reasons_counters.hw_thermal_slowdown": 1423,
    "clocks_event_reasons_counters.hw_power_brake_slowdown": 1424,
    "pstate": 190,
    "utilization.gpu": 203,
    "utilization.memory": 204,
    "utilization.encoder": 206,
    "utilization.decoder": 207,
    "memory.total": 250,
    "memory.free": 251,
    "memory.used": 252,
    "memory.reserved": 253,
    "ecc.errors.corrected.volatile.total": 310,
    "ecc.errors.uncorrected.volatile.total": 311,
    "ecc.errors.corrected.aggregate.total": 312,
    "ecc.errors.uncorrected.aggregate.total": 313,
    "retired_pages.sbe": 390,
    "retired_pages.dbe": 391,
    "retired_pages.pending": 392,
    "remapped_rows.uncorrectable": 393,
    "remapped_rows.correctable": 394,
    "remapped_rows.failure": 395,
    "remapped_rows.pending": 396,
    "remapped_rows.histogram.max": 385,
    "remapped_rows.histogram.high": 386,
    "remapped_rows.histogram.partial": 387,
    "remapped_rows.histogram.low": 388,
    "remapped_rows.histogram.none": 389,
    "pcie.link.gen.max": 235,
    "pcie.link.width.max": 236,
    "pcie.link.gen.current": 237,
    "pcie.link.width.current": 238,
    "pcie.replays": 202,
    "gpu_recovery_action": 1523,
}
"""Name of a query to DCGM's number of the field; the graphics clock is the SMs'.
Some are in the report of `-q` alone."""

DMON_NUMBERS: Final[Mapping[str, int]] = {
    "pwr": 155,
    "temp": 150,
    "gtemp": 150,
    "mtemp": 140,
    "sm": 203,
    "mem": 204,
    "enc": 206,
    "dec": 207,
    "mclk": 101,
    "pclk": 100,
    "fb": 252,
    "sbecc": 312,
    "dbecc": 313,
    "pci": 202,
    "rxpci": 1010,
    "txpci": 1009,
}
"""Column of `nvidia-smi dmon` to DCGM's number; its ECC counts are the aggregate ones."""

_RATIO: Final = Scale(factor=PERCENT, high=100.0)

_OWN: Final[Mapping[str, tuple[str, Scale]]] = {
    "utilization.jpeg": ("jpeg_busy_ratio", BUSY),
    "utilization.ofa": ("optical_flow_busy_ratio", BUSY),
    "fabric.state": ("fabric_ready", FLAG),
}

_DMON_OWN: Final[Mapping[str, tuple[str, Scale]]] = {
    "jpg": ("jpeg_busy_ratio", BUSY),
    "ofa": ("optical_flow_busy_ratio", BUSY),
    "pviol": ("power_violation_ratio", _RATIO),
    "tviol": ("thermal_violation_active", FLAG),
}

PMON_FIELDS: Final[Mapping[str, tuple[str, Scale]]] = {
    "sm": ("process_busy_ratio", BUSY),
    "mem": ("process_memory_copy_busy_ratio", BUSY),
    "fb": ("process_framebuffer_bytes", Scale(factor=MEBI, high=1e8)),
}
"""Column of `nvidia-smi pmon` to what it says of one process."""

_REASON_COLUMNS: Final[Mapping[str, str]] = {
    "gpu_idle": "gpu_idle",
    "applications_clocks_setting": "clocks_setting",
    "sw_power_cap": "power_cap",
    "hw_slowdown": "hw_slowdown",
    "sync_boost": "sync_boost",
    "sw_thermal_slowdown": "sw_thermal",
    "hw_thermal_slowdown": "hw_thermal",
    "hw_power_brake_slowdown": "hw_power_brake",
}
"""Last word of a reason's own column to its name; names as in `collectors.gpus.clock_events`."""

_WORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "gpu_recovery_action": {
        "none": "0",
        "reset": "1",
        "gpu reset": "1",
        "reboot": "2",
        "node reboot": "2",
        "drain p2p": "3",
        "drain and reset": "4",
    },
    "fabric.state": {"completed": "1", "in progress": "0", "not started": "0"},
}
"""Fields whose words are values. Source: NVML, recovery actions and fabric states."""

_ECC_PART: Final = r"^(ecc\.errors\.(?:un)?corrected\.(?:volatile|aggregate))\.(.+)$"


@dataclass(frozen=True, slots=True, kw_only=True)
class SmiColumn:
    """What a column of nvidia-smi holds.

    Attributes:
        name: Its canonical name.
        unit: The unit in its header, null without one.
        signal: Our name for it; null if it measures nothing that we read.
        scale: Unit and range.
        kind: Kind of the part of a GPU that it speaks of; null for the GPU itself.
        part: Name of that part.
        words: Words that are values in this column, in lower case.
    """

    name: str
    unit: str | None = None
    signal: str | None = None
    scale: Scale = field(default_factory=Scale)
    kind: str | None = None
    part: str | None = None
    words: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def is_known(self) -> bool:
        """Return whether anything is known of the column."""
        return self.signal is not None or self.name in (*IDENTITY, *NAMES_ONLY)


def query_column(header: str) -> SmiColumn:
    """Return what the column under a header of `--query-gpu` holds, whatever the driver."""
    found = re.fullmatch(r"(.*?)(?:\s*\[(.*)\])?", header.strip())
    name, unit = (found[1], found[2]) if found else (header.strip(), None)
    return replace(_query_field(_canonical(name.lower())), unit=unit)


def _canonical(name: str) -> str:
    for pattern, newer in _ALIASES.items():
        name = re.sub(pattern, newer, name)
    return name


def _query_field(name: str) -> SmiColumn:
    if name in _NUMBERS:
        return _of_number(name, _NUMBERS[name])
    if name in _OWN:
        signal, scale = _OWN[name]
        return SmiColumn(name=name, signal=signal, scale=scale, words=_WORDS.get(name, {}))
    stem, _, last = name.rpartition(".")
    if stem == "clocks_event_reasons" and last in _REASON_COLUMNS:
        part = _REASON_COLUMNS[last]
        return SmiColumn(
            name=name, signal="clock_event_active", scale=FLAG, kind="clock_event", part=part
        )
    ecc = re.fullmatch(_ECC_PART, name)
    if ecc and f"{ecc[1]}.total" in _NUMBERS:
        whole = _of_number(name, _NUMBERS[f"{ecc[1]}.total"])
        return replace(whole, kind="memory", part=ecc[2])
    return SmiColumn(name=name)


def _of_number(name: str, number: int) -> SmiColumn:
    known = BY_NUMBER[number]
    counted = name.startswith("clocks_event_reasons_counters.")
    scale = replace(known.scale, factor=MICRO) if counted else known.scale
    return SmiColumn(name=name, signal=known.signal, scale=scale, words=_WORDS.get(name, {}))


def dmon_column(name: str, unit: str | None) -> SmiColumn:
    """Return what a column of `nvidia-smi dmon` holds.

    Args:
        name: The word in the first line of the header.
        unit: The word below it; null if there is none.
    """
    if name in DMON_NUMBERS:
        number = DMON_NUMBERS[name]
        rate = 1e6 if name in ("rxpci", "txpci") else BY_NUMBER[number].scale.factor
        scale = replace(BY_NUMBER[number].scale, factor=rate)
        return SmiColumn(name=name, unit=unit, signal=BY_NUMBER[number].signal, scale=scale)
    own = _DMON_OWN.get(name)
    if own is not None:
        return SmiColumn(name=name, unit=unit, signal=own[0], scale=own[1])
    return SmiColumn(name="index" if name == "gpu" else name, unit=unit)
