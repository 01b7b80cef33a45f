"""Which field of DCGM is which signal: names over all versions, unit, and the range it can have.

Source: NVIDIA/DCGM `dcgm_fields.h` (1.7 to 4.6) and dcgm-exporter's counter files (1.x to 4.8).
Old and new names are aliases and may stand on one page. What TYPE and HELP say is not used: sites
edit them, and they have been wrong upstream (violations are nanoseconds; the NVLink bandwidth
and the PCIe traffic are rates).
"""

from dataclasses import dataclass
from typing import Final

import polars as pl

from collectors.frames import schema_of

PREFIX: Final = "DCGM_FI_"
MEGA: Final = 1e6
MEBI: Final = 2.0**20
NANO: Final = 1e-9
PERCENT: Final = 0.01
UNBOUNDED: Final = float("inf")


@dataclass(frozen=True, slots=True)
class Field:
    """One field.

    Attributes:
        signal: Our name for it.
        names: Its names, without `DCGM_FI_`; one that starts in lower case stands as it is.
        factor: From the field's unit to ours.
        low: Least value that can be, in the field's unit.
        high: Greatest value that can be, in the field's unit; infinite for a counter.
        scope: `instance` if a MIG instance has a value of its own, `board` if all its instances
            repeat the GPU's.
    """

    signal: str
    names: tuple[str, ...]
    factor: float = 1.0
    low: float = 0.0
    high: float = UNBOUNDED
    scope: str = "board"


def _field(signal: str, names: str, factor: float = 1.0, high: float = UNBOUNDED) -> Field:
    return Field(signal, tuple(names.split()), factor, 0.0, high)


def _degrees(signal: str, names: str) -> Field:
    return Field(signal, tuple(names.split()), 1.0, -100.0, 200.0)


def _watts(signal: str, names: str) -> Field:
    return Field(signal, tuple(names.split()), 1.0, 0.0, 2e4)


def _ratio(signal: str, names: str, high: float = 1.0) -> Field:
    return Field(signal, tuple(names.split()), 1.0 / high, 0.0, high, "instance")


def _memory(signal: str, names: str) -> Field:
    return Field(signal, tuple(names.split()), MEBI, 0.0, 1e8, "instance")


FIELDS: Final = (
    _field("sm_clock_hertz", "DEV_SM_CLOCK dcgm_sm_clock", MEGA, 1e4),
    _field("memory_clock_hertz", "DEV_MEM_CLOCK dcgm_memory_clock", MEGA, 1e5),
    _field("application_sm_clock_hertz", "DEV_APP_SM_CLOCK", MEGA, 1e4),
    _field("application_memory_clock_hertz", "DEV_APP_MEM_CLOCK", MEGA, 1e5),
    _field("max_sm_clock_hertz", "DEV_MAX_SM_CLOCK", MEGA, 1e4),
    _degrees(
        "memory_temperature_celsius", "DEV_MEMORY_TEMP DEV_MEMORY_TEMP_CELSIUS dcgm_memory_temp"
    ),
    _degrees("gpu_temperature_celsius", "DEV_GPU_TEMP DEV_GPU_TEMP_CELSIUS dcgm_gpu_temp"),
    _degrees(
        "memory_max_temperature_celsius", "DEV_MEM_MAX_OP_TEMP DEV_MEMORY_MAX_OP_TEMP_CELSIUS"
    ),
    _degrees(
        "gpu_max_temperature_celsius",
        "DEV_GPU_MAX_OP_TEMP DEV_GPU_MAX_OP_TEMP_CELSIUS GPU_MAX_OP_TEMP_CELSIUS",
    ),
    _degrees("gpu_temperature_margin_celsius", "DEV_GPU_TEMP_LIMIT DEV_GPU_TEMP_MARGIN_CELSIUS"),
    _degrees("gpu_slowdown_temperature_celsius", "DEV_SLOWDOWN_TEMP DEV_GPU_TEMP_SLOWDOWN_CELSIUS"),
    _degrees("gpu_shutdown_temperature_celsius", "DEV_SHUTDOWN_TEMP DEV_GPU_TEMP_SHUTDOWN_CELSIUS"),
    _watts("power_watts", "DEV_POWER_USAGE DEV_BOARD_POWER_WATTS dcgm_power_usage"),
    _watts("power_instant_watts", "DEV_POWER_USAGE_INSTANT DEV_BOARD_POWER_RAW_WATTS"),
    _field(
        "energy_joules_total", "DEV_TOTAL_ENERGY_CONSUMPTION dcgm_total_energy_consumption", 1e-3
    ),
    _watts(
        "power_limit_requested_watts", "DEV_POWER_MGMT_LIMIT DEV_BOARD_POWER_LIMIT_REQUESTED_WATTS"
    ),
    _watts("power_limit_min_watts", "DEV_POWER_MGMT_LIMIT_MIN DEV_BOARD_POWER_LIMIT_MIN_WATTS"),
    _watts("power_limit_max_watts", "DEV_POWER_MGMT_LIMIT_MAX DEV_BOARD_POWER_LIMIT_MAX_WATTS"),
    _watts(
        "power_limit_default_watts", "DEV_POWER_MGMT_LIMIT_DEF DEV_BOARD_POWER_LIMIT_DEFAULT_WATTS"
    ),
    _watts("power_limit_watts", "DEV_ENFORCED_POWER_LIMIT DEV_BOARD_POWER_LIMIT_ENFORCED_WATTS"),
    _field("performance_state", "DEV_PSTATE DEV_GPU_PSTATE", 1.0, 15.0),
    _field(
        "pcie_replays_total",
        "DEV_PCIE_REPLAY_COUNTER DEV_PCIE_REPLAY_TOTAL dcgm_pcie_replay_counter",
    ),
    _field(
        "gpu_busy_ratio", "DEV_GPU_UTIL DEV_GPU_UTIL_RATIO dcgm_gpu_utilization", PERCENT, 100.0
    ),
    _field("memory_copy_busy_ratio", "DEV_MEM_COPY_UTIL dcgm_mem_copy_utilization", PERCENT, 100.0),
    _field("encoder_busy_ratio", "DEV_ENC_UTIL dcgm_enc_utilization", PERCENT, 100.0),
    _field("decoder_busy_ratio", "DEV_DEC_UTIL dcgm_dec_utilization", PERCENT, 100.0),
    _field("xid_last", "DEV_XID_ERRORS DEV_XID_ERROR dcgm_xid_errors", 1.0, 65535.0),
    _field("pcie_max_link_generation", "DEV_PCIE_MAX_LINK_GEN", 1.0, 16.0),
    _field("pcie_max_link_lanes", "DEV_PCIE_MAX_LINK_WIDTH", 1.0, 32.0),
    _field("pcie_link_generation", "DEV_PCIE_LINK_GEN", 1.0, 16.0),
    _field("pcie_link_lanes", "DEV_PCIE_LINK_WIDTH", 1.0, 32.0),
    _field("power_violation_seconds_total", "DEV_POWER_VIOLATION dcgm_power_violation", NANO),
    _field("thermal_violation_seconds_total", "DEV_THERMAL_VIOLATION dcgm_thermal_violation", NANO),
    _field(
        "sync_boost_violation_seconds_total",
        "DEV_SYNC_BOOST_VIOLATION dcgm_sync_boost_violation",
        NANO,
    ),
    _field(
        "board_limit_violation_seconds_total",
        "DEV_BOARD_LIMIT_VIOLATION dcgm_board_limit_violation",
        NANO,
    ),
    _field(
        "low_utilization_violation_seconds_total",
        "DEV_LOW_UTIL_VIOLATION dcgm_low_util_violation",
        NANO,
    ),
    _field(
        "reliability_violation_seconds_total",
        "DEV_RELIABILITY_VIOLATION dcgm_reliability_violation",
        NANO,
    ),
    _field("application_clocks_violation_seconds_total", "DEV_TOTAL_APP_CLOCKS_VIOLATION", NANO),
    _field("base_clocks_violation_seconds_total", "DEV_TOTAL_BASE_CLOCKS_VIOLATION", NANO),
    _memory("framebuffer_bytes", "DEV_FB_TOTAL"),
    _memory("framebuffer_free_bytes", "DEV_FB_FREE dcgm_fb_free"),
    _memory("framebuffer_used_bytes", "DEV_FB_USED dcgm_fb_used"),
    _memory("framebuffer_reserved_bytes", "DEV_FB_RESERVED"),
    _ratio("framebuffer_used_ratio", "DEV_FB_USED_PERCENT DEV_FB_USED_RATIO"),
    _field("ecc_corrected_volatile_total", "DEV_ECC_SBE_VOL_TOTAL dcgm_ecc_sbe_volatile_total"),
    _field("ecc_uncorrected_volatile_total", "DEV_ECC_DBE_VOL_TOTAL dcgm_ecc_dbe_volatile_total"),
    _field("ecc_corrected_aggregate_total", "DEV_ECC_SBE_AGG_TOTAL dcgm_ecc_sbe_aggregate_total"),
    _field("ecc_uncorrected_aggregate_total", "DEV_ECC_DBE_AGG_TOTAL dcgm_ecc_dbe_aggregate_total"),
    _field("sram_threshold_exceeded", "DEV_THRESHOLD_SRM DEV_SRAM_EXCEEDED", 1.0, 1.0),
    _field(
        "retired_pages_corrected_total",
        "DEV_RETIRED_SBE DEV_PAGE_RETIRED_SBE_TOTAL dcgm_retired_pages_sbe",
    ),
    _field(
        "retired_pages_uncorrected_total",
        "DEV_RETIRED_DBE DEV_PAGE_RETIRED_DBE_TOTAL dcgm_retired_pages_dbe",
    ),
    _field(
        "retired_pages_pending",
        "DEV_RETIRED_PENDING DEV_PAGE_RETIRED_PENDING dcgm_retired_pages_pending",
    ),
    _field(
        "remapped_rows_uncorrected_total",
        "DEV_UNCORRECTABLE_REMAPPED_ROWS DEV_ROW_REMAP_UNCORRECTABLE_TOTAL",
    ),
    _field(
        "remapped_rows_corrected_total",
        "DEV_CORRECTABLE_REMAPPED_ROWS DEV_ROW_REMAP_CORRECTABLE_TOTAL",
    ),
    _field("row_remap_failed", "DEV_ROW_REMAP_FAILURE DEV_ROW_REMAP_FAILED", 1.0, 1.0),
    _field("row_remap_pending", "DEV_ROW_REMAP_PENDING", 1.0, 1.0),
    _field(
        "nvlink_crc_flit_errors_total",
        "DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL DEV_NVLINK_CRC_FLIT_ERROR_TOTAL"
        " dcgm_nvlink_flit_crc_error_count_total",
    ),
    _field(
        "nvlink_crc_data_errors_total",
        "DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL DEV_NVLINK_CRC_DATA_ERROR_TOTAL"
        " dcgm_nvlink_data_crc_error_count_total",
    ),
    _field(
        "nvlink_replay_errors_total",
        "DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL DEV_NVLINK_REPLAY_ERROR_TOTAL"
        " dcgm_nvlink_replay_error_count_total",
    ),
    _field(
        "nvlink_recovery_errors_total",
        "DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL DEV_NVLINK_RECOVERY_ERROR_TOTAL"
        " dcgm_nvlink_recovery_error_count_total",
    ),
    _field(
        "nvlink_throughput_bytes_per_second",
        "DEV_NVLINK_BANDWIDTH_TOTAL DEV_NVLINK_THROUGHPUT_TOTAL dcgm_nvlink_bandwidth_total",
        MEGA,
        1e8,
    ),
    _field("sxid_fatal_last", "DEV_NVSWITCH_FATAL_ERRORS DEV_SXID_FATAL_ERROR", 1.0, 1e5),
    _field(
        "sxid_non_fatal_last", "DEV_NVSWITCH_NON_FATAL_ERRORS DEV_SXID_NON_FATAL_ERROR", 1.0, 1e5
    ),
    _ratio(
        "graphics_engine_active_ratio",
        "PROF_GR_ENGINE_ACTIVE PROF_GR_ENGINE_UTIL_RATIO dcgm_gr_engine_active",
    ),
    _ratio("sm_active_ratio", "PROF_SM_ACTIVE PROF_SM_UTIL_RATIO dcgm_sm_active"),
    _ratio("sm_occupancy_ratio", "PROF_SM_OCCUPANCY PROF_SM_OCCUPANCY_RATIO dcgm_sm_occupancy"),
    _ratio(
        "tensor_active_ratio",
        "PROF_PIPE_TENSOR_ACTIVE PROF_TENSOR_UTIL_RATIO dcgm_tensor_active",
    ),
    _ratio("dram_active_ratio", "PROF_DRAM_ACTIVE PROF_DRAM_UTIL_RATIO dcgm_dram_active"),
    _ratio("fp64_active_ratio", "PROF_PIPE_FP64_ACTIVE PROF_FP64_UTIL_RATIO dcgm_fp64_active"),
    _ratio("fp32_active_ratio", "PROF_PIPE_FP32_ACTIVE PROF_FP32_UTIL_RATIO dcgm_fp32_active"),
    _ratio("fp16_active_ratio", "PROF_PIPE_FP16_ACTIVE PROF_FP16_UTIL_RATIO dcgm_fp16_active"),
    _field("pcie_transmit_bytes_per_second", "PROF_PCIE_TX_BYTES dcgm_pcie_tx_bytes", 1.0, 1e13),
    _field("pcie_receive_bytes_per_second", "PROF_PCIE_RX_BYTES dcgm_pcie_rx_bytes", 1.0, 1e13),
    _field("pcie_transmitted_bytes_total", "PROF_PCIE_TX_BYTES_TOTAL"),
    _field("pcie_received_bytes_total", "PROF_PCIE_RX_BYTES_TOTAL"),
    _field(
        "nvlink_transmit_bytes_per_second", "PROF_NVLINK_TX_BYTES dcgm_nvlink_tx_bytes", 1.0, 1e13
    ),
    _field(
        "nvlink_receive_bytes_per_second", "PROF_NVLINK_RX_BYTES dcgm_nvlink_rx_bytes", 1.0, 1e13
    ),
    _field(
        "nvlink_symbol_error_ratio",
        "DEV_NVLINK_COUNT_SYMBOL_BER_FLOAT NVLINK_COUNT_SYMBOL_BER_FLOAT NVLINK_SYMBOL_BER_RATIO",
        1.0,
        1.0,
    ),
    _field(
        "nvlink_effective_error_ratio",
        "DEV_NVLINK_COUNT_EFFECTIVE_BER_FLOAT NVLINK_COUNT_EFFECTIVE_BER_FLOAT"
        " NVLINK_EFFECTIVE_BER_RATIO",
        1.0,
        1.0,
    ),
    _field("clock_event_reasons", "DEV_CLOCK_THROTTLE_REASONS DEV_CLOCKS_EVENT_REASONS"),
    _field("sw_power_cap_seconds_total", "DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP_NS", NANO),
    _field("sync_boost_seconds_total", "DEV_CLOCKS_EVENT_REASON_SYNC_BOOST_NS", NANO),
    _field(
        "sw_thermal_slowdown_seconds_total", "DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN_NS", NANO
    ),
    _field(
        "hw_thermal_slowdown_seconds_total", "DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN_NS", NANO
    ),
    _field(
        "hw_power_brake_seconds_total", "DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN_NS", NANO
    ),
    _field(
        "pcie_corrected_errors_total",
        "DEV_PCIE_COUNT_CORRECTABLE_ERRORS DEV_PCIE_CORRECTABLE_ERROR_TOTAL",
    ),
    _field("memory_unrepairable", "DEV_MEMORY_UNREPAIRABLE_FLAG DEV_MEMORY_UNREPAIRABLE", 1.0, 1.0),
    _field("recovery_action", "DEV_GET_GPU_RECOVERY_ACTION DEV_GPU_RECOVERY_ACTION", 1.0, 100.0),
    _field("xid_window_count", "DCGM_EXP_XID_ERRORS_COUNT"),
    _field(
        "clock_event_window_count",
        "DCGM_EXP_CLOCK_EVENTS_COUNT DCGM_FI_EXP_CLOCK_THROTTLE_REASONS_COUNT",
    ),
    _field("health_status", "DCGM_EXP_GPU_HEALTH_STATUS", 1.0, 100.0),
    _field("p2p_status", "DCGM_EXP_P2P_STATUS", 1.0, 100.0),
)
"""By DCGM field number; the exporter's own metrics last."""

FIELD_NAMES: Final = schema_of(
    {
        "name": pl.String,
        "signal": pl.String,
        "factor": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "scope": pl.String,
    }
)


def metric_name(name: str) -> str:
    """Return the metric that a name of `FIELDS` is exposed as."""
    whole = name.startswith(("dcgm_", "DCGM_"))
    return name if whole else PREFIX + name


def field_names() -> pl.DataFrame:
    """Return `FIELD_NAMES`: one row a metric name."""
    rows = [
        (metric_name(name), field.signal, field.factor, field.low, field.high, field.scope)
        for field in FIELDS
        for name in field.names
    ]
    return pl.DataFrame(rows, schema=FIELD_NAMES, orient="row")
