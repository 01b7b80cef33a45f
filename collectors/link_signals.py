"""Signals of Ethernet links: FEC, queues, pauses, transport and optics.

A lane, priority, queue, priority group or FEC bin of a port is a device of its own, never part of a
name. Sources: SONiC `COUNTERS_DB` and its command line, mlx5 and RDMA counters of the Linux kernel
documentation, SFF-8636 and CMIS modules as ethtool and mlxlink print them; IF-MIB, EtherLike-MIB,
SNMPv2-MIB, and OpenConfig models of interfaces and QoS.
"""

from typing import Final

from collectors.signal_kinds import Signal, signal_table

FEC_SIGNALS: Final = signal_table(
    Signal("fec_corrected_codewords_total", "counter", 0, 1.0),
    Signal("fec_uncorrected_codewords_total", "counter", +1, 1.0),
    Signal("fec_symbol_errors_total", "counter", 0, 1.0),
    Signal("fec_bin_codewords_total", "counter", 0, 1.0),
    Signal("fec_highest_bin", "state", +1),
    Signal("fec_mode", "state", 0),
    Signal("raw_errors_total", "counter", 0, 1.0),
    Signal("effective_errors_total", "counter", +1, 1.0),
    Signal("pre_fec_error_ratio", "gauge", +1),
    Signal("max_pre_fec_error_ratio", "state", 0),
    Signal("post_fec_error_ratio", "gauge", +1),
    Signal("symbol_error_ratio", "gauge", +1),
    Signal("observed_frame_loss_ratio", "gauge", +1),
    Signal("predicted_frame_loss_ratio", "gauge", +1),
    Signal("mac_local_faults_total", "counter", +1, 1.0),
    Signal("mac_remote_faults_total", "counter", +1, 1.0),
)
"""Of the physical layer. `pre_fec_error_ratio` is raw bit errors a bit, `post_fec_error_ratio` what
FEC left (the effective one). `max_pre_fec_error_ratio` is since boot or clear and starts with a
made-up value: nothing may be judged by it. `fec_mode`: 0 none, 1 firecode, 2 Reed-Solomon."""

QUEUE_SIGNALS: Final = signal_table(
    Signal("receive_bytes_per_second", "gauge", 0),
    Signal("transmit_bytes_per_second", "gauge", 0),
    Signal("receive_packets_per_second", "gauge", 0),
    Signal("transmit_packets_per_second", "gauge", 0),
    Signal("receive_busy_ratio", "gauge", 0),
    Signal("transmit_busy_ratio", "gauge", 0),
    Signal("receive_overruns_total", "counter", +1, 1.0),
    Signal("transmit_overruns_total", "counter", +1, 1.0),
    Signal("trimmed_packets_total", "counter", +1, 1.0),
    Signal("trimmed_sent_packets_total", "counter", 0, 1.0),
    Signal("trimmed_dropped_packets_total", "counter", +1, 1.0),
    Signal("buffer_drops_total", "counter", +1, 1.0),
    Signal("queue_drops_total", "counter", +1, 1.0),
    Signal("queue_dropped_bytes_total", "counter", +1, 1.0),
    Signal("wred_drops_total", "counter", +1, 1.0),
    Signal("wred_dropped_bytes_total", "counter", +1, 1.0),
    Signal("queue_ecn_marked_packets_total", "counter", 0, 1.0),
    Signal("queue_ecn_marked_bytes_total", "counter", 0, 1.0),
    Signal("queue_depth_bytes", "gauge", +1, 1.0),
    Signal("queue_watermark_bytes", "gauge", +1, 1.0),
    Signal("shared_watermark_bytes", "gauge", +1, 1.0),
    Signal("headroom_bytes", "gauge", 0, 1.0),
    Signal("headroom_watermark_bytes", "gauge", +1, 1.0),
    Signal("priority_marked_packets_total", "counter", 0, 1.0),
    Signal("pause_sent_transitions_total", "counter", +1, 1.0),
    Signal("recent_pause_received_seconds", "gauge", +1, 1e-6),
    Signal("pause_storms_total", "counter", +1, 1.0),
    Signal("pause_storms_ended_total", "counter", 0, 1.0),
    Signal("pause_storm_active", "state", +1),
    Signal("storm_transmitted_packets_total", "counter", 0, 1.0),
    Signal("storm_received_packets_total", "counter", 0, 1.0),
    Signal("storm_transmit_drops_total", "counter", +1, 1.0),
    Signal("storm_receive_drops_total", "counter", +1, 1.0),
)
"""Of traffic and buffers. Watermarks are the highest level since a clear of their own. Busy ratios
are of the port's speed. `queue_drops_total` counts what a queue or priority group dropped."""

PORT_STATES: Final = signal_table(
    Signal("link_up", "state", -1),
    Signal("admin_up", "state", 0),
    Signal("mtu_bytes", "gauge", 0, 1.0),
    Signal("active_mtu_bytes", "gauge", 0, 1.0),
    Signal("max_mtu_bytes", "gauge", 0, 1.0),
    Signal("seconds_since_clear", "state", 0, 1.0),
    Signal("link_status_opcode", "state", 0),
)
"""What a port is set to. `active_mtu_bytes` is the path MTU of RDMA, `mtu_bytes` the interface's.
`seconds_since_clear` is how long ago the port's counters began at 0."""

TRANSPORT_SIGNALS: Final = signal_table(
    Signal("rdma_write_requests_total", "counter", 0, 1.0),
    Signal("rdma_read_requests_total", "counter", 0, 1.0),
    Signal("rdma_atomic_requests_total", "counter", 0, 1.0),
    Signal("adaptive_retransmit_timeouts_total", "counter", +1, 1.0),
    Signal("slow_restarts_used_total", "counter", +1, 1.0),
    Signal("slow_restart_notices_total", "counter", 0, 1.0),
    Signal("slow_restart_transitions_total", "counter", 0, 1.0),
    Signal("request_completion_errors_total", "counter", +1, 1.0),
    Signal("response_completion_errors_total", "counter", +1, 1.0),
    Signal("request_flush_errors_total", "counter", 0, 1.0),
    Signal("response_flush_errors_total", "counter", 0, 1.0),
    Signal("request_access_errors_total", "counter", +1, 1.0),
    Signal("response_access_errors_total", "counter", +1, 1.0),
    Signal("retries_exceeded_total", "counter", +1, 1.0),
    Signal("receiver_not_ready_exceeded_total", "counter", +1, 1.0),
    Signal("receiver_not_ready_sent_total", "counter", +1, 1.0),
    Signal("counter_lifespan_seconds", "state", 0, 1e-3),
)
"""Of RDMA transport. Two reads within `counter_lifespan_seconds` return the same numbers."""

ETHERNET_SIGNALS: Final = signal_table(
    Signal("broadcast_received_packets_total", "counter", 0, 1.0),
    Signal("broadcast_transmitted_packets_total", "counter", 0, 1.0),
    Signal("unknown_protocol_packets_total", "counter", 0, 1.0),
    Signal("alignment_errors_total", "counter", +1, 1.0),
    Signal("undersize_packets_total", "counter", +1, 1.0),
    Signal("fragments_total", "counter", +1, 1.0),
    Signal("jabbers_total", "counter", +1, 1.0),
    Signal("internal_receive_errors_total", "counter", +1, 1.0),
    Signal("internal_transmit_errors_total", "counter", +1, 1.0),
    Signal("collisions_total", "counter", 0, 1.0),
    Signal("interface_resets_total", "counter", 0, 1.0),
    Signal("ecn_selected_packets_total", "counter", 0, 1.0),
    Signal("max_queue_depth_bytes", "gauge", +1, 1.0),
    Signal("uptime_seconds", "state", 0, 0.01),
    Signal("counters_began_uptime_seconds", "state", 0, 0.01),
    Signal("changed_uptime_seconds", "state", 0, 0.01),
    Signal("counters_cleared_seconds", "state", 0),
    Signal("changed_seconds", "state", 0),
)
"""Of switches as SNMP, gNMI and their command lines tell them. `uptime_seconds` is of the agent;
`counters_began_uptime_seconds`, `changed_uptime_seconds` are what it was when a port's counters
last began anew and when its state last changed. The two without `uptime` are seconds since the
epoch. A change of either means that all counters of the port began anew.
`ecn_selected_packets_total` were chosen for marking, marked or not."""

LIMITED: Final = (
    ("rx_power", "dbm"),
    ("tx_power", "dbm"),
    ("bias", "amperes"),
    ("module_temperature", "celsius"),
    ("module_supply", "volts"),
)
"""What a module has limits of, and its unit."""

OPTIC_SIGNALS: Final = signal_table(
    Signal("rx_power_dbm", "gauge", -1),
    Signal("tx_power_dbm", "gauge", -1),
    Signal("bias_amperes", "gauge", 0),
    Signal("module_temperature_celsius", "gauge", +1),
    Signal("module_supply_volts", "gauge", 0),
    *(
        Signal(f"{name}_{side}_{level}_{unit}", "state", 0)
        for name, unit in LIMITED
        for side in ("low", "high")
        for level in ("alarm", "warning")
    ),
)
"""Of pluggable modules. Power received is of a lane and describes the far laser, the fibre and this
connector; power sent and bias describe this end's laser. Dark is `-inf` at the source: null with
the reason `dark`. Beside each stand the module's own limits, as `rx_power_low_alarm_dbm`."""
