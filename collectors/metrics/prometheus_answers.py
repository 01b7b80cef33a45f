"""Read answers of the Prometheus HTTP API, and lines of a VictoriaMetrics export, into series.

Source: Prometheus HTTP API and VictoriaMetrics export documentation. Values arrive as text, also
`NaN` and `+Inf`; series of one metric may differ in their labels; an answer may carry warnings
beside partial data, or be an error. The steps of an answer are kept as they are: a gap is a gap.
"""

from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Final, TypeGuard

import orjson
import polars as pl

from collectors.frames import TIME
from collectors.metrics.answer_bodies import PRINTED, Body, take_points
from collectors.metrics.series import IDENTITIES, POINTS, Series, value_columns
from collectors.readings import MAX_REJECT_CHARACTERS

MAX_SECONDS: Final = 9e12
"""Beyond it microseconds leave 64 bits; milliseconds of our age stay below."""


_NO_JSON: Final = "no JSON"

HALF_MILLISECOND: Final = 0.0005
"""Times are whole milliseconds in floating seconds: nearer than this they are the same."""


@dataclass(slots=True, kw_only=True)
class Answer:
    """What one or several answers hold; filled while they are read.

    Attributes:
        labels: The label sets, in order.
        printed: `PRINTED` in parts; `series` is the place of the label set in `labels`.
        rejects: Position, text and reason of each record that is none, and how many lines it has.
        warnings: Position and words of each warning that came with the data.
        lines_used: How many lines ended as series or warnings, or said that there is nothing.
    """

    labels: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    printed: list[pl.DataFrame] = field(default_factory=list[pl.DataFrame])
    rejects: list[tuple[int, str, str, int]] = field(
        default_factory=list[tuple[int, str, str, int]]
    )
    warnings: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    lines_used: int = 0

    def add(self, labels: dict[str, str], seconds: list[float], texts: list[str | None]) -> None:
        """Add a label set and its points."""
        columns = {"series": [0] * len(seconds), "seconds": seconds, "text": texts}
        self.add_all([labels], pl.DataFrame(columns, schema=PRINTED, strict=False))

    def add_all(self, labels: list[dict[str, str]], points: pl.DataFrame) -> None:
        """Add label sets and their points, `PRINTED` with places counted from the first of them."""
        self.printed.append(points.with_columns(pl.col("series") + len(self.labels)))
        self.labels += labels

    def absorb(self, other: "Answer", start_seconds: float) -> None:
        """Add all of `other` but its points before `start_seconds` and warnings known already.

        Args:
            other: An answer to a later part of the same question.
            start_seconds: First time wanted.
        """
        wanted = pl.col("seconds") >= start_seconds - HALF_MILLISECOND
        for points in other.printed:
            late = points if points.select(wanted.all()).item() else points.filter(wanted)
            self.printed.append(late.with_columns(pl.col("series") + len(self.labels)))
        self.labels += other.labels
        self.rejects += other.rejects
        known = {words for _, words in self.warnings}
        self.warnings += [warning for warning in other.warnings if warning[1] not in known]
        self.lines_used += other.lines_used

    def points(self) -> pl.DataFrame:
        """Return the points read so far, `PRINTED`."""
        return pl.concat([PRINTED.to_frame(), *self.printed])

    def series(self) -> Series:
        """Return the points read so far, and the label sets that have any."""
        identities = _identities(self.labels)
        points = _points(self.points())
        used = identities.join(points, on="series", how="semi", maintain_order="left")
        return Series(points=points, identities=used)


def _identities(labels: list[dict[str, str]]) -> pl.DataFrame:
    """Return `IDENTITIES` of label sets, numbered by their place."""
    sizes = pl.Series(list(map(len, labels)), dtype=pl.UInt32)
    series = pl.int_range(len(labels), dtype=pl.UInt32, eager=True)
    flat = pl.DataFrame(
        {
            "series": pl.select(series.repeat_by(sizes).explode(empty_as_null=False)).to_series(),
            "key": list(chain.from_iterable(labels)),
            "value": list(chain.from_iterable(one.values() for one in labels)),
        },
        schema={"series": pl.UInt32, "key": pl.String, "value": pl.String},
    )
    is_name = pl.col("key") == "__name__"
    named = flat.group_by("series", maintain_order=True).agg(
        name=pl.col("value").filter(is_name).first(),
        labels=pl.struct("key", "value").filter(~is_name),
    )
    whole = pl.DataFrame({"series": series}).join(named, on="series", how="left")
    return whole.select(
        "series", pl.col("name").fill_null(""), pl.col("labels").fill_null([])
    ).cast(IDENTITIES)


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
    data = path.read_bytes()
    lines = [(at, line) for at, line in enumerate(data.split(b"\n"), start=1) if line.strip()]
    whole = Answer()
    read_answer(whole, data, 1, lines=len(lines))
    if [reason for _, _, reason, _ in whole.rejects] != [_NO_JSON]:
        return whole
    answer = Answer()
    for position, line in lines:
        read_answer(answer, line, position)
    return answer


def read_answer(answer: Answer, data: bytes, position: int, *, lines: int = 1) -> None:
    """Add the series of one JSON document to `answer`.

    Args:
        answer: Where they go.
        data: The document.
        position: The number of its first line, from 1.
        lines: How many lines it has that are not empty.
    """
    rejects, found = len(answer.rejects), len(answer.labels) + len(answer.warnings)
    body = take_points(data)
    if body is None or not _read_body(answer, body, position):
        _read_json(answer, data, position)
    if len(answer.labels) + len(answer.warnings) > found or len(answer.rejects) == rejects:
        answer.lines_used += lines
    else:
        answer.rejects[rejects] = (*answer.rejects[rejects][:3], lines)


def _read_json(answer: Answer, data: bytes, position: int) -> None:
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError:
        shown = data[:MAX_REJECT_CHARACTERS].decode("utf-8", errors="replace").strip()
        answer.rejects.append((position, shown, _NO_JSON, 1))
    else:
        _read_document(answer, document, position)


def _read_body(answer: Answer, body: Body, position: int) -> bool:
    """Add an answer whose points are apart; false, and nothing added, if it is another one."""
    document = body.document
    if not _is_object(document) or document.get("status") != "success":
        return False
    data = document.get("data")
    entries = data.get("result") if _is_object(data) else None
    if not _is_object(data) or data.get("resultType") != "matrix" or not _is_list(entries):
        return False
    seconds = body.points["seconds"]
    fits = (
        all(_is_block(entry, number) for number, entry in enumerate(entries))
        and len(entries) == body.points["series"].n_unique()
        and bool(seconds.is_between(-MAX_SECONDS, MAX_SECONDS, closed="none").all())
    )
    if fits:
        _warn(answer, document, position)
        answer.add_all([entry["metric"] for entry in entries], body.points)
    return fits


def _is_block(entry: object, number: int) -> bool:
    """Return whether an entry is a label set with the list of values of that number."""
    return (
        _is_object(entry)
        and _is_labels(entry.get("metric"))
        and entry.get("values") == [number]
        and "histograms" not in entry
    )


def _read_document(answer: Answer, document: object, position: int) -> None:
    if _is_object(document) and "metric" in document:
        flat = None if "timestamps" in document else _flat_pairs(document)
        if flat is None:
            _read_export_line(answer, document, position)
        else:
            answer.add(document["metric"], flat[0::2], flat[1::2])
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
    answer.rejects.append((position, shown, reason, 1))


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
