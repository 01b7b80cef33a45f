"""Which counter of a RoCE NIC is which signal: mlx5 `ethtool -S`, RDMA hardware counters, E810.

Source: Linux kernel documentation of mlx5 counters, prometheus/node_exporter `ethtool_linux.go`
(words `rx` and `tx` become `received` and `transmitted`) and `infiniband_linux.go` (hardware
counters since 1.11). Received and sent stay apart: a pause received is the network's doing, a
pause sent is this host's.
"""

from typing import Final

import polars as pl

from collectors.frames import schema_of

MICRO: Final = 1e-6
PERCENT: Final = 0.01

ETHTOOL: Final = (
    ("received_prioN_pause", "pause_received_frames_total", 1.0),
    ("received_prioN_pause_duration", "pause_received_seconds_total", MICRO),
    ("received_prioN_pause_transition", "pause_received_transitions_total", 1.0),
    ("transmitted_prioN_pause", "pause_sent_frames_total", 1.0),
    ("transmitted_prioN_pause_duration", "pause_sent_seconds_total", MICRO),
    ("received_priority_N_xoff_nic", "pause_received_frames_total", 1.0),
    ("transmitted_priority_N_xoff_nic", "pause_sent_frames_total", 1.0),
    ("received_global_pause", "global_pause_received_frames_total", 1.0),
    ("received_global_pause_duration", "global_pause_received_seconds_total", MICRO),
    ("transmitted_global_pause", "global_pause_sent_frames_total", 1.0),
    ("transmitted_global_pause_duration", "global_pause_sent_seconds_total", MICRO),
    ("transmitted_pause_storm_warning_events", "pause_storm_warnings_total", 1.0),
    ("transmitted_pause_storm_error_events", "pause_storm_errors_total", 1.0),
    ("received_discards_phy", "receive_discards_total", 1.0),
    ("transmitted_discards_phy", "transmit_discards_total", 1.0),
    ("received_prioN_buf_discard", "priority_discards_total", 1.0),
    ("received_prioN_discards", "priority_discards_total", 1.0),
    ("received_out_of_buffer", "out_of_buffer_total", 1.0),
    ("received_crc_errors_phy", "crc_errors_total", 1.0),
    ("received_symbol_err_phy", "coding_errors_total", 1.0),
    ("received_pcs_symbol_err_phy", "fec_uncorrected_symbols_total", 1.0),
    ("received_corrected_bits_phy", "fec_corrected_bits_total", 1.0),
    ("received_err_lane_N_phy", "lane_errors_total", 1.0),
    ("received_bits_phy", "receivable_bits_total", 1.0),
    ("link_down_events_phy", "link_downed_total", 1.0),
    ("received_oversize_pkts_phy", "oversize_packets_total", 1.0),
    ("received_out_of_range_len_phy", "length_errors_total", 1.0),
    ("received_in_range_len_errors_phy", "length_errors_total", 1.0),
    ("transmitted_errors_phy", "transmit_errors_total", 1.0),
    ("received_bytes_phy", "received_bytes_total", 1.0),
    ("transmitted_bytes_phy", "transmitted_bytes_total", 1.0),
    ("received_packets_phy", "received_packets_total", 1.0),
    ("transmitted_packets_phy", "transmitted_packets_total", 1.0),
    ("received_buffer_passed_thres_phy", "buffer_threshold_passed_total", 1.0),
    ("outbound_pci_stalled_rd", "pci_read_stalled_ratio", PERCENT),
    ("outbound_pci_stalled_wr", "pci_write_stalled_ratio", PERCENT),
    ("received_pci_signal_integrity", "pci_receive_integrity_errors_total", 1.0),
    ("transmitted_pci_signal_integrity", "pci_transmit_integrity_errors_total", 1.0),
    ("module_bad_shorted", "module_bad_shorted_total", 1.0),
    ("module_high_temp", "module_high_temperature_total", 1.0),
    ("module_bus_stuck", "module_bus_stuck_total", 1.0),
    ("module_unplug", "module_unplugged_total", 1.0),
    ("received_vport_rdma_unicast_bytes", "rdma_received_bytes_total", 1.0),
    ("transmitted_vport_rdma_unicast_bytes", "rdma_transmitted_bytes_total", 1.0),
)
"""node_exporter's name after `node_ethtool_`, signal, factor; N is a priority or lane. Several of
one interface are one signal: their sum."""

_NUMBERED: Final = r"(prio|priority_|lane_)\d"

HARDWARE: Final = (
    (
        "np_ecn_marked_roce_packets_received_total",
        "np_ecn_marked_roce_packets",
        "ecn_marked_packets",
    ),
    ("np_cnp_packets_sent_total", "np_cnp_sent", "cnp_sent"),
    ("rp_cnp_packets_handled_total", "rp_cnp_handled", "cnp_handled"),
    ("rp_cnp_ignored_packets_received_total", "rp_cnp_ignored", "cnp_ignored"),
    ("out_of_sequence_packets_received_total", "out_of_sequence", "out_of_sequence_packets"),
    ("packet_sequence_errors_total", "packet_seq_err", "packet_sequence_errors"),
    ("local_ack_timeout_errors_total", "local_ack_timeout_err", "ack_timeouts"),
    ("roce_adp_retransmits_total", "roce_adp_retrans", "adaptive_retransmits"),
    ("roce_slow_restart_total", "roce_slow_restart", "slow_restarts"),
    ("rnr_nak_retry_packets_received_total", "rnr_nak_retry_err", "receiver_not_ready"),
    ("out_of_buffer_drops_total", "out_of_buffer", "out_of_buffer"),
    ("duplicate_requests_packets_total", "duplicate_request", "duplicate_requests"),
    ("implied_nak_seq_errors_total", "implied_nak_seq_err", "implied_sequence_errors"),
    ("rx_icrc_encapsulated_errors_total", "rx_icrc_encapsulated", "end_to_end_crc_errors"),
    ("", "req_remote_invalid_request", "remote_invalid_requests"),
    ("", "resp_local_length_error", "local_length_errors"),
)
"""node_exporter's name after `node_infiniband_`, the kernel's file, signal without `_total`."""

ROCE_FIELDS: Final = schema_of(
    {"name": pl.String, "signal": pl.String, "factor": pl.Float64, "exporter": pl.String}
)


def roce_fields(names: pl.Series) -> pl.DataFrame:
    """Return `ROCE_FIELDS` of those of `names` that are counters of RoCE NICs.

    Args:
        names: Metric names.

    Returns:
        One row a name; `exporter` is ethtool, node (its hardware counters) or rdma (the kernel's
        file names behind `rdma_`, as oracle-quickstart/oci-hpc exposes them).
    """
    rows = [(f"node_ethtool_{name}", *rest, "ethtool") for name, *rest in ETHTOOL]
    for node, kernel, signal in HARDWARE:
        rows.append((f"rdma_{kernel}", f"{signal}_total", 1.0, "rdma"))
        if node:
            rows.append((f"node_infiniband_{node}", f"{signal}_total", 1.0, "node"))
    table = pl.DataFrame(rows, schema=ROCE_FIELDS, orient="row").rename({"name": "key"})
    name = pl.col("name")
    short = pl.when(name.str.starts_with("node_ethtool_")).then(name.str.strip_suffix("_total"))
    key = pl.coalesce(short, name).str.replace(_NUMBERED, "${1}N")
    known = names.unique().to_frame("name").with_columns(key=key)
    return known.join(table, on="key").select(ROCE_FIELDS.names())
