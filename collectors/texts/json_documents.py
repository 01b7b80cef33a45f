"""JSON documents in a file, one or many, each with the lines that it stands on.

Tools that stream print one document after the other, each over many lines or all on one, and a
kill leaves the last one torn. Whole numbers of 64 bits come out as they are printed.
"""

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

import orjson
import polars as pl

from collectors.readings import MAX_REJECT_CHARACTERS, fold_rejects, reading_of
from collectors.texts.plain_lines import decoded

if TYPE_CHECKING:
    from collections.abc import Iterable

_DECODER: Final = json.JSONDecoder(parse_float=str)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One document.

    Attributes:
        value: What it holds; null where it is none (`text` is then the line).
        line: Number of its first line, from 1.
        lines: How many of its lines are not empty.
        text: Its first line.
    """

    value: Any
    line: int
    lines: int
    text: str


def read_documents(data: bytes) -> list[Document]:
    """Return the documents in a file, and the lines between that are none.

    Args:
        data: The file's bytes.

    Returns:
        In the file's order. Every line that is not empty belongs to one of them, but for lines
        that hold the end of one and the start of the next, which belong to the first.
    """
    text = decoded(data)
    try:
        value = orjson.loads(text.encode("utf-8", errors="replace"))
    except orjson.JSONDecodeError:
        return _each(text)
    lines = text.split("\n")
    filled = [number for number, line in enumerate(lines, 1) if line.strip()]
    return [Document(value=value, line=filled[0], lines=len(filled), text=lines[filled[0] - 1])]


def _each(text: str) -> list[Document]:
    """Return documents that follow each other, each found by where the one before ends."""
    found: list[Document] = []
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    number = 0
    while number < len(lines):
        if not lines[number].strip():
            number += 1
            continue
        values, last = _on_from(text, starts, number)
        count = sum(1 for line in lines[number : last + 1] if line.strip())
        first, rest = (values[0], values[1:]) if values else (None, [])
        found.append(Document(value=first, line=number + 1, lines=count, text=lines[number]))
        found.extend(
            Document(value=value, line=number + 1, lines=0, text=lines[number]) for value in rest
        )
        number = last + 1
    return found


def _on_from(text: str, starts: list[int], number: int) -> tuple[list[Any], int]:
    """Return the documents that begin on a line, and the last line that any of them reaches."""
    values: list[Any] = []
    at, last = starts[number], number
    with suppress(orjson.JSONDecodeError):
        return [orjson.loads(text[at : starts[last + 1] - 1])], last
    while True:
        end = starts[last + 1] - 1
        while at < end and text[at] in " \t\r,;":
            at += 1
        if at >= end:
            return values, last
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            return values, last
        values.append(value)
        while starts[last + 1] <= at:
            last += 1


def rejects_of(lost: "Iterable[tuple[Document, str]]", source: str) -> pl.DataFrame:
    """Return `REJECTS` of documents of which nothing was read, each with its reason.

    Args:
        lost: Documents and why; one without lines of its own is no reject.
        source: The name to quote.
    """
    rows = [
        (source, one.line, one.text[:MAX_REJECT_CHARACTERS], reason, one.lines)
        for one, reason in lost
        if one.lines
    ]
    columns = ["source", "position", "text", "reason", "count"]
    frame = pl.DataFrame(rows, schema=columns, orient="row")
    return fold_rejects(reading_of(rejects=frame).rejects)


def mapping_of(value: object) -> dict[str, Any]:
    """Return an object of JSON; empty for what is none."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def items_of(value: object) -> list[Any]:
    """Return an array of JSON; a single value is an array of one, null is an empty one."""
    if isinstance(value, list):
        return [*cast("Iterable[Any]", value)]
    return [] if value is None else [value]


def text_of(value: object) -> str | None:
    """Return a scalar as it was printed; null for what is none."""
    if isinstance(value, bool):
        return "1" if value else "0"
    return str(value) if isinstance(value, str | int | float) else None
