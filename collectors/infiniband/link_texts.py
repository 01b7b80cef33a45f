"""Links as `iblinkinfo` and `ibqueryerrors` draw them: one port, an arrow, the port at its end.

`212  17[  ] ==( 4X  106.25 Gbps Active/  LinkUp)==>  0xb83f...  631  1[  ] "gpu-r3-n07 mlx5_4" ( )`
Source: linux-rdma/rdma-core `infiniband-diags/iblinkinfo.c` and `ibqueryerrors.c`. What a port that
is down says of width and speed is a leftover. `Could be 4X` means that both ends can do more than
the link does.
"""

from collections.abc import Mapping
from typing import Final

import polars as pl

from collectors.frames import ALIASES, EVENTS, SAMPLES, TIME, conform, schema_of
from collectors.identity import node_guid
from collectors.infiniband.cables import cables_of
from collectors.infiniband.lane_rates import lane_count, rate_values, raw_lane_bytes
from collectors.infiniband.node_names import (
    is_aggregation,
    looks_like_switch,
    nodes_of,
    port_device,
)

ARROW: Final = r"==\((?P<status>.*?)\)==>"

_LINK: Final = (
    r"(?:(?P<lid>\d+)\s+)?(?P<port>\d+)\[(?P<label>[^\]]*)\]\s*" + ARROW + r"\s*"
    r"(?:(?P<far_guid>0x[0-9a-fA-F]+)\s+)?(?:(?P<far_lid>\d+)\s+)?(?P<far_port>\d+)?"
    r'\[(?P<far_label>[^\]]*)\]\s*"(?P<far_name>.*)"\s*\((?P<message>.*)\)\s*$'
)

_FIELDS: Final = (
    *("lid", "port", "label", "status"),
    *("far_guid", "far_lid", "far_port", "far_label", "far_name", "message"),
)

LOGICAL: Final = {"down": 1, "initialize": 2, "init": 2, "armed": 3, "active": 4}
"""Words of a port's state to its number."""

PHYSICAL: Final = {
    "sleep": 1,
    "polling": 2,
    "disabled": 3,
    "portconfigurationtraining": 4,
    "training": 4,
    "linkup": 5,
    "linkerrorrecovery": 6,
    "phytest": 7,
}
"""Words of a port's physical state to its number."""

SEEN: Final = schema_of(
    {
        "time": TIME,
        "name": pl.String,
        "guid": pl.String,
        "is_switch": pl.Boolean,
        **dict.fromkeys(_FIELDS, pl.String),
        "position": pl.Int64,
    }
)
"""One drawn link. `name` is this end's node description (its GUID where nothing names it)."""


def link_fields(text: pl.Expr) -> list[pl.Expr]:
    """Return the parts of a drawn link as columns; all are null for a line that is none."""
    parts = text.str.extract_groups(_LINK).struct
    return [parts.field(field) for field in _FIELDS]


def placed(seen: pl.DataFrame) -> pl.DataFrame:
    """Return drawn links with `host`, `device_kind`, `device` and the far end's `peer_*`.

    Args:
        seen: `SEEN`. A far end that is listed as a switch itself is one; of others the name tells.
    """
    switches = seen.filter("is_switch")["name"].str.strip_chars().unique()
    far = pl.col("far_name")
    listed = far.str.strip_chars().is_in(switches.implode())
    far_switch = listed | looks_like_switch(far, pl.col("far_port"))
    near_node, near_nic = nodes_of(pl.col("name"), is_switch=pl.col("is_switch"))
    far_node, far_nic = nodes_of(far, is_switch=far_switch)
    kinds = {True: "switch_port", False: "nic"}
    return seen.with_columns(
        host=near_node,
        nic=near_nic,
        device_kind=pl.col("is_switch").replace_strict(kinds, return_dtype=pl.String),
        device=port_device(near_nic, pl.col("port")),
        far_switch=far_switch,
        peer=far_node,
        peer_nic=far_nic,
        peer_device=port_device(far_nic, pl.col("far_port")),
        is_aggregation=is_aggregation(far) | is_aggregation(pl.col("name")),
    )


def link_samples(links: pl.DataFrame) -> pl.DataFrame:
    """Return `SAMPLES` of the state, width and rate of placed links."""
    state = pl.col("status").str.to_lowercase().str.extract(r"([a-z]+)\s*/\s*[a-z ]+$", 1)
    physical = pl.col("status").str.to_lowercase().str.extract(r"/\s*([a-z ]+?)\s*$", 1)
    active = (state == "active").fill_null(value=False)
    lanes = pl.when(active).then(lane_count(pl.col("status")))
    raw = pl.when(active).then(raw_lane_bytes(pl.col("status")))
    could = pl.col("message").str.extract(r"(?i)could be(.*)$", 1)
    values = {
        "port_state": _number(state, LOGICAL),
        "port_physical_state": _number(physical.str.replace_all(" ", ""), PHYSICAL),
        **rate_values(lanes, raw),
        "max_link_width_lanes": pl.when(active).then(lane_count(could)),
        "max_lane_rate_bytes_per_second": pl.when(active).then(raw_lane_bytes(could)),
    }
    return melted(links, values)


def melted(rows: pl.DataFrame, values: Mapping[str, pl.Expr]) -> pl.DataFrame:
    """Return `SAMPLES` of several signals that stand in one row each; a null value is no row.

    Args:
        rows: Has the columns of a sample that say who and when.
        values: Signal to its value.
    """
    keys = [name for name in ("time", "host", "device_kind", "device") if name in rows.columns]
    wide = rows.select(*keys, **{name: one.cast(pl.Float64) for name, one in values.items()})
    long = wide.unpivot(index=keys, variable_name="signal", value_name="value").drop_nulls("value")
    return conform(long.lazy(), SAMPLES).collect()


def _number(word: pl.Expr, table: dict[str, int]) -> pl.Expr:
    return word.replace_strict(table, default=None, return_dtype=pl.Float64)


def degraded_events(links: pl.DataFrame) -> pl.DataFrame:
    """Return `EVENTS` of kind `link_degraded`: links that run below what both their ends can do."""
    message = pl.col("message").str.strip_chars().str.replace_all(r"\s+", " ")
    status = pl.col("status").str.strip_chars().str.replace_all(r"\s+", " ")
    is_width = message.str.contains(r"(?i)could be \d+x")
    rows = (
        links.lazy()
        .filter(message.str.contains("(?i)could be"))
        .with_columns(
            kind=pl.lit("link_degraded"),
            code=pl.when(is_width).then(pl.lit("width")).otherwise(pl.lit("speed")),
            severity=pl.lit("medium"),
            peer=pl.concat_str("peer", "peer_device", separator=" "),
            message=pl.concat_str(pl.lit("runs at "), status, pl.lit(": "), message),
            attributes=pl.concat_list(_label("active", status), _label("possible", message)),
        )
    )
    return conform(rows, EVENTS).collect()


def _label(key: str, value: pl.Expr) -> pl.Expr:
    return pl.struct(key=pl.lit(key), value=value)


def link_cables(links: pl.DataFrame) -> pl.DataFrame:
    """Return `LINKS` of placed links whose far end is named."""
    peers = links.select(
        "time",
        text_a="name",
        number_a="port",
        switch_a="is_switch",
        text_b="far_name",
        number_b="far_port",
        switch_b="far_switch",
    )
    ends = [name for name in peers.columns if name != "time"]
    return cables_of(peers.filter(pl.col("text_b") != "").drop_nulls(ends))


def link_aliases(links: pl.DataFrame) -> pl.DataFrame:
    """Return `ALIASES` that drawn links tell: GUIDs, LIDs and printed labels of both ends."""
    near = links.select("time", "host", "nic", "device", "guid", "lid", "label", switch="is_switch")
    far = links.select(
        "time",
        host="peer",
        nic="peer_nic",
        device="peer_device",
        guid="far_guid",
        lid="far_lid",
        label="far_label",
        switch="far_switch",
    )
    return aliases_of(pl.concat([near, far]))


def aliases_of(ends: pl.DataFrame) -> pl.DataFrame:
    """Return `ALIASES` of ports.

    Args:
        ends: `time`, `host`, `nic`, `device` (the port), `guid`, `lid`, `label` and whether the
            node is a `switch`. A switch has one GUID and LID, a host one for each NIC.
    """
    kind = pl.when("switch").then(pl.lit("node")).otherwise(pl.lit("nic"))
    whole = pl.when(~pl.col("switch")).then(pl.col("nic"))
    port_kind = pl.when("switch").then(pl.lit("switch_port")).otherwise(pl.lit("nic"))
    parts = [
        _alias(ends, "guid", node_guid(pl.col("guid")), kind, whole),
        _alias(ends, "lid", lid_name(pl.col("lid")), kind, whole),
        _alias(ends, "label", pl.col("label").str.strip_chars(), port_kind, pl.col("device")),
    ]
    named = pl.concat(parts).filter(
        pl.col("alias") != "",
        pl.col("host").is_not_null(),
        (pl.col("device_kind") == "node") | pl.col("device").is_not_null(),
    )
    once = named.unique(maintain_order=True).sort(
        "host", "device_kind", "device", "alias_kind", "alias", "time"
    )
    return conform(once.lazy(), ALIASES).collect()


def lid_name(lid: pl.Expr) -> pl.Expr:
    """Return the name of a port that is known by its LID alone, `lid 212`; null without one."""
    return pl.concat_str(pl.lit("lid "), lid)


def _alias(
    ends: pl.DataFrame, alias_kind: str, alias: pl.Expr, kind: pl.Expr, device: pl.Expr
) -> pl.DataFrame:
    return ends.select(
        "time",
        "host",
        device_kind=kind,
        device=device,
        alias_kind=pl.lit(alias_kind),
        alias=alias,
    )
