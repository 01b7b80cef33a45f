"""What kind of name a device goes by, and which of several names is the best one.

A GPU is best known by its UUID, then by its PCI address, at last by an index that moves. A port is
best known as the RDMA port (`mlx5_4/1`) or the interface (`Ethernet48`), then by its printed label,
an interface's further names, a number, an address. Source: formats of GPU and host streams, section
0.2; of fabric counters, section 5.6.
"""

from typing import Final

import polars as pl

from collectors.identity import GPU_UUID_PATTERN, PCI_PATTERN

FAMILIES: Final = {
    "gpu": "gpu",
    "mig": "gpu",
    "nvlink": "gpu",
    "vgpu": "gpu",
    "nic": "port",
    "switch_port": "port",
    "lane": "port",
    "priority": "port",
    "queue": "port",
    "priority_group": "port",
    "fec_bin": "port",
}
"""Device kinds to the family within which names may mean the same; parts go with their whole."""

RANKS: Final = {
    "uuid": 0,
    "rdma": 1,
    "interface": 2,
    "label": 3,
    "netdev": 4,
    "name": 5,
    "number": 6,
    "rdma_device": 7,
    "pci": 8,
    "guid": 9,
    "index": 10,
}
"""Kinds of names a device may be joined by, the best first: its canonical name is of the best."""

EXCLUSIVE: Final = ("uuid", "rdma", "interface", "label", "netdev", "number", "pci", "index")
"""Kinds of which a device has one name at a time; it may have many further names."""

MOVING: Final = ("index",)
"""Kinds that hold only while the data shows them, once they have been seen to move."""

UNTOLD: Final = ("other", "mig")
"""No names to join by: what shares the names of its whole, and what is not understood."""

_MIG: Final = r"(?i)^MIG-|^GPU-[^/]+/"
_DRIVERS: Final = (
    r"mlx\d_|bnxt_re|irdma|roce|hfi\d_|qedr|mana_|efa_|rdmap|erdma|hns_|rxe|siw|i40iw|cxgb\d_"
)
_RDMA: Final = rf"^(?:{_DRIVERS})"
_RDMA_PORT: Final = rf"^(?:{_DRIVERS}|ib)[^/]*/\d+$"
_GUID: Final = r"^0x[0-9a-f]{16}$"
_INTERFACE: Final = r"^Ethernet\d[\d/]*$"
_LABEL: Final = r"^\d+/\d+$"

PART_PATTERN: Final = r"^(.+?)(/[a-z][a-z_]*\d+(?:/[a-z][a-z_]*\d+)*)$"
"""A device and the part of it that is meant: `eth4/lane2`, `Ethernet12/1/prio3`."""


def family_of(device_kind: pl.Expr) -> pl.Expr:
    """Return the family of a kind of device; null for one whose names are never joined."""
    return device_kind.replace_strict(FAMILIES, default=None, return_dtype=pl.String)


def name_kind(name: pl.Expr, family: pl.Expr) -> pl.Expr:
    """Return the kind of a name by its form: a key of `RANKS`, or one of `UNTOLD`.

    Args:
        name: A canonical name.
        family: `gpu` or `port`.
    """
    gpu = (
        pl.when(name.str.contains(_MIG))
        .then(pl.lit("mig"))
        .when(name.str.contains(GPU_UUID_PATTERN))
        .then(pl.lit("uuid"))
        .when(name.str.contains(r"^\d+$"))
        .then(pl.lit("index"))
        .otherwise(pl.lit("other"))
    )
    port = (
        pl.when(name.str.contains(_RDMA_PORT))
        .then(pl.lit("rdma"))
        .when(name.str.contains(_RDMA))
        .then(pl.lit("rdma_device"))
        .when(name.str.contains(_INTERFACE))
        .then(pl.lit("interface"))
        .when(name.str.contains(_LABEL))
        .then(pl.lit("label"))
        .when(name.str.contains(r"^\d+$"))
        .then(pl.lit("number"))
        .when(name.str.contains(_GUID))
        .then(pl.lit("guid"))
        .otherwise(pl.lit("name"))
    )
    by_family = pl.when(family == "gpu").then(gpu).otherwise(port)
    return pl.when(name.str.contains(PCI_PATTERN)).then(pl.lit("pci")).otherwise(by_family)


def told_kind(alias_kind: pl.Expr, name: pl.Expr, family: pl.Expr) -> pl.Expr:
    """Return the kind of an alias: what its form shows, else what the statement calls it.

    Args:
        alias_kind: As in `ALIASES`.
        name: The alias.
        family: `gpu` or `port`.

    Returns:
        As `name_kind`; `lid`, `ip`, `minor` and `pod` name no device and are `other`.
    """
    by_form = name_kind(name, family)
    is_plain_netdev = (alias_kind == "netdev") & (by_form == "name")
    is_rdma = (alias_kind == "rdma") & (by_form == "name")
    rdma = (
        pl.when(name.str.contains(r"/\d+$")).then(pl.lit("rdma")).otherwise(pl.lit("rdma_device"))
    )
    unusable = alias_kind.is_in(["lid", "ip", "minor", "pod"])
    return (
        pl.when(unusable)
        .then(pl.lit("other"))
        .when(is_plain_netdev)
        .then(pl.lit("netdev"))
        .when(is_rdma)
        .then(rdma)
        .otherwise(by_form)
    )


def whole_of(device: pl.Expr) -> pl.Expr:
    """Return the device that a name speaks of, without the part: `eth4` of `eth4/lane2`."""
    return device.str.extract(PART_PATTERN, 1).fill_null(device)


def part_of(device: pl.Expr) -> pl.Expr:
    """Return the part with its slash, empty where the name is of the whole device."""
    return device.str.extract(PART_PATTERN, 2).fill_null("")
