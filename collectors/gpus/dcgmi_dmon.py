"""Read the text of `dcgmi dmon`: blocks of fixed columns, each under the header that it follows.

Source: NVIDIA/DCGM `dcgmi/DeviceMonitor.cpp`. A field without a sample is all blanks, so the
columns' places count, not the words between blanks. The text has no time: a single poll is of the
time at which it was taken, several polls only have an order, since nothing tells their interval.
"""

import re
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Final

import polars as pl

from collectors.frames import EVENTS, conform, schema_of
from collectors.gpus.dmon_columns import column_numbers, field_columns
from collectors.gpus.gpu_cells import measure_cells
from collectors.gpus.gpu_streams import read_measured
from collectors.gpus.gpu_tables import poll_time, warnings_of
from collectors.readings import Reading, join_readings
from collectors.sniffing import Head, ReadOptions
from collectors.taken import taken_on
from collectors.texts.plain_lines import account, plain_lines
from collectors.texts.polls import number_polls

_HEADER: Final = r"^\s*#\s*Entity\b"
_UNITS: Final = r"^\s*(?:ID|Id)\b"
_ENTITY: Final = (
    r"^(?:GPU-I|GPU-CI|GPU|vGPU|Switch|SW|CPU Core|CPU|CX|UNKNOWN) +\d+(?: +LINK +\d+)?(?:\s|$)"
)
_STOPPED: Final = r"(?i)\bdmon\b.*\b(?:stopped|terminat|signal)|\bsignal\b.*\bdmon\b"
_COMMAND: Final = r"dcgmi\s+dmon\b.*?\s-(?:e|-field-id)[ =]*([\d,]+)"
_FAILED: Final = r"(?i)^(?:error|unable|failed|cannot)\b|\bresult: "
_GLUED: Final = r"^N/A\S"
_JUDGED_LINES: Final = 200

_KINDS: Final[Mapping[str, tuple[str, str]]] = {
    "GPU": ("gpu", ""),
    "GPU-I": ("mig", "gi"),
    "GPU-CI": ("mig", "ci"),
    "vGPU": ("vgpu", "vgpu"),
    "Switch": ("nvswitch", "nvswitch"),
    "SW": ("nvswitch", "nvswitch"),
    "CPU": ("cpu", "cpu"),
    "CPU Core": ("cpu", "core"),
    "CX": ("nic", "cx"),
    "UNKNOWN": ("unknown", "unknown"),
}
"""Printed kind of an entity to ours, and what stands before its number in the device's name."""

_CELLS: Final = schema_of(
    {
        "position": pl.Int64,
        "page": pl.UInt32,
        "entity": pl.String,
        "cells": pl.List(pl.String),
        "names": pl.List(pl.String),
        "numbers": pl.List(pl.Int64),
    }
)


def wants_dcgmi_dmon(head: Head) -> float:
    """Return how sure it is that a file is the output of `dcgmi dmon`."""
    if head.is_binary:
        return 0.0
    lines = head.lines[:_JUDGED_LINES]
    headers = any(re.match(_HEADER, line) for line in lines)
    body = [line.lstrip() for line in lines]
    rows = sum(1 for line in body if re.match(rf"{_ENTITY}|{_HEADER}|{_UNITS}", line))
    return 0.95 if headers and 2 * rows >= len(lines) else 0.0


def read_dcgmi_dmon(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return what `dcgmi dmon` printed.

    Args:
        path: The file.
        source: The name to quote; a host or a time in it is believed.
        options: Host and time that the text does not say.

    Returns:
        A reading with samples and the events that fields show. A column that nothing is known of
        is a warning, a row that does not fit its header a reject, and a failure that the tool
        printed an event.

    Raises:
        OSError: The file cannot be read.
    """
    lines = plain_lines(path.read_bytes())
    marked = _marked(lines)
    rows = number_polls(marked.filter(pl.col("kind") == "row"), "entity")
    fitted = _fitted(rows, _asked(lines))
    cells = fitted.explode("cells", "names", "numbers", empty_as_null=True).rename(
        {"cells": "text", "names": "name", "numbers": "number"}
    )
    bad = rows.join(fitted, on="position", how="anti").select("position", reason=_misfit())
    used = marked.filter(pl.col("kind") != "other").join(bad, on="position", how="anti")
    events = pl.concat([_failures(marked), warnings_of(cells)])
    told = lines.join(bad, on="position", how="left", maintain_order="left")
    own = account(told, used["position"], source, events=events)
    named = _named(cells, source, options)
    return join_readings([own, read_measured(measure_cells(named), source)])


def _marked(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the lines with what each is, its entity, and the header above it."""
    text = pl.col("text")
    body = text.str.strip_chars_start()
    is_header = text.str.contains(_HEADER)
    kind = (
        pl.when(is_header | text.str.contains(_UNITS) | (body == "#"))
        .then(pl.lit("header"))
        .when(body.str.contains(_ENTITY))
        .then(pl.lit("row"))
        .when(text.str.contains(_STOPPED) | text.str.contains(_COMMAND))
        .then(pl.lit("frame"))
        .when(text.str.contains(_FAILED))
        .then(pl.lit("failure"))
        .otherwise(pl.lit("other"))
    )
    return lines.with_columns(
        kind=kind,
        entity=body.str.extract(f"({_ENTITY})").str.strip_chars().str.replace_all(r"\s+", " "),
        header=pl.when(is_header).then(text).forward_fill(),
    )


def _asked(lines: pl.DataFrame) -> list[int]:
    """Return the field numbers of a command line in the text; empty if there is none."""
    told = lines["text"].str.extract(_COMMAND).drop_nulls()
    return [int(part) for part in str(told[0]).split(",") if part] if len(told) else []


def _fitted(rows: pl.DataFrame, asked: list[int]) -> pl.DataFrame:
    """Return the rows that fit their header, with their cells; an absent cell is null."""
    parts = [
        _block(str(header or ""), block, asked)
        for (header,), block in rows.group_by("header", maintain_order=True)
    ]
    return pl.concat([_CELLS.to_frame(), *parts]).sort("position", maintain_order=True)


def _block(header: str, block: pl.DataFrame, asked: list[int]) -> pl.DataFrame:
    """Return the rows of one header that fit it.

    Each column is as wide as to the next one's name. A row in which words run over these borders
    can still be read if it has a word for each column.
    """
    columns = list(re.finditer(r"\S+", re.sub(_HEADER, lambda found: " " * len(found[0]), header)))
    if not columns:
        return _CELLS.to_frame()
    names = [column[0] for column in columns]
    starts = [column.start() for column in columns]
    rest = pl.col("text").str.strip_chars_start().str.replace(_ENTITY, "")
    words = rest.str.extract_all(r"\S+")
    cells = pl.when(_is_aligned(starts)).then(_slices(starts)).otherwise(words)
    absent = pl.when(pl.element() != "").then(pl.element())
    glued = pl.col("cells").list.eval(pl.element().str.contains(_GLUED)).list.any()
    return (
        block.with_columns(cells=cells)
        .filter(pl.col("cells").list.len() == len(columns), ~glued)
        .with_columns(
            pl.col("cells").list.eval(absent),
            names=pl.lit(names, pl.List(pl.String)),
            numbers=pl.lit(column_numbers(names, asked), pl.List(pl.Int64)),
        )
        .select(_CELLS.names())
    )


def _is_aligned(starts: list[int]) -> pl.Expr:
    """Return whether no word runs over the start of a column."""
    crossed = [pl.col("text").str.slice(at - 1, 2).str.contains(r"^\S\S") for at in starts]
    return ~pl.any_horizontal(crossed)


def _slices(starts: list[int]) -> pl.Expr:
    """Return the text of each column without the blanks around it."""
    widths = [after - at for at, after in pairwise(starts)]
    parts = [
        pl.col("text").str.slice(at, width).str.strip_chars()
        for at, width in zip(starts, [*widths, None], strict=True)
    ]
    return pl.concat_list(parts)


def _misfit() -> pl.Expr:
    return (
        pl.when(pl.col("header").is_null())
        .then(pl.lit("no header of columns before this row"))
        .otherwise(pl.lit("the row does not fit the columns of its header"))
    )


def _named(cells: pl.DataFrame, source: str, options: ReadOptions) -> pl.DataFrame:
    """Return the cells of known fields as `GPU_CELLS`."""
    kind = pl.col("entity").str.extract(r"^(.*?) \d+")
    number = pl.col("entity").str.extract(r"^\D+ (\d+)")
    link = pl.col("entity").str.extract(r"LINK (\d+)")
    kinds, prefixes = ({name: pair[at] for name, pair in _KINDS.items()} for at in (0, 1))
    of_gpu = (kind == "GPU") & link.is_not_null()
    device = pl.concat_str(
        kind.replace_strict(prefixes, default="", return_dtype=pl.String), number
    )
    part = pl.concat_str(device, pl.lit("/nvlink"), link)
    return (
        field_columns(cells.drop_nulls("text"))
        .with_columns(
            device_kind=pl.when(of_gpu)
            .then(pl.lit("nvlink"))
            .otherwise(kind.replace_strict(kinds, default="unknown", return_dtype=pl.String)),
            device=pl.coalesce(part, device),
            index=pl.when((kind == "GPU") & link.is_null()).then(
                number.cast(pl.Int32, strict=False)
            ),
            host=pl.lit(taken_on(source, options), pl.String),
        )
        .with_columns(time=poll_time(source, options))
    )


def _failures(marked: pl.DataFrame) -> pl.DataFrame:
    """Return one event for each failure that the tool printed."""
    rows = marked.filter(pl.col("kind") == "failure").select(
        "position",
        kind=pl.lit("collector_failed"),
        code=pl.lit("dcgmi dmon"),
        severity=pl.lit("medium"),
        message="text",
    )
    return conform(rows.lazy(), EVENTS).collect()
