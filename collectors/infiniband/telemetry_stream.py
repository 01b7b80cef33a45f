"""Read the stream of UFM telemetry: JSON messages with a record a port, of changed fields only.

A field that a record lacks has not changed since the port's last one. A message may be a record, a
list of records, or an object with `values`; a log collector may have put its own prefix before it.
Source: Mellanox/ufm_sdk_3.0, telemetry streaming plugin.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, cast

import orjson
import polars as pl

from collectors.infiniband.telemetry_columns import CONTEXT, plain_name
from collectors.infiniband.telemetry_records import CELLS, RECORDS, WORDS, read_records
from collectors.readings import Reading
from collectors.sniffing import Head, ReadOptions
from collectors.texts.plain_lines import account, plain_lines

_HINT: Final = re.compile(r"Infiniband_\w+_u_\w+|\"(?:[Nn]ode_(?:GUID|guid)|source_id)\"\s*:")
_PORT_HINT: Final = re.compile(r'"(?:[Pp]ort_(?:[Nn]umber|num))"\s*:')
_STAMP_HINT: Final = re.compile(r'"timestamp"\s*:')

MAX_DEPTH: Final = 6
"""Messages nest no deeper than list, message, values, record, fields."""


def wants_telemetry_stream(head: Head) -> float:
    """Return how sure it is that a file is streamed telemetry of UFM."""
    if head.is_binary or "{" not in head.text:
        return 0.0
    hints = (_HINT, _PORT_HINT, _STAMP_HINT)
    return 0.96 if all(hint.search(head.text) for hint in hints) else 0.0


def read_telemetry_stream(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return what a file of streamed messages says.

    Args:
        path: The file: a message a line, or one document.
        source: The name to quote.
        options: The zone of stamps that are text; numbers are epochs.

    Returns:
        As `collectors.infiniband.fabric_telemetry`. A value that was not sent because it had not
        changed is there with the reason `unchanged`, at each time that the stream reports between
        the port's first and last record.
    """
    lines = plain_lines(path.read_bytes())
    found = list(_messages(lines))
    records, cells = _frames([record for _, message in found for record in _records(message)])
    at = [position for position, message in found for _ in _records(message)]
    placed = records.with_columns(position=pl.Series(at, dtype=pl.Int64))
    told = read_records(placed, cells, options.time_zone, _quiet(found))
    spread = _spread(lines, found)
    empty = pl.Series([at for at, one in found if _is_quiet(one)], dtype=pl.Int64)
    starts = pl.concat([told.used, empty])
    used = spread.filter(pl.col("start").is_in(starts.implode()))["position"]
    reasons = spread.join(told.reasons, left_on="start", right_on="position", how="left")
    reasoned = lines.join(reasons.select("position", "reason"), on="position", how="left")
    return account(reasoned.select("position", "text", "reason"), used, source, **told.frames)


def _messages(lines: pl.DataFrame) -> Iterator[tuple[int, Any]]:
    """Yield each message with the line it starts on: one a line, or the whole file as one."""
    texts, positions = lines["text"].to_list(), lines["position"].to_list()
    single = [_loaded(text) for text in texts]
    if any(one is not None for one in single):
        yield from ((at, one) for at, one in zip(positions, single, strict=True) if one is not None)
        return
    whole = _loaded("\n".join(texts))
    if whole is not None:
        yield positions[0], whole


def _loaded(text: str) -> Any:  # noqa: ANN401 -- a message has any shape until it is looked at
    """Return the JSON value in a text after any prefix; null if there is none."""
    start = re.search(r"[{\[](?=\s*[\"{\[\]}])", text)
    if start is None:
        return None
    try:
        value = orjson.loads(text[start.start() :])
    except orjson.JSONDecodeError:
        return None
    return cast("Any", value) if isinstance(value, dict | list) else None


def _records(message: object, depth: int = 0) -> Iterator[dict[str, object]]:
    """Yield the records in a message: objects of plain values that have a port."""
    if depth > MAX_DEPTH:
        return
    if isinstance(message, list):
        for one in cast("list[object]", message):
            yield from _records(one, depth + 1)
        return
    if not isinstance(message, dict):
        return
    fields = cast("dict[str, object]", message)
    inner = [value for name, value in fields.items() if name not in _FIELDS and _nested(value)]
    flat = {name: value for name, value in fields.items() if not isinstance(value, list | dict)}
    for name in _FIELDS:
        more = fields.get(name)
        flat |= cast("dict[str, object]", more) if isinstance(more, dict) else {}
    if {"port_num", "port_number"} & {name.lower() for name in flat}:
        yield flat
    for value in inner:
        yield from _records(value, depth + 1)


_FIELDS: Final = ("fields", "statistics", "counters")
"""Objects in a record whose members are its own."""


def _is_quiet(message: object) -> bool:
    """Return whether a message says that nothing had changed."""
    if not isinstance(message, dict):
        return False
    fields = cast("dict[str, object]", message)
    return fields.get("values") == [] and "timestamp" in fields


def _quiet(found: list[tuple[int, Any]]) -> pl.Series:
    """Return the stamps of messages that say that nothing had changed."""
    stamps = [str(message["timestamp"]) for _, message in found if _is_quiet(message)]
    return pl.Series("stamp", stamps, dtype=pl.String)


def _nested(value: object) -> bool:
    return isinstance(value, list | dict)


def _frames(found: list[dict[str, object]]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return `RECORDS` (without positions) and `CELLS` of records.

    JSON objects differ from record to record, so they are taken apart one by one.
    """
    names = sorted({name for one in found for name in one})
    plain = pl.Series("name", names, dtype=pl.String).to_frame().select(plain_name(pl.col("name")))
    words = {name: CONTEXT.get(short) for name, short in zip(names, plain["name"], strict=True)}
    rows: list[dict[str, object]] = []
    cells: list[tuple[int, str, str]] = []
    for number, one in enumerate(found):
        row: dict[str, object] = {**dict.fromkeys(WORDS), "record": number, "position": None}
        for name, value in one.items():
            text = "" if value is None else str(value)
            word = words[name]
            if word is not None:
                row[word] = text
            elif text:
                cells.append((number, name, text))
        rows.append(row)
    return pl.DataFrame(rows, schema=RECORDS), pl.DataFrame(cells, schema=CELLS, orient="row")


def _spread(lines: pl.DataFrame, found: list[tuple[int, Any]]) -> pl.DataFrame:
    """Return each line's `position` and the line on which its message starts."""
    starts = [at for at, _ in found]
    if len(starts) == 1 and lines.height > 1 and _loaded(str(lines["text"][0])) is None:
        return lines.select("position", start=pl.lit(starts[0], pl.Int64))
    return lines.select("position", start="position")
