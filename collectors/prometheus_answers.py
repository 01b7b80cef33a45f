"""Read answers of the Prometheus HTTP API, and lines of a VictoriaMetrics export, into series.

Source: Prometheus HTTP API and VictoriaMetrics export documentation. Values arrive as text, also
`NaN` and `+Inf`; series of one metric may differ in their labels; an answer may carry warnings
beside partial data, or be an error. The steps of an answer are kept as they are: a gap is a gap.
"""

from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Final, TypeGuard

import orjson
import polars as pl

from collectors.frames import TIME
from collectors.readings import MAX_REJECT_CHARACTERS
from collectors.series import IDENTITIES, POINTS, Series, value_columns

MAX_SECONDS: Final = 9e12
"""Beyond it microseconds leave 64 bits; milliseconds of our age stay below."""


HALF_MILLISECOND: Final = 0.0005
"""Times are whole milliseconds in floating seconds: nearer than this they are the same."""


@dataclass(slots=True, kw_only=True)
class Answer:
    """What one or several answers hold; filled while they are read.

    Attributes:
        labels: The label sets, in order.
        counts: How many points each has.
        seconds: The points' times, one label set after the other.
        texts: Their values as printed; null is a missing one.
        rejects: Position, text and reason of each record that is none.
        warnings: Position and words of each warning that came with the data.
    """

    labels: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    counts: list[int] = field(default_factory=list[int])
    seconds: list[float] = field(default_factory=list[float])
    texts: list[str | None] = field(default_factory=list[str | None])
    rejects: list[tuple[int, str, str]] = field(default_factory=list[tuple[int, str, str]])
    warnings: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])

    def add(self, labels: dict[str, str], seconds: list[float], texts: list[str | None]) -> None:
        """Add a label set and its points."""
        self.labels.append(labels)
        self.counts.append(len(seconds))
        self.seconds += seconds
        self.texts += texts

    def absorb(self, other: "Answer", start_seconds: float) -> None:
        """Add all of `other` but its points before `start_seconds`.

        Args:
            other: An answer to a later part of the same question.
            start_seconds: First time wanted; the series' points are in order of time.
        """
        at = 0
        for labels, count in zip(other.labels, other.counts, strict=True):
            seconds = other.seconds[at : at + count]
            early = bisect_left(seconds, start_seconds - HALF_MILLISECOND)
            if early < count:
                self.add(labels, seconds[early:], other.texts[at + early : at + count])
            at += count
        self.rejects += other.rejects
        self.warnings += other.warnings

    def series(self) -> Series:
        """Return the points and label sets read so far."""
        identities = pl.DataFrame(
            {
                "series": range(len(self.labels)),
                "name": [labels.get("__name__", "") for labels in self.labels],
                "labels": [_pairs(labels) for labels in self.labels],
            },
            schema=IDENTITIES,
        )
        owner = identities.select(
            pl.col("series").repeat_by(pl.Series(self.counts, dtype=pl.UInt32))
        ).explode("series", empty_as_null=False)
        seconds = pl.Series("seconds", self.seconds, dtype=pl.Float64, strict=False)
        texts = pl.Series("text", self.texts, dtype=pl.String)
        return Series(points=_points(owner.with_columns(seconds, texts)), identities=identities)


def _pairs(labels: dict[str, str]) -> list[dict[str, str]]:
    return [{"key": key, "value": value} for key, value in labels.items() if key != "__name__"]


def _points(printed: pl.DataFrame) -> pl.DataFrame:
    value, text, reason = value_columns(pl.col("text"))
    time = (pl.col("seconds") * 1e6).round().cast(pl.Int64, strict=False).cast(TIME)
    return (
        printed.with_columns(
            value,
            text,
            pl.coalesce(reason, pl.when(value.is_null()).then(pl.lit("no_number"))).alias("reason"),
            time=time,
            page=pl.lit(None, pl.UInt32),
        )
        .with_row_index("position", offset=1)
        .select(POINTS.names())
        .cast(POINTS)
    )


def read_answers(path: Path) -> Answer:
    """Return the series in a file of API answers or of VictoriaMetrics export lines.

    Args:
        path: One JSON document, or one a line.

    Returns:
        The answer; what is no JSON, and each record in it that is no series, is a reject.
    """
    answer, data = Answer(), path.read_bytes()
    try:
        _read_document(answer, orjson.loads(data), 1)
    except orjson.JSONDecodeError:
        for position, line in enumerate(data.split(b"\n"), start=1):
            if line.strip():
                read_answer(answer, line, position)
    return answer


def read_answer(answer: Answer, data: bytes, position: int) -> None:
    """Add the series of one JSON document to `answer`.

    Args:
        answer: Where they go.
        data: The document.
        position: Its line number, from 1.
    """
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError:
        shown = data[:MAX_REJECT_CHARACTERS].decode("utf-8", errors="replace").strip()
        answer.rejects.append((position, shown, "no JSON"))
    else:
        _read_document(answer, document, position)


def _read_document(answer: Answer, document: object, position: int) -> None:
    if _is_object(document) and "metric" in document:
        _read_export_line(answer, document, position)
    elif not _is_object(document) or "status" not in document:
        _reject(answer, position, document, "neither an API answer nor an export line")
    elif document["status"] != "success":
        reason = f"the server answered {document.get('errorType')}: {document.get('error')}"
        _reject(answer, position, document, reason)
    else:
        _warn(answer, document, position)
        _read_data(answer, document.get("data"), position)


def _warn(answer: Answer, document: dict[str, Any], position: int) -> None:
    for key in ("warnings", "infos"):
        notes = document.get(key)
        if _is_list(notes):
            answer.warnings += [(position, str(note)) for note in notes]


def _read_data(answer: Answer, data: object, position: int) -> None:
    if not _is_object(data) or data.get("resultType") not in {"matrix", "vector"}:
        _reject(answer, position, data, "a result that names no series")
        return
    result = data.get("result")
    if not _is_list(result):
        _reject(answer, position, data, "a result that is no list")
        return
    for entry in result:
        flat = _flat_pairs(entry)
        if flat is None or not _is_object(entry):
            _reject(answer, position, entry, "no series with a metric and pairs of time and value")
        else:
            answer.add(entry["metric"], flat[0::2], flat[1::2])


def _flat_pairs(entry: object) -> list[Any] | None:
    """Return a series' times and values in turn, or null if it has no such thing."""
    if not _is_object(entry) or not _is_labels(entry.get("metric")):
        return None
    pairs = entry["values"] if "values" in entry else [entry.get("value")]
    if not _is_list(pairs) or not set(map(type, pairs)) <= {list}:
        return None
    flat: list[Any] = list(chain.from_iterable(pairs))
    fits = (
        set(map(len, pairs)) <= {2}
        and _are_seconds(flat[0::2])
        and set(map(type, flat[1::2])) <= {str}
    )
    return flat if fits else None


def _read_export_line(answer: Answer, line: dict[str, Any], position: int) -> None:
    """Add one series of a VictoriaMetrics export; a null value is a missing one."""
    stamps, values = line.get("timestamps"), line.get("values")
    if (
        _is_labels(line["metric"])
        and _is_list(stamps)
        and _is_list(values)
        and len(stamps) == len(values)
        and _are_seconds(stamps)
    ):
        seconds = [stamp / 1e3 for stamp in stamps]
        answer.add(line["metric"], seconds, [_printed(value) for value in values])
    else:
        _reject(answer, position, line, "no metric with values and as many time stamps")


def _printed(value: object) -> str | None:
    return None if value is None else str(value)


def _reject(answer: Answer, position: int, what: object, reason: str) -> None:
    shown = orjson.dumps(what)[:MAX_REJECT_CHARACTERS].decode("utf-8", errors="replace")
    answer.rejects.append((position, shown, reason))


def _is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _is_labels(value: object) -> TypeGuard[dict[str, str]]:
    return _is_object(value) and set(map(type, value.values())) <= {str}


def _are_seconds(stamps: list[Any]) -> bool:
    """Return whether all are numbers that a time can hold."""
    kinds = set(map(type, stamps))
    return kinds <= {int, float} and all(-MAX_SECONDS < stamp < MAX_SECONDS for stamp in stamps)
