"""Read what ports are set to: `ibv_devinfo`, `ip link` and `ethtool` of a device.

Source: rdma-core `ibv_devinfo`; iproute2; ethtool. A path MTU that differs between peers breaks
large messages, with every link well.
"""

from typing import Final

import polars as pl

from collectors.ethernet.capture_sections import Section
from collectors.ethernet.port_values import PORT_VALUES
from collectors.frames import conform
from collectors.sniffing import ReadOptions
from collectors.texts.templates import filled

DEVICE: Final = r"^\s*hca_id:\s*(\S+)"

_PORT: Final = r"^\s*port:\s*(\d+)\s*$"

_VERBS: Final = (
    (r"^\s*active_mtu:\s*(\d+)", "active_mtu_bytes"),
    (r"^\s*max_mtu:\s*(\d+)", "max_mtu_bytes"),
    (r"^\s*state:\s*PORT_\w+ \((\d+)\)", "port_state"),
)

_VERBS_LINE: Final = r"^\s*(?:[a-z_]+|GID\[\s*\d+\]):\s*\S"

IP_LINK: Final = r"^\d+: ([^:@\s]+)(?:@\S+)?: <[^>]*>.*?\bmtu (\d+)"

_IP_MORE: Final = r"^\s+(?:link/|inet6? |valid_lft|altname |vf \d|RX:|TX:|\d+ +\d+)"

SETTINGS: Final = r"^Settings for (\S+):$"

_SETTING: Final = r"^\s+\S.*$"

_SPEED: Final = r"^\s*Speed: (\d+)Mb/s"

_DETECTED: Final = r"^\s*Link detected: (yes|no)"


def read_port_settings(lines: pl.DataFrame, _options: ReadOptions) -> Section:
    """Return the settings of ports.

    Args:
        lines: `CAPTURED`.

    Returns:
        The settings, of NICs.
    """
    parts = [_verbs(lines), _ip_links(lines), _ethtool(lines)]
    values = pl.concat(conform(one.lazy(), PORT_VALUES).collect() for one, _ in parts)
    placed = values.with_columns(device_kind=pl.lit("nic"))
    return Section(values=placed, used=pl.concat(used for _, used in parts))


def _verbs(lines: pl.DataFrame) -> tuple[pl.DataFrame, pl.Series]:
    text = pl.col("text")
    hca, port = text.str.extract(DEVICE, 1), text.str.extract(_PORT, 1)
    below = (
        lines.with_columns(
            hca=hca.forward_fill().over("segment"),
            port=pl.when(hca.is_not_null()).then(pl.lit("")).otherwise(port),
        )
        .with_columns(port=pl.col("port").forward_fill().over("segment"))
        .filter(pl.col("hca").is_not_null(), text.str.contains(_VERBS_LINE))
    )
    named = below.with_columns(device=filled("{}/{}", "hca", "port"))
    return _each(named.filter(pl.col("port") != ""), _VERBS, 1.0), below["position"]


def _ip_links(lines: pl.DataFrame) -> tuple[pl.DataFrame, pl.Series]:
    text = pl.col("text")
    device = text.str.extract(IP_LINK, 1)
    below = lines.with_columns(own=device.forward_fill().over("segment")).filter(
        pl.col("own").is_not_null(), text.str.contains(IP_LINK) | text.str.contains(_IP_MORE)
    )
    found = below.filter(text.str.contains(IP_LINK)).with_columns(
        device="own",
        text=text.str.extract(IP_LINK, 2),
        signal=pl.lit("mtu_bytes"),
        factor=pl.lit(1.0),
    )
    return found, below["position"]


def _ethtool(lines: pl.DataFrame) -> tuple[pl.DataFrame, pl.Series]:
    text = pl.col("text")
    below = lines.with_columns(
        own=text.str.extract(SETTINGS, 1).forward_fill().over("segment")
    ).filter(pl.col("own").is_not_null(), text.str.contains(SETTINGS) | text.str.contains(_SETTING))
    named = below.with_columns(device="own")
    speed = _each(named, ((_SPEED, "network_speed_bytes_per_second"),), 1.25e5)
    link = _each(named, ((_DETECTED, "link_up"),), 1.0).with_columns(
        pl.col("text").replace({"yes": "1", "no": "0"})
    )
    return pl.concat([speed, link]), below["position"]


def _each(lines: pl.DataFrame, wanted: tuple[tuple[str, str], ...], factor: float) -> pl.DataFrame:
    """Return the lines that one of the patterns fits, with its first group as the value."""
    text = pl.col("text")
    return pl.concat(
        lines.filter(text.str.contains(pattern)).with_columns(
            text=text.str.extract(pattern, 1), signal=pl.lit(signal), factor=pl.lit(factor)
        )
        for pattern, signal in wanted
    )
