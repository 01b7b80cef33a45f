"""What snmp_exporter and gnmic call what they tell of the ports of switches.

Source: prometheus/snmp_exporter, module `if_mib`; openconfig/gnmic's Prometheus output, which
makes a name of the path, over the OpenConfig models of interfaces, queues and transceivers. Which
leaves a switch has depends on its vendor and release.
"""

from typing import Final

from dashboards.exporters.tables import Exporter

PORTS: Final = Exporter(
    name="snmp",
    versions=("0.26",),
    default="0.26",
    labels={
        "switch": {"0.26": "instance"},
        "port": {"0.26": "ifName"},
        "peer": {"0.26": "ifAlias"},
    },
    further=("ifIndex", "ifDescr"),
    series={
        "status": {"0.26": "ifOperStatus"},
        "errors_in": {"0.26": "ifInErrors"},
        "bytes_in": {"0.26": "ifHCInOctets"},
        "bytes_out": {"0.26": "ifHCOutOctets"},
        "discards_out": {"0.26": "ifOutDiscards"},
        "speed_mbps": {"0.26": "ifHighSpeed"},
    },
)
"""Octets are bytes, speed is in Mb/s, status is 1 for up and 2 for down."""

_INTERFACE: Final = "interfaces_interface"
_ETHERNET: Final = f"{_INTERFACE}_ethernet_state_counters"
_QUEUE: Final = "qos_interfaces_interface_output_queues_queue_state"
_OPTICS: Final = "components_component_transceiver"
_LANE: Final = f"{_OPTICS}_physical_channels_channel_state"
_LIMIT: Final = f"{_OPTICS}_thresholds_threshold_state"

STREAMS: Final = Exporter(
    name="gnmic",
    versions=("0.38",),
    default="0.38",
    labels={
        "switch": {"0.38": "target"},
        "port": {"0.38": "interface_name"},
        "module": {"0.38": "component_name"},
        "lane": {"0.38": "channel_index"},
        "queue": {"0.38": "queue_name"},
        "severity": {"0.38": "threshold_severity"},
    },
    further=(),
    series={
        "fec_corrected": {"0.38": f"{_ETHERNET}_fec_corrected_blocks"},
        "fec_uncorrectable": {"0.38": f"{_ETHERNET}_fec_uncorrectable_blocks"},
        "transitions": {"0.38": f"{_INTERFACE}_state_counters_carrier_transitions"},
        "last_clear_ns": {"0.38": f"{_INTERFACE}_state_counters_last_clear"},
        "ecn_marked": {"0.38": f"{_QUEUE}_ecn_marked_pkts"},
        "queue_drops": {"0.38": f"{_QUEUE}_dropped_pkts"},
        "pre_fec_ber": {"0.38": f"{_OPTICS}_state_pre_fec_ber_instant"},
        "module_temperature": {"0.38": "components_component_state_temperature_instant"},
        "rx_power": {"0.38": f"{_LANE}_input_power_instant"},
        "tx_power": {"0.38": f"{_LANE}_output_power_instant"},
        "rx_power_low": {"0.38": f"{_LIMIT}_input_power_lower"},
    },
)
"""Optical power is in dBm, temperatures in degrees Celsius, `last_clear` in ns since 1970."""
