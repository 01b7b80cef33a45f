"""Read tables of losses: comma-separated files with a row a step, of Lightning and many others.

Source: formats of progress streams, sections 6 and 12: the header is written again after a restart,
or with more columns; rows are sparse; there may be a byte order mark, and a comma in the numbers.
"""

import re
from pathlib import Path
from typing import Final

import polars as pl

from collectors.readings import MAX_REJECT_CHARACTERS, Reading, count_lines
from collectors.sniffing import Head, ReadOptions
from collectors.texts.csv_rows import csv_fields
from collectors.texts.plain_lines import judged_lines, plain_lines
from collectors.training.step_fields import COUNTS, DURATIONS, NUMBERS, TEXTS
from collectors.training.step_records import read_records

SEPARATORS: Final = ("\t", ";", ",")
"""In order: a comma may stand inside the numbers of a table that others separate."""

_SURENESS: Final = 0.9

_STEPS: Final = frozenset({*COUNTS["step"], "epoch"})

_MEASURES: Final = frozenset(
    {*NUMBERS["loss"], *NUMBERS["grad_norm"]}
    | {key for keys in DURATIONS.values() for key, _ in keys}
)

_KNOWN: Final = (
    _MEASURES
    | _STEPS
    | frozenset(
        key for table in (TEXTS, COUNTS, NUMBERS) for keys in table.values() for key in keys
    )
)

_DECIMAL: Final = r"^\s*(-?\d+),(\d+(?:[eE][-+]?\d+)?)\s*$"

_THOUSANDS: Final = r"^\s*-?\d{1,3}(?:,\d{3})+\s*$"

_SCOPE: Final = r"^(?:train|training)[/_ ]"


def wants_loss_tables(head: Head) -> float:
    """Return how sure it is that a head is a table of steps with a loss or a time."""
    lines = judged_lines(head)[:1]
    if not lines:
        return 0.0
    names = _header_of(lines[0])
    return _SURENESS if names else 0.0


def _header_of(line: str) -> list[str] | None:
    """Return the keys of a header's columns; null if the line is none of ours."""
    separator = _separator(line)
    cells = [cell.strip().strip('"').strip() for cell in line.split(separator)]
    keys = [_key(cell) for cell in cells]
    has_step = bool(_STEPS.intersection(keys) - {"epoch"})
    has_measure = bool(_MEASURES.intersection(keys))
    return keys if has_step and has_measure and len(keys) > 1 else None


def _separator(line: str) -> str:
    return next((one for one in SEPARATORS if one in line), ",")


def _key(cell: str) -> str:
    """Return the key that a column's name stands for: as it is, in lower case, or unscoped."""
    plain = cell.lower().replace("(s)", "_s").replace("(ms)", "_ms").replace(" _", "_")
    bare = re.sub(_SCOPE, "", plain)
    return next((one for one in (cell, plain, bare) if one in _KNOWN), cell)


def read_loss_tables(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return the steps and evaluations in a table.

    Args:
        path: The file; a rank that its rows do not say is taken from its name.
        source: The name to quote.
        options: The zone of stamps that carry none.

    Returns:
        `STEPS` and `EVENTS` as `read_step_records` has them: a row without a loss or a time that
        holds figures of another loop is an evaluation, one that holds neither is part of its step.

    Raises:
        OSError: The file cannot be read.
    """
    lines = plain_lines(path.read_bytes())
    headers, rows = _parts_of(lines)
    tables = [_cells(part, headers) for part in rows.partition_by("table", maintain_order=True)]
    if not tables:
        return read_records(_objects([]), _broken(lines, "no header"), (path.name, source), options)
    objects = _objects(tables)
    lost = rows.filter(~pl.col("position").is_in(objects["position"].implode()))
    before = lines.filter(pl.col("position") < min(headers))
    broken = pl.concat([_broken(before, "no header"), _broken(lost, "torn row")])
    reading = read_records(_telling(objects), broken, (path.name, source), options)
    return count_lines(reading, lines.height - reading.rejects["position"].n_unique())


def _parts_of(lines: pl.DataFrame) -> tuple[dict[int, str], pl.DataFrame]:
    """Return the headers by their line, and the other lines with the header they stand under."""
    first = pl.col("text").str.contains(r"^[\"\s\x{FEFF}]*[A-Za-z_]")
    heads = lines.filter(first)
    headers = {
        int(position): text.removeprefix("\ufeff")
        for position, text in heads.select("position", "text").iter_rows()
        if _header_of(text.removeprefix("\ufeff"))
    }
    is_head = pl.col("position").is_in(list(headers))
    marked = lines.with_columns(table=pl.when(is_head).then("position").forward_fill())
    return headers, marked.filter(~is_head, pl.col("table").is_not_null())


def _cells(rows: pl.DataFrame, headers: dict[int, str]) -> pl.DataFrame:
    """Return the rows under one header with a text column a key; torn ones are left out."""
    header = headers[rows["table"][0]]
    keys, separator = _header_of(header) or [], _separator(header)
    text = pl.col("text")
    plain = text.str.split(separator).list.eval(pl.element().str.strip_chars().str.strip_chars('"'))
    fields = csv_fields(text) if separator == "," else plain
    whole = rows.with_columns(fields=fields).filter(pl.col("fields").list.len() == len(keys))
    columns = {
        key: _number_text(pl.col("fields").list.get(at, null_on_oob=True), separator)
        for at, key in reversed(list(enumerate(keys)))
    }
    return whole.select("position", "text", **columns)


def _number_text(cell: pl.Expr, separator: str) -> pl.Expr:
    """Return a cell with a dot for a decimal comma; an empty cell is null."""
    is_thousands = cell.str.contains(_THOUSANDS) if separator == "," else pl.lit(value=False)
    dotted = cell.str.replace(_DECIMAL, "${1}.${2}")
    value = pl.when(is_thousands).then(cell).otherwise(dotted)
    return pl.when(value != "").then(value)


def _objects(tables: list[pl.DataFrame]) -> pl.DataFrame:
    empty = pl.DataFrame(schema={"position": pl.Int64, "text": pl.String})
    return pl.concat([empty, *tables], how="diagonal")


def _telling(objects: pl.DataFrame) -> pl.DataFrame:
    """Return the rows that tell of a step, or of an evaluation: not those of a learning rate."""
    steps = _STEPS | {"position", "text"}
    told = [name for name in objects.columns if name in _MEASURES or _is_other_loop(name)]
    others = [name for name in objects.columns if name not in steps and name not in told]
    is_sparse = objects.select(pl.col(told).is_null().any()).row(0) if told else ()
    if not any(is_sparse) or not others:
        return objects
    return objects.filter(pl.any_horizontal(pl.col(told).is_not_null()))


def _is_other_loop(name: str) -> bool:
    return re.match(r"(?i)(?:eval|val|valid|validation|test)[_/ ]", name) is not None


def _broken(lines: pl.DataFrame, reason: str) -> pl.DataFrame:
    cut = pl.col("text").str.head(MAX_REJECT_CHARACTERS)
    return lines.select("position", cut, reason=pl.lit(reason))
