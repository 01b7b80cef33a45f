"""Read the tables of ibdiagnet (`*.db_csv`): the subnet, its ports, their counters and modules.

Source: see `collectors.infiniband.diagnostic_sections`. Sections that say nothing of health are
left out, with that reason. The file has no time of its own.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

import polars as pl

from collectors.frames import SAMPLES
from collectors.identity import node_guid
from collectors.infiniband.cables import cables_of
from collectors.infiniband.diagnostic_ports import (
    bin_samples,
    counter_tokens,
    located,
    module_samples,
    port_keys,
    ratio_samples,
    state_samples,
)
from collectors.infiniband.diagnostic_sections import START, Section, in_sections, read_sections
from collectors.infiniband.link_texts import aliases_of, melted
from collectors.infiniband.node_names import MAX_NIC_PORT, is_aggregation, nodes_of, port_device
from collectors.infiniband.port_tokens import samples_of_tokens, whole_number
from collectors.infiniband.wait_ticks import chip_of, tick_values
from collectors.readings import Reading
from collectors.sniffing import Head, ReadOptions
from collectors.taken import taken_at
from collectors.texts.csv_rows import column
from collectors.texts.plain_lines import account, judged_lines, plain_lines

_READ: Final = r"NODES|LINKS|PORTS|PM_INFO|CABLE_INFO|PORT_HIERARCHY_INFO|PHY_DB\d+"

SWITCH: Final = "2"
"""NodeType of a switch; 1 is a channel adapter, 3 a router."""

_NODE: Final = {"guid": pl.String, "name": pl.String, "type": pl.String, "chip": pl.String}
_ENDS: Final = ("guid_a", "number_a", "guid_b", "number_b")
_CABLE: Final = {**dict.fromkeys(_ENDS, pl.String), "position": pl.Int64}


def wants_diagnostic_tables(head: Head) -> float:
    """Return how sure it is that a file holds tables of ibdiagnet."""
    return 0.97 if any(re.match(START, line) for line in judged_lines(head)) else 0.0


def read_diagnostic_tables(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return what an ibdiagnet file says of the subnet.

    Args:
        path: The file.
        source: The name to quote; a time in it is believed.
        options: The time of a file that does not say it.

    Returns:
        Samples, cables and further names. A switch's management port (0) and the port to its
        aggregation node are left out. A node that no section names is called by its GUID.
    """
    lines = in_sections(plain_lines(path.read_bytes()))
    sections = read_sections(lines, _READ)
    nodes, cables = _nodes(sections), _cables(sections)
    stamp = pl.lit(taken_at(source, options), pl.Datetime("us", "UTC"))
    ports = _ports(sections, nodes, cables).with_columns(time=stamp)
    ends = _named_cables(cables, nodes).with_columns(time=stamp)
    rows = [(section, located(section, ports)) for section in sections]
    used = [section.rows["position"] for section in sections if section.name in {"NODES", "LINKS"}]
    used += [found["position"] for section, found in rows if section.name not in {"NODES", "LINKS"}]
    frames = [sample(*one) for one in rows for sample in _SAMPLES.get(_kind(one[0].name), ())]
    return account(
        _reasons(lines),
        pl.concat([*used, _marks(lines)]),
        source,
        samples=pl.concat([SAMPLES.to_frame(), *frames, _ticks(ports)]),
        links=cables_of(ends),
        aliases=_aliases(rows, nodes.with_columns(time=stamp)),
    )


def _kind(name: str) -> str:
    return "PHY_DB" if name.startswith("PHY_DB") else name


def _counters(section: Section, rows: pl.DataFrame) -> pl.DataFrame:
    return samples_of_tokens(counter_tokens(section, rows), has_fillers=True)


_SAMPLES: Final[dict[str, tuple[Callable[[Section, pl.DataFrame], pl.DataFrame], ...]]] = {
    "PM_INFO": (_counters,),
    "PORTS": (state_samples,),
    "CABLE_INFO": (module_samples,),
    "PHY_DB": (ratio_samples, bin_samples),
}
"""What is read of which section."""


def _nodes(sections: list[Section]) -> pl.DataFrame:
    """Return `guid`, `name`, `type`, `chip` of the nodes, one row a GUID."""
    parts = [
        section.rows.select(
            guid=node_guid(column(section.header, "nodeguid")),
            name=column(section.header, "nodedesc"),
            type=column(section.header, "nodetype"),
            chip=chip_of(
                whole_number(column(section.header, "deviceid")).cast(pl.Int64, strict=False)
            ),
        )
        for section in sections
        if section.name == "NODES"
    ]
    whole = pl.concat([pl.DataFrame(schema=_NODE), *parts]).drop_nulls("guid")
    return whole.unique("guid", keep="last", maintain_order=True)


def _cables(sections: list[Section]) -> pl.DataFrame:
    """Return GUID and port of both ends of each cable."""
    parts = [
        section.rows.select(
            guid_a=node_guid(column(section.header, "nodeguid1")),
            number_a=column(section.header, "portnum1"),
            guid_b=node_guid(column(section.header, "nodeguid2")),
            number_b=column(section.header, "portnum2"),
            position="position",
        )
        for section in sections
        if section.name == "LINKS"
    ]
    return pl.concat([pl.DataFrame(schema=_CABLE), *parts]).drop_nulls()


def _ports(sections: list[Section], nodes: pl.DataFrame, cables: pl.DataFrame) -> pl.DataFrame:
    """Return the real ports that any section speaks of, and which device each is."""
    skipped = {"NODES", "LINKS"}
    keys = [port_keys(one) for one in sections if one.name not in skipped]
    schema = {"guid": pl.String, "port": pl.String}
    seen = pl.concat([pl.DataFrame(schema=schema), *keys]).drop_nulls().unique(maintain_order=True)
    odd = nodes.filter(is_aggregation(pl.col("name")))["guid"].implode()
    reducing = pl.concat(
        cables.filter(pl.col(f"guid_{far}").is_in(odd)).select(
            guid=f"guid_{near}", port=f"number_{near}"
        )
        for near, far in (("a", "b"), ("b", "a"))
    )
    real = seen.filter(pl.col("port") != "0", ~pl.col("guid").is_in(odd))
    return _named(
        real.join(reducing, on=["guid", "port"], how="anti", maintain_order="left"), nodes
    )


def _named(ports: pl.DataFrame, nodes: pl.DataFrame) -> pl.DataFrame:
    """Return ports with `host`, `device_kind`, `device`, `nic` and `is_switch`."""
    highest = pl.col("port").cast(pl.Int64, strict=False).max().over("guid")
    by_port = (highest > MAX_NIC_PORT).fill_null(value=False)
    known = ports.join(nodes, on="guid", how="left", maintain_order="left").with_columns(
        is_switch=(pl.col("type") == SWITCH).fill_null(by_port)
    )
    filled = pl.when(pl.col("name").str.strip_chars() != "").then("name")
    host, nic = nodes_of(filled, is_switch=pl.col("is_switch"))
    return known.with_columns(
        host=pl.coalesce(host, "guid"),
        nic=nic,
        device=port_device(nic, pl.col("port")),
        device_kind=pl.when("is_switch").then(pl.lit("switch_port")).otherwise(pl.lit("nic")),
    )


def _named_cables(cables: pl.DataFrame, nodes: pl.DataFrame) -> pl.DataFrame:
    """Return cables as `collectors.infiniband.subnet.cables_of` wants them."""
    sides = {
        side: nodes.select(
            pl.col("guid").alias(f"guid_{side}"),
            pl.coalesce("name", "guid").alias(f"text_{side}"),
            (pl.col("type") == SWITCH).alias(f"switch_{side}"),
        )
        for side in ("a", "b")
    }
    both = cables.join(sides["a"], on="guid_a", how="left").join(
        sides["b"], on="guid_b", how="left"
    )
    return both.with_columns(
        *(pl.coalesce(f"text_{side}", f"guid_{side}").alias(f"text_{side}") for side in "ab"),
        *(pl.col(f"switch_{side}").fill_null(value=False) for side in "ab"),
    )


def _ticks(ports: pl.DataFrame) -> pl.DataFrame:
    """Return `SAMPLES` of how long a tick of a port's wait counter is, where the chip is known."""
    return melted(ports, tick_values(pl.coalesce("chip", "name")))


def _aliases(rows: list[tuple[Section, pl.DataFrame]], nodes: pl.DataFrame) -> pl.DataFrame:
    """Return `ALIASES`: GUIDs of the nodes, LIDs of their ports, printed labels."""
    blank = pl.lit(None, pl.String)
    is_switch = (pl.col("type") == SWITCH).fill_null(value=False)
    host, nic = nodes_of(pl.col("name"), is_switch=is_switch)
    named = nodes.filter(~is_aggregation(pl.col("name"))).select(
        "time", "guid", host=host, nic=nic, device=blank, lid=blank, label=blank, switch=is_switch
    )
    labelled = [
        found.select(
            "time",
            "guid",
            "host",
            "nic",
            "device",
            lid=column(section.header, "lid") if section.name == "PORTS" else blank,
            label=_label(section.header) if section.name == "PORT_HIERARCHY_INFO" else blank,
            switch="is_switch",
        )
        for section, found in rows
        if section.name in {"PORTS", "PORT_HIERARCHY_INFO"}
    ]
    return aliases_of(pl.concat([named, *labelled], how="diagonal"))


def _label(header: list[str]) -> pl.Expr:
    """Return the printed label of a port: as it stands there, or cage and place in it."""
    parts = pl.concat_str(column(header, "cage"), column(header, "port", "cageport"), separator="/")
    label = pl.coalesce(column(header, "label", "portlabel", "port_label"), parts)
    return pl.when(~label.str.contains(r"(?i)^(?:n/?a|-1)?(?:/.*)?$")).then(label)


def _marks(lines: pl.DataFrame) -> pl.Series:
    """Return the positions of the lines that hold the sections that are read together."""
    mine = pl.col("section").str.contains(f"^(?:{_READ})$").fill_null(value=False)
    return lines.filter(mine & (pl.col("is_mark") | pl.col("is_header")))["position"]


def _reasons(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the lines with the reason of those that are left out."""
    mine = pl.col("section").str.contains(f"^(?:{_READ})$").fill_null(value=False)
    reason = (
        pl.when(pl.col("section").is_not_null() & ~mine)
        .then(pl.lit("section that says nothing of health"))
        .when(mine)
        .then(pl.lit("does not fit its header, or is no real port"))
        .when(pl.col("text").str.starts_with("#"))
        .then(pl.lit("comment"))
    )
    return lines.select("position", "text", reason=reason)
