"""What `paceline triage` prints: a row a family or cluster, in text that pastes into a ticket."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson
import polars as pl

from detectors.quotes import quoted_place
from detectors.verdicts import rfc3339
from paceline.json_rows import json_rows

MAX_NAMED: Final = 8
"""Hosts or ranks that a row names; the JSON has all."""

MAX_TEXT: Final = 300

LIKENESS_DIGITS: Final = 3
"""Digits of a likeness that are printed: those beyond tell no family apart."""

MAX_TITLE: Final = 100


def triage_bytes(triage: pl.DataFrame, looked_at: int) -> bytes:
    """Return the triage as JSON, indented, with a final line break.

    Args:
        triage: `TRIAGE`.
        looked_at: Lines that were looked at.
    """
    told = {
        "failures": [_printed(row) for row in json_rows(triage)],
        "lines": {"looked_at": looked_at, "told": _count(triage)},
    }
    return orjson.dumps(told, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _printed(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with the times of its lines as text, and likeness as exact as it is meant."""
    lines = [
        line | {"time": None if line["time"] is None else rfc3339(line["time"])}
        for line in row["lines"]
    ]
    nearest = [one | {"similarity": _likeness(one["similarity"])} for one in row["nearest"]]
    similarity = _likeness(row["similarity"])
    return row | {"lines": lines, "nearest": nearest, "similarity": similarity}


def _likeness(value: float | None) -> float | None:
    return None if value is None else round(value, LIKENESS_DIGITS)


def triage_text(triage: pl.DataFrame, looked_at: int) -> str:
    """Return what people read.

    Args:
        triage: `TRIAGE`.
        looked_at: Lines that were looked at.
    """
    if triage.is_empty():
        return f"No failure in {looked_at:,} lines that could tell of one.\n"
    new = triage["family"].null_count()
    head = (
        f"{_many(triage.height, 'kind')} of failures in {_many(_count(triage), 'line')} of "
        f"{looked_at:,} that could tell of one; {new} unknown to the library\n"
    )
    rows = triage.iter_rows(named=True)
    return "\n".join([head, *(_row(at, row) for at, row in enumerate(rows, start=1))])


def _row(at: int, row: Mapping[str, Any]) -> str:
    known = row["family"] is not None
    title = f"{row['title']} ({row['family']})" if known else f"UNKNOWN: {_cut(row['title'])}"
    lines = [
        f"{at}. {title}",
        f"   {_many(row['count'], 'line')}{_span(row)}",
        *_named("host", row["hosts"]),
        *_named("rank", row["ranks"]),
        *([f"   means: {row['meaning']}", f"   helped: {row['helped']}"] if known else []),
        f"   {_how(row)}",
        *(f"   {_quote(line)}" for line in row["lines"]),
    ]
    return "\n".join([*lines, ""])


def _span(row: Mapping[str, Any]) -> str:
    first, last = row["first"], row["last"]
    if first is None:
        return ", at times not known"
    return f", {first:%Y-%m-%d %H:%M:%S} to {last:%Y-%m-%d %H:%M:%S} UTC"


def _named(what: str, names: Sequence[object]) -> list[str]:
    if not names:
        return []
    shown = ", ".join(str(name) for name in names[:MAX_NAMED])
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return [f"   {_many(len(names), what)}: {shown}{more}"]


def _how(row: Mapping[str, Any]) -> str:
    """Return by what the family was told, and the nearest known failures."""
    by = {
        "rule": "by a rule",
        "likeness": "by likeness",
        "cluster": "no rule fits and nothing known is near enough",
    }[row["step"]]
    near = ", ".join(f"{one['family']} {one['similarity']:.2f}" for one in row["nearest"])
    return f"{by}; nearest known failures: {near}"


def _quote(line: Mapping[str, Any]) -> str:
    times = f" (x{line['count']:,})" if line["count"] > 1 else ""
    return f"| {_cut(line['text'], MAX_TEXT)}{times} [{quoted_place(line)}]"


def _cut(text: str, most: int = MAX_TITLE) -> str:
    one = " ".join(text.split())
    return one if len(one) <= most else f"{one[: most - 3]}..."


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _count(triage: pl.DataFrame) -> int:
    return int(triage["count"].sum())
