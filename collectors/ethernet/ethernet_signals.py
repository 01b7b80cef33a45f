"""Signals of Ethernet switches as SNMP, gNMI and their command lines tell them.

Sources: IF-MIB, EtherLike-MIB, SNMPv2-MIB; OpenConfig models of interfaces and QoS.
"""

from typing import Final

from collectors.signal_kinds import Signal, signal_table

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
"""`uptime_seconds` is of the agent; `counters_began_uptime_seconds`, `changed_uptime_seconds` are
what it was when a port's counters last began anew and when its state last changed. The two without
`uptime` are seconds since the epoch. A change of either means that all counters of the port began
anew. `ecn_selected_packets_total` were chosen for marking, marked or not."""
