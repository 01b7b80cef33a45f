"""Read the JSON of NCCL's RAS client: reports, and the events of its monitor.

Source: formats of NCCL logs, sections 5.2 and 5.3 (NVIDIA/nccl `src/ras/client_support.cc`, reports
from 2.28, monitor from 2.29). Written by hand and cut with the connection; events are objects one
after the other, each over many lines.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl

from collectors.communication.ras_communicators import Report, communicator_rows
from collectors.frames import COLLECTIVES, EVENTS
from collectors.identity import canonical_host
from collectors.readings import Reading, count_lines, reading_of
from collectors.sniffing import Head, ReadOptions
from collectors.texts.cut_documents import read_cut_documents
from collectors.texts.json_documents import items_of, mapping_of, rejects_of, text_of
from collectors.texts.label_rows import label_rows
from collectors.texts.stamps import iso_time


def wants_ras_documents(head: Head) -> float:
    """Return how sure it is that a head is RAS': the keys of a report, or of an event."""
    text = head.text
    if not text.lstrip().startswith("{"):
        return 0.0
    is_report = '"communicators"' in text and (
        '"communicators_count"' in text or '"collective_counts"' in text
    )
    is_event = '"event"' in text and ('"LIFECYCLE"' in text or '"TRACE"' in text)
    return 0.97 if is_report or is_event else 0.0


def read_ras_documents(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return what a file of RAS documents tells.

    Args:
        path: The file; its last document may be cut.
        source: The name to quote.
        options: The zone of stamps.

    Returns:
        The same rows as `collectors.communication.ras_texts` has: `COLLECTIVES` in states
        `launched` and `missing`, and `EVENTS`. A document that is neither report nor event is a
        reject.

    Raises:
        OSError: The file cannot be read.
    """
    report = Report()
    used, lost = 0, list[tuple[Any, str]]()
    for document in read_cut_documents(path.read_bytes()):
        if not _add(mapping_of(document.value), report, document.line):
            lost.append((document, "no RAS report or event"))
            continue
        used += document.lines
    events = _framed(report.events, EVENTS, options.time_zone)
    collectives = _framed(report.collectives, COLLECTIVES, options.time_zone)
    reading = reading_of(
        events=events.with_columns(source=pl.lit(source)),
        collectives=collectives.with_columns(source=pl.lit(source)),
        rejects=rejects_of(lost, source),
    )
    return count_lines(reading, used)


def _framed(rows: Iterable[dict[str, Any]], schema: pl.Schema, time_zone: str) -> pl.DataFrame:
    """Return rows as a frame, their stamps read and their hosts named."""
    texts = {**schema, "time": pl.String()}
    return pl.DataFrame(list(rows), schema=texts, strict=False).with_columns(
        canonical_host(pl.col("host")), time=iso_time(pl.col("time"), time_zone)
    )


def _add(document: dict[str, Any], report: Report, line: int) -> bool:
    """Add what a document says, and return whether it says anything."""
    if "communicators" in document:
        communicator_rows(document, report, line)
        return True
    if "event" in document:
        report.events.append(_event_row(document, line))
        return True
    return False


def _event_row(document: dict[str, Any], line: int) -> dict[str, Any]:
    """Return the row of an event of the monitor."""
    peer = mapping_of(document.get("peer"))
    code = text_of(document.get("event"))
    gpus = ",".join(text for one in items_of(peer.get("cuda_devs")) if (text := text_of(one)))
    told = {
        "pid": text_of(peer.get("pid")),
        "gpus": gpus,
        "address": text_of(peer.get("addr")),
        "group": text_of(document.get("group")),
    }
    is_dead = code == "PEER_DEAD"
    words = [code, text_of(peer.get("host")), text_of(document.get("details"))]
    return {
        "time": text_of(document.get("timestamp")),
        "host": text_of(peer.get("host")),
        "kind": "process_dead" if is_dead else "ras_event",
        "code": code,
        "severity": "error" if is_dead else "info",
        "count": 1,
        "message": " ".join(word for word in words if word),
        "attributes": label_rows({name: value or None for name, value in told.items()}),
        "position": line,
    }
