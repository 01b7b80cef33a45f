"""Read the tables that SONiC's commands print: counters, FEC, pauses, queues, states of ports.

Counters are since that user's last clear, if the command says `Last cached time was`: another
user's numbers differ, so what they stand on is a signal of its own. N/A is not zero. Source: see
`collectors.ethernet.sonic_columns`.
"""

from typing import Final

import polars as pl

from collectors.ethernet.capture_sections import Section
from collectors.ethernet.port_values import PORT_VALUES, port_totals
from collectors.ethernet.sonic_columns import TABLE_HEAD, TITLES, column_meanings
from collectors.frames import ALIASES, conform
from collectors.sniffing import ReadOptions
from collectors.texts.ruled_tables import RULE, table_cells, table_rows
from collectors.texts.stamps import iso_time

CACHED: Final = r"^(?:\S+ +)?Last cached time was (\S+(?: \d\d:\d\d:\d\d\S*)?)"
"""queuestat puts the port in front."""

TITLE: Final = r"^(?:Ingress|Egress) .*(?:headroom|shared pool|dropped).*:$"

TOTALLED: Final = (
    "pause_received_frames_total",
    "pause_sent_frames_total",
    "pause_received_seconds_total",
    "pause_received_transitions_total",
)
"""Signals of priorities whose sum over a port is a signal too."""

_RATE: Final = r"^(-?[\d.,]+(?:[eE][+-]?\d+)?) ?([KMGT]?)(?:B?/s|B|G|M)?(?: ?\(.*\))?$"

_SPEED: Final = r"^([\d.]+)([MGT])$"

_MULTIPLES: Final = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}

_WORDS: Final = {
    "link_up": {"u": "1", "d": "0", "x": "0", "up": "1", "down": "0"},
    "admin_up": {"u": "1", "d": "1", "x": "0", "up": "1", "down": "0"},
    "pause_storm_active": {"stormed": "1", "operational": "0"},
    "fec_mode": {"none": "0", "off": "0", "fc": "1", "rs": "2"},
    "carrier_changes_total": {"never": "0"},
}
"""Words that stand for a code, in lower case."""

_COUNTER_TABLES: Final = ("iface", "port rx", "port tx", "port")


def read_sonic_tables(lines: pl.DataFrame, options: ReadOptions) -> Section:
    """Return what SONiC's tables say.

    Args:
        lines: `CAPTURED`.
        options: The switch's zone, for `Last cached time`.

    Returns:
        Values and the front panel's names of ports. A table none of whose columns is known is not
        read.
    """
    told = _with_clears(lines, options.time_zone)
    cells = _understood(table_cells(table_rows(told)), lines)
    placed = (
        cells.join(told.drop("text"), on="position", how="left", maintain_order="left")
        .with_columns(device=_port_of(), device_kind=pl.lit("switch_port"), index=_index_of())
        .pipe(_texts)
    )
    return Section(values=_values(placed), aliases=_aliases(placed), used=_used(cells, lines))


def _values(cells: pl.DataFrame) -> pl.DataFrame:
    """Return `PORT_VALUES` of understood cells: what is left out goes, clears and sums come."""
    known = conform(cells.filter(pl.col("signal").is_not_null()).lazy(), PORT_VALUES).collect()
    admin = cells.filter((pl.col("signal") == "link_up") & (pl.col("table_kind") == "iface"))
    states = admin.with_columns(signal=pl.lit("admin_up"), text=_coded("cell", "admin_up"))
    parts = [known, conform(states.lazy(), PORT_VALUES).collect(), _clears(cells)]
    return port_totals(pl.concat(parts), TOTALLED)


def _aliases(cells: pl.DataFrame) -> pl.DataFrame:
    """Return `ALIASES` (without a source): the front panel's name of each port."""
    is_alias = (pl.col("table_kind") == "interface") & (pl.col("name") == "alias")
    rows = cells.filter(is_alias & ~pl.col("cell").is_in(["", "N/A"])).with_columns(
        alias_kind=pl.lit("label"), alias="cell"
    )
    return conform(rows.lazy(), ALIASES).collect()


def _with_clears(lines: pl.DataFrame, time_zone: str) -> pl.DataFrame:
    """Return the lines with `cleared`: since when the counters below them count."""
    stamp = iso_time(pl.col("text").str.extract(CACHED, 1), time_zone)
    return lines.with_columns(cleared=stamp.forward_fill().over("segment"))


def _understood(cells: pl.DataFrame, lines: pl.DataFrame) -> pl.DataFrame:
    """Return the cells whose column is known, with its meaning; key columns are left out."""
    titles = lines.filter(pl.col("text").str.contains(TITLE)).select(
        header=pl.col("position") + 1, title=pl.col("text").str.to_lowercase()
    )
    first = pl.col("column").first().over("table", "position").str.to_lowercase()
    titled = pl.coalesce(
        pl.when(pl.col("title").str.contains(word, literal=True)).then(pl.lit(word))
        for word in TITLES
    )
    name = pl.col("column").str.to_lowercase().str.replace(r"^([a-z]+)\d+$", "${1}N")
    second = pl.col("cell").get(1, null_on_oob=True).over("table", "position")
    return (
        cells.join(titles, on="header", how="left", maintain_order="left")
        .with_columns(table_kind=pl.coalesce(titled, first), name=name, second=second)
        .join(column_meanings(), on=["table_kind", "name"], how="inner", maintain_order="left")
    )


def _port_of() -> pl.Expr:
    """Return the port of a row; a histogram of one port has the bin there."""
    is_bin = pl.col("table_kind") == "symbol errors per codeword"
    return pl.when(is_bin).then("device").otherwise(pl.col("key").str.replace(r":\w+$", ""))


def _index_of() -> pl.Expr:
    """Return the number of the part: in the header, the second cell, or behind the port."""
    numbered = pl.col("column").str.extract(r"^[A-Za-z]+(\d+)$", 1)
    second = pl.col("second").str.extract(r"^[A-Za-z]*(\d+)$", 1)
    behind = pl.col("key").str.extract(r"(?:^BIN|:)(\d+):?$", 1)
    index = pl.when(pl.col("part").is_not_null()).then(pl.coalesce(numbered, behind, second))
    return index.cast(pl.Int32, strict=False)


def _coded(column: str, signal: str) -> pl.Expr:
    word = pl.col(column).str.to_lowercase()
    return word.replace_strict(_WORDS[signal], default=pl.col(column), return_dtype=pl.String)


def _texts(cells: pl.DataFrame) -> pl.DataFrame:
    """Return the cells with `text` and `factor` of the number in each."""
    cell, signal = pl.col("cell"), pl.col("signal")
    coded = pl.coalesce(pl.when(signal == one).then(_coded("cell", one)) for one in _WORDS)
    lanes = pl.when(signal == "link_width_lanes", cell.str.contains(r"^\d+(,\d+)*$")).then(
        (cell.str.count_matches(",", literal=True) + 1).cast(pl.String)
    )
    piece = pl.when(pl.col("piece").is_not_null()).then(
        cell.str.split("/").list.get(pl.col("piece"), null_on_oob=True)
    )
    multiple = pl.coalesce(cell.str.extract(_SPEED, 2), cell.str.extract(_RATE, 2)).fill_null("")
    text = pl.coalesce(
        coded, lanes, piece, cell.str.extract(_SPEED, 1), cell.str.extract(_RATE, 1), cell
    )
    nothing = (signal == "fec_highest_bin") & (text.cast(pl.Float64, strict=False) < 0)
    return cells.with_columns(
        text=text,
        factor=pl.col("factor") * multiple.replace_strict(_MULTIPLES, return_dtype=pl.Float64),
        reason=pl.when(nothing).then(pl.lit("none")),
    )


def _clears(cells: pl.DataFrame) -> pl.DataFrame:
    """Return how long ago the counters of each port, priority and queue began.

    Each command has a clear of its own. `not_cleared` where nothing was said of one.
    """
    seconds = (pl.col("time") - pl.col("cleared")).dt.total_microseconds() / 1e6
    rows = (
        cells.filter(pl.col("table_kind").is_in(_COUNTER_TABLES))
        .unique(["table", "device", "part", "index"], keep="first", maintain_order=True)
        .with_columns(
            signal=pl.lit("seconds_since_clear"),
            factor=pl.lit(1.0),
            text=seconds.cast(pl.String),
            reason=pl.when(pl.col("cleared").is_null()).then(pl.lit("not_cleared")),
        )
    )
    return conform(rows.lazy(), PORT_VALUES).collect()


def _used(cells: pl.DataFrame, lines: pl.DataFrame) -> pl.Series:
    """Return the positions of rows, headers, rules, titles and lines of cached times."""
    text = pl.col("text")
    is_rule = text.str.contains(RULE)
    is_header = is_rule.shift(-1) & text.str.contains(TABLE_HEAD) & ~pl.col("is_mark")
    is_known = is_header.fill_null(value=False)
    is_title = text.str.contains(CACHED) | text.str.contains(TITLE)
    under = is_rule & is_known.shift().fill_null(value=False)
    around = lines.filter(is_known | under | is_title)["position"]
    return pl.concat([cells["position"], around]).unique()
