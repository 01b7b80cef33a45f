"""Read what `sonic-db-cli` and `redis-cli` print for one key of SONiC's databases.

sonic-db-cli prints a dictionary on one line, redis-cli numbered or bare lines, field and value in
turn. The key stands in the command. Source: sonic-net/sonic-swss-common `sonic-db-cli`; redis-cli.
"""

import ast
import re
from typing import Any, Final

import polars as pl

from collectors.ethernet.capture_sections import Section
from collectors.ethernet.port_values import PORT_VALUES, port_totals
from collectors.ethernet.sonic_databases import database_of, database_values
from collectors.ethernet.sonic_tables import TOTALLED
from collectors.sniffing import ReadOptions

HASH_COMMAND: Final = r"(?:sonic-db-cli|redis-cli).*\b(?i:hgetall)\s+[\"']?([^\s\"']+)"

_NUMBERED: Final = r"^\s*\d+\) \"(.*)\"$"

_MAP: Final = "_NAME_MAP"


def read_hashes(lines: pl.DataFrame, _options: ReadOptions) -> Section:
    """Return the values of hashes that were printed.

    Args:
        lines: `CAPTURED`.

    Returns:
        The values. Names of objects are those that the maps of the same host tell anywhere in the
        file.
    """
    key = pl.col("command").str.extract(HASH_COMMAND, 1)
    below = lines.with_columns(key=key).filter(pl.col("key").is_not_null(), ~pl.col("is_mark"))
    if below.is_empty():
        return Section()
    blocks = [
        (rows.row(0, named=True), rows["position"], fields)
        for _, rows in below.group_by("segment", maintain_order=True)
        if (fields := _fields(rows["text"].to_list()))
    ]
    maps: dict[str | None, dict[str, Any]] = {}
    for first, _, fields in blocks:
        if first["key"].endswith(_MAP):
            maps.setdefault(first["host"], {})[first["key"]] = fields
    values = [_block(first, fields, maps.get(first["host"], {})) for first, _, fields in blocks]
    used = [positions for _, positions, _ in blocks]
    whole = pl.concat([PORT_VALUES.to_frame(), *values])
    return Section(
        values=port_totals(whole, TOTALLED),
        used=pl.concat([pl.Series("position", [], pl.Int64), *used]),
    )


def _block(first: dict[str, Any], fields: dict[str, str], maps: dict[str, Any]) -> pl.DataFrame:
    """Return `PORT_VALUES` of one printed hash; none for a map or a key of no use here."""
    hashes = database_of(maps | {first["key"]: fields})
    if hashes is None:
        return PORT_VALUES.to_frame()
    kinds = PORT_VALUES
    told = {name: pl.lit(first[name], kinds[name]) for name in ("position", "time", "host")}
    return database_values(hashes).with_columns(**told)


def _fields(texts: list[str]) -> dict[str, str]:
    """Return the fields of a hash; none where the lines are not such an output."""
    joined = " ".join(text.strip() for text in texts)
    if joined.startswith("{"):
        return _literal(joined)
    plain = [re.sub(_NUMBERED, r"\1", text).strip() for text in texts]
    if len(plain) % 2:
        return {}
    return dict(zip(plain[::2], plain[1::2], strict=True))


def _literal(text: str) -> dict[str, str]:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return {}
    found = database_of({"COUNTERS:oid:0x0": value})
    return {} if found is None else found["COUNTERS:oid:0x0"]
