"""Take the lines apart that a log is full of, before they are opened.

Most lines of a large log differ in their numbers alone, or are put together of few texts. Their
dialect tells all of them at once, so that no pattern is searched in each. What it leaves goes the
general way, which says the same of any line.
"""

from collections.abc import Collection, Sequence
from typing import Final

import polars as pl

from collectors.line_reading import LineDialect
from collectors.sniffing import ReadOptions
from collectors.texts.envelope import LINES, SURE
from collectors.texts.few_texts import matches

_SAMPLES: Final = 64
"""Lines that tell whether a block has usual lines of a dialect."""

_MIN_SHARE: Final = 0.1
"""Share of the samples that has to be a dialect's: else looking costs more than it saves."""


def usual_lines(
    raw: pl.DataFrame, dialects: Sequence[LineDialect], signs: str, options: ReadOptions
) -> pl.DataFrame:
    """Return whose usual lines are among raw ones, and what those say.

    Args:
        raw: `RAW_LINES`.
        dialects: Who may know them.
        signs: What each record holds that may stand anywhere in a line; see `RecordStart`.
        options: The zone of stamps that carry none.

    Returns:
        A row a line: `SURE`, the number of the dialect, from 1, or 0; and for each dialect that has
        any the columns of their parts behind its name, null for all other lines.
    """
    whose, columns = pl.repeat(0, raw.height, dtype=pl.UInt8, eager=True), list[pl.Series]()
    for number, one in enumerate(dialects, start=1):
        if one.usual is None:
            continue
        left = (raw["is_plain"] & (whose == 0)).arg_true()
        texts = raw["text"] if len(left) == raw.height else raw["text"].gather(left)
        if not _is_worth_it(texts, one):
            continue
        found = one.usual(texts, signs, options)
        places = left.filter(found.fits)
        if len(places):
            whose = whose.scatter(places, number)
            parts = _spread(found.parts, places, raw.height)
            columns += [part.alias(f"{one.name}/{part.name}") for part in parts]
    return pl.DataFrame([whose.alias(SURE), *columns])


def _is_worth_it(texts: pl.Series, dialect: LineDialect) -> bool:
    """Return whether enough of the texts are a dialect's, by some of them."""
    some = texts.gather_every(max(1, len(texts) // _SAMPLES))
    known = 0 if dialect.sure is None else int(matches(some, dialect.sure).sum())
    return known > _MIN_SHARE * len(some)


def _spread(parts: pl.DataFrame, places: pl.Series, count: int) -> pl.DataFrame:
    """Return the rows of a frame at some of so many places, and nulls at all others."""
    if len(places) == count:
        return parts
    rows = pl.repeat(None, count, dtype=pl.UInt32, eager=True)
    numbers = pl.int_range(len(places), dtype=pl.UInt32, eager=True)
    return parts.select(pl.all().gather(rows.scatter(places, numbers)))


def shown_to(dialect: LineDialect, lines: pl.DataFrame) -> pl.DataFrame:
    """Return `LINES` with the parts of those that the dialect took apart, or the one beside it.

    Args:
        dialect: Who is to read the lines.
        lines: `LINES` with the columns of `usual_lines`.
    """
    names = (dialect.name, *dialect.beside)
    parts = [name for name in lines.columns if name.rpartition("/")[0] in names]
    return lines.select(
        *LINES.names(), *(pl.col(name).alias(name.rpartition("/")[2]) for name in parts)
    )


def without_parts(lines: pl.DataFrame, dialects: Collection[str]) -> pl.DataFrame:
    """Return lines without what some dialects, by name, have taken apart."""
    return lines.drop(name for name in lines.columns if name.rpartition("/")[0] in dialects)
