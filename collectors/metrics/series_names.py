"""Read which names are one host or one NIC from the series that only name things.

Source: prometheus/node_exporter (`node_uname_info`, `node_ethtool_info`), treydock's and the other
InfiniBand exporters (info series of switches, HCAs and uplinks).
"""

from typing import Final

import polars as pl

from collectors.frames import ALIASES, conform
from collectors.identity import canonical_host, node_guid, pci_address
from collectors.infiniband.subnet import INFO_NAMES, guid_directory
from collectors.metrics.series import Series, label_of
from collectors.metrics.target_labels import fill_hosts, host_label
from collectors.readings import Reading, reading_of

NAMING: Final = ("node_uname_info", "node_ethtool_info")

_ADDRESS: Final = r"^(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-f]*:[0-9a-f:.]*)$"
_LOOPBACK: Final = r"^(?:127\.|::1$|0\.0\.0\.0$)"
_KEYS: Final = ("host", "device_kind", "device", "alias_kind", "alias")


def naming_names(names: pl.Series) -> pl.Series:
    """Return those of `names` that name hosts and NICs."""
    return names.filter(names.is_in([*NAMING, *INFO_NAMES]))


def read_series_names(series: Series, source: str) -> Reading:
    """Return the names that series tell, at the first and the last time that each is told.

    Args:
        series: Series whose names are among `naming_names`; others are left out.
        source: The name to quote in evidence.

    Returns:
        A reading with aliases: the address of a host, the PCI device of an interface, the GUID of
        a NIC or a switch.
    """
    each = pl.concat([_addresses(series), _devices(series, source), _guids(series)])
    times = series.points.group_by("series").agg(
        first=pl.col("time").min(), last=pl.col("time").max()
    )
    timed = each.drop_nulls(["host", "alias"]).join(times, on="series")
    rows = pl.concat(timed.select(*_KEYS, time=when) for when in ("first", "last"))
    told = rows.unique().sort(*_KEYS, "time").with_columns(source=pl.lit(source))
    return reading_of(aliases=conform(told.lazy(), ALIASES))


def _addresses(series: Series) -> pl.DataFrame:
    address = canonical_host(label_of("instance"))
    is_own = address.str.contains(_ADDRESS) & ~address.str.contains(_LOOPBACK)
    return series.identities.filter(pl.col("name") == "node_uname_info").select(
        "series",
        host=canonical_host(label_of("nodename")),
        device_kind=pl.lit("node"),
        device=pl.lit(None, pl.String),
        alias_kind=pl.lit("ip"),
        alias=pl.when(is_own).then(address),
    )


def _devices(series: Series, source: str) -> pl.DataFrame:
    infos = series.identities.filter(pl.col("name") == "node_ethtool_info").with_columns(
        host=host_label(), target=label_of("instance")
    )
    return fill_hosts(infos, series.identities, source).select(
        "series",
        "host",
        device_kind=pl.lit("nic"),
        device=label_of("device"),
        alias_kind=pl.lit("pci"),
        alias=pl.when(label_of("device").is_not_null()).then(pci_address(label_of("bus_info"))),
    )


def _guids(series: Series) -> pl.DataFrame:
    infos = series.identities.filter(pl.col("name").is_in(INFO_NAMES))
    known = guid_directory(infos)
    guids = [node_guid(label_of(key)) for key in ("guid", "uplink_guid")]
    own = infos.select("series", guid=pl.concat_list(guids))
    named = own.explode("guid", empty_as_null=True).join(known, on="guid")
    is_nic = pl.col("nic").is_not_null()
    return named.select(
        "series",
        host="node",
        device_kind=pl.when(is_nic).then(pl.lit("nic")).otherwise(pl.lit("node")),
        device="nic",
        alias_kind=pl.lit("guid"),
        alias="guid",
    )
