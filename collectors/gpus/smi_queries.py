"""Read `nvidia-smi --query-gpu --format=csv`: a header, then a row a GPU, again and again.

Source: nvidia-smi manual; public captures of drivers 440 to 610. There is no quoting, so a comma in
a product's name splits it; the canonical header may differ from what was asked for. Without a
header (`noheader`) only columns that their own cells give away are read.
"""

import re
from collections.abc import Sequence
from typing import Final

import polars as pl

from collectors.frames import EVENTS, conform
from collectors.gpus.smi_fields import SmiColumn, query_column
from collectors.gpus.smi_rows import (
    SmiPart,
    join_parts,
    known_columns,
    part_of,
)
from collectors.sniffing import ReadOptions
from collectors.texts.templates import filled
from collectors.texts.yearless_stamps import local_time

_HEADER_CELL: Final = r"[a-z][a-z0-9_]*(?:\.[a-zA-Z0-9_]+)*(?: \[[^\],]+\])?"
HEADER_LINE: Final = rf"^{_HEADER_CELL}(?:\s*,\s*{_HEADER_CELL})*\s*$"

_GUESSES: Final = (
    (r"^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d", "timestamp"),
    (r"^(?:GPU|MIG)-[0-9a-fA-F]", "uuid"),
    (r"^[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]$", "pci.bus_id"),
    (r"^\d+ %$", "utilization.gpu [%]"),
    (r"^[\d.]+ W$", "power.draw [W]"),
    (r"^P\d{1,2}$", "pstate"),
)
"""Cells that give their column away, if it is the only one of its kind: of all percentages the
first that people ask for is the GPU's, of all watts its draw."""

_NO_VALUE: Final = r"^(?:\[.*\]|N/A|ERR!)?$"

NO_HEADER: Final = "no header names the columns: leave out noheader"


def is_header(line: str) -> bool:
    """Return whether a line is the header of a query: a row of names, some of them known."""
    if not re.match(HEADER_LINE, line.strip()):
        return False
    columns = [query_column(cell) for cell in line.split(",")]
    known = sum(1 for column in columns if column.is_known)
    dotted = any("." in column.name for column in columns if column.is_known)
    return dotted or known > 1


def read_queries(lines: pl.DataFrame, source: str, options: ReadOptions) -> SmiPart:
    """Return what the rows of queries say.

    Args:
        lines: `position` and `text` of the file, without its sentences.
        source: The file's name.
        options: Zone of the stamps; host and time that the text does not say.
    """
    likely = lines.filter(pl.col("text").str.strip_chars().str.contains(HEADER_LINE))
    headers = [text for text in likely["text"].unique() if is_header(text)]
    heads = pl.col("text").is_in(headers)
    marked = lines.with_columns(header=pl.when(heads).then("text").forward_fill())
    used = marked.filter(heads)["position"]
    rows = marked.filter(~heads, pl.col("text").str.strip_chars() != "").with_columns(
        cells=pl.col("text").str.split(",").list.eval(pl.element().str.strip_chars())
    )
    parts = [SmiPart(used=used)]
    for (header,), block in rows.group_by("header", maintain_order=True):
        names = _guessed(block) if header is None else [str(cell) for cell in header.split(",")]
        parts.append(_block(block, names, source, options))
    return join_parts(parts)


def _guessed(block: pl.DataFrame) -> list[str]:
    """Return a header for rows without one; empty if they give too little away."""
    width = block["cells"].list.len().mode().sort().first()
    usual = block.filter(pl.col("cells").list.len() == width)
    names = [
        _guess(usual["cells"].list.get(at, null_on_oob=True), at) for at in range(int(str(width)))
    ]
    single = [name if names.count(name) == 1 else "" for name in names]
    columns = [query_column(name) for name in single]
    names_gpu = any(column.name in ("index", "uuid", "pci.bus_id") for column in columns)
    measures = any(column.signal for column in columns)
    return single if names_gpu and measures else []


def _guess(cells: pl.Series, at: int) -> str:
    """Return the header that a column's cells fit; empty if none."""
    told = cells.filter(~cells.str.contains(_NO_VALUE))
    for pattern, name in _GUESSES:
        if len(told) and told.str.contains(pattern).all():
            return name
    is_index = at <= 1 and len(told) > 0 and bool(told.str.contains(r"^\d{1,2}$").all())
    return "index" if is_index else ""


def _block(block: pl.DataFrame, names: Sequence[str], source: str, options: ReadOptions) -> SmiPart:
    """Return what the rows under one header say."""
    columns = [query_column(name) for name in names]
    if not columns:
        return SmiPart(reasons=block.select("position", reason=pl.lit(NO_HEADER)))
    rows = _rejoined(block, columns)
    misfit = block.join(rows, on="position", how="anti").select(
        "position",
        reason=filled("{} cells where {} are due", pl.col("cells").list.len(), len(columns)),
    )
    first = int(block["position"][0])
    about = SmiPart(
        reasons=misfit,
        columns=known_columns(first, columns),
        events=_assumed(first, names) if block["header"][0] is None else EVENTS.to_frame(),
    )
    return join_parts([part_of(_stamped(rows, columns, options), columns, source, options), about])


def _rejoined(block: pl.DataFrame, columns: Sequence[SmiColumn]) -> pl.DataFrame:
    """Return the rows with a cell a column: surplus ones are commas in the product's name."""
    count = len(columns)
    at = next((at for at, column in enumerate(columns) if column.name == "name"), None)
    cells = pl.col("cells")
    if at is None:
        return block.filter(cells.list.len() == count)
    name = cells.list.slice(at, cells.list.len() - count + 1).list.join(", ")
    tail = cells.list.tail(count - at - 1) if at + 1 < count else pl.lit([], pl.List(pl.String))
    whole = pl.concat_list(cells.list.head(at), name, tail)
    return block.filter(cells.list.len() >= count).with_columns(cells=whole)


def _stamped(
    rows: pl.DataFrame, columns: Sequence[SmiColumn], options: ReadOptions
) -> pl.DataFrame:
    """Return the rows with their own time as `stamp`."""
    at = next((at for at, column in enumerate(columns) if column.name == "timestamp"), None)
    text = pl.lit(None, pl.String) if at is None else pl.col("cells").list.get(at)
    stamp = text.str.to_datetime("%Y/%m/%d %H:%M:%S%.f", time_unit="us", strict=False)
    return rows.with_columns(stamp=stamp).with_columns(
        local_time(pl.col("stamp"), options.time_zone)
    )


def _assumed(position: int, names: Sequence[str]) -> pl.DataFrame:
    """Return a warning of what the columns were taken for."""
    taken = ", ".join(name or "?" for name in names)
    row = {
        "position": position,
        "kind": "warning",
        "code": "assumed_columns",
        "severity": "low",
        "message": f"no header: the columns were taken for {taken}",
    }
    return conform(pl.LazyFrame([row]), EVENTS).collect()
