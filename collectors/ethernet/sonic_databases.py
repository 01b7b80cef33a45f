"""Read dumps of SONiC's databases: counters, rates, watermarks, optics and buffer profiles.

Numbers stand under object identifiers, names in maps beside them. The forms: `redis-dump` (`{key:
{"type": "hash", "value": {...}}}`) and `sonic-db-dump` (the same), plain `{key: {...}}`, and any of
them one level below a database's name. Source: sonic-net/sonic-swss `portsorch.cpp`,
`port_rates.lua`; SAI statistics.
"""

import re
from typing import Any, Final

import polars as pl

from collectors.ethernet.port_values import PORT_VALUES
from collectors.ethernet.sonic_fields import SENSOR_FIELDS, STATE_FIELDS, sai_fields
from collectors.frames import ALIASES, conform
from collectors.texts.json_shapes import is_object

_MAPS: Final = {
    "COUNTERS_PORT_NAME_MAP": "switch_port",
    "COUNTERS_QUEUE_NAME_MAP": "queue",
    "COUNTERS_PG_NAME_MAP": "priority_group",
}

_KNOWN: Final = re.compile(
    r"(?:COUNTERS|RATES|(?:USER|PERIODIC|PERSISTENT)_WATERMARKS)[:|]oid:0x[0-9a-f]+"
    r"|COUNTERS_\w+_NAME_MAP|TRANSCEIVER_DOM_SENSOR\|\S+|PORT_TABLE[:|]\S+|BUFFER_(?:PG|PROFILE)"
    r"(?:_TABLE)?[:|]\S+"
)

_NUMBERED: Final = r"(?:PFC_|_S)(\d+)(?:_|$)"


def database_of(document: object) -> dict[str, dict[str, str]] | None:
    """Return the hashes of a dump by their keys; null if the document is something else."""
    found: dict[str, dict[str, str]] = {}
    _collect(document, found, 0)
    return found or None


def _collect(node: object, found: dict[str, dict[str, str]], depth: int) -> None:
    if not is_object(node) or depth > 2:  # noqa: PLR2004 -- a dump, a database, a key
        return
    for key, content in node.items():
        if not is_object(content):
            continue
        if _KNOWN.fullmatch(str(key)):
            value = content.get("value", content)
            if is_object(value):
                found[str(key)] = {str(name): str(one) for name, one in value.items()}
        else:
            _collect(content, found, depth + 1)


def database_values(hashes: dict[str, dict[str, str]]) -> pl.DataFrame:
    """Return `PORT_VALUES` of a dump's hashes.

    Args:
        hashes: Fields by key. An object that no map names keeps its identifier as its name.

    Returns:
        Values of ports, priorities, queues and priority groups. Of the three sets of watermarks
        the persistent ones win, then the user's.
    """
    rows = [
        {"object": key, "field": field, "text": text}
        for key, fields in hashes.items()
        for field, text in fields.items()
    ]
    frame = pl.DataFrame(rows, schema={"object": pl.String, "field": pl.String, "text": pl.String})
    parts = [_counters(frame, hashes), _sensors(frame), _states(frame), _headroom(hashes)]
    return pl.concat(conform(part.lazy(), PORT_VALUES).collect() for part in parts)


def _names(hashes: dict[str, dict[str, str]]) -> pl.DataFrame:
    """Return the name and kind of each object."""
    rows: list[dict[str, Any]] = [
        {"oid": oid, "name": name, "kind": kind}
        for table, kind in _MAPS.items()
        for name, oid in hashes.get(table, {}).items()
    ]
    schema = {"oid": pl.String, "name": pl.String, "kind": pl.String}
    return pl.DataFrame(rows, schema=schema).unique("oid", keep="last", maintain_order=True)


def _counters(frame: pl.DataFrame, hashes: dict[str, dict[str, str]]) -> pl.DataFrame:
    """Return the values under object identifiers."""
    name, kind = pl.col("name"), pl.col("kind")
    own_index = name.str.extract(r"[:|](\d+)$", 1)
    index = pl.coalesce(pl.col("field").str.extract(_NUMBERED, 1), own_index)
    part = pl.coalesce("part", pl.when(kind != "switch_port").then(kind))
    return (
        frame.with_columns(
            oid=pl.col("object").str.extract(r"(oid:0x[0-9a-f]+)$", 1),
            rank=pl.col("object")
            .str.extract(r"^(\w+?)_WATERMARKS", 1)
            .replace_strict(
                {"PERSISTENT": 0, "USER": 1, "PERIODIC": 2}, default=3, return_dtype=pl.Int32
            ),
            key=pl.col("field").str.replace(r"(PFC_|_S)\d+(_|$)", "${1}N${2}"),
        )
        .drop_nulls("oid")
        .join(_names(hashes), on="oid", how="left", maintain_order="left")
        .join(sai_fields(), on="key", how="inner", maintain_order="left")
        .sort("rank", maintain_order=True)
        .unique(["oid", "signal", "field"], keep="first", maintain_order=True)
        .with_columns(
            device=pl.coalesce(name.str.replace(r"[:|]\d+$", ""), "oid"),
            device_kind=pl.lit("switch_port"),
            part=part,
            index=pl.when(part.is_not_null()).then(index.cast(pl.Int32, strict=False)),
        )
        .sort("object", "field")
    )


def _sensors(frame: pl.DataFrame) -> pl.DataFrame:
    """Return what optics measured, from the state database."""
    pattern = r"^TRANSCEIVER_DOM_SENSOR\|(\S+)$"
    table = pl.DataFrame(SENSOR_FIELDS, schema=["key", "signal", "factor"], orient="row")
    lane = pl.col("field").str.extract(r"^[rt]x(\d+)", 1)
    return (
        frame.with_columns(
            device=pl.col("object").str.extract(pattern, 1),
            key=pl.col("field").str.to_lowercase().str.replace(r"^([rt]x)\d+", "${1}N"),
        )
        .drop_nulls("device")
        .join(table, on="key", how="inner", maintain_order="left")
        .with_columns(
            device_kind=pl.lit("switch_port"),
            index=lane.cast(pl.Int32, strict=False),
            part=pl.when(lane.is_not_null()).then(pl.lit("lane")),
            text=pl.col("text").str.replace(r"(?:dBm|mA|Volts|C)$", ""),
        )
    )


def _states(frame: pl.DataFrame) -> pl.DataFrame:
    """Return what ports are set to, from the application database."""
    table = pl.DataFrame(STATE_FIELDS, schema=["field", "signal", "factor"], orient="row")
    words = {"up": "1", "down": "0", "rs": "2", "fc": "1", "none": "0"}
    return (
        frame.with_columns(
            device=pl.col("object").str.extract(r"^PORT_TABLE[:|](\S+)$", 1),
            device_kind=pl.lit("switch_port"),
        )
        .drop_nulls("device")
        .join(table, on="field", how="inner", maintain_order="left")
        .with_columns(pl.col("text").replace(words))
    )


def database_aliases(hashes: dict[str, dict[str, str]]) -> pl.DataFrame:
    """Return `ALIASES` (without host, time and source): the front panel's name of each port."""
    rows = [
        {"device": found[1], "alias": fields["alias"]}
        for key, fields in hashes.items()
        if (found := re.fullmatch(r"PORT_TABLE[:|](\S+)", key)) and fields.get("alias")
    ]
    frame = pl.DataFrame(rows, schema={"device": pl.String, "alias": pl.String})
    told = frame.with_columns(device_kind=pl.lit("switch_port"), alias_kind=pl.lit("label"))
    return conform(told.lazy(), ALIASES).collect()


def _headroom(hashes: dict[str, dict[str, str]]) -> pl.DataFrame:
    """Return how much headroom each priority group has: that of its buffer profile."""
    rows: list[dict[str, Any]] = []
    for key, fields in hashes.items():
        group = re.fullmatch(r"BUFFER_PG(?:_TABLE)?[:|](\S+?)[:|](\d+)(?:-(\d+))?", key)
        profile = re.sub(r"^\[?(?:BUFFER_PROFILE\w*[:|])?|\]$", "", fields.get("profile", ""))
        sizes = [
            hashes[name]
            for table in ("BUFFER_PROFILE_TABLE", "BUFFER_PROFILE")
            for name in (f"{table}:{profile}", f"{table}|{profile}")
            if name in hashes
        ]
        if group and sizes:
            first, last = int(group[2]), int(group[3] or group[2])
            rows.extend(
                {"device": port, "index": number, "text": sizes[0].get("xoff", "0")}
                for port in group[1].split(",")
                for number in range(first, last + 1)
            )
    schema = {"device": pl.String, "index": pl.Int32, "text": pl.String}
    return pl.DataFrame(rows, schema=schema).with_columns(
        device_kind=pl.lit("switch_port"),
        part=pl.lit("priority_group"),
        signal=pl.lit("headroom_bytes"),
        factor=pl.lit(1.0),
    )
