"""The signals of a cluster: our names, what they measure, and which way is bad.

Readers map vendors' fields to these names; detectors know nothing else. Units are base units as
Prometheus has them. A quantum is the step in which hardware reports: SM clocks move by 15 MHz,
temperatures by 1 degree; a change of one step is no change. Sources: NVIDIA DCGM field
identifiers, InfiniBand port counters, mlx5 counters of the Linux kernel documentation.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["gauge", "counter", "state"]


@dataclass(frozen=True, slots=True)
class Signal:
    """One thing that is measured.

    Attributes:
        name: Our name; its end is the unit.
        kind: `gauge` is a level, `counter` only grows until it is reset, `state` is a code, flag
            or mask, which has no mean.
        bad: +1 if more is worse, -1 if less is worse, 0 if neither.
        quantum: Smallest step the source reports, in the signal's unit; 0 if it has none.
    """

    name: str
    kind: Kind
    bad: int
    quantum: float = 0.0


def _table(*signals: Signal) -> Mapping[str, Signal]:
    return {signal.name: signal for signal in signals}


GPU_SIGNALS: Final = _table(
    Signal("sm_clock_hertz", "gauge", -1, 15e6),
    Signal("memory_clock_hertz", "gauge", -1, 1e6),
    Signal("application_sm_clock_hertz", "gauge", -1, 15e6),
    Signal("application_memory_clock_hertz", "gauge", -1, 1e6),
    Signal("max_sm_clock_hertz", "gauge", -1, 15e6),
    Signal("gpu_temperature_celsius", "gauge", +1, 1.0),
    Signal("memory_temperature_celsius", "gauge", +1, 1.0),
    Signal("gpu_temperature_margin_celsius", "gauge", -1, 1.0),
    Signal("gpu_max_temperature_celsius", "gauge", 0, 1.0),
    Signal("memory_max_temperature_celsius", "gauge", 0, 1.0),
    Signal("gpu_slowdown_temperature_celsius", "gauge", 0, 1.0),
    Signal("gpu_shutdown_temperature_celsius", "gauge", 0, 1.0),
    Signal("power_watts", "gauge", 0, 1.0),
    Signal("power_instant_watts", "gauge", 0, 1.0),
    Signal("energy_joules_total", "counter", 0, 1e-3),
    Signal("power_limit_watts", "gauge", -1, 1.0),
    Signal("power_limit_requested_watts", "gauge", -1, 1.0),
    Signal("power_limit_default_watts", "gauge", 0, 1.0),
    Signal("power_limit_min_watts", "gauge", 0, 1.0),
    Signal("power_limit_max_watts", "gauge", 0, 1.0),
    Signal("performance_state", "state", +1, 1.0),
    Signal("gpu_busy_ratio", "gauge", 0, 0.01),
    Signal("memory_copy_busy_ratio", "gauge", 0, 0.01),
    Signal("encoder_busy_ratio", "gauge", 0, 0.01),
    Signal("decoder_busy_ratio", "gauge", 0, 0.01),
    Signal("graphics_engine_active_ratio", "gauge", -1),
    Signal("sm_active_ratio", "gauge", -1),
    Signal("sm_occupancy_ratio", "gauge", 0),
    Signal("tensor_active_ratio", "gauge", -1),
    Signal("dram_active_ratio", "gauge", -1),
    Signal("fp64_active_ratio", "gauge", 0),
    Signal("fp32_active_ratio", "gauge", 0),
    Signal("fp16_active_ratio", "gauge", 0),
    Signal("framebuffer_bytes", "gauge", 0, 2.0**20),
    Signal("framebuffer_free_bytes", "gauge", 0, 2.0**20),
    Signal("framebuffer_used_bytes", "gauge", 0, 2.0**20),
    Signal("framebuffer_reserved_bytes", "gauge", 0, 2.0**20),
    Signal("framebuffer_used_ratio", "gauge", 0),
    Signal("clock_event_reasons", "state", 0),
    Signal("power_violation_seconds_total", "counter", +1),
    Signal("thermal_violation_seconds_total", "counter", +1),
    Signal("sync_boost_violation_seconds_total", "counter", +1),
    Signal("board_limit_violation_seconds_total", "counter", +1),
    Signal("low_utilization_violation_seconds_total", "counter", 0),
    Signal("reliability_violation_seconds_total", "counter", +1),
    Signal("application_clocks_violation_seconds_total", "counter", +1),
    Signal("base_clocks_violation_seconds_total", "counter", +1),
    Signal("sw_power_cap_seconds_total", "counter", +1),
    Signal("sync_boost_seconds_total", "counter", +1),
    Signal("sw_thermal_slowdown_seconds_total", "counter", +1),
    Signal("hw_thermal_slowdown_seconds_total", "counter", +1),
    Signal("hw_power_brake_seconds_total", "counter", +1),
    Signal("xid_last", "state", 0),
    Signal("xid_window_count", "gauge", +1, 1.0),
    Signal("clock_event_window_count", "gauge", +1, 1.0),
    Signal("health_status", "state", +1),
    Signal("p2p_status", "state", +1),
    Signal("recovery_action", "state", +1),
    Signal("ecc_corrected_volatile_total", "counter", +1, 1.0),
    Signal("ecc_uncorrected_volatile_total", "counter", +1, 1.0),
    Signal("ecc_corrected_aggregate_total", "counter", +1, 1.0),
    Signal("ecc_uncorrected_aggregate_total", "counter", +1, 1.0),
    Signal("sram_threshold_exceeded", "state", +1),
    Signal("memory_unrepairable", "state", +1),
    Signal("retired_pages_corrected_total", "counter", +1, 1.0),
    Signal("retired_pages_uncorrected_total", "counter", +1, 1.0),
    Signal("retired_pages_pending", "gauge", +1, 1.0),
    Signal("remapped_rows_uncorrected_total", "counter", +1, 1.0),
    Signal("remapped_rows_corrected_total", "counter", +1, 1.0),
    Signal("row_remap_failed", "state", +1),
    Signal("row_remap_pending", "state", +1),
    Signal("pcie_replays_total", "counter", +1, 1.0),
    Signal("pcie_corrected_errors_total", "counter", +1, 1.0),
    Signal("pcie_link_generation", "gauge", -1, 1.0),
    Signal("pcie_link_lanes", "gauge", -1, 1.0),
    Signal("pcie_max_link_generation", "gauge", 0, 1.0),
    Signal("pcie_max_link_lanes", "gauge", 0, 1.0),
    Signal("pcie_transmit_bytes_per_second", "gauge", 0),
    Signal("pcie_receive_bytes_per_second", "gauge", 0),
    Signal("pcie_transmitted_bytes_total", "counter", 0),
    Signal("pcie_received_bytes_total", "counter", 0),
    Signal("nvlink_throughput_bytes_per_second", "gauge", -1, 1e6),
    Signal("nvlink_transmit_bytes_per_second", "gauge", -1),
    Signal("nvlink_receive_bytes_per_second", "gauge", -1),
    Signal("nvlink_crc_flit_errors_total", "counter", +1, 1.0),
    Signal("nvlink_crc_data_errors_total", "counter", +1, 1.0),
    Signal("nvlink_replay_errors_total", "counter", +1, 1.0),
    Signal("nvlink_recovery_errors_total", "counter", +1, 1.0),
    Signal("nvlink_symbol_error_ratio", "gauge", +1),
    Signal("nvlink_effective_error_ratio", "gauge", +1),
    Signal("sxid_fatal_last", "state", 0),
    Signal("sxid_non_fatal_last", "state", 0),
)
"""Of GPUs, their MIG instances and their NVLinks."""

PORT_SIGNALS: Final = _table(
    Signal("received_bytes_total", "counter", 0),
    Signal("transmitted_bytes_total", "counter", 0),
    Signal("received_packets_total", "counter", 0, 1.0),
    Signal("transmitted_packets_total", "counter", 0, 1.0),
    Signal("symbol_errors_total", "counter", +1, 1.0),
    Signal("link_error_recoveries_total", "counter", +1, 1.0),
    Signal("link_downed_total", "counter", +1, 1.0),
    Signal("receive_errors_total", "counter", +1, 1.0),
    Signal("transmit_errors_total", "counter", +1, 1.0),
    Signal("remote_physical_errors_total", "counter", 0, 1.0),
    Signal("switch_relay_errors_total", "counter", 0, 1.0),
    Signal("receive_constraint_errors_total", "counter", 0, 1.0),
    Signal("transmit_constraint_errors_total", "counter", 0, 1.0),
    Signal("local_link_integrity_errors_total", "counter", +1, 1.0),
    Signal("buffer_overrun_errors_total", "counter", +1, 1.0),
    Signal("vl15_dropped_total", "counter", 0, 1.0),
    Signal("qp1_dropped_total", "counter", 0, 1.0),
    Signal("transmit_wait_ticks_total", "counter", +1, 1.0),
    Signal("receive_discards_total", "counter", +1, 1.0),
    Signal("transmit_discards_total", "counter", +1, 1.0),
    Signal("local_physical_errors_total", "counter", +1, 1.0),
    Signal("malformed_packet_errors_total", "counter", +1, 1.0),
    Signal("port_buffer_overrun_errors_total", "counter", +1, 1.0),
    Signal("dlid_mapping_errors_total", "counter", 0, 1.0),
    Signal("vl_mapping_errors_total", "counter", 0, 1.0),
    Signal("looping_errors_total", "counter", 0, 1.0),
    Signal("port_state", "state", 0),
    Signal("port_physical_state", "state", 0),
    Signal("port_rate_bytes_per_second", "gauge", -1),
    Signal("link_width_lanes", "gauge", -1, 1.0),
    Signal("lane_rate_bytes_per_second", "gauge", -1),
    Signal("pause_received_frames_total", "counter", +1, 1.0),
    Signal("pause_received_seconds_total", "counter", +1, 1e-6),
    Signal("pause_received_transitions_total", "counter", +1, 1.0),
    Signal("pause_sent_frames_total", "counter", +1, 1.0),
    Signal("pause_sent_seconds_total", "counter", +1, 1e-6),
    Signal("global_pause_received_frames_total", "counter", +1, 1.0),
    Signal("global_pause_received_seconds_total", "counter", +1, 1e-6),
    Signal("global_pause_sent_frames_total", "counter", +1, 1.0),
    Signal("global_pause_sent_seconds_total", "counter", +1, 1e-6),
    Signal("pause_storm_warnings_total", "counter", +1, 1.0),
    Signal("pause_storm_errors_total", "counter", +1, 1.0),
    Signal("priority_discards_total", "counter", +1, 1.0),
    Signal("out_of_buffer_total", "counter", +1, 1.0),
    Signal("crc_errors_total", "counter", +1, 1.0),
    Signal("coding_errors_total", "counter", +1, 1.0),
    Signal("fec_uncorrected_symbols_total", "counter", +1, 1.0),
    Signal("fec_corrected_bits_total", "counter", 0, 1.0),
    Signal("lane_errors_total", "counter", 0, 1.0),
    Signal("receivable_bits_total", "counter", 0),
    Signal("oversize_packets_total", "counter", +1, 1.0),
    Signal("length_errors_total", "counter", +1, 1.0),
    Signal("buffer_threshold_passed_total", "counter", +1, 1.0),
    Signal("pci_read_stalled_ratio", "gauge", +1, 0.01),
    Signal("pci_write_stalled_ratio", "gauge", +1, 0.01),
    Signal("pci_receive_integrity_errors_total", "counter", +1, 1.0),
    Signal("pci_transmit_integrity_errors_total", "counter", +1, 1.0),
    Signal("module_bad_shorted_total", "counter", +1, 1.0),
    Signal("module_high_temperature_total", "counter", +1, 1.0),
    Signal("module_bus_stuck_total", "counter", +1, 1.0),
    Signal("module_unplugged_total", "counter", 0, 1.0),
    Signal("rdma_received_bytes_total", "counter", 0),
    Signal("rdma_transmitted_bytes_total", "counter", 0),
    Signal("ecn_marked_packets_total", "counter", +1, 1.0),
    Signal("cnp_sent_total", "counter", +1, 1.0),
    Signal("cnp_handled_total", "counter", +1, 1.0),
    Signal("cnp_ignored_total", "counter", +1, 1.0),
    Signal("out_of_sequence_packets_total", "counter", +1, 1.0),
    Signal("packet_sequence_errors_total", "counter", +1, 1.0),
    Signal("ack_timeouts_total", "counter", +1, 1.0),
    Signal("adaptive_retransmits_total", "counter", +1, 1.0),
    Signal("slow_restarts_total", "counter", +1, 1.0),
    Signal("receiver_not_ready_total", "counter", +1, 1.0),
    Signal("duplicate_requests_total", "counter", +1, 1.0),
    Signal("implied_sequence_errors_total", "counter", +1, 1.0),
    Signal("end_to_end_crc_errors_total", "counter", +1, 1.0),
    Signal("remote_invalid_requests_total", "counter", +1, 1.0),
    Signal("local_length_errors_total", "counter", +1, 1.0),
    Signal("network_speed_bytes_per_second", "gauge", -1),
    Signal("carrier_changes_total", "counter", +1, 1.0),
    Signal("carrier_downs_total", "counter", +1, 1.0),
    Signal("carrier_ups_total", "counter", +1, 1.0),
    Signal("kernel_receive_errors_total", "counter", +1, 1.0),
    Signal("kernel_transmit_errors_total", "counter", +1, 1.0),
    Signal("kernel_receive_drops_total", "counter", +1, 1.0),
    Signal("kernel_transmit_drops_total", "counter", +1, 1.0),
)
"""Of ports: a host's NIC or a switch. Received and sent are seen from the port that counts."""

HOST_SIGNALS: Final = _table(
    Signal("cpu_clock_hertz", "gauge", -1, 1e6),
    Signal("cpu_core_throttles_total", "counter", +1, 1.0),
    Signal("cpu_package_throttles_total", "counter", +1, 1.0),
    Signal("thermal_zone_celsius", "gauge", +1, 1.0),
    Signal("cpu_waiting_seconds_total", "counter", +1),
    Signal("io_waiting_seconds_total", "counter", +1),
    Signal("memory_waiting_seconds_total", "counter", +1),
    Signal("io_stalled_seconds_total", "counter", +1),
    Signal("memory_stalled_seconds_total", "counter", +1),
    Signal("memory_corrected_errors_total", "counter", +1, 1.0),
    Signal("memory_uncorrected_errors_total", "counter", +1, 1.0),
    Signal("boot_seconds", "state", 0),
)
"""Of a node as a whole, or one of its processors."""

SIGNALS: Final[Mapping[str, Signal]] = {**GPU_SIGNALS, **PORT_SIGNALS, **HOST_SIGNALS}
"""All of them by name."""
