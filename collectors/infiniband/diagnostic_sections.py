"""Sections of ibdiagnet's `*.db_csv`: `START_<NAME>`, a header, rows, `END_<NAME>`.

Source: public captures of ibdiagnet2, Mellanox/ufm_sdk_3.0. Columns are spelled differently from
section to section, so their names are compared in lower case.
"""

from dataclasses import dataclass
from typing import Final

import polars as pl

from collectors.texts.csv_rows import csv_fields, fits

START: Final = r"^START_([A-Z][A-Z0-9_]*)\s*$"
END: Final = r"^END_([A-Z][A-Z0-9_]*)\s*$"


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One section of a file.

    Attributes:
        name: Its name, without `START_`.
        header: Its columns in lower case.
        rows: `position` and `fields`, one row a line that fits the header.
    """

    name: str
    header: list[str]
    rows: pl.DataFrame


def in_sections(lines: pl.DataFrame) -> pl.DataFrame:
    """Return `PLAIN_LINES` with their `section`, its `number` in the file, and what they are in it.

    Returns:
        `section` is null outside; `is_mark` tells the lines that start and end one, `is_header`
        the one with its columns. A section that is not ended goes on to the next start.
    """
    text = pl.col("text").str.strip_chars()
    started, ended = text.str.extract(START, 1), text.str.extract(END, 1)
    is_mark = started.is_not_null() | ended.is_not_null()
    spans = lines.with_columns(
        is_mark=is_mark,
        opened=started,
        number=started.is_not_null().cum_sum(),
        is_over=ended.is_not_null(),
    )
    over = pl.col("is_over").cum_sum().over("number") > 0
    inside = spans.with_columns(
        section=pl.when(~over | pl.col("is_over")).then(pl.col("opened").first().over("number"))
    )
    place = (~pl.col("is_mark")).cum_sum().over("number")
    is_header = ~pl.col("is_mark") & (place == 1) & pl.col("section").is_not_null()
    return inside.with_columns(is_header=is_header)


def read_sections(lines: pl.DataFrame, wanted: str) -> list[Section]:
    """Return the sections whose name matches a pattern, in the file's order.

    Args:
        lines: As `in_sections` gives them.
        wanted: Pattern of whole names.
    """
    mine = lines.filter(pl.col("section").str.contains(f"^(?:{wanted})$"), ~pl.col("is_mark"))
    parts = mine.partition_by("number", maintain_order=True)
    return [section for part in parts if (section := _section(part)) is not None]


def _section(part: pl.DataFrame) -> Section | None:
    headers = part.filter("is_header").select(csv_fields(pl.col("text")).alias("fields"))
    if headers.is_empty():
        return None
    header = [str(name).lower() for name in headers["fields"][0]]
    rows = part.filter(~pl.col("is_header")).select("position", fields=csv_fields(pl.col("text")))
    fitting = rows.filter(fits(pl.col("fields"), len(header)))
    return Section(name=str(part["section"][0]), header=header, rows=fitting)
