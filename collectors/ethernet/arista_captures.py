"""Read the texts of Arista EOS: tables of counters and `show interfaces phy detail`.

Source: EOS `show interfaces counters`, `... errors`, `... discards`, `show interfaces phy detail`
(columns state, changes, last change). A fault of the MAC is counted by its changes: it begins with
one and ends with another, so each stands for half a fault.
"""

import re
from pathlib import Path
from typing import Final

import polars as pl

from collectors.ethernet.arista_fields import PHY, PHY_CHANGES, TABLE, long_name
from collectors.ethernet.port_values import PORT_VALUES, counter_width, samples_of_values
from collectors.frames import conform
from collectors.readings import Reading
from collectors.sniffing import Head, ReadOptions
from collectors.texts.captures import captured
from collectors.texts.plain_lines import account

_HEADER: Final = r"(?i)^Port(?:\s+(?:" + "|".join(TABLE) + r"))+\s*$"
_ROW: Final = r"^(?:Et|Ethernet|Ma|Management|Po|Port-Channel)\d[\d/]*(?:\s+\d+)+\s*$"
_PORT: Final = r"^((?:Ethernet|Management)\d[\d/]*)\s*$"
_PHY_FIELD: Final = r"^\s+(\S.*?)\s{2,}(\S.*)$"
_PHY_LINE: Final = (
    r"(?i)^\s+(?:MAC Rx )?(?:FEC (?:un)?corrected codewords|local fault|remote fault)\b"
)
_NOTES: Final = r"^Current System Time:\s+(?:\w{3}\s+)?(\w{3}\s+\d+ [\d:]+ \d{4})"


def wants_arista_captures(head: Head) -> float:
    """Return how sure it is that a file holds these texts, by a header and a line of one."""
    lines = head.lines[:400]
    is_table = any(re.match(_HEADER, line) for line in lines) and any(
        re.match(_ROW, line) for line in lines
    )
    is_phy = any(re.match(_PORT, line) for line in lines) and any(
        re.match(_PHY_LINE, line) for line in lines
    )
    return 0.93 if is_table or is_phy else 0.0


def read_arista_captures(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return what EOS printed of its ports.

    Args:
        path: The file.
        source: The name to quote; a host or a time in it is believed where no line tells.
        options: Host and time of outputs that do not say them.

    Returns:
        Samples of switch ports; lines of `phy detail` that measure nothing we know are parts of
        its record.

    Raises:
        OSError: The file cannot be read.
    """
    lines = captured(path.read_bytes(), source, options).with_columns(time=_time(options.time_zone))
    tables, in_tables = _tables(lines)
    states, in_states = _states(lines)
    printed = pl.concat([tables, states]).with_columns(device_kind=pl.lit("switch_port"))
    samples = samples_of_values(conform(printed.lazy(), PORT_VALUES).collect())
    extra = lines.filter(pl.col("is_mark") | pl.col("text").str.contains(_NOTES))["position"]
    return account(
        lines.select("position", "text"),
        pl.concat([in_tables, in_states, extra]),
        source,
        samples=samples.with_columns(wraps_at=counter_width()),
    )


def _time(time_zone: str) -> pl.Expr:
    """Return the switch's own clock above a line, else the time of the capture.

    A clock holds until the capture tells another time or host.
    """
    clock = (
        pl.col("text")
        .str.extract(_NOTES, 1)
        .str.to_datetime("%b %d %H:%M:%S %Y", time_unit="us", strict=False)
    )
    local = clock.dt.replace_time_zone(time_zone, ambiguous="earliest", non_existent="null")
    return pl.coalesce(
        local.dt.convert_time_zone("UTC").forward_fill().over("host", "time"), "time"
    )


_VALUES: Final = ("position", "time", "host", "device", "signal", "text", "factor")


def _tables(lines: pl.DataFrame) -> tuple[pl.DataFrame, pl.Series]:
    """Return the cells of tables as printed values, and the positions read."""
    text = pl.col("text")
    words = text.str.strip_chars().str.extract_all(r"\S+")
    marked = lines.with_columns(
        is_header=text.str.contains(_HEADER), words=words, count=words.list.len()
    ).with_columns(
        header=pl.when("is_header").then("words").forward_fill(),
        table=(pl.col("is_header") | pl.col("is_mark")).cum_sum(),
    )
    has_header = pl.col("is_header").any().over("table")
    rows = marked.filter(
        text.str.contains(_ROW), has_header, pl.col("count") == pl.col("header").list.len()
    )
    cells = (
        rows.with_columns(
            device=long_name(pl.col("words").list.first()),
            name=pl.col("header").list.slice(1),
            text=pl.col("words").list.slice(1),
        )
        .explode("name", "text", empty_as_null=True)
        .with_columns(
            signal=pl.col("name")
            .str.to_lowercase()
            .replace_strict(TABLE, default=None, return_dtype=pl.String),
            factor=pl.lit(1.0),
        )
    )
    used = pl.concat([rows["position"], marked.filter("is_header")["position"]])
    return cells.select(_VALUES), used


def _states(lines: pl.DataFrame) -> tuple[pl.DataFrame, pl.Series]:
    """Return what `phy detail` counts as printed values, and the positions read."""
    text = pl.col("text")
    port = text.str.extract(_PORT, 1)
    marked = lines.with_columns(
        port=port, block=(port.is_not_null() | pl.col("is_mark")).cum_sum()
    ).with_columns(device=pl.col("port").first().over("block"))
    inside = marked.filter(
        pl.col("device").is_not_null(), pl.col("port").is_not_null() | text.str.contains(r"^\s")
    )
    name = text.str.extract(_PHY_FIELD, 1).str.to_lowercase()
    rest = text.str.extract(_PHY_FIELD, 2)
    counts = name.replace_strict(PHY, default=None, return_dtype=pl.String)
    changes = name.replace_strict(PHY_CHANGES, default=None, return_dtype=pl.String)
    fields = inside.with_columns(
        signal=pl.coalesce(counts, changes),
        text=pl.when(counts.is_not_null())
        .then(rest.str.extract(r"^(\d[\d,]*)", 1))
        .otherwise(rest.str.extract(r"^\S.*?\s{2,}(\d+)(?:\s|$)", 1)),
        factor=pl.when(counts.is_not_null()).then(1.0).otherwise(0.5),
    )
    whole = fields.drop_nulls("signal").with_columns(pl.col("factor").cast(pl.Float64))
    return whole.select(_VALUES), inside["position"]
