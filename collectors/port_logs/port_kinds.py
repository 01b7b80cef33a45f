"""What kind of device a port is, by its name in a log.

Source: formats of fabric counters, sections 4 and 5.6.
"""

from typing import Final

import polars as pl

_KINDS: Final = {
    "lag": r"(?i)^(?:PortChannel|Port-Channel|Po\d|bond|ae\d|team)",
    "interface": r"(?i)^(?:Vlan|Loopback|lo\d?$|Management|Ma\d|mgmt|docker|veth|br-?\d|tun|cali"
    r"|vxlan|virbr|Ethernet-BP|flannel|cni)",
    "switch_port": r"(?i)^(?:Ethernet\d|Eth\d+/|Et\d|swp\d|xe-|et-|ge-|Gi|Te\d|Ten|Hu|Fo|Twe|\d)",
}
"""What a port's name says of it; any other is a NIC's. A bundle is not counted beside its members,
and what is no cable's end is no link."""


def device_kind_of(device: pl.Expr) -> pl.Expr:
    """Return what kind of device a port's name is of; `node` where there is no name."""
    kind = pl.lit("nic")
    for name, pattern in reversed(_KINDS.items()):
        kind = pl.when(device.str.contains(pattern)).then(pl.lit(name)).otherwise(kind)
    return pl.when(device.is_not_null()).then(kind).otherwise(pl.lit("node"))
