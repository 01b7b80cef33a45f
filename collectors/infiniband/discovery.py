"""Read what `ibnetdiscover` found: the cables of the subnet, and who its nodes are.

Both forms: one line a port (`--ports`), and the topology file with a block a node. A port without a
far end says `4x ???` or the slowest speed there is: it is not connected, never a slow link. Source:
linux-rdma/rdma-core `infiniband-diags/ibnetdiscover.c`, fixtures of treydock/infiniband_exporter.
"""

import re
from pathlib import Path
from typing import Final

import polars as pl

from collectors.infiniband.cables import cables_of
from collectors.infiniband.lane_rates import lane_count, rate_values, raw_lane_bytes
from collectors.infiniband.link_texts import aliases_of, melted
from collectors.infiniband.node_names import is_aggregation, nodes_of, port_device
from collectors.infiniband.port_tokens import whole_number
from collectors.infiniband.wait_ticks import chip_of, tick_values
from collectors.readings import Reading
from collectors.sniffing import Head, ReadOptions
from collectors.texts.line_stamps import stamped
from collectors.texts.plain_lines import account, judged_lines, plain_lines

_HEX: Final = r"0x[0-9a-fA-F]+"

_LISTED: Final = (
    rf"^(?P<kind>SW|CA|RT)\s+(?P<lid>\d+)\s+(?P<port>\d+)\s+(?P<guid>{_HEX})\s+"
    rf"(?P<speed>\d+x\s+\S+)(?:\s+-\s+(?P<far_kind>SW|CA|RT)\s+(?P<far_lid>\d+)\s+"
    rf"(?P<far_port>\d+)\s+(?P<far_guid>{_HEX})\s+\(\s*'(?P<name>.*)'\s+-\s+'(?P<far_name>.*)'\s*\)"
    r"|\s+'(?P<alone>.*)')\s*$"
)
_NODE: Final = (
    r'^(?P<kind>Switch|Ca|Rt)\s+\d+\s+"[SHR]-(?P<guid>[0-9a-fA-F]+)"\s*#\s*"(?P<name>.*)"'
    r"(?:.*\blid (?P<lid>\d+))?"
)
_WIRED: Final = (
    r"^\[(?P<port>\d+)\](?:\[ext \S+\])?(?:\([0-9a-fA-F]+\))?\s+"
    r'"(?P<far_kind>[SHR])-(?P<far_guid>[0-9a-fA-F]+)"\[(?P<far_port>\d+)\](?:\[ext \S+\])?'
    r"(?:\([0-9a-fA-F]+\))?\s*#\s*(?:lid (?P<lid>\d+) lmc \d+ )?"
    r'"(?P<far_name>.*)" lid (?P<far_lid>\d+)\s+(?P<speed>\d+x\S*)\s*$'
)
_ABOUT: Final = r"^(?:#|vendid=|devid=|sysimgguid=|(?:switch|ca|rt)guid=)"
_DEVICE: Final = r"^devid=(0x[0-9a-fA-F]+)"

_SWITCHES: Final = ("SW", "Switch", "S")


def wants_discovery(head: Head) -> float:
    """Return how sure it is that a file is output of `ibnetdiscover`."""
    lines = judged_lines(head)
    listed = any(re.match(_LISTED, line) for line in lines)
    nodes = any(re.match(_NODE, line) for line in lines)
    about = any(line.startswith(("vendid=", "# Topology file:")) for line in lines)
    return 0.95 if listed or nodes else 0.9 if about else 0.0


def read_discovery(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return the cables and names that `ibnetdiscover` found.

    Args:
        path: The file.
        source: The name to quote; a time in it is believed unless the file says its own.
        options: The time of a file that does not say it.

    Returns:
        Cables, further names, and samples of width and rate of connected ports; how long a tick of
        the wait counter is where the device number tells the chip. The aggregation node of a
        switch is neither a host nor a cable.
    """
    lines = _parted(stamped(plain_lines(path.read_bytes()), source, options))
    rows = _placed(lines.drop_nulls(["name", "guid"]))
    is_known = ~is_aggregation(pl.col("name"))
    far_known = pl.col("far_name").is_not_null() & ~is_aggregation(pl.col("far_name"))
    known, far = rows.filter(is_known), rows.filter(far_known)
    wired = far.filter(is_known).drop_nulls("port")
    about = lines.filter(pl.col("text").str.contains(_ABOUT) | pl.col("is_stamp"))
    ignored = pl.when(is_aggregation(pl.col("text"))).then(pl.lit("aggregation node"))
    return account(
        lines.select("position", "text", reason=ignored),
        pl.concat([known["position"], far["position"], about["position"]]),
        source,
        samples=_samples(wired),
        links=_cables(wired),
        aliases=_aliases(known, far),
    )


def _parted(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the lines with what each says of a port and its far end, whichever the form."""
    text = pl.col("text")
    listed, wired = (text.str.extract_groups(one).struct for one in (_LISTED, _WIRED))
    in_block = text.str.contains(_NODE) | text.str.contains(_WIRED)

    def above(name: str) -> pl.Expr:
        return pl.when(in_block).then(f"node_{name}")

    far = ("port", "speed", "far_kind", "far_guid", "far_name", "far_lid", "far_port")
    named = pl.coalesce(listed.field("name"), listed.field("alone"), above("name"))
    return _in_blocks(lines).with_columns(
        kind=pl.coalesce(listed.field("kind"), above("kind")),
        guid=pl.coalesce(listed.field("guid"), above("guid")),
        name=named,
        lid=pl.coalesce(listed.field("lid"), wired.field("lid"), above("lid")),
        **{name: pl.coalesce(listed.field(name), wired.field(name)) for name in far},
    )


def _in_blocks(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the lines with the node of the block they are in, and its chip."""
    text = pl.col("text")
    node = text.str.extract_groups(_NODE).struct
    device = whole_number(text.str.extract(_DEVICE, 1)).cast(pl.Int64, strict=False)
    starts = text.str.starts_with("vendid=").cum_sum()
    own = {f"node_{name}": node.field(name) for name in ("kind", "guid", "name", "lid")}
    return lines.with_columns(
        block=text.str.contains(_NODE).cum_sum(),
        chip=chip_of(device).forward_fill().over(starts),
        **own,
    ).with_columns(pl.col(list(own)).first().over("block"))


def _placed(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with the canonical names of both ends."""
    is_switch, far_switch = (pl.col(name).is_in(_SWITCHES) for name in ("kind", "far_kind"))
    host, nic = nodes_of(pl.col("name"), is_switch=is_switch)
    far_host, far_nic = nodes_of(pl.col("far_name"), is_switch=far_switch)
    return rows.with_columns(
        switch=is_switch,
        far_switch=far_switch,
        host=host,
        nic=nic,
        far_host=far_host,
        far_nic=far_nic,
        device=port_device(nic, pl.col("port")),
        device_kind=pl.when(is_switch).then(pl.lit("switch_port")).otherwise(pl.lit("nic")),
    )


def _samples(wired: pl.DataFrame) -> pl.DataFrame:
    """Return `SAMPLES` of width, rate and tick of connected ports."""
    lanes, raw = lane_count(pl.col("speed")), raw_lane_bytes(pl.col("speed"))
    return melted(wired, {**rate_values(lanes, raw), **tick_values(pl.col("chip"))})


def _cables(wired: pl.DataFrame) -> pl.DataFrame:
    peers = wired.select(
        "time",
        text_a="name",
        number_a="port",
        switch_a="switch",
        text_b="far_name",
        number_b="far_port",
        switch_b="far_switch",
    )
    return cables_of(peers)


def _aliases(known: pl.DataFrame, wired: pl.DataFrame) -> pl.DataFrame:
    """Return `ALIASES` of the nodes that are listed and of those at the end of a cable."""
    label = pl.lit(None, pl.String)
    near = known.select("time", "host", "nic", "device", "guid", "lid", "switch", label=label)
    far = wired.select(
        "time",
        host="far_host",
        nic="far_nic",
        device=pl.lit(None, pl.String),
        guid="far_guid",
        lid="far_lid",
        switch="far_switch",
        label=label,
    )
    return aliases_of(pl.concat([near, far]))
