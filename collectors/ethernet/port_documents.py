"""Read JSON of tools for ports: mlxlink, `rdma statistic -j`, dumps of SONiC's databases."""

import re
from pathlib import Path
from typing import Final

import orjson
import polars as pl

from collectors.ethernet.capture_sections import Section
from collectors.ethernet.mlxlink import field_values, mlxlink_document_fields
from collectors.ethernet.optics import hush_fillers
from collectors.ethernet.port_values import port_totals, samples_of_values
from collectors.ethernet.rdma_statistics import rdma_document_values
from collectors.ethernet.sonic_databases import database_aliases, database_of, database_values
from collectors.ethernet.sonic_gaps import gap_rows, mend_gaps
from collectors.ethernet.sonic_tables import TOTALLED
from collectors.frames import TIME
from collectors.readings import Reading, count_lines, reading_of, reject_file
from collectors.sniffing import Head, ReadOptions
from collectors.taken import taken_at, taken_on
from collectors.texts.capture_marks import file_device
from collectors.texts.plain_lines import decoded

_START: Final = re.compile(rb"\s*[\[{]")

_KEYS: Final = re.compile(
    rb'"(?:Physical Counters and BER Info|Operational Info|Module Info'
    rb"|COUNTERS:oid:0x|RATES:oid:0x|COUNTERS_PORT_NAME_MAP|TRANSCEIVER_DOM_SENSOR\|"
    rb"|(?:USER|PERIODIC|PERSISTENT)_WATERMARKS:oid|BUFFER_PG|PORT_TABLE:)"
)

_RDMA_KEYS: Final = (b'"out_of_sequence"', b'"rx_write_requests"', b'"np_cnp_sent"')


def wants_port_documents(head: Head) -> float:
    """Return how sure it is that a file is one of these documents, by its keys."""
    data = head.data.removeprefix(b"\xef\xbb\xbf")
    if not _START.match(data):
        return 0.0
    is_rdma = b'"ifname"' in data and any(key in data for key in _RDMA_KEYS)
    return 0.98 if is_rdma or _KEYS.search(data) else 0.0


def read_port_documents(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return what a document says of ports.

    Args:
        path: The file, one document.
        source: The name to quote, which may tell host, port and time: the document does not.
        options: The host and time, if the caller knows them.

    Returns:
        Samples and events. A document that is torn, or none of these, is one reject.

    Raises:
        OSError: The file cannot be read.
    """
    text = decoded(path.read_bytes())
    count = sum(1 for line in text.split("\n") if line.strip())
    try:
        document = orjson.loads(text.encode("utf-8", errors="replace"))
    except orjson.JSONDecodeError:
        return reject_file(source, "torn JSON", text, count)
    section = _read(document, source)
    if section.values.is_empty():
        return reject_file(source, "no counters of ports in it", text, count)
    told = {
        "time": pl.lit(taken_at(source, options), TIME),
        "host": pl.lit(taken_on(source, options), pl.String),
    }
    values = mend_gaps(hush_fillers(section.values.with_columns(**told)))
    coverage, gaps = gap_rows(values)
    named = pl.lit(source).alias("source")
    reading = reading_of(
        samples=samples_of_values(values).with_columns(named),
        events=pl.concat([section.events.with_columns(**told), gaps]).with_columns(named),
        aliases=section.aliases.with_columns(named, **told),
        coverage=coverage.with_columns(named),
    )
    return count_lines(reading, count)


def _read(document: object, source: str) -> Section:
    """Return what a document says, without host and time."""
    fields = mlxlink_document_fields(document)
    if fields is not None:
        device = pl.lit(file_device(source), pl.String)
        values, events = field_values(fields.with_columns(device=device))
        return Section(values=values, events=events)
    links = rdma_document_values(document)
    if links is not None:
        return Section(values=links)
    hashes = database_of(document) or {}
    values = port_totals(database_values(hashes), TOTALLED)
    return Section(values=values, aliases=database_aliases(hashes))
