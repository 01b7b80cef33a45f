"""Read JSON that tells of ports and cables: Arista's eAPI, lldpd, `rdma link -j`.

Source: Arista eAPI (`show interfaces`, its counters, `show lldp neighbors`), lldpd's `json` and
`json0`, iproute2. Documents say neither host nor time: file and caller do. A breakout port whose
name an SNMP look-up leaves empty is whole here.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import polars as pl

from collectors.ethernet.arista_fields import COUNTERS, ERRORS, INTERFACE, STATES
from collectors.ethernet.neighbours import NEIGHBOURS, aliases_of_neighbours, links_of_neighbours
from collectors.ethernet.port_values import PORT_VALUES, counter_width, samples_of_values
from collectors.frames import ALIASES, TIME, conform
from collectors.readings import Reading, count_lines, reading_of
from collectors.sniffing import Head, ReadOptions
from collectors.taken import taken_at, taken_on
from collectors.texts.json_documents import (
    items_of,
    mapping_of,
    read_documents,
    rejects_of,
    text_of,
)

_STARTS: Final = re.compile(
    r'"interfaceErrorCounters"\s*:|"lldpNeighbors"\s*:|"lldp"\s*:\s*[\[{]'
    r'|"(?:interfaceCounters|inUcastPkts|lineProtocolStatus)"\s*:'
    r'|"ifname"\s*:[^}]*"netdev"\s*:'
)

Value = tuple[int, str, str, str, float]
Neighbour = tuple[int, str, str | None, str | None, str | None, str | None]
Alias = tuple[int, str, str]


def wants_network_documents(head: Head) -> float:
    """Return how sure it is that a file holds such documents, by their keys."""
    text = head.text.lstrip()
    return 0.97 if text.startswith(("{", "[")) and _STARTS.search(text) else 0.0


def read_network_documents(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return what documents say of ports, their neighbours and their names.

    Args:
        path: The file, one document or many.
        source: The name to quote; a host or a time in it is believed.
        options: Host and time, if the caller knows them.

    Returns:
        Samples, links and aliases. What is none of these documents is a reject.

    Raises:
        OSError: The file cannot be read.
    """
    documents = read_documents(path.read_bytes())
    values: list[Value] = []
    neighbours: list[Neighbour] = []
    aliases: list[Alias] = []
    for document in documents:
        for one in _objects(document.value):
            values += _values(one, document.line)
            neighbours += _neighbours(one, document.line)
            aliases += _aliases(one, document.line)
    used = {row[0] for row in (*values, *neighbours, *aliases)}
    rejects = rejects_of(((one, _REASON) for one in documents if one.line not in used), source)
    told = _frames(values, neighbours, aliases)
    place = {
        "time": pl.lit(taken_at(source, options), TIME),
        "host": pl.lit(taken_on(source, options), pl.String),
    }
    listed = told[1].with_columns(**place)
    names = pl.concat([aliases_of_neighbours(listed), told[2].with_columns(**place)])
    reading = reading_of(
        samples=told[0].with_columns(**place, source=pl.lit(source)),
        links=links_of_neighbours(listed, source),
        aliases=names.with_columns(source=pl.lit(source)),
        rejects=rejects,
    )
    return count_lines(reading, sum(one.lines for one in documents) - int(rejects["count"].sum()))


_REASON: Final = "no document of ports that is read"


def _frames(
    values: list[Value], neighbours: list[Neighbour], aliases: list[Alias]
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Return samples, `NEIGHBOURS` and `ALIASES`, all without host and time."""
    shape = ["position", "device", "signal", "text", "factor"]
    printed = pl.LazyFrame(values, schema=shape, orient="row").with_columns(
        device_kind=pl.lit("switch_port")
    )
    samples = samples_of_values(conform(printed, PORT_VALUES).collect())
    seen = ["position", "port", "peer", "peer_port", "peer_description", "peer_address"]
    names = pl.LazyFrame(aliases, schema=["position", "device", "alias"], orient="row")
    known = names.with_columns(device_kind=pl.lit("nic"), alias_kind=pl.lit("netdev"))
    return (
        samples.with_columns(wraps_at=counter_width()),
        conform(pl.LazyFrame(neighbours, schema=seen, orient="row"), NEIGHBOURS).collect(),
        conform(known, ALIASES).collect(),
    )


def _objects(value: object) -> Iterator[dict[str, Any]]:
    """Yield the objects of a document, those in an eAPI answer's `result` for themselves."""
    for item in items_of(value):
        one = mapping_of(item)
        yield from (mapping_of(part) for part in items_of(one.get("result")))
        yield one


def _values(one: dict[str, Any], line: int) -> Iterator[Value]:
    """Yield the counters of an eAPI answer."""
    for port, counts in mapping_of(one.get("interfaceErrorCounters")).items():
        for name, signal in ERRORS.items():
            if (text := text_of(mapping_of(counts).get(name))) is not None:
                yield line, port, signal, text, 1.0
    for port, interface in mapping_of(one.get("interfaces")).items():
        if re.match(INTERFACE, port):
            yield from _interface(line, port, mapping_of(interface))


def _interface(line: int, port: str, interface: dict[str, Any]) -> Iterator[Value]:
    counters = mapping_of(interface.get("interfaceCounters"))
    details = [
        mapping_of(counters.get(name)) for name in ("inputErrorsDetail", "outputErrorsDetail")
    ]
    for fields in (interface, counters, *details):
        for name, signal in COUNTERS.items():
            if (text := text_of(fields.get(name))) is not None:
                yield line, port, signal, text, 1.0
        for name, (signal, factor) in STATES.items():
            if (text := text_of(fields.get(name))) is not None:
                yield line, port, signal, text, factor
    if isinstance(state := interface.get("lineProtocolStatus"), str):
        yield line, port, "link_up", "1" if state == "up" else "0", 1.0


def _neighbours(one: dict[str, Any], line: int) -> Iterator[Neighbour]:
    """Yield the neighbours of Arista's list and of lldpd's two forms."""
    for item in items_of(one.get("lldpNeighbors")):
        entry = mapping_of(item)
        port, peer = text_of(entry.get("port")), text_of(entry.get("neighborDevice"))
        if port and peer:
            yield line, port, peer, text_of(entry.get("neighborPort")), None, None
    for lldp in items_of(one.get("lldp")):
        for item in items_of(mapping_of(lldp).get("interface")):
            entry = mapping_of(item)
            named = [(entry["name"], entry)] if "name" in entry else list(entry.items())
            for port, fields in named:
                yield _of_lldpd(line, str(port), mapping_of(fields))


def _of_lldpd(line: int, port: str, fields: dict[str, Any]) -> Neighbour:
    """Return a neighbour; `json` has the peer's name as a key, `json0` as a value in a list."""
    chassis = _first(fields.get("chassis"))
    peer_port = _first(fields.get("port"))
    peer = _word(chassis.get("name"))
    if peer is None and len(chassis) == 1 and not {"id", "descr"} & set(chassis):
        peer, chassis = next((name, mapping_of(inner)) for name, inner in chassis.items())
    identity = _word(_first(peer_port.get("id")).get("value"))
    address = _word(chassis.get("mgmt-ip"))
    return line, port, peer, identity, _word(peer_port.get("descr")), address


def _first(value: object) -> dict[str, Any]:
    """Return an object, or the first one of an array of them."""
    return mapping_of(next(iter(items_of(value)), None))


def _word(value: object) -> str | None:
    """Return a text, also one that stands as `value` in a list."""
    first = next(iter(items_of(value)), None)
    return text_of(mapping_of(first).get("value")) or text_of(first)


def _aliases(one: dict[str, Any], line: int) -> Iterator[Alias]:
    """Yield the interface of an RDMA port."""
    names = [text_of(one.get(key)) for key in ("ifname", "port", "netdev")]
    device, port, netdev = names
    if device and port and netdev:
        yield line, f"{device}/{port}", netdev
