"""Read `nvidia-smi dmon` and `nvidia-smi pmon`: a row a GPU, or a process, under a `#` header.

Source: nvidia-smi manual; captures of drivers 418 to 590. The `#` is a word of its own or glued to
the first name, depending on the options; which columns there are depends on options and driver,
so the header is read, never assumed. `--format csv` has commas.
"""

import re
from collections.abc import Sequence
from typing import Final

import polars as pl

from collectors.gpus.smi_fields import dmon_column
from collectors.gpus.smi_processes import process_part
from collectors.gpus.smi_rows import SmiPart, join_parts, known_columns, part_of
from collectors.sniffing import ReadOptions
from collectors.texts.yearless_stamps import local_time

_COLUMNS: Final = "pwr|g?temp|mtemp|sm|mem|mclk|pclk|fb|pviol|sbecc|rxpci|pid"
MONITOR_HEADER: Final = rf"^#\s*(?:Date[\s,]+|Time[\s,]+)*gpu[\s,].*\b(?:{_COLUMNS})\b"
_UNIT_LINE: Final = r"^#\s*(?:YYYYMMDD[\s,]+|HH:MM:SS[\s,]+)*Idx\b"
_STAMP: Final = ("date", "time")
NO_HEADER: Final = "no header of columns before this row"


def read_monitors(lines: pl.DataFrame, source: str, options: ReadOptions) -> SmiPart:
    """Return what the rows of `dmon` or `pmon` say.

    Args:
        lines: `position` and `text` of the file, without its sentences.
        source: The file's name.
        options: Zone of the stamps; host and time that the text does not say.
    """
    text = pl.col("text").str.strip_chars()
    heads, units = text.str.contains(MONITOR_HEADER), text.str.contains(_UNIT_LINE)
    marked = lines.with_columns(
        body=text,
        header=pl.when(heads).then(text).forward_fill(),
        units=pl.when(units).then(text).when(heads).then(pl.lit("")).forward_fill(),
    )
    is_frame = heads | units
    used = marked.filter(is_frame)["position"]
    rows = marked.filter(~is_frame, pl.col("body") != "")
    parts = [SmiPart(used=used)]
    # A header alone and the same header with its units name the same columns.
    keyed = rows.with_columns(units=pl.col("units").max().over("header"))
    for (header, unit), block in keyed.group_by("header", "units", maintain_order=True):
        parts.append(_block(block, header, unit or "", source, options))
    return join_parts(parts)


def _block(
    block: pl.DataFrame, header: str | None, units: str, source: str, options: ReadOptions
) -> SmiPart:
    """Return what the rows under one header say."""
    if header is None:
        return SmiPart(reasons=block.select("position", reason=pl.lit(NO_HEADER)))
    names, below = _words(header), _words(units)
    told = below if len(below) == len(names) else [None] * len(names)
    columns = [dmon_column(*pair) for pair in zip(names, told, strict=True)]
    rows = _split(block, names, has_commas="," in header)
    misfit = block.join(rows, on="position", how="anti").select(
        "position", reason=pl.lit(f"not the {len(names)} cells that are due")
    )
    about = SmiPart(reasons=misfit, columns=known_columns(int(block["position"][0]), columns))
    read = process_part if "pid" in names else part_of
    return join_parts([read(_stamped(rows, names, options), columns, source, options), about])


def _words(header: str) -> list[str]:
    plain = header.lstrip("#").strip()
    return [word.strip().lower() for word in re.split(r"," if "," in plain else r"\s+", plain)]


def _split(block: pl.DataFrame, names: Sequence[str], *, has_commas: bool) -> pl.DataFrame:
    """Return the rows with as many cells as there are names; the last one may hold blanks."""
    body = pl.col("body")
    if has_commas:
        cells = body.str.split(",").list.eval(pl.element().str.strip_chars())
    elif names[-1] == "command":
        words = body.str.replace_all(r"\s+", " ").str.splitn(" ", len(names))
        cells = pl.concat_list(words.struct.field(f"field_{at}") for at in range(len(names)))
    else:
        cells = body.str.extract_all(r"\S+")
    return block.with_columns(cells=cells.list.drop_nulls()).filter(
        pl.col("cells").list.len() == len(names)
    )


def _stamped(rows: pl.DataFrame, names: Sequence[str], options: ReadOptions) -> pl.DataFrame:
    """Return the rows with their own time as `stamp`; a time of day without a date is none."""
    parts = [pl.col("cells").list.get(names.index(name)) for name in _STAMP if name in names]
    text = pl.concat_str(parts, separator=" ") if parts else pl.lit(None, pl.String)
    stamp = text.str.to_datetime("%Y%m%d %H:%M:%S", time_unit="us", strict=False)
    return rows.with_columns(stamp=stamp).with_columns(
        local_time(pl.col("stamp"), options.time_zone)
    )
