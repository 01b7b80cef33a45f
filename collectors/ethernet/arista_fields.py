"""The counters of Arista EOS by the names that its JSON and its tables give them.

Source: EOS `show interfaces [counters [errors|discards]] | json` and their texts. Counts are since
the last clear or boot and 64 bits wide. `frameTooLongs` and giants are longer than the MTU.
"""

from typing import Final

import polars as pl

ERRORS: Final = {
    "inErrors": "receive_errors_total",
    "outErrors": "transmit_errors_total",
    "frameTooLongs": "oversize_packets_total",
    "frameTooShorts": "undersize_packets_total",
    "fcsErrors": "crc_errors_total",
    "alignmentErrors": "alignment_errors_total",
    "symbolErrors": "coding_errors_total",
}
"""Of `interfaceErrorCounters`."""

COUNTERS: Final = {
    "inOctets": "received_bytes_total",
    "outOctets": "transmitted_bytes_total",
    "inUcastPkts": "unicast_received_packets_total",
    "outUcastPkts": "unicast_transmitted_packets_total",
    "inMulticastPkts": "multicast_received_packets_total",
    "outMulticastPkts": "multicast_transmitted_packets_total",
    "inBroadcastPkts": "broadcast_received_packets_total",
    "outBroadcastPkts": "broadcast_transmitted_packets_total",
    "inDiscards": "receive_discards_total",
    "outDiscards": "transmit_discards_total",
    "totalInErrors": "receive_errors_total",
    "totalOutErrors": "transmit_errors_total",
    "linkStatusChanges": "carrier_changes_total",
    "runtFrames": "undersize_packets_total",
    "giantFrames": "oversize_packets_total",
    "fcsErrors": "crc_errors_total",
    "alignmentErrors": "alignment_errors_total",
    "symbolErrors": "coding_errors_total",
    "rxPause": "global_pause_received_frames_total",
    "txPause": "global_pause_sent_frames_total",
    "collisions": "collisions_total",
}
"""Of `interfaces` and the objects in them."""

STATES: Final = {
    "mtu": ("mtu_bytes", 1.0),
    "bandwidth": ("port_rate_bytes_per_second", 1.0 / 8.0),
    "lastClear": ("counters_cleared_seconds", 1.0),
}

TABLE: Final = {
    "fcs": "crc_errors_total",
    "align": "alignment_errors_total",
    "symbol": "coding_errors_total",
    "rx": "receive_errors_total",
    "runts": "undersize_packets_total",
    "giants": "oversize_packets_total",
    "tx": "transmit_errors_total",
    "inoctets": "received_bytes_total",
    "inucastpkts": "unicast_received_packets_total",
    "inmcastpkts": "multicast_received_packets_total",
    "inbcastpkts": "broadcast_received_packets_total",
    "outoctets": "transmitted_bytes_total",
    "outucastpkts": "unicast_transmitted_packets_total",
    "outmcastpkts": "multicast_transmitted_packets_total",
    "outbcastpkts": "broadcast_transmitted_packets_total",
    "indiscards": "receive_discards_total",
    "outdiscards": "transmit_discards_total",
}
"""Of the text tables, by column in lower case."""

PHY: Final = {
    "fec corrected codewords": "fec_corrected_codewords_total",
    "fec uncorrected codewords": "fec_uncorrected_codewords_total",
}
"""Of `show interfaces phy detail`: counts that stand in the column of the state."""

PHY_CHANGES: Final = {
    "local fault": "mac_local_faults_total",
    "mac rx local fault": "mac_local_faults_total",
    "remote fault": "mac_remote_faults_total",
    "mac rx remote fault": "mac_remote_faults_total",
}
"""States whose column of changes counts."""

INTERFACE: Final = r"^(?:Et|Ethernet|Ma|Management|Po|Port-Channel)\d[\d/]*$"
"""EOS shortens `Ethernet12/1` to `Et12/1` in its tables."""

_SHORT: Final = (("Et", "Ethernet"), ("Po", "Port-Channel"), ("Ma", "Management"))


def long_name(port: pl.Expr) -> pl.Expr:
    """Return the long name of an interface, which EOS shortens in its tables."""
    for short, long in _SHORT:
        port = port.str.replace(rf"^{short}(\d[\d/]*)$", f"{long}${{1}}")
    return port
