"""The texts of OpenSM's log that are read, and their fields.

Source: see `collectors.port_logs.opensm_logs`. A line is stamp, microseconds, thread, level, `->`,
text.
"""

from typing import Final

import polars as pl

from collectors.identity import node_guid
from collectors.sniffing import ReadOptions
from collectors.texts.yearless_stamps import YEARLESS_STAMP, yearless_times

TRAPS: Final = {
    "128": ("link_state_change", "link_state"),
    "129": ("port_error", "link_integrity"),
    "130": ("port_error", "buffer_overrun"),
    "131": ("port_error", "flow_control_watchdog"),
}
"""Traps that speak of links: kind and code of their events."""

_TITLES: Final = {
    r"(?i)link state change": "128",
    r"(?i)link integrity": "129",
    r"(?i)buffer overrun": "130",
    r"(?i)watchdog": "131",
    r"(?i)GID (?:address )?in service": "64",
    r"(?i)GID (?:address )?out of service": "65",
    r"(?i)(?:new )?mcast group created|MGID created": "66",
    r"(?i)mcast group deleted|MGID destroyed": "67",
    r"(?i)capability|local changes": "144",
    r"(?i)system image": "145",
    r"(?i)bad M_?Key": "256",
    r"(?i)bad P_?Key": "257",
    r"(?i)bad Q_?Key": "258",
}
"""Titles of traps that newer releases print instead of the number."""

_HEAD: Final = r"^.{0,16}\d\d:\d\d:\d\d \d{6} \[[0-9A-Fa-f]+\] 0x[0-9A-Fa-f]+ -> (.*)$"

_RECEIVED: Final = (
    r"Received Generic Notice type:\d+ num:(?P<trap>\d+) \((?P<title>[^)]*)\) "
    r"Producer:\d+ \((?P<producer>[^)]*)\) from LID:(?P<lid>\d+)(?: Port (?P<port>\d+))?"
)

_GENERIC: Final = (
    r"Reporting Generic Notice type:\d+ num:(?P<trap>\d+)(?: \((?P<title>[^)]*)\))?"
    r"(?:.*?from LID:(?P<lid>\d+))?(?:.*?GID:(?P<gid>[0-9A-Fa-f:]+))?"
)

_URGENT: Final = (
    r'Reporting (?:Urgent|Informational|Security|Subnet) Notice "(?P<title>[^"]*)"?'
    r"(?: from (?P<producer>switch )?LID (?P<lid>\d+), GUID (?P<guid>0x[0-9A-Fa-f]+))?"
    r"(?:, port (?P<port>\d+))?(?:, M?GID:(?P<gid>[0-9A-Fa-f:]+))?"
)

_MOVE: Final = (
    r"Switch (?P<guid>0x[0-9A-Fa-f]+) (?P<name>.+?) port (?P<port>\d+) changed state from "
    r"(?P<before>[A-Z]+) to (?P<state>[A-Z]+)"
)

_DELTA: Final = (
    r"ERR (?P<error>543[0-9A-F]): (?P<counter>\w+)\s*:\s*(?P<delta>\d+)\s*:\s*node "
    r'"(?P<name>[^"]*)" \(NodeGUID: (?P<guid>0x[0-9A-Fa-f.]+)\)\s*:\s*port (?P<port>\d+)'
    r'(?: connected to "(?P<far_name>[^"]*)" \(NodeGUID: (?P<far_guid>0x[0-9A-Fa-f.]+)\)'
    r"\s*:\s*port (?P<far_port>\d+))?"
)

_CLEAR: Final = (
    r'ERR (?P<error>540[AB]|4C0A): .*?\bon (?:node )?"?(?P<name>[^"]+?)"? '
    r"\((?:NodeGUID: )?(?P<guid>0x[0-9A-Fa-f.]+)\)\s*:?\s*port (?P<port>\d+)"
)

_FORMS: Final = {
    "received": _RECEIVED,
    "reported": _GENERIC,
    "urgent": _URGENT,
    "move": _MOVE,
    "delta": _DELTA,
    "clear": _CLEAR,
}

OPENSM_HINT: Final = r"\d{6} \[[0-9A-Fa-f]+\] 0x[0-9A-Fa-f]+ -> "
"""Between stamp and text of every line of OpenSM."""

_FIELDS: Final = (
    "trap",
    "title",
    "producer",
    "lid",
    "port",
    "gid",
    "guid",
    "name",
    "before",
    "state",
    "error",
    "counter",
    "delta",
    "far_name",
    "far_guid",
    "far_port",
)


def opensm_records(lines: pl.DataFrame, options: ReadOptions) -> pl.DataFrame:
    """Return the lines of OpenSM that are read.

    Args:
        lines: `LINES`, the whole log.
        options: Zone and year of stamps, which carry none.

    Returns:
        The lines with `form` (received, reported, move, delta, clear), `message`, `time`, the
        fields that their form has (text, null where it has none; `guid` canonical) and
        `is_switch`, whether the line says that its node is a switch.
    """
    text = pl.col("text")
    stamps = lines.select(text.str.extract(rf"^.{{0,24}}?({YEARLESS_STAMP})", 1)).to_series()
    own = lines.with_columns(own=yearless_times(stamps, options)).filter(text.str.contains(_HEAD))
    rest = own.with_columns(
        message=text.str.extract(_HEAD, 1), time=pl.coalesce("own", "time")
    ).drop("own", "host")
    parts: list[pl.DataFrame] = []
    for form, pattern in _FORMS.items():
        fits = pl.col("message").str.contains(pattern)
        parts.append(_fields(rest.filter(fits), form, pattern))
        rest = rest.filter(~fits)
    return pl.concat(parts).sort("line")


def _fields(lines: pl.DataFrame, form: str, pattern: str) -> pl.DataFrame:
    """Return the lines of one form with their fields."""
    groups = lines.select(pl.col("message").str.extract_groups(pattern).alias("found")).unnest(
        "found"
    )
    found = {name: groups[name] for name in _FIELDS if name in groups.columns}
    null = pl.Series([None] * lines.height, dtype=pl.String)
    whole = lines.with_columns(**{name: found.get(name, null) for name in _FIELDS})
    title = pl.col("title")
    number = pl.lit(None, pl.String)
    for pattern_of_title, trap in _TITLES.items():
        number = pl.when(title.str.contains(pattern_of_title)).then(pl.lit(trap)).otherwise(number)
    told = pl.coalesce(node_guid(pl.col("guid")), _interface(pl.col("gid")))
    is_switch = pl.col("producer").str.contains("(?i)switch").fill_null(value=False)
    return whole.with_columns(
        form=pl.lit("reported" if form == "urgent" else form),
        trap=pl.coalesce("trap", number, "title"),
        guid=told,
        far_guid=node_guid(pl.col("far_guid")),
        is_switch=is_switch,
    )


def _interface(gid: pl.Expr) -> pl.Expr:
    """Return the GUID in a GID, its last 64 bits, as IPv6 addresses are shortened."""
    tail = gid.str.replace(r"^.*::", "").str.split(":").list.tail(4)
    digits = tail.list.eval(pl.element().str.pad_start(4, "0")).list.join("")
    return node_guid(pl.when(gid.is_not_null()).then(digits.str.pad_start(16, "0")))
