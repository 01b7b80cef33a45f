"""The table of DCGM's fields: number, our signal, names over all versions, unit and range.

Source: NVIDIA/DCGM `dcgm_fields.h` (1.7 to 4.6) and dcgm-exporter's counter files (1.x to 4.8).
Old and new names are aliases and may stand on one page. What TYPE and HELP say is not used: sites
edit them, and they have been wrong upstream (violations are nanoseconds; the NVLink bandwidth
and the PCIe traffic are rates).
"""

from dataclasses import dataclass
from typing import Final

KILO: Final = 1e3
MEGA: Final = 1e6
MEBI: Final = 2.0**20
MILLI: Final = 1e-3
NANO: Final = 1e-9
PERCENT: Final = 0.01
UNBOUNDED: Final = float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The unit and the range that fields share.

    Attributes:
        factor: From the field's unit to ours.
        low: Least value that can be, in the field's unit.
        high: Greatest value that can be, in the field's unit; infinite for a counter.
        scope: `instance` if a MIG instance has a value of its own, `board` if all its instances
            repeat the GPU's.
    """

    factor: float = 1.0
    low: float = 0.0
    high: float = UNBOUNDED
    scope: str = "board"


COUNT: Final = Scale()
FLAG: Final = Scale(high=1.0)
CODE: Final = Scale(high=100.0)
CELSIUS: Final = Scale(low=-100.0, high=200.0)
WATTS: Final = Scale(high=2e4)
SM_CLOCK: Final = Scale(factor=MEGA, high=1e4)
CLOCK: Final = Scale(factor=MEGA, high=1e5)
BUSY: Final = Scale(factor=PERCENT, high=100.0)
NANOSECONDS: Final = Scale(factor=NANO)
MEBIBYTES: Final = Scale(factor=MEBI, high=1e8, scope="instance")
SHARE: Final = Scale(high=1.0, scope="instance")
BYTE_RATE: Final = Scale(high=1e13)
GENERATION: Final = Scale(high=16.0)
LANES: Final = Scale(high=32.0)
ERROR_CODE: Final = Scale(high=1e5)

FIELD_TABLE: Final[tuple[tuple[Scale, str], ...]] = (
    (
        SM_CLOCK,
        """
        100 sm_clock_hertz DEV_SM_CLOCK dcgm_sm_clock
        110 application_sm_clock_hertz DEV_APP_SM_CLOCK
        113 max_sm_clock_hertz DEV_MAX_SM_CLOCK
        """,
    ),
    (
        CLOCK,
        """
        101 memory_clock_hertz DEV_MEM_CLOCK dcgm_memory_clock
        111 application_memory_clock_hertz DEV_APP_MEM_CLOCK
        114 max_memory_clock_hertz DEV_MAX_MEM_CLOCK
        """,
    ),
    (
        CELSIUS,
        """
        140 memory_temperature_celsius DEV_MEMORY_TEMP DEV_MEMORY_TEMP_CELSIUS dcgm_memory_temp
        150 gpu_temperature_celsius DEV_GPU_TEMP DEV_GPU_TEMP_CELSIUS dcgm_gpu_temp
        151 memory_max_temperature_celsius DEV_MEM_MAX_OP_TEMP DEV_MEMORY_MAX_OP_TEMP_CELSIUS
        152 gpu_max_temperature_celsius DEV_GPU_MAX_OP_TEMP DEV_GPU_MAX_OP_TEMP_CELSIUS
            GPU_MAX_OP_TEMP_CELSIUS
        153 gpu_temperature_margin_celsius DEV_GPU_TEMP_LIMIT DEV_GPU_TEMP_MARGIN_CELSIUS
        158 gpu_slowdown_temperature_celsius DEV_SLOWDOWN_TEMP DEV_GPU_TEMP_SLOWDOWN_CELSIUS
        159 gpu_shutdown_temperature_celsius DEV_SHUTDOWN_TEMP DEV_GPU_TEMP_SHUTDOWN_CELSIUS
        """,
    ),
    (
        WATTS,
        """
        155 power_watts DEV_POWER_USAGE DEV_BOARD_POWER_WATTS dcgm_power_usage
        157 power_instant_watts DEV_POWER_USAGE_INSTANT DEV_BOARD_POWER_RAW_WATTS
        160 power_limit_requested_watts DEV_POWER_MGMT_LIMIT DEV_BOARD_POWER_LIMIT_REQUESTED_WATTS
        161 power_limit_min_watts DEV_POWER_MGMT_LIMIT_MIN DEV_BOARD_POWER_LIMIT_MIN_WATTS
        162 power_limit_max_watts DEV_POWER_MGMT_LIMIT_MAX DEV_BOARD_POWER_LIMIT_MAX_WATTS
        163 power_limit_default_watts DEV_POWER_MGMT_LIMIT_DEF DEV_BOARD_POWER_LIMIT_DEFAULT_WATTS
        164 power_limit_watts DEV_ENFORCED_POWER_LIMIT DEV_BOARD_POWER_LIMIT_ENFORCED_WATTS
        """,
    ),
    (
        Scale(factor=MILLI),
        """
        156 energy_joules_total DEV_TOTAL_ENERGY_CONSUMPTION dcgm_total_energy_consumption
        """,
    ),
    (
        Scale(high=15.0),
        """
        190 performance_state DEV_PSTATE DEV_GPU_PSTATE
        """,
    ),
    (
        Scale(factor=KILO, high=1e10),
        """
        200 pcie_transmit_bytes_per_second DEV_PCIE_TX_THROUGHPUT dcgm_pcie_tx_throughput
        201 pcie_receive_bytes_per_second DEV_PCIE_RX_THROUGHPUT dcgm_pcie_rx_throughput
        """,
    ),
    (
        BUSY,
        """
        191 fan_speed_ratio DEV_FAN_SPEED dcgm_fan_speed_percent
        203 gpu_busy_ratio DEV_GPU_UTIL DEV_GPU_UTIL_RATIO dcgm_gpu_utilization
        204 memory_copy_busy_ratio DEV_MEM_COPY_UTIL dcgm_mem_copy_utilization
        206 encoder_busy_ratio DEV_ENC_UTIL dcgm_enc_utilization
        207 decoder_busy_ratio DEV_DEC_UTIL dcgm_dec_utilization
        """,
    ),
    (
        Scale(high=65535.0),
        """
        230 xid_last DEV_XID_ERRORS DEV_XID_ERROR dcgm_xid_errors
        """,
    ),
    (
        GENERATION,
        """
        235 pcie_max_link_generation DEV_PCIE_MAX_LINK_GEN
        237 pcie_link_generation DEV_PCIE_LINK_GEN
        """,
    ),
    (
        LANES,
        """
        236 pcie_max_link_lanes DEV_PCIE_MAX_LINK_WIDTH
        238 pcie_link_lanes DEV_PCIE_LINK_WIDTH
        """,
    ),
    (
        NANOSECONDS,
        """
        240 power_violation_seconds_total DEV_POWER_VIOLATION dcgm_power_violation
        241 thermal_violation_seconds_total DEV_THERMAL_VIOLATION dcgm_thermal_violation
        242 sync_boost_violation_seconds_total DEV_SYNC_BOOST_VIOLATION dcgm_sync_boost_violation
        243 board_limit_violation_seconds_total DEV_BOARD_LIMIT_VIOLATION dcgm_board_limit_violation
        244 low_utilization_violation_seconds_total DEV_LOW_UTIL_VIOLATION dcgm_low_util_violation
        245 reliability_violation_seconds_total DEV_RELIABILITY_VIOLATION dcgm_reliability_violation
        246 application_clocks_violation_seconds_total DEV_TOTAL_APP_CLOCKS_VIOLATION
        247 base_clocks_violation_seconds_total DEV_TOTAL_BASE_CLOCKS_VIOLATION
        1420 sw_power_cap_seconds_total DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP_NS
        1421 sync_boost_seconds_total DEV_CLOCKS_EVENT_REASON_SYNC_BOOST_NS
        1422 sw_thermal_slowdown_seconds_total DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN_NS
        1423 hw_thermal_slowdown_seconds_total DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN_NS
        1424 hw_power_brake_seconds_total DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN_NS
        """,
    ),
    (
        MEBIBYTES,
        """
        250 framebuffer_bytes DEV_FB_TOTAL
        251 framebuffer_free_bytes DEV_FB_FREE dcgm_fb_free
        252 framebuffer_used_bytes DEV_FB_USED dcgm_fb_used
        253 framebuffer_reserved_bytes DEV_FB_RESERVED
        """,
    ),
    (
        FLAG,
        """
        346 sram_threshold_exceeded DEV_THRESHOLD_SRM DEV_SRAM_EXCEEDED
        395 row_remap_failed DEV_ROW_REMAP_FAILURE DEV_ROW_REMAP_FAILED
        396 row_remap_pending DEV_ROW_REMAP_PENDING
        1507 memory_unrepairable DEV_MEMORY_UNREPAIRABLE_FLAG DEV_MEMORY_UNREPAIRABLE
        """,
    ),
    (
        Scale(high=1e09),
        """
        385 remap_banks_max DEV_BANKS_REMAP_ROWS_AVAIL_MAX DEV_BANK_REMAP_AVAIL_MAX
        386 remap_banks_high DEV_BANKS_REMAP_ROWS_AVAIL_HIGH DEV_BANK_REMAP_AVAIL_HIGH
        387 remap_banks_partial DEV_BANKS_REMAP_ROWS_AVAIL_PARTIAL DEV_BANK_REMAP_AVAIL_PARTIAL
        388 remap_banks_low DEV_BANKS_REMAP_ROWS_AVAIL_LOW DEV_BANK_REMAP_AVAIL_LOW
        389 remap_banks_none DEV_BANKS_REMAP_ROWS_AVAIL_NONE DEV_BANK_REMAP_AVAIL_NONE
        """,
    ),
    (
        COUNT,
        """
        112 clock_event_reasons DEV_CLOCK_THROTTLE_REASONS DEV_CLOCKS_EVENT_REASONS
        202 pcie_replays_total DEV_PCIE_REPLAY_COUNTER DEV_PCIE_REPLAY_TOTAL
            dcgm_pcie_replay_counter
        310 ecc_corrected_volatile_total DEV_ECC_SBE_VOL_TOTAL dcgm_ecc_sbe_volatile_total
        311 ecc_uncorrected_volatile_total DEV_ECC_DBE_VOL_TOTAL dcgm_ecc_dbe_volatile_total
        312 ecc_corrected_aggregate_total DEV_ECC_SBE_AGG_TOTAL dcgm_ecc_sbe_aggregate_total
        313 ecc_uncorrected_aggregate_total DEV_ECC_DBE_AGG_TOTAL dcgm_ecc_dbe_aggregate_total
        390 retired_pages_corrected_total DEV_RETIRED_SBE DEV_PAGE_RETIRED_SBE_TOTAL
            dcgm_retired_pages_sbe
        391 retired_pages_uncorrected_total DEV_RETIRED_DBE DEV_PAGE_RETIRED_DBE_TOTAL
            dcgm_retired_pages_dbe
        392 retired_pages_pending DEV_RETIRED_PENDING DEV_PAGE_RETIRED_PENDING
            dcgm_retired_pages_pending
        393 remapped_rows_uncorrected_total DEV_UNCORRECTABLE_REMAPPED_ROWS
            DEV_ROW_REMAP_UNCORRECTABLE_TOTAL
        394 remapped_rows_corrected_total DEV_CORRECTABLE_REMAPPED_ROWS
            DEV_ROW_REMAP_CORRECTABLE_TOTAL
        409 nvlink_crc_flit_errors_total DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL
            DEV_NVLINK_CRC_FLIT_ERROR_TOTAL dcgm_nvlink_flit_crc_error_count_total
        419 nvlink_crc_data_errors_total DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL
            DEV_NVLINK_CRC_DATA_ERROR_TOTAL dcgm_nvlink_data_crc_error_count_total
        429 nvlink_replay_errors_total DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL
            DEV_NVLINK_REPLAY_ERROR_TOTAL dcgm_nvlink_replay_error_count_total
        439 nvlink_recovery_errors_total DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL
            DEV_NVLINK_RECOVERY_ERROR_TOTAL dcgm_nvlink_recovery_error_count_total
        1091 pcie_transmitted_bytes_total PROF_PCIE_TX_BYTES_TOTAL
        1092 pcie_received_bytes_total PROF_PCIE_RX_BYTES_TOTAL
        1501 pcie_corrected_errors_total DEV_PCIE_COUNT_CORRECTABLE_ERRORS
            DEV_PCIE_CORRECTABLE_ERROR_TOTAL
        """,
    ),
    (
        Scale(factor=MEGA, high=1e08),
        """
        449 nvlink_throughput_bytes_per_second DEV_NVLINK_BANDWIDTH_TOTAL
            DEV_NVLINK_THROUGHPUT_TOTAL dcgm_nvlink_bandwidth_total
        """,
    ),
    (
        ERROR_CODE,
        """
        856 sxid_fatal_last DEV_NVSWITCH_FATAL_ERRORS DEV_SXID_FATAL_ERROR
        857 sxid_non_fatal_last DEV_NVSWITCH_NON_FATAL_ERRORS DEV_SXID_NON_FATAL_ERROR
        """,
    ),
    (
        SHARE,
        """
        254 framebuffer_used_ratio DEV_FB_USED_PERCENT DEV_FB_USED_RATIO
        1001 graphics_engine_active_ratio PROF_GR_ENGINE_ACTIVE PROF_GR_ENGINE_UTIL_RATIO
            dcgm_gr_engine_active
        1002 sm_active_ratio PROF_SM_ACTIVE PROF_SM_UTIL_RATIO dcgm_sm_active
        1003 sm_occupancy_ratio PROF_SM_OCCUPANCY PROF_SM_OCCUPANCY_RATIO dcgm_sm_occupancy
        1004 tensor_active_ratio PROF_PIPE_TENSOR_ACTIVE PROF_TENSOR_UTIL_RATIO dcgm_tensor_active
        1005 dram_active_ratio PROF_DRAM_ACTIVE PROF_DRAM_UTIL_RATIO dcgm_dram_active
        1006 fp64_active_ratio PROF_PIPE_FP64_ACTIVE PROF_FP64_UTIL_RATIO dcgm_fp64_active
        1007 fp32_active_ratio PROF_PIPE_FP32_ACTIVE PROF_FP32_UTIL_RATIO dcgm_fp32_active
        1008 fp16_active_ratio PROF_PIPE_FP16_ACTIVE PROF_FP16_UTIL_RATIO dcgm_fp16_active
        """,
    ),
    (
        BYTE_RATE,
        """
        1009 pcie_transmit_bytes_per_second PROF_PCIE_TX_BYTES dcgm_pcie_tx_bytes
        1010 pcie_receive_bytes_per_second PROF_PCIE_RX_BYTES dcgm_pcie_rx_bytes
        1011 nvlink_transmit_bytes_per_second PROF_NVLINK_TX_BYTES dcgm_nvlink_tx_bytes
        1012 nvlink_receive_bytes_per_second PROF_NVLINK_RX_BYTES dcgm_nvlink_rx_bytes
        """,
    ),
    (
        FLAG,
        """
        1216 nvlink_symbol_error_ratio DEV_NVLINK_COUNT_SYMBOL_BER_FLOAT
            NVLINK_COUNT_SYMBOL_BER_FLOAT DEV_NVLINK_SYMBOL_BER_RATIO NVLINK_SYMBOL_BER_RATIO
        1218 nvlink_effective_error_ratio DEV_NVLINK_COUNT_EFFECTIVE_BER_FLOAT
            NVLINK_COUNT_EFFECTIVE_BER_FLOAT DEV_NVLINK_EFFECTIVE_BER_RATIO
            NVLINK_EFFECTIVE_BER_RATIO
        """,
    ),
    (
        CODE,
        """
        1523 recovery_action DEV_GET_GPU_RECOVERY_ACTION DEV_GPU_RECOVERY_ACTION
        """,
    ),
)
"""Unit, then a line a field: DCGM's number, our signal, its names; long lines go on indented."""

EXPORTER_TABLE: Final[tuple[tuple[Scale, str, str], ...]] = (
    (COUNT, "xid_window_count", "DCGM_EXP_XID_ERRORS_COUNT"),
    (
        COUNT,
        "clock_event_window_count",
        "DCGM_EXP_CLOCK_EVENTS_COUNT EXP_CLOCK_THROTTLE_REASONS_COUNT",
    ),
    (CODE, "health_status", "DCGM_EXP_GPU_HEALTH_STATUS"),
    (CODE, "p2p_status", "DCGM_EXP_P2P_STATUS"),
)
"""What dcgm-exporter makes itself."""
