"""What dcgm-exporter calls what it tells of GPUs.

Source: NVIDIA/dcgm-exporter, `etc/default-counters.csv` and its templates; the field renames of
DCGM 4.6 (old names stay as aliases there, so that either may be scraped). Fields that are not in
the default list of counters have to be added to it: all but clocks, temperatures, power, busy
share, Xid, PCIe replays and remapped rows.
"""

from typing import Final

from dashboards.exporters.tables import Exporter

_RENAMED: Final = {
    "temperature": ("DEV_GPU_TEMP", "DEV_GPU_TEMP_CELSIUS"),
    "memory_temperature": ("DEV_MEMORY_TEMP", "DEV_MEMORY_TEMP_CELSIUS"),
    "power": ("DEV_POWER_USAGE", "DEV_BOARD_POWER_WATTS"),
    "power_limit": ("DEV_ENFORCED_POWER_LIMIT", "DEV_BOARD_POWER_LIMIT_ENFORCED_WATTS"),
    "busy_percent": ("DEV_GPU_UTIL", "DEV_GPU_UTIL_RATIO"),
    "tensor_active": ("PROF_PIPE_TENSOR_ACTIVE", "PROF_TENSOR_UTIL_RATIO"),
    "pcie_replays": ("DEV_PCIE_REPLAY_COUNTER", "DEV_PCIE_REPLAY_TOTAL"),
    "last_xid": ("DEV_XID_ERRORS", "DEV_XID_ERROR"),
    "rows_remapped": ("DEV_UNCORRECTABLE_REMAPPED_ROWS", "DEV_ROW_REMAP_UNCORRECTABLE_TOTAL"),
    "rows_pending": ("DEV_ROW_REMAP_PENDING", "DEV_ROW_REMAP_PENDING"),
    "nvlink_replays": (
        "DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL",
        "DEV_NVLINK_REPLAY_ERROR_TOTAL",
    ),
    "nvlink_crc_errors": (
        "DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL",
        "DEV_NVLINK_CRC_FLIT_ERROR_TOTAL",
    ),
}
_UNCHANGED: Final = {
    "sm_clock": "DEV_SM_CLOCK",
    "pcie_width": "DEV_PCIE_LINK_WIDTH",
    "ecc_corrected": "DEV_ECC_SBE_VOL_TOTAL",
    "ecc_uncorrected": "DEV_ECC_DBE_VOL_TOTAL",
    "power_throttled_ns": "DEV_POWER_VIOLATION",
    "heat_throttled_ns": "DEV_THERMAL_VIOLATION",
    "sync_throttled_ns": "DEV_SYNC_BOOST_VIOLATION",
}

GPUS: Final = Exporter(
    name="dcgm",
    versions=("3.3", "4.0", "4.6"),
    default="4.0",
    labels={
        "node": {"3.3": "Hostname", "4.6": "hostname"},
        "device": {"3.3": "UUID"},
        "model": {"3.3": "modelName"},
    },
    further=("gpu", "pci_bus_id", "xid"),
    series={
        **{
            key: {"3.3": f"DCGM_FI_{old}", "4.6": f"DCGM_FI_{new}"}
            for key, (old, new) in _RENAMED.items()
        },
        **{key: {"3.3": f"DCGM_FI_{name}"} for key, name in _UNCHANGED.items()},
        "xids_in_window": {"3.3": "DCGM_EXP_XID_ERRORS_COUNT"},
        "throttle_mask": {
            "3.3": "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS",
            "4.0": "DCGM_FI_DEV_CLOCKS_EVENT_REASONS",
        },
    },
)
"""Units are the source's: MHz, degrees, W, percent, nanoseconds."""
