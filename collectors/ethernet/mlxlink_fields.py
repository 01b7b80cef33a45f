"""Which field of mlxlink is which signal, and what its status codes say.

Source: Mellanox/mstflint, `mlxlink/modules` (titles, field names, status opcodes).
"""

from typing import Final

from collectors.link_signals import LIMITED

SECTIONS: Final = (
    "Operational Info",
    "Supported Info",
    "Troubleshooting Info",
    "Tool Information",
    "Physical Counters and BER Info",
    "Histogram of FEC Errors",
    "Module Info",
    "Device Info",
    "Serdes Tuning Transmitter Info",
    "EYE Opening Info",
    "FEC Capability Info",
    "Link Down Info",
)
"""Titles of the parts of an output."""

MLXLINK_FIELDS: Final = (
    ("Time Since Last Clear [Min]", "seconds_since_clear", 60.0, ""),
    ("Symbol Errors", "symbol_errors_total", 1.0, ""),
    ("Symbol BER", "symbol_error_ratio", 1.0, ""),
    ("Effective Physical Errors", "effective_errors_total", 1.0, ""),
    ("Effective Physical BER", "post_fec_error_ratio", 1.0, ""),
    ("Raw Physical BER", "pre_fec_error_ratio", 1.0, ""),
    ("Raw Physical Errors Per Lane", "raw_errors_total", 1.0, "lane"),
    ("Raw Physical BER Per Lane", "pre_fec_error_ratio", 1.0, "lane"),
    ("Link Down Counter", "link_downed_total", 1.0, ""),
    ("Link Error Recovery Counter", "link_error_recoveries_total", 1.0, ""),
    ("Status Opcode", "link_status_opcode", 1.0, ""),
    ("Temperature [C]", "module_temperature_celsius", 1.0, ""),
    ("Voltage [mV]", "module_supply_volts", 1e-3, ""),
    ("Bias Current [mA]", "bias_amperes", 1e-3, "lane"),
    ("Rx Power Current [dBm]", "rx_power_dbm", 1.0, "lane"),
    ("Tx Power Current [dBm]", "tx_power_dbm", 1.0, "lane"),
)
"""Field, signal, factor, and kind of part if the value is a list."""

THRESHOLDS: Final = tuple(
    (f"{name}_{unit}", f"{name}_low_alarm_{unit}", f"{name}_high_alarm_{unit}")
    for name, unit in LIMITED
)
"""Signal, and those of the limits in brackets behind it."""

EVENT_KINDS: Final = (
    dict.fromkeys(("2", "3", "4"), "link_negotiation_failed")
    | dict.fromkeys(("5", "6", "7", "8"), "link_training_failed")
    | dict.fromkeys(("9", "10", "11", "12", "13"), "link_logical_mismatch")
    | dict.fromkeys(("15", "17", "42", "48", "49", "52"), "link_bad_signal")
    | dict.fromkeys(("34", "35"), "link_degraded")
    | {
        "1": "link_closed",
        "14": "link_remote_fault",
        "57": "link_no_signal",
        "1024": "module_unplugged",
        "1030": "module_too_hot",
    }
)
"""Status opcode to our kind of event; others are `link_status`."""
