"""Read LLDP neighbours from lldpd's texts and from the tables of SONiC and Arista.

Source: lldpd `lldpcli show neighbors` and `lldpctl -f keyvalue`; sonic-utilities `show lldp table`;
Arista EOS `show lldp neighbors`, whose short `Et12/1` is `Ethernet12/1`.
"""

from typing import Final

import polars as pl

from collectors.ethernet.arista_fields import long_name
from collectors.ethernet.neighbours import NEIGHBOURS
from collectors.frames import conform
from collectors.texts.ruled_tables import table_cells, table_rows

INTERFACE: Final = r"^Interface:\s+(\S+),\s+via:\s*\w+"

_FIELD: Final = (
    r"^\s+(ChassisID|SysName|SysDescr|MgmtIP|MgmtIface|Capability|PortID|PortDescr|TTL|MFS|VLAN|"
    r"PMD autoneg|Adv|MAU oper type|Unknown TLVs?|TLV|LLDP-MED|Device Type|Inventory|Chassis|Port|"
    r"Port is aggregated|PortAggregID|Expired|Age)\b[^:]*:\s*(.*)$"
)

_DECORATION: Final = r"^-{20,}$|^LLDP neighbors:?\s*$"

KEY_VALUE: Final = (
    r"^(?:lldp|cdp)\.([^.=]+(?:\.\d+)?)\.((?:chassis|port)\.[\w.-]+|via|rid|age)=(.*)$"
)

TABLE_HEAD: Final = r"(?i)^\s*(?:LocalPort\s+RemoteDevice|Port\s+Neighbor Device ID)\b"

_TABLE_NOTES: Final = (
    r"(?i)^Capability codes:|^Total entries displayed:|^Last table change time|"
    r"^Number of table (?:inserts|deletes|drops|age-?outs)|^\s*-+\s*$"
)

_COLUMNS: Final = {
    "localport": "port",
    "port": "port",
    "remotedevice": "peer",
    "neighbor device id": "peer",
    "remoteportid": "peer_port",
    "neighbor port id": "peer_port",
    "remoteportdescr": "peer_description",
}

_PLACE: Final = ("host", "time")


def read_lldp_blocks(lines: pl.DataFrame) -> tuple[pl.DataFrame, pl.Series]:
    """Return the neighbours in blocks of `lldpcli show neighbors`, and the positions read.

    Args:
        lines: `CAPTURED`.

    Returns:
        `NEIGHBOURS`, one a block; of several addresses of a peer the first.
    """
    text = pl.col("text")
    start = text.str.extract(INTERFACE, 1)
    marked = lines.with_columns(
        start=start,
        block=(start.is_not_null() | pl.col("is_mark")).cum_sum(),
        key=text.str.extract(_FIELD, 1),
        value=text.str.extract(_FIELD, 2).str.strip_chars(),
    ).with_columns(port=pl.col("start").first().over("block"))
    inside = marked.filter(pl.col("port").is_not_null())
    identity = _field("PortID").str.extract(r"^(?:ifname|local|mac|ifalias)?\s*(.+)$", 1)
    found = inside.group_by("block", maintain_order=True).agg(
        pl.col("position").first(),
        *(pl.col(name).first() for name in _PLACE),
        pl.col("port").first(),
        peer=_field("SysName"),
        peer_port=identity,
        peer_description=_field("PortDescr"),
        peer_address=_field("MgmtIP"),
    )
    is_part = pl.col("key").is_not_null() | pl.col("start").is_not_null()
    used = inside.filter(is_part | text.str.contains(r"^\s{2,}\S"))["position"]
    around = lines.filter(text.str.contains(_DECORATION))["position"]
    whole = conform(found.lazy(), NEIGHBOURS).collect()
    return whole, pl.concat([used, around]) if len(whole) else used


def _field(key: str) -> pl.Expr:
    """Return the first value of a field in a block; null without it."""
    return pl.col("value").filter(pl.col("key") == key, pl.col("value") != "").first()


def read_lldp_pairs(lines: pl.DataFrame) -> tuple[pl.DataFrame, pl.Series]:
    """Return the neighbours in lines of `lldpctl -f keyvalue`, and the positions read.

    Args:
        lines: `CAPTURED`.
    """
    parts = pl.col("text").str.strip_chars()
    pairs = lines.with_columns(
        port=parts.str.extract(KEY_VALUE, 1),
        key=parts.str.extract(KEY_VALUE, 2),
        value=parts.str.extract(KEY_VALUE, 3),
    ).drop_nulls("port")
    named = pl.coalesce(_field("port.ifname"), _field("port.local"), _field("port.mac"))
    found = pairs.group_by("host", "port", maintain_order=True).agg(
        pl.col("position").first(),
        pl.col("time").first(),
        peer=_field("chassis.name"),
        peer_port=named,
        peer_description=_field("port.descr"),
        peer_address=_field("chassis.mgmt-ip"),
    )
    return conform(found.lazy(), NEIGHBOURS).collect(), pairs["position"]


def read_lldp_tables(lines: pl.DataFrame) -> tuple[pl.DataFrame, pl.Series]:
    """Return the neighbours in the tables of SONiC and Arista, and the positions read.

    Args:
        lines: `CAPTURED`.
    """
    rows = table_rows(lines).filter(pl.col("names").str.contains(TABLE_HEAD))
    if rows.is_empty():
        return NEIGHBOURS.to_frame(), rows["position"]
    column = pl.col("column").str.strip_chars().str.to_lowercase()
    cells = table_cells(rows).with_columns(
        field=column.replace_strict(_COLUMNS, default=None, return_dtype=pl.String),
        cell=pl.col("cell").str.strip_chars(),
    )
    wide = (
        cells.drop_nulls("field")
        .filter(pl.col("cell") != "")
        .pivot("field", index=["position", "header"], values="cell", aggregate_function="first")
        .join(rows.select("position", *_PLACE, "names"), on="position", maintain_order="left")
    )
    found = conform(wide.lazy(), NEIGHBOURS).with_columns(long_name(pl.col("port")))
    heads = pl.concat([rows["header"], rows["header"] + 1])
    notes = lines.filter(pl.col("text").str.contains(_TABLE_NOTES))["position"]
    return found.collect(), pl.concat([wide["position"], heads, notes]).unique()
