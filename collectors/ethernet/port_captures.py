"""Read captured outputs of tools for ports: one dialect for whatever a file holds of them.

SONiC tables, `ethtool -S`, `ethtool -m`, `rdma statistic`, mlxlink, `ibv_devinfo`, `ip link`; each
in a module of its own. What no tool printed is a reject.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import polars as pl

from collectors.ethernet.capture_sections import Section, join_sections
from collectors.ethernet.ethtool_statistics import HEADER, UNKNOWN, read_statistics
from collectors.ethernet.mlxlink import SECTION, read_mlxlink_lines
from collectors.ethernet.optics import MODULE_START, SONIC_START, hush_fillers, read_optics
from collectors.ethernet.port_settings import DEVICE, IP_LINK, SETTINGS, read_port_settings
from collectors.ethernet.port_values import samples_of_values
from collectors.ethernet.rdma_names import read_rdma_names
from collectors.ethernet.rdma_statistics import LINK, OF_QUEUE_PAIR, QUEUE_PAIR, read_rdma_lines
from collectors.ethernet.sonic_columns import TABLE_HEAD
from collectors.ethernet.sonic_gaps import gap_rows, mend_gaps
from collectors.ethernet.sonic_hashes import HASH_COMMAND, read_hashes
from collectors.ethernet.sonic_tables import read_sonic_tables
from collectors.readings import Reading
from collectors.sniffing import Head, ReadOptions
from collectors.texts.captures import captured
from collectors.texts.plain_lines import account
from collectors.texts.ruled_tables import RULE


def _read_names(lines: pl.DataFrame, _options: ReadOptions) -> Section:
    """Return which RDMA port is which interface: such listings often stand beside counters."""
    aliases, used = read_rdma_names(lines)
    return Section(aliases=aliases, used=used)


READERS: Final[tuple[Callable[[pl.DataFrame, ReadOptions], Section], ...]] = (
    read_sonic_tables,
    read_hashes,
    read_optics,
    read_mlxlink_lines,
    read_rdma_lines,
    read_port_settings,
    read_statistics,
    _read_names,
)
"""Each takes the lines that those before it have not read."""

MIN_KNOWN_SHARE: Final = 0.5
"""Share of a head's lines that must be of a tool we know."""

_FIRST_LINES: Final = (
    HEADER,
    MODULE_START,
    SONIC_START,
    DEVICE,
    IP_LINK,
    SETTINGS,
    r"^\s*Operational Info\s*$",
)
"""How an output begins that may follow another without anything between."""

_OWN_LINES: Final = (*_FIRST_LINES, SECTION, LINK, QUEUE_PAIR, HASH_COMMAND)

_OWN_LINE: Final = "|".join(
    f"(?:{one})" for one in (*_OWN_LINES, r"^\s*(?:rx|tx)_\w+(?:\.nic)?: \d+$")
)

_COLOUR: Final = r"\x1b\[[0-9;]*m"

_MAX_SNIFFED_CHARACTERS: Final = 400


def wants_port_captures(head: Head) -> float:
    """Return how sure it is that a file holds outputs of these tools: by their share in it."""
    if head.is_binary or not _has_own_line(head):
        return 0.0
    reading = _read(head.data, "", ReadOptions())
    lost = reading.rejects.filter(~pl.col("reason").is_in([UNKNOWN, OF_QUEUE_PAIR]))
    unknown = int(lost["count"].fill_null(1).sum())
    known = reading.lines_used + int(reading.rejects["count"].fill_null(1).sum()) - unknown
    return 0.85 if known > 0 and known >= MIN_KNOWN_SHARE * (known + unknown) else 0.0


def _has_own_line(head: Head) -> bool:
    """Return whether a line begins one of these outputs, or a table stands on a rule."""
    column = head.column.str.head(_MAX_SNIFFED_CHARACTERS).str.replace_all(_COLOUR, "")
    stands = column.str.contains(TABLE_HEAD) & column.shift(-1).str.contains(RULE)
    return bool(column.str.contains(_OWN_LINE).any() or stands.any())


def read_port_captures(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return what a capture of such outputs says.

    Args:
        path: The file.
        source: The name to quote, which may tell host, port and time.
        options: Zone, host and time that the file does not say.

    Returns:
        Samples of ports and their parts, aliases, events of module alarms and of ports that
        nothing is counted of, and what is missing as coverage.

    Raises:
        OSError: The file cannot be read.
    """
    return _read(path.read_bytes(), source, options)


def _read(data: bytes, source: str, options: ReadOptions) -> Reading:
    begins = pl.any_horizontal(pl.col("text").str.contains(one) for one in _FIRST_LINES)
    lines = captured(data, source, options).with_columns(
        segment=pl.col("segment") + begins.cum_sum()
    )
    rest = lines
    sections: list[Section] = []
    for read in READERS:
        sections.append(read(rest, options))
        rest = rest.filter(~pl.col("position").is_in(sections[-1].used.implode()))
    found = join_sections(sections)
    values = mend_gaps(hush_fillers(found.values))
    coverage, gaps = gap_rows(values)
    reasons = found.aside.unique("position", keep="first", maintain_order=True)
    return account(
        lines.join(reasons, on="position", how="left", maintain_order="left"),
        pl.concat([found.used, lines.filter("is_mark")["position"]]),
        source,
        samples=samples_of_values(values),
        events=pl.concat([found.events, gaps]),
        aliases=found.aliases,
        coverage=coverage,
    )
