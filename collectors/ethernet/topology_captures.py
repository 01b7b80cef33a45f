"""Read captured outputs that tell who is cabled to whom, and which names are one port."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

import polars as pl

from collectors.ethernet.lldp_texts import (
    INTERFACE,
    KEY_VALUE,
    TABLE_HEAD,
    read_lldp_blocks,
    read_lldp_pairs,
    read_lldp_tables,
)
from collectors.ethernet.neighbours import aliases_of_neighbours, links_of_neighbours
from collectors.ethernet.rdma_names import GID, LINK, LISTED, NETDEV, read_rdma_names
from collectors.readings import Reading
from collectors.sniffing import Head, ReadOptions
from collectors.texts.captures import captured
from collectors.texts.plain_lines import account

_STARTS: Final = "|".join(
    f"(?:{re.sub(r'[?]P<[a-z]+>', '?:', one)})"
    for one in (INTERFACE, KEY_VALUE, TABLE_HEAD, NETDEV, LINK, GID, LISTED)
)

_JUDGED_LINES: Final = 300

_READERS: Final[tuple[Callable[[pl.DataFrame], tuple[pl.DataFrame, pl.Series]], ...]] = (
    read_lldp_blocks,
    read_lldp_pairs,
    read_lldp_tables,
)

MIN_KNOWN_SHARE: Final = 0.5
"""Share of a head's lines that must be of these listings."""


def wants_topology(head: Head) -> float:
    """Return how sure it is that a file holds listings of neighbours or names of ports."""
    if head.is_binary:
        return 0.0
    lines = head.column.head(_JUDGED_LINES).str.strip_chars()
    if not lines.str.contains(_STARTS).any():
        return 0.0
    reading = _read(head.data, "", ReadOptions(host="any"))
    return 0.93 if reading.lines_used >= MIN_KNOWN_SHARE * len(head.lines) else 0.3


def read_topology(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return the cables and the names that captured outputs tell.

    Args:
        path: The file: outputs of lldpcli, lldpctl, `show lldp`, `ibdev2netdev`, `rdma link show`,
            `show_gids` or listings of `/sys/class`.
        source: The name to quote; a host or a time in it is believed where no line tells.
        options: Host and time of outputs that do not say them.

    Returns:
        Links and aliases. A neighbour of nobody (no line and no name tells the host) is a reject.

    Raises:
        OSError: The file cannot be read.
    """
    return _read(path.read_bytes(), source, options)


def _read(data: bytes, source: str, options: ReadOptions) -> Reading:
    lines = captured(data, source, options)
    found = [read(lines) for read in _READERS]
    neighbours = pl.concat([rows for rows, _ in found])
    names, named = read_rdma_names(lines)
    aliases = pl.concat([aliases_of_neighbours(neighbours), names])
    used = pl.concat([*(positions for _, positions in found), named])
    marks = lines.filter("is_mark")["position"]
    no_host = pl.when(pl.col("host").is_null()).then(pl.lit("no host told"))
    known = lines.filter(pl.col("host").is_not_null())["position"]
    return account(
        lines.select("position", "text", reason=no_host),
        pl.concat([used.filter(used.is_in(known.implode())), marks]),
        source,
        links=links_of_neighbours(neighbours, source),
        aliases=aliases,
    )
