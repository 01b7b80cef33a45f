"""The contract of a dialect of log lines: what it takes, what it gives back."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import polars as pl

from collectors.readings import Reading
from collectors.sniffing import ReadOptions
from collectors.texts.envelope import LINES
from collectors.texts.file_places import file_number
from collectors.texts.torn_records import RecordStart


def _nothing() -> pl.Series:
    return pl.Series("line", [], dtype=pl.Int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class LineReading:
    """What one dialect made of a log.

    Attributes:
        reading: Its frames; their `source` is filled in later, for all dialects at once.
        claimed: The `line` numbers it knows, as rows or as parts of rows.
    """

    reading: Reading = field(default_factory=Reading)
    claimed: pl.Series = field(default_factory=_nothing)


@dataclass(frozen=True, slots=True, kw_only=True)
class UsualLines:
    """Lines of the form that a log repeats, taken apart while they are still as in the file.

    Attributes:
        fits: Which lines have it, of all that were asked for.
        parts: What those say, a row each, in columns that the dialect's reader knows, none of
            which is one of `LINES`; the first is never null.
    """

    fits: pl.Series
    parts: pl.DataFrame


def taken_apart(lines: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the lines of `LINES` and parts that were taken apart, and the others without parts."""
    has_parts = is_taken_apart(lines)
    others = lines.select(LINES.names())
    return lines.filter(has_parts), others.filter(~has_parts) if has_parts.any() else others


def is_taken_apart(lines: pl.DataFrame) -> pl.Series:
    """Return which lines were taken apart: the first of their parts is never null."""
    parts = [name for name in lines.columns if name not in LINES]
    if parts:
        return lines[parts[0]].is_not_null()
    return pl.repeat(value=False, n=lines.height, dtype=pl.Boolean, eager=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class LineDialect:
    """One producer of log lines and its reader.

    Attributes:
        name: The producer's short name.
        hint: Pattern without which no line is of interest; a log without it is not read.
        read: Takes `LINES` (see `collectors.texts.envelope`) in the order of the log. Never raises
            on content.
        start: How its records begin wherever they stand in a line; null when they do so at a
            line's start only.
        sure: Cheap pattern of lines that are nobody else's, for dialects of which a log may be
            full: others do not look at them; null if it has none.
        alone: Whether each of its rows comes from lines next to each other: it is not shown the
            lines around those that are due, and may put together what repeats.
        apart: Whether it keeps the lines of several files apart, which their positions tell (see
            `collectors.texts.file_places`), and tells of each what it tells of it alone: its rows
            have a position, or the number of their file as source.
        beside: Names of dialects whose sure lines it wants to see all the same.
        usual: Takes the lines apart that its log is full of, of plain lines of the file; null: it
            has no such lines. Each has to fit `sure`, and to hold none of the given signs of
            records but its own: nobody looks at it again. Its reader sees their parts
            beside `LINES`.
    """

    name: str
    hint: str
    read: Callable[[pl.DataFrame, ReadOptions], LineReading]
    start: RecordStart | None = None
    sure: str | None = None
    alone: bool = False
    apart: bool = False
    beside: tuple[str, ...] = ()
    usual: Callable[[pl.Series, str, ReadOptions], UsualLines] | None = None


_PRINTER: Final = ("host", "local_rank", "task")


def printer() -> pl.Expr:
    """Return a key of who printed a line: lines of one record share it, whatever its prefixes.

    Printers of two files are never the same.
    """
    parts = [pl.col(name).cast(pl.String).fill_null("") for name in _PRINTER]
    named = pl.concat_str(pl.lit("rank "), pl.col("rank").cast(pl.String))
    one = named.fill_null(pl.concat_str(parts, separator="|"))
    return pl.concat_str(file_number().cast(pl.String), one, separator="/")
