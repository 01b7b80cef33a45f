"""What node_exporter calls what it tells of hosts and of their network cards.

Source: prometheus/node_exporter, collectors infiniband, ethtool, pressure and boottime. The
counters of RDMA came with 1.11; ethtool is off by default, and its names hold the priority, which
is 3 here, as RoCE networks usually have it. `node` is no label of the exporter: the scrape
configuration adds it.
"""

from typing import Final

from dashboards.exporters.tables import Exporter

_INFINIBAND: Final = {
    "symbol_errors": "symbol_error_total",
    "links_downed": "link_downed_total",
    "sent_bytes": "port_data_transmitted_bytes_total",
    "received_bytes": "port_data_received_bytes_total",
    "line_rate": "rate_bytes_per_second",
    "out_of_sequence": "out_of_sequence_packets_received_total",
    "ack_timeouts": "local_ack_timeout_errors_total",
    "retransmits": "packet_sequence_errors_total",
    "cnps_sent": "np_cnp_packets_sent_total",
    "cnps_handled": "rp_cnp_packets_handled_total",
    "ecn_marked": "np_ecn_marked_roce_packets_received_total",
}
_ETHTOOL: Final = {
    "pauses_received": "received_prio3_pause",
    "pause_received_us": "received_prio3_pause_duration",
    "pauses_sent": "transmitted_prio3_pause",
    "pause_sent_us": "transmitted_prio3_pause_duration",
    "discards": "received_prio3_discards",
    "corrected_bits": "received_corrected_bits_phy",
    "received_bits": "received_bits_phy",
    "uncorrected_symbols": "received_pcs_symbol_err_phy",
}
_HOST: Final = {
    "storage_wait": "node_pressure_io_waiting_seconds_total",
    "boot_time": "node_boot_time_seconds",
}

HOSTS: Final = Exporter(
    name="node-exporter",
    versions=("1.11",),
    default="1.11",
    labels={},
    further=("node", "device", "port"),
    series={
        **{key: {"1.11": f"node_infiniband_{name}"} for key, name in _INFINIBAND.items()},
        **{key: {"1.11": f"node_ethtool_{name}"} for key, name in _ETHTOOL.items()},
        **{key: {"1.11": name} for key, name in _HOST.items()},
    },
)
"""Data are bytes, pause durations microseconds, pressure seconds."""
