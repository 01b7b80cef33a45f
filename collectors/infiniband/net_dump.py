"""Read ibdiagnet's `*.net_dump` and `*.net_dump_ext`: tables of ports with colons between.

The first has a title line and a table for each switch, with the far end of each port; the second is
one table that adds error ratios. Descriptions hold colons too, but never with blanks around them.
Source: public captures of ibdiagnet2.
"""

import re
from pathlib import Path
from typing import Final

import polars as pl

from collectors.frames import TIME, schema_of
from collectors.identity import node_guid
from collectors.infiniband.cables import cables_of
from collectors.infiniband.lane_rates import lane_count, rate_values, raw_lane_bytes
from collectors.infiniband.link_texts import aliases_of, melted
from collectors.infiniband.node_names import (
    is_aggregation,
    looks_like_switch,
    nodes_of,
    port_device,
)
from collectors.infiniband.port_fields import ACTIVE
from collectors.infiniband.port_tokens import whole_number
from collectors.readings import Reading
from collectors.sniffing import Head, ReadOptions
from collectors.texts.error_ratios import floored
from collectors.texts.line_stamps import stamped
from collectors.texts.plain_lines import account, judged_lines, plain_lines

_TITLE: Final = r'^"(?P<name>.*)",\s*[^,]*,\s*(?P<guid>0x[0-9a-fA-F]+),\s*LID (?P<lid>\d+)'
_HEADER: Final = r"^\s*(?:Ty\s+:\s+)?#\s+:\s+#?IB#?\s+:"
_BETWEEN: Final = r"\s:(?:\s|$)"

NAMES: Final = {
    "ty": "type",
    "#": "label",
    "ib#": "port",
    "#ib": "port",
    "guid": "guid",
    "lid": "lid",
    "sta": "state",
    "physsta": "physical",
    "lwa": "width",
    "lsa": "speed",
    "neighbor guid": "far_guid",
    "n#": "far_port",
    "nlid": "far_lid",
    "neighbor description": "far_name",
    "raw ber": "raw",
    "effective ber": "effective",
    "symbol ber": "symbol",
    "symbol err": "symbol_errors",
    "effective err": "effective_errors",
    "node desc": "name",
}
"""A table's column to ours; others are left out."""

_STATES: Final = {"DOWN": 1, "DWN": 1, "INI": 2, "INIT": 2, "ARM": 3, "ACT": 4}

_EMPTY: Final = r"(?i)^\s*(?:n/?a|-|0x0+)?\s*$"


def wants_net_dump(head: Head) -> float:
    """Return how sure it is that a file is a net dump."""
    return 0.96 if any(re.match(_HEADER, line) for line in judged_lines(head)) else 0.0


def read_net_dump(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return what a net dump says of the ports.

    Args:
        path: The file.
        source: The name to quote; a time in it is believed.
        options: The time of a file that does not say it.

    Returns:
        Samples, cables and further names. A port that is not active has its state alone; an error
        ratio that says no error was seen is null (`no_errors_seen`).
    """
    lines = _titled(stamped(plain_lines(path.read_bytes()), source, options))
    parts = lines.partition_by("table", maintain_order=True)
    rows = pl.concat([_ROWS.to_frame(), *(_rows(part) for part in parts)])
    ports = _placed(rows.drop_nulls(["name", "port"]))
    real = ports.filter(~is_aggregation(pl.col("name")), ~is_aggregation(pl.col("far_name")))
    told = lines.filter("is_title")["position"], lines.filter("is_header")["position"]
    odd = pl.when(is_aggregation(pl.col("text"))).then(pl.lit("aggregation node"))
    return account(
        lines.select("position", "text", reason=odd),
        pl.concat([real["position"], *told, lines.filter("is_stamp")["position"]]),
        source,
        samples=pl.concat([_samples(real), floored(_ratios(real))]),
        links=_cables(real),
        aliases=_aliases(real),
    )


_ROWS: Final = schema_of(
    {
        "position": pl.Int64,
        "time": TIME,
        **dict.fromkeys(NAMES.values(), pl.String),
    }
)


def _titled(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the lines with the switch whose table they are in, and the table's number."""
    text = pl.col("text")
    title = text.str.extract_groups(_TITLE).struct
    is_title, is_header = text.str.contains(_TITLE), text.str.contains(_HEADER)
    opened = lines.with_columns(
        is_title=is_title,
        is_header=is_header,
        table=(is_title | (is_header & ~is_title.shift(fill_value=False))).cum_sum(),
        **{f"own_{name}": title.field(name) for name in ("name", "guid", "lid")},
    )
    own = pl.col("own_name", "own_guid", "own_lid")
    return opened.with_columns(own.first().over("table"))


def _rows(part: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of one table, a column each of `_ROWS`."""
    split = pl.col("text").str.replace_all(_BETWEEN, "\t").str.split("\t")
    headers = part.filter("is_header").select(split.alias("cells"))
    if headers.is_empty():
        return _ROWS.to_frame()
    names = [re.sub(r"\s*\(#\)", "", str(cell)).strip().lower() for cell in headers["cells"][0]]
    rows = part.filter(~pl.col("is_header"), ~pl.col("is_title")).with_columns(cells=split)
    fitting = rows.filter(pl.col("cells").list.len() == len(names))
    cells = {
        NAMES[name]: pl.col("cells").list.get(at).str.strip_chars().str.strip_chars('"')
        for at, name in enumerate(names)
        if name in NAMES
    }
    whole = fitting.with_columns(**cells).with_columns(
        pl.lit(None, pl.String).alias(name) for name in NAMES.values() if name not in cells
    )
    own = [pl.coalesce(name, f"own_{name}").alias(name) for name in ("name", "guid", "lid")]
    return whole.with_columns(own).select(_ROWS.names())


def _placed(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with the canonical names of both ends."""
    filled = {
        name: pl.when(~pl.col(name).str.contains(_EMPTY)).then(name)
        for name in ("far_name", "far_port", "far_guid", "far_lid", "label")
    }
    is_switch = (pl.col("type") == "SW").fill_null(pl.col("far_name").is_not_null())
    far_switch = looks_like_switch(pl.col("far_name"), pl.col("far_port"))
    known = rows.with_columns(
        lid=pl.col("lid").str.extract(r"^(\d+)", 1), is_switch=is_switch
    ).with_columns(**filled)
    host, nic = nodes_of(pl.col("name"), is_switch=pl.col("is_switch"))
    far_host, far_nic = nodes_of(pl.col("far_name"), is_switch=far_switch)
    return known.with_columns(
        host=pl.coalesce(host, node_guid(pl.col("guid"))),
        nic=nic,
        device=port_device(nic, pl.col("port")),
        device_kind=pl.when("is_switch").then(pl.lit("switch_port")).otherwise(pl.lit("nic")),
        far_switch=far_switch,
        far_host=far_host,
        far_nic=far_nic,
    )


def _samples(ports: pl.DataFrame) -> pl.DataFrame:
    """Return `SAMPLES` of state, width, rate and errors."""
    state = (
        pl.col("state")
        .str.to_uppercase()
        .replace_strict(_STATES, default=None, return_dtype=pl.Float64)
    )
    active = state == ACTIVE
    lanes = pl.when(active).then(lane_count(pl.col("width")))
    raw = pl.when(active).then(raw_lane_bytes(pl.col("speed")))
    values = {
        "port_state": state,
        **rate_values(lanes, raw),
        "symbol_errors_total": whole_number(pl.col("symbol_errors")),
        "effective_errors_total": whole_number(pl.col("effective_errors")),
    }
    return melted(ports, values)


def _ratios(ports: pl.DataFrame) -> pl.DataFrame:
    names = {"pre_fec": "raw", "post_fec": "effective", "symbol": "symbol"}
    numbers = {
        f"{signal}_error_ratio": pl.col(name).cast(pl.Float64, strict=False)
        for signal, name in names.items()
    }
    finite = {name: pl.when(one.is_finite()).then(one) for name, one in numbers.items()}
    return melted(ports, finite)


def _cables(ports: pl.DataFrame) -> pl.DataFrame:
    peers = ports.select(
        "time",
        text_a="name",
        number_a="port",
        switch_a="is_switch",
        text_b="far_name",
        number_b="far_port",
        switch_b="far_switch",
    )
    return cables_of(peers.drop_nulls(["text_b", "number_b"]))


def _aliases(ports: pl.DataFrame) -> pl.DataFrame:
    """Return `ALIASES`; the first column is the label that is printed beside a switch's port."""
    blank = pl.lit(None, pl.String)
    near = ports.select(
        *("time", "host", "nic", "device", "guid", "lid"),
        label=pl.when("is_switch").then("label"),
        switch="is_switch",
    )
    far = ports.drop_nulls("far_host").select(
        "time",
        host="far_host",
        nic="far_nic",
        device=blank,
        guid="far_guid",
        lid="far_lid",
        label=blank,
        switch="far_switch",
    )
    return aliases_of(pl.concat([near, far]))
