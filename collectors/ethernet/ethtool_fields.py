"""Which statistic of `ethtool -S` is which signal: mlx5, Intel E810, Broadcom, Cumulus switches.

Source: Linux kernel documentation of mlx5 counters, kernel drivers `ice` and `bnxt_en`, Cumulus
Linux monitoring. Received and sent stay apart: a pause received is the network's doing, a pause
sent is this host's. N is a priority or lane; several statistics of a port may be one signal.
"""

from typing import Final

import polars as pl

from collectors.frames import schema_of

MICRO: Final = 1e-6
PERCENT: Final = 0.01

STATISTICS: Final = (
    ("rx_prioN_pause", "pause_received_frames_total", 1.0),
    ("rx_prioN_pause_duration", "pause_received_seconds_total", MICRO),
    ("rx_prioN_pause_transition", "pause_received_transitions_total", 1.0),
    ("tx_prioN_pause", "pause_sent_frames_total", 1.0),
    ("tx_prioN_pause_duration", "pause_sent_seconds_total", MICRO),
    ("rx_priority_N_xoff.nic", "pause_received_frames_total", 1.0),
    ("tx_priority_N_xoff.nic", "pause_sent_frames_total", 1.0),
    ("rx_global_pause", "global_pause_received_frames_total", 1.0),
    ("rx_global_pause_duration", "global_pause_received_seconds_total", MICRO),
    ("tx_global_pause", "global_pause_sent_frames_total", 1.0),
    ("tx_global_pause_duration", "global_pause_sent_seconds_total", MICRO),
    ("tx_pause_storm_warning_events", "pause_storm_warnings_total", 1.0),
    ("tx_pause_storm_error_events", "pause_storm_errors_total", 1.0),
    ("rx_discards_phy", "receive_discards_total", 1.0),
    ("tx_discards_phy", "transmit_discards_total", 1.0),
    ("rx_prioN_buf_discard", "priority_discards_total", 1.0),
    ("rx_prioN_discards", "priority_discards_total", 1.0),
    ("rx_out_of_buffer", "out_of_buffer_total", 1.0),
    ("rx_crc_errors_phy", "crc_errors_total", 1.0),
    ("rx_symbol_err_phy", "coding_errors_total", 1.0),
    ("rx_pcs_symbol_err_phy", "fec_uncorrected_symbols_total", 1.0),
    ("rx_corrected_bits_phy", "fec_corrected_bits_total", 1.0),
    ("rx_err_lane_N_phy", "lane_errors_total", 1.0),
    ("rx_bits_phy", "receivable_bits_total", 1.0),
    ("link_down_events_phy", "link_downed_total", 1.0),
    ("rx_oversize_pkts_phy", "oversize_packets_total", 1.0),
    ("rx_out_of_range_len_phy", "length_errors_total", 1.0),
    ("rx_in_range_len_errors_phy", "length_errors_total", 1.0),
    ("tx_errors_phy", "transmit_errors_total", 1.0),
    ("rx_bytes_phy", "received_bytes_total", 1.0),
    ("tx_bytes_phy", "transmitted_bytes_total", 1.0),
    ("rx_packets_phy", "received_packets_total", 1.0),
    ("tx_packets_phy", "transmitted_packets_total", 1.0),
    ("rx_buffer_passed_thres_phy", "buffer_threshold_passed_total", 1.0),
    ("outbound_pci_stalled_rd", "pci_read_stalled_ratio", PERCENT),
    ("outbound_pci_stalled_wr", "pci_write_stalled_ratio", PERCENT),
    ("rx_pci_signal_integrity", "pci_receive_integrity_errors_total", 1.0),
    ("tx_pci_signal_integrity", "pci_transmit_integrity_errors_total", 1.0),
    ("module_bad_shorted", "module_bad_shorted_total", 1.0),
    ("module_high_temp", "module_high_temperature_total", 1.0),
    ("module_bus_stuck", "module_bus_stuck_total", 1.0),
    ("module_unplug", "module_unplugged_total", 1.0),
    ("rx_vport_rdma_unicast_bytes", "rdma_received_bytes_total", 1.0),
    ("tx_vport_rdma_unicast_bytes", "rdma_transmitted_bytes_total", 1.0),
)
"""Those that node_exporter shows as well: raw name, signal, factor. A node_exporter of a known age
reads names with a dot as 0."""

MORE_STATISTICS: Final = (
    ("tx_prioN_pause_transition", "pause_sent_transitions_total", 1.0),
    ("rx_prioN_cong_discard", "priority_discards_total", 1.0),
    ("rx_prioN_marked", "priority_marked_packets_total", 1.0),
    ("rx_prioN_bytes", "received_bytes_total", 1.0),
    ("tx_prioN_bytes", "transmitted_bytes_total", 1.0),
    ("rx_prioN_packets", "received_packets_total", 1.0),
    ("tx_prioN_packets", "transmitted_packets_total", 1.0),
    ("rx_crc_errors.nic", "crc_errors_total", 1.0),
    ("rx_bytes.nic", "received_bytes_total", 1.0),
    ("tx_bytes.nic", "transmitted_bytes_total", 1.0),
    ("rx_dropped.nic", "receive_discards_total", 1.0),
    ("tx_errors.nic", "transmit_errors_total", 1.0),
    ("rx_oversize.nic", "oversize_packets_total", 1.0),
    ("rx_length_errors.nic", "length_errors_total", 1.0),
    ("link_xoff_rx.nic", "global_pause_received_frames_total", 1.0),
    ("link_xoff_tx.nic", "global_pause_sent_frames_total", 1.0),
    ("mac_local_faults.nic", "mac_local_faults_total", 1.0),
    ("mac_remote_faults.nic", "mac_remote_faults_total", 1.0),
    ("rx_pfc_ena_frames_priN", "pause_received_frames_total", 1.0),
    ("tx_pfc_ena_frames_priN", "pause_sent_frames_total", 1.0),
    ("pfc_priN_rx_duration_us", "pause_received_seconds_total", MICRO),
    ("pfc_priN_tx_duration_us", "pause_sent_seconds_total", MICRO),
    ("pfc_priN_rx_transitions", "pause_received_transitions_total", 1.0),
    ("pfc_priN_tx_transitions", "pause_sent_transitions_total", 1.0),
    ("rx_fcs_err_frames", "crc_errors_total", 1.0),
    ("rx_total_discard_pkts", "receive_discards_total", 1.0),
    ("HwIfInOctets", "received_bytes_total", 1.0),
    ("HwIfOutOctets", "transmitted_bytes_total", 1.0),
    ("HwIfInErrors", "receive_errors_total", 1.0),
    ("HwIfOutErrors", "transmit_errors_total", 1.0),
    ("HwIfInDiscards", "receive_discards_total", 1.0),
    ("HwIfOutDiscards", "transmit_discards_total", 1.0),
    ("HwIfInBufferDrops", "buffer_drops_total", 1.0),
    ("HwIfOutQDrops", "queue_drops_total", 1.0),
    ("HwIfInDot3LengthErrors", "length_errors_total", 1.0),
    ("HwIfInDot3FrameErrors", "crc_errors_total", 1.0),
    ("HwIfInPausePkt", "global_pause_received_frames_total", 1.0),
    ("HwIfOutPausePkt", "global_pause_sent_frames_total", 1.0),
    ("HwIfInPfcNPkt", "pause_received_frames_total", 1.0),
    ("HwIfOutPfcNPkt", "pause_sent_frames_total", 1.0),
)
"""Those that only the command's own output has: priorities' traffic and other drivers."""

NUMBERED: Final = r"(?i)(prio|priority_|lane_|pri|pfc)(\d+)"
"""A priority or lane in a name."""

ETHTOOL_FIELDS: Final = schema_of(
    {"key": pl.String, "signal": pl.String, "factor": pl.Float64, "part": pl.String}
)


def ethtool_fields() -> pl.DataFrame:
    """Return `ETHTOOL_FIELDS`: one row a statistic; `part` is null for those of the port."""
    rows = [*STATISTICS, *MORE_STATISTICS]
    table = pl.DataFrame(rows, schema=["key", "signal", "factor"], orient="row")
    is_lane = pl.col("key").str.contains("lane_N", literal=True)
    is_priority = pl.col("key").str.contains("N", literal=True) & pl.col("key").str.contains(
        r"(?i)(?:prio|priority_|pri|pfc)N"
    )
    part = pl.when(is_lane).then(pl.lit("lane")).when(is_priority).then(pl.lit("priority"))
    return table.with_columns(part=part).select(ETHTOOL_FIELDS.names())
