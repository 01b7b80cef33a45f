"""The objects of IF-MIB, EtherLike-MIB and Cisco's PFC MIB as snmp_exporter names them.

Source: RFC 2863, RFC 3635, RFC 4836, CISCO-PFC-EXT-MIB; prometheus/snmp_exporter `generator.yml`
and README (a Counter64 is wrapped at 2^53 so that float64 holds it).
"""

from typing import Final

import polars as pl

from collectors.frames import schema_of

WRAP_32: Final = 2.0**32
WRAP_53: Final = 2.0**53

TICKS_PER_SECOND: Final = 100.0
"""TimeTicks are hundredths of a second in 32 bits: they begin anew after 497 days."""

MEGABIT_BYTES: Final = 125_000.0

COUNTER_64: Final = (
    ("ifHCInOctets", "received_bytes_total"),
    ("ifHCOutOctets", "transmitted_bytes_total"),
    ("ifHCInUcastPkts", "unicast_received_packets_total"),
    ("ifHCOutUcastPkts", "unicast_transmitted_packets_total"),
    ("ifHCInMulticastPkts", "multicast_received_packets_total"),
    ("ifHCOutMulticastPkts", "multicast_transmitted_packets_total"),
    ("ifHCInBroadcastPkts", "broadcast_received_packets_total"),
    ("ifHCOutBroadcastPkts", "broadcast_transmitted_packets_total"),
    ("dot3HCStatsFCSErrors", "crc_errors_total"),
    ("dot3HCStatsAlignmentErrors", "alignment_errors_total"),
    ("dot3HCStatsFrameTooLongs", "oversize_packets_total"),
    ("dot3HCStatsSymbolErrors", "coding_errors_total"),
    ("dot3HCStatsInternalMacReceiveErrors", "internal_receive_errors_total"),
    ("dot3HCStatsInternalMacTransmitErrors", "internal_transmit_errors_total"),
    ("dot3HCInPauseFrames", "global_pause_received_frames_total"),
    ("dot3HCOutPauseFrames", "global_pause_sent_frames_total"),
)

COUNTER_32: Final = (
    ("ifInErrors", "receive_errors_total"),
    ("ifOutErrors", "transmit_errors_total"),
    ("ifInDiscards", "receive_discards_total"),
    ("ifOutDiscards", "transmit_discards_total"),
    ("ifInUnknownProtos", "unknown_protocol_packets_total"),
    ("dot3StatsFCSErrors", "crc_errors_total"),
    ("dot3StatsAlignmentErrors", "alignment_errors_total"),
    ("dot3StatsFrameTooLongs", "oversize_packets_total"),
    ("dot3StatsSymbolErrors", "coding_errors_total"),
    ("dot3StatsInternalMacReceiveErrors", "internal_receive_errors_total"),
    ("dot3StatsInternalMacTransmitErrors", "internal_transmit_errors_total"),
    ("dot3InPauseFrames", "global_pause_received_frames_total"),
    ("dot3OutPauseFrames", "global_pause_sent_frames_total"),
)

TICKS: Final = (
    ("sysUpTime", "uptime_seconds"),
    ("ifCounterDiscontinuityTime", "counters_began_uptime_seconds"),
    ("ifLastChange", "changed_uptime_seconds"),
)

GAUGES: Final = (
    ("ifHighSpeed", "port_rate_bytes_per_second", MEGABIT_BYTES),
    ("ifSpeed", "port_rate_bytes_per_second", 1.0 / 8.0),
    ("ifMtu", "mtu_bytes", 1.0),
    ("ifOperStatus", "link_up", 1.0),
    ("ifAdminStatus", "admin_up", 1.0),
)

PFC_TOTALS: Final = {
    "cpfcIfRequests": "pause_sent_frames_total",
    "cpfcIfIndications": "pause_received_frames_total",
}
"""Of the port; SONiC's agent counts priority 3 alone under these names."""

PFC_PRIORITIES: Final = {
    "cpfcIfPriorityRequests": "pause_sent_frames_total",
    "cpfcIfPriorityIndications": "pause_received_frames_total",
}

SONIC_TOTAL_PRIORITY: Final = 3

STATES: Final = {1.0: 1.0, 2.0: 0.0, 3.0: 0.0, 5.0: 0.0, 6.0: 0.0, 7.0: 0.0}
"""up, down, testing, dormant, not present, lower layer down; 4 is unknown."""

NARROW: Final = ("ifInOctets", "ifOutOctets", "ifInUcastPkts", "ifOutUcastPkts")
"""32 bits that begin anew within a second at 400 Gb/s: no evidence, and left out."""

HELPERS: Final = ("sysName", "sysDescr", "ifType_info", "ifAlias", "ifName", "ifDescr")

SNMP_FIELDS: Final = schema_of(
    {
        "name": pl.String,
        "signal": pl.String,
        "factor": pl.Float64,
        "wraps_at": pl.Float64,
        "wide": pl.Boolean,
    }
)
"""An object and what it measures. `wide` is a Counter64, whose width depends on the exporter."""


def snmp_fields() -> pl.DataFrame:
    """Return `SNMP_FIELDS` of all objects that are read."""
    tick = 1.0 / TICKS_PER_SECOND
    rows = [
        *((name, signal, 1.0, None, True) for name, signal in COUNTER_64),
        *((name, signal, 1.0, WRAP_32, False) for name, signal in COUNTER_32),
        *((name, signal, tick, WRAP_32 * tick, False) for name, signal in TICKS),
        *((name, signal, factor, None, False) for name, signal, factor in GAUGES),
        *(
            (name, signal, 1.0, None, False)
            for name, signal in {**PFC_TOTALS, **PFC_PRIORITIES}.items()
        ),
    ]
    return pl.DataFrame(rows, schema=SNMP_FIELDS, orient="row")
