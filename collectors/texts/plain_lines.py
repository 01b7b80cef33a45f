"""Lines of a tool's output, and the account of what became of each.

The output of `perfquery`, `ibqueryerrors` and their like is small text without prefixes: one line
is one record or a part of one. UFM writes ISO-8859-1, so bytes that are no UTF-8 are read as that.
"""

from typing import Any, Final

import polars as pl

from collectors.frames import schema_of
from collectors.readings import (
    FRAMES,
    MAX_REJECT_CHARACTERS,
    Reading,
    count_lines,
    fold_rejects,
    join_readings,
    reading_of,
)
from collectors.sniffing import Head

PLAIN_LINES: Final = schema_of({"position": pl.Int64, "text": pl.String})
"""One line that is not blank: its number in the file from 1, and its text without colours, NULs
and the blanks at its end."""

MAX_LINE_CHARACTERS: Final = 65_536
"""A longer line is cut there; no record of ours is as long."""

MAX_JUDGED_LINES: Final = 500
MAX_JUDGED_CHARACTERS: Final = 1_000
"""Of a head, this many lines up to this length are looked at; a pattern must not take long."""

_ANSI: Final = r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]"


def decoded(data: bytes) -> str:
    """Return bytes as text: UTF-8, else ISO-8859-1, without byte order mark and NULs."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("iso-8859-1")
    return text.removeprefix("\ufeff").replace("\0", "")


def judged_lines(head: Head) -> list[str]:
    """Return the lines of a head that a dialect may look at, cut and without blanks at the end."""
    lines = () if head.is_binary else head.lines[:MAX_JUDGED_LINES]
    return [line[:MAX_JUDGED_CHARACTERS].rstrip() for line in lines]


def plain_lines(data: bytes) -> pl.DataFrame:
    """Return the lines of a file.

    Args:
        data: The file's bytes; lines end in LF or CR LF.

    Returns:
        `PLAIN_LINES`, in the file's order. A line of nothing but colours stays, as empty text.
    """
    rows = pl.DataFrame({"text": decoded(data).split("\n")}, schema={"text": pl.String})
    return (
        rows.lazy()
        .with_row_index("position", offset=1)
        .filter(pl.col("text").str.strip_chars() != "")
        .select(
            pl.col("position").cast(pl.Int64),
            pl.col("text")
            .str.head(MAX_LINE_CHARACTERS)
            .str.replace_all(_ANSI, "")
            .str.strip_chars_end(),
        )
        .collect()
    )


def account(
    lines: pl.DataFrame, used: pl.Series, source: str, **frames: pl.DataFrame | pl.LazyFrame
) -> Reading:
    """Return the reading of a file of lines: its frames, and a reject for each line not used.

    Args:
        lines: `PLAIN_LINES` with, if the reader knows better, a column `reason` for lines that are
            not used; a null reason is an unrecognised line.
        used: Positions of the lines that are rows or parts of rows.
        source: The name to quote in every frame.
        **frames: Frames by their name in `FRAMES`.

    Returns:
        The reading, its lines counted.
    """
    told = pl.col("reason") if "reason" in lines.columns else pl.lit(None, pl.String)
    rest = lines.filter(~pl.col("position").is_in(used.unique().implode()))
    rejects = rest.select(
        "position",
        pl.col("text").str.head(MAX_REJECT_CHARACTERS),
        source=pl.lit(source),
        reason=told.fill_null("unrecognised line"),
    )
    sourced: dict[str, Any] = {
        name: frame.lazy().with_columns(source=pl.lit(source))
        if "source" in FRAMES[name]
        else frame
        for name, frame in frames.items()
    }
    own = reading_of(rejects=rejects)
    folded = reading_of(rejects=fold_rejects(own.rejects))
    whole = join_readings([reading_of(**sourced), folded])
    return count_lines(whole, lines.height - rest.height)
