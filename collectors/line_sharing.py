"""Share the lines of a log out among its dialects: each sees what is not surely another's."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from collectors.line_reading import LineDialect
from collectors.readings import Reading, join_readings
from collectors.sniffing import ReadOptions
from collectors.texts.ascii_patterns import ascii_pattern
from collectors.texts.few_texts import has_match


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """What the dialects made of some lines.

    Attributes:
        reading: Their frames.
        known: Numbers of the lines that each dialect claims, by its name.
        rest: Whether nobody claims a line, for each of them.
    """

    reading: Reading
    known: dict[str, pl.Series]
    rest: pl.Series


def share_out(
    lines: pl.DataFrame, due: slice, dialects: Sequence[LineDialect], options: ReadOptions
) -> Shared:
    """Return what the dialects make of lines, one after the other.

    Args:
        lines: `LINES`, numbered from 0 without a gap.
        due: Those that are to be told; the others stand around them.
        dialects: In order: one sees what those before it have not claimed, without the lines that
            are surely another's, unless it asks for those.
        options: What the log cannot say of itself.
    """
    sure = _sure(lines["text"], dialects)
    free = pl.repeat(value=True, n=lines.height, dtype=pl.Boolean, eager=True)
    wanted = _wanted(lines["text"], dialects, sure)
    readings, known = list[Reading](), dict[str, pl.Series]()
    for dialect in (one for one in dialects if one.name in wanted):
        shown = due if dialect.alone else slice(0, lines.height)
        mine = _unclaimed(free, dialect, sure)[shown]
        seen = lines[shown] if mine.all() else lines[shown].filter(mine)
        part = dialect.read(seen, options)
        readings.append(part.reading)
        known[dialect.name] = part.claimed
        if len(part.claimed):
            free = free.scatter(part.claimed.cast(pl.UInt32), values=False)
    return Shared(reading=join_readings(readings), known=known, rest=free)


def is_bare(text: pl.Series, dialects: Sequence[LineDialect]) -> pl.Series:
    """Return which lines are surely a dialect's as they stand, without a prefix."""
    sure = [ascii_pattern(one.sure) for one in dialects if one.sure is not None]
    found = pl.any_horizontal(pl.col("text").str.contains(one) for one in sure)
    return text.to_frame("text").select(found if sure else pl.lit(value=False)).to_series()


def _unclaimed(free: pl.Series, dialect: LineDialect, sure: dict[str, pl.Series]) -> pl.Series:
    """Return which lines a dialect may look at."""
    for name, hers in sure.items():
        if name != dialect.name and name not in dialect.beside:
            free = free & ~hers
    return free


def _sure(text: pl.Series, dialects: Sequence[LineDialect]) -> dict[str, pl.Series]:
    """Return which lines are surely a dialect's, for those that can tell."""
    return {
        one.name: text.str.contains(ascii_pattern(one.sure))
        for one in dialects
        if one.sure is not None
    }


def _wanted(
    text: pl.Series, dialects: Sequence[LineDialect], sure: dict[str, pl.Series]
) -> set[str]:
    """Return the dialects that have lines of theirs, by one look at the lines that are no one's."""
    is_sure = pl.DataFrame(sure).select(pl.any_horizontal(pl.all())).to_series() if sure else None
    doubtful = text if is_sure is None else text.filter(~is_sure)
    return {
        one.name
        for one in dialects
        if (one.name in sure and sure[one.name].any()) or has_match(doubtful, one.hint)
    }
