"""Read which RDMA port is which interface and which PCI device.

Source: MLNX_OFED `ibdev2netdev` and `show_gids`, iproute2 `rdma link show`, listings of
`/sys/class/infiniband` and `/sys/class/net`, whose links lead through the PCI device.
"""

from typing import Final

import polars as pl

from collectors.frames import ALIASES, conform
from collectors.identity import pci_address

NETDEV: Final = (
    r"^(?:(?P<pci>[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.\d) )?(?P<rdma>\S+) "
    r"(?:\(.*\) .*)?port (?P<port>\d+) (?:\([A-Z]+\) )?==> (?P<netdev>\S+)(?: \((?:Up|Down)\))?$"
)

LINK: Final = (
    r"^(?:\d+: ?)?link (?P<rdma>[^\s/]+)/(?P<port>\d+) (?:subnet_prefix \S+ lid .*)?state \S+"
    r"(?:.* netdev (?P<netdev>\S+))?"
)

GID: Final = (
    r"^(?P<rdma>[a-z]\w+)\s+(?P<port>\d+)\s+\d+\s+(?:[0-9a-f]{4}:){7}[0-9a-f]{4}\s+"
    r"(?:\S+\s+)?v\d\s+(?P<netdev>\S+)\s*$"
)

LISTED: Final = (
    r"(?:^|[\s/'\"])(?P<name>[\w.-]+)['\"]? -> \S*?/"
    r"(?P<pci>[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.\d)/(?P<kind>infiniband|net)/(?P<last>[\w.-]+)/?$"
)

_HEADING: Final = r"^DEV\s+PORT\s+INDEX\s+GID|^-{3,}(?:\s+-+)+$|^n_gids_found=|^total \d+$"

_VLAN: Final = r"[.@]"
"""In the name of an interface that stands on another one: it shares the port with that."""


def read_rdma_names(lines: pl.DataFrame) -> tuple[pl.DataFrame, pl.Series]:
    """Return the names of NICs in the lines of these tools, and the positions read.

    Args:
        lines: `CAPTURED`.

    Returns:
        `ALIASES` without a source. Interfaces of virtual LANs are read but no names of the port.
    """
    text = pl.col("text").str.strip_chars()
    parts = [text.str.extract_groups(pattern).struct for pattern in (NETDEV, LINK, GID)]
    listed = text.str.extract_groups(LISTED).struct
    is_rdma = listed.field("kind") == "infiniband"
    found = lines.with_columns(
        rdma=pl.coalesce(
            *(part.field("rdma") for part in parts), pl.when(is_rdma).then(listed.field("last"))
        ),
        number=pl.coalesce(part.field("port") for part in parts),
        netdev=pl.coalesce(
            *(part.field("netdev") for part in parts), pl.when(~is_rdma).then(listed.field("last"))
        ),
        pci=pci_address(pl.coalesce(parts[0].field("pci"), listed.field("pci"))),
    ).filter(pl.any_horizontal(pl.col("rdma", "netdev").is_not_null()))
    port = pl.concat_str("rdma", pl.lit("/"), "number")
    is_plain = ~pl.col("netdev").str.contains(_VLAN)
    named = found.with_columns(
        rdma=port.fill_null(pl.col("rdma")), netdev=pl.when(is_plain).then("netdev")
    )
    pairs = pl.concat(
        [
            _pairs(named, "rdma", "netdev", "netdev"),
            _pairs(named, "rdma", "pci", "pci"),
            _pairs(named.filter(pl.col("rdma").is_null()), "netdev", "pci", "pci"),
        ]
    )
    notes = lines.filter(text.str.contains(_HEADING))["position"]
    read = found["position"] if found.is_empty() else pl.concat([found["position"], notes])
    return pairs.unique().sort("host", "device", "alias", "time"), read


def _pairs(named: pl.DataFrame, device: str, alias: str, kind: str) -> pl.DataFrame:
    rows = (
        named.lazy()
        .drop_nulls(["host", device, alias])
        .select(
            "time",
            "host",
            device_kind=pl.lit("nic"),
            device=device,
            alias_kind=pl.lit(kind),
            alias=alias,
        )
    )
    return conform(rows, ALIASES).collect()
