"""The contract of a dialect of log lines: what it takes, what it gives back."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import polars as pl

from collectors.readings import Reading
from collectors.sniffing import ReadOptions
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
        beside: Names of dialects whose sure lines it wants to see all the same.
    """

    name: str
    hint: str
    read: Callable[[pl.DataFrame, ReadOptions], LineReading]
    start: RecordStart | None = None
    sure: str | None = None
    alone: bool = False
    beside: tuple[str, ...] = ()


_PRINTER: Final = ("host", "local_rank", "task")


def printer() -> pl.Expr:
    """Return a key of who printed a line: lines of one record share it, whatever its prefixes."""
    parts = [pl.col(name).cast(pl.String).fill_null("") for name in _PRINTER]
    named = pl.concat_str(pl.lit("rank "), pl.col("rank").cast(pl.String))
    return named.fill_null(pl.concat_str(parts, separator="|"))
