"""What the detectors of ports, links and the fabric must be given."""

from typing import Final

from paceline.need import Need

_LINE_ERRORS: Final = (
    "symbol_errors_total",
    "fec_uncorrected_codewords_total",
    "fec_uncorrected_symbols_total",
    "coding_errors_total",
)

_PAUSES: Final = (
    "pause_received_seconds_total",
    "pause_received_frames_total",
    "pause_sent_seconds_total",
    "pause_sent_frames_total",
    "transmit_wait_ticks_total",
)

PORT_NEEDS: Final[tuple[Need, ...]] = (
    Need("links", "errors of the line", "samples", _LINE_ERRORS, "dirty links are not seen"),
    Need(
        "links",
        "cables between ports",
        "links",
        ("node_a", "node_b"),
        "an error names the port that counts it, not the link or the end that is damaged",
    ),
    Need(
        "degrading links",
        "bit error ratios before correction",
        "samples",
        ("pre_fec_error_ratio",),
        "a link shows only when correction fails, without early warning",
    ),
    Need(
        "flaps",
        "link state changes",
        "samples",
        ("link_downed_total", "carrier_downs_total", "carrier_changes_total"),
        "flapping links are not seen",
    ),
    Need(
        "widths",
        "rate or width of links",
        "samples",
        ("port_rate_bytes_per_second", "link_width_lanes", "network_speed_bytes_per_second"),
        "a link that came up slower than it can is not seen",
    ),
    Need(
        "travelled errors",
        "CRC and marked-bad packets",
        "samples",
        ("crc_errors_total", "remote_physical_errors_total", "receive_errors_total"),
        "damage that travels cannot be followed to the first hop",
    ),
    Need("congestion", "pauses or waits of ports", "samples", _PAUSES, "congestion is not seen"),
    Need(
        "slow ports",
        "bytes that ports of hosts carry",
        "samples",
        (
            *("received_bytes_total", "transmitted_bytes_total"),
            *("receive_bytes_per_second", "transmit_bytes_per_second"),
        ),
        "a link that carries less without an error is not seen",
    ),
    Need(
        "marks",
        "ECN marks and notifications",
        "samples",
        ("ecn_marked_packets_total", "cnp_sent_total", "cnp_handled_total"),
        "congestion control that is off or ignored is not seen",
    ),
    Need(
        "buffers",
        "drops by port or priority",
        "samples",
        ("receive_discards_total", "priority_discards_total", "buffer_drops_total"),
        "a lossless class that loses packets is not seen",
    ),
    Need(
        "storms",
        "pause storms",
        "samples",
        ("pause_storms_total", "pause_storm_errors_total", "pause_storm_warnings_total"),
        "a pause storm shows only as congestion",
    ),
    Need(
        "unready hosts",
        "receivers that were not ready",
        "samples",
        ("out_of_buffer_total", "receiver_not_ready_sent_total"),
        "a slow host looks like a slow network",
    ),
    Need(
        "bus errors",
        "PCIe errors of NICs",
        "samples",
        ("pci_receive_integrity_errors_total", "pci_transmit_integrity_errors_total"),
        "a NIC that its own host slows looks like a slow network",
    ),
    Need(
        "MTUs",
        "MTU of ports",
        "samples",
        ("active_mtu_bytes", "mtu_bytes"),
        "peers with different MTUs are not seen",
    ),
    Need(
        "blind ports",
        "error counters of ports",
        "samples",
        ("symbol_errors_total", "receive_errors_total", "link_downed_total"),
        "counters that stand at their top are taken for calm ones",
    ),
    Need(
        "port faults",
        "port error events",
        "events",
        ("port_error", "link_down"),
        "what a switch itself says of its ports is not heard",
    ),
    Need(
        "status faults",
        "what ports say of their own links",
        "events",
        ("link_bad_signal", "link_training_failed", "link_negotiation_failed", "module_alarm"),
        "a link that never comes up shows only as missing",
    ),
)
"""In the order of the detectors."""
