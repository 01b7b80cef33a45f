"""Which field of a module's output is which signal.

Source: ethtool `sff-common.c`, `qsfp.c`, `sfpdiag.c`; sonic-net/sonic-utilities `sfputil`; the
fields of `TRANSCEIVER_DOM_SENSOR`.
"""

from typing import Final

import polars as pl

MILLI: Final = 1e-3

MONITORS: Final = (
    ("laser bias current", "bias_amperes", MILLI),
    ("laser tx bias current", "bias_amperes", MILLI),
    ("transmit avg optical power", "tx_power_dbm", 1.0),
    ("laser output power", "tx_power_dbm", 1.0),
    ("rcvr signal avg optical power", "rx_power_dbm", 1.0),
    ("receiver signal average optical power", "rx_power_dbm", 1.0),
    ("receiver signal oma", "rx_power_dbm", 1.0),
    ("module temperature", "module_temperature_celsius", 1.0),
    ("module voltage", "module_supply_volts", 1.0),
    ("rxNpower", "rx_power_dbm", 1.0),
    ("txNpower", "tx_power_dbm", 1.0),
    ("txNbias", "bias_amperes", MILLI),
    ("rxpower", "rx_power_dbm", 1.0),
    ("txpower", "tx_power_dbm", 1.0),
    ("txbias", "bias_amperes", MILLI),
    ("temperature", "module_temperature_celsius", 1.0),
    ("vcc", "module_supply_volts", 1.0),
    ("voltage", "module_supply_volts", 1.0),
)
"""Field in lower case (N a lane), signal, factor."""

_LIMITED: Final = (
    ("laser bias current", "txbias", "bias", "amperes", MILLI),
    ("laser output power", "txpower", "tx_power", "dbm", 1.0),
    ("laser tx power", "", "tx_power", "dbm", 1.0),
    ("laser rx power", "rxpower", "rx_power", "dbm", 1.0),
    ("module temperature", "temp", "module_temperature", "celsius", 1.0),
    ("module voltage", "vcc", "module_supply", "volts", 1.0),
)

FLAGS: Final = r"(?i)(?:alarm|warning)(?: \(|$)|loss of (?:signal|lock)|(?:tx|rx).* fault"
"""Fields that say whether something is wrong."""


def limit_fields() -> pl.DataFrame:
    """Return `key`, `signal` and `factor` of the module's own limits, in both spellings."""
    rows: list[tuple[str, str, float]] = []
    for ethtool, sonic, name, unit, factor in _LIMITED:
        for side in ("low", "high"):
            for level in ("alarm", "warning"):
                signal = f"{name}_{side}_{level}_{unit}"
                rows.append((f"{ethtool} {side} {level} threshold", signal, factor))
                if sonic:
                    rows.append((f"{sonic}{side}{level}", signal, factor))
    return pl.DataFrame(rows, schema=["key", "signal", "factor"], orient="row")
