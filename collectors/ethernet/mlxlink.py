"""Read mlxlink: error ratios, counters and the module of a port, as text and as JSON.

Counts are since the last clear. Source: Mellanox/mstflint, `mlxlink`.
"""

from typing import Any, Final

import polars as pl

from collectors.ethernet.capture_sections import Section
from collectors.ethernet.mlxlink_fields import EVENT_KINDS, MLXLINK_FIELDS, SECTIONS, THRESHOLDS
from collectors.ethernet.port_values import COPPER, PORT_VALUES
from collectors.frames import EVENTS, conform
from collectors.sniffing import ReadOptions
from collectors.texts.json_shapes import is_list, is_object

SECTION: Final = rf"^\s*({'|'.join(SECTIONS)})\s*$"

_UNDERLINE: Final = r"^\s*-{3,}\s*$"

_FIELD: Final = r"^\s*(\S.*?)\s*: ?(.*)$"

_BIN: Final = r"^Bin (\d+)$"

_BIN_COUNT: Final = r"(\d+)\s*\]?\s*$"

_NUMBER: Final = r"^(-?\d+\.?\d*(?:[eE][+-]?\d+)?|\S+)"

_RANGE: Final = r"\[ ?(-?[\d.]+) ?\.\. ?(-?[\d.]+) ?\]"


def read_mlxlink_lines(lines: pl.DataFrame, _options: ReadOptions) -> Section:
    """Return what mlxlink printed.

    Args:
        lines: `CAPTURED`.

    Returns:
        Values, and an event for each link that is not well. A line belongs to the output below the
        title of one of its sections.
    """
    text = pl.col("text")
    is_title = text.str.contains(SECTION)
    below = lines.with_columns(
        section=pl.when(is_title).then(text.str.strip_chars()).forward_fill().over("segment")
    ).filter(pl.col("section").is_not_null())
    fields = below.with_columns(
        name=text.str.extract(_FIELD, 1), value=text.str.extract(_FIELD, 2).str.strip_chars()
    ).filter(pl.col("name").is_not_null() & ~pl.col("is_mark"))
    others = below.filter(is_title | text.str.contains(_UNDERLINE))["position"]
    values, events = field_values(fields)
    return Section(values=values, events=events, used=pl.concat([fields["position"], others]))


def mlxlink_document_fields(document: object) -> pl.DataFrame | None:
    """Return the fields in what `mlxlink --json` prints; null if it is something else.

    Returns:
        `position` (null), `section`, `name` and `value`, lists joined by commas.
    """
    rows = [
        {"section": section, "name": str(name), "value": _joined(value)}
        for section, content in _sections(document)
        for name, value in content.items()
    ]
    if not rows:
        return None
    return pl.DataFrame(rows).with_columns(position=pl.lit(None, pl.Int64))


def _sections(node: object) -> list[tuple[str, dict[str, Any]]]:
    """Return the known sections at any depth of a document."""
    if not is_object(node):
        return []
    found: list[tuple[str, dict[str, Any]]] = []
    for name, content in node.items():
        if name in SECTIONS and is_object(content):
            found.append((name, content))
        else:
            found.extend(_sections(content))
    return found


def _joined(value: object) -> str:
    if is_object(value):
        value = value.get("values", list(value.values()))
    if is_list(value):
        return ",".join(str(one) for one in value)
    return str(value)


def field_values(fields: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return `PORT_VALUES` and `EVENTS` of fields.

    Args:
        fields: `section`, `name`, `value`, and any columns of `PORT_VALUES`.
    """
    is_cable = pl.col("name").is_in(["Cable Type", "Cable Technology"])
    is_copper = (is_cable & pl.col("value").str.contains("(?i)copper|passive")).any()
    placed = fields.with_columns(pl.lit(0).alias("round"), device_kind=pl.lit("nic")).with_columns(
        copper=is_copper.over(_output(fields))
    )
    bins = placed.filter(pl.col("name").str.contains(_BIN)).with_columns(
        signal=pl.lit("fec_bin_codewords_total"),
        part=pl.lit("fec_bin"),
        index=pl.col("name").str.extract(_BIN, 1).cast(pl.Int32, strict=False),
        text=pl.col("value").str.extract(_BIN_COUNT, 1),
        factor=pl.lit(1.0),
    )
    known = placed.join(_table(), on="name", how="inner", maintain_order="left")
    is_dark = pl.col("signal").str.ends_with("_power_dbm") & pl.col("copper")
    lanes = (
        known.filter(pl.col("part").is_not_null())
        .pipe(_by_lane)
        .with_columns(reason=pl.when(is_dark).then(pl.lit(COPPER)))
    )
    whole = known.filter(pl.col("part").is_null()).with_columns(
        text=pl.col("value").str.extract(_NUMBER, 1)
    )
    parts = [bins, lanes, whole, _limits(known)]
    values = pl.concat(conform(one.lazy(), PORT_VALUES).collect() for one in parts)
    return values, _events(placed)


def _output(fields: pl.DataFrame) -> list[str]:
    """Return the columns that tell one output of mlxlink from another; a document is one."""
    own = ("segment", "time", "host", "device")
    return ["round", *(name for name in own if name in fields.columns)]


def _table() -> pl.DataFrame:
    columns = ["name", "signal", "factor", "part"]
    return pl.DataFrame(MLXLINK_FIELDS, schema=columns, orient="row").with_columns(
        part=pl.when(pl.col("part") != "").then("part")
    )


def _by_lane(known: pl.DataFrame) -> pl.DataFrame:
    """Return one row a lane of a value such as `12,3,0,0 [-8..4]`; lanes count from 0."""
    plain = pl.col("value").str.replace(r"\s*\[.*$", "")
    return (
        known.with_columns(text=plain.str.split(","))
        .with_columns(index=pl.int_ranges(0, pl.col("text").list.len(), dtype=pl.Int32))
        .explode("text", "index")
    )


def _limits(known: pl.DataFrame) -> pl.DataFrame:
    """Return the module's own limits, which stand in brackets behind a reading."""
    table = pl.DataFrame(THRESHOLDS, schema=["signal", "low", "high"], orient="row")
    found = known.filter(pl.col("value").str.contains(_RANGE)).join(
        table, on="signal", how="inner", maintain_order="left"
    )
    sides = [
        found.with_columns(
            signal=side, text=pl.col("value").str.extract(_RANGE, at), part=pl.lit(None, pl.String)
        )
        for at, side in enumerate(("low", "high"), start=1)
    ]
    return pl.concat(sides)


def _events(fields: pl.DataFrame) -> pl.DataFrame:
    """Return one event for each status of trouble: the opcode, and what mlxlink recommends."""
    if fields.is_empty():
        return EVENTS.to_frame()
    opcode = pl.col("value").filter(pl.col("name") == "Status Opcode").last()
    advice = pl.col("value").filter(pl.col("name") == "Recommendation").last()
    rows = (
        fields.group_by(_output(fields), maintain_order=True)
        .agg(pl.col("position").min(), pl.col("device_kind").first(), code=opcode, message=advice)
        .filter(pl.col("code").str.contains(r"^\d+$") & (pl.col("code") != "0"))
        .with_columns(
            kind=pl.col("code").replace_strict(EVENT_KINDS, default="link_status"),
            severity=pl.lit("medium"),
        )
    )
    return conform(rows.lazy(), EVENTS).collect()
