"""Read PyTorch's flight recorder dumps: what each rank had enqueued when the job stood.

Source: formats of NCCL and PyTorch-distributed logs, section 10 (c10d FlightRecorder, torch 2.2 to
2.13, pickle and JSON). A dump says neither host nor rank: the rank is the number that ends its
file's name. Its status counts by local group numbers; `collectors.communication.flight_groups`
names those that its own entries do not.
"""

import re
from dataclasses import replace
from pathlib import Path
from typing import Final

import orjson
import polars as pl

from collectors.communication.flight_entries import (
    Dump,
    dump_of,
    entry_rows,
    group_rows,
    status_rows,
    version_tuple,
)
from collectors.frames import COLLECTIVES
from collectors.identity import file_rank
from collectors.readings import Reading, reading_of, reject_file
from collectors.sniffing import Head, ReadOptions
from collectors.texts.event_labels import event_labels
from collectors.texts.plain_pickles import (
    DEFAULT_BUDGET,
    BrokenPickleError,
    PickleBudget,
    UnsafePickleError,
    load_plain_pickle,
)

_PICKLE_MAGIC: Final = re.compile(rb"\x80[\x02-\x05]")

LAST_VERSION: Final = (2, 10)
"""The newest version whose form is known; newer ones are read as far as they are alike."""

_KEYS: Final = (b"pg_status", b"pg_config", b"profiling_name", b"collective_seq_id")


def wants_flight_recorder(head: Head) -> float:
    """Return how sure it is that a head is a dump: its keys say so, in a pickle or in JSON."""
    known = sum(key in head.data for key in _KEYS)
    if _PICKLE_MAGIC.match(head.data):
        return 0.95 if known else 0.6
    is_json = head.data.lstrip()[:1] in {b"{", b"["}
    return 0.9 if is_json and known > 1 else 0.0


def read_flight_recorder(path: Path, source: str, _options: ReadOptions) -> Reading:
    """Return the collectives in a dump.

    Args:
        path: The file; its name ends with the rank.
        source: The name to quote.

    Returns:
        `COLLECTIVES` of one rank. An entry is `scheduled`, `started` or `completed`; one that the
        watchdog found completed after its own time-out was killed and is `timed_out`.
        Point-to-point entries have no sequence: their numbers are a rank's own. `reported` rows
        are the standing of a group: its last enqueued and completed numbers, -1 for none yet.
        `unmapped` are such rows under a local number, and `configured` lists the groups that the
        rank is in; both are for `collectors.communication.flight_groups`. One event of kind
        `flight_dump` tells the version as its code, the newest entry's time, and how many entries
        there are: a rank that hangs often has none. A dump that asks for more than plain data, or
        that is torn, is one reject that says why, and such an event with the code `unread`; a file
        that is no dump is a reject.

    Raises:
        OSError: The file cannot be read.
    """
    return read_dump(path.read_bytes(), _rank_of(path.name), source)


def read_dump(
    data: bytes, rank: int | None, source: str, budget: PickleBudget = DEFAULT_BUDGET
) -> Reading:
    """Return the collectives in the bytes of a dump of a rank; see `read_flight_recorder`."""
    try:
        dump = dump_of(_plain(data, budget))
    except (UnsafePickleError, BrokenPickleError) as error:
        return replace(reject_file(source, str(error)), events=_unread(rank, source))
    if dump is None:
        return reject_file(source, "no flight recorder dump")
    rows = _collectives(dump, rank, source)
    here = {"rank": pl.lit(rank), "source": pl.lit(source)}
    return reading_of(collectives=rows, events=_event(dump, rows).with_columns(**here))


def _event(dump: Dump, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the event that a dump is there, whatever is in it; a warning of unknown versions."""
    is_known = version_tuple(dump.version) <= LAST_VERSION
    timeout = pl.col("timeout_seconds").max()
    entries = pl.lit(str(len(dump.entries)))
    return rows.select(
        time=pl.col("time").max(),
        kind=pl.lit("flight_dump"),
        code=pl.lit(dump.version, dtype=pl.String),
        severity=pl.lit("info" if is_known else "warning"),
        count=pl.lit(1),
        attributes=event_labels({"entries": entries, "timeout_seconds": timeout}),
    )


def _unread(rank: int | None, source: str) -> pl.DataFrame:
    """Return the event that a rank's dump is there and cannot be read: it was not silent."""
    told = {"kind": "flight_dump", "code": "unread", "severity": "warning", "count": 1}
    return reading_of(events=pl.DataFrame([{**told, "rank": rank, "source": source}])).events


def _plain(data: bytes, budget: PickleBudget) -> object:
    if _PICKLE_MAGIC.match(data):
        return load_plain_pickle(data, budget)
    if len(data) > budget.max_bytes:
        raise UnsafePickleError(f"wanted at most {budget.max_bytes} bytes, found {len(data)}")
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise BrokenPickleError(f"wanted a whole JSON text, found {error}; copy it anew") from error


def _rank_of(name: str) -> int | None:
    """Return the rank in a dump's name: after `rank` or `dump`, else the number at its end."""
    last = re.search(r"(\d{1,9})(?:\.\w+)?$", name)
    return file_rank(name) if file_rank(name) is not None else int(last.group(1)) if last else None


def _collectives(dump: Dump, rank: int | None, source: str) -> pl.DataFrame:
    rows = [*entry_rows(dump, rank), *status_rows(dump, rank), *group_rows(dump, rank)]
    schema = pl.Schema({**COLLECTIVES, "created_us": pl.Int64()})
    frame = pl.DataFrame(rows, schema=schema, strict=False)
    return frame.with_columns(
        time=pl.col("created_us").cast(COLLECTIVES["time"]), source=pl.lit(source)
    )
