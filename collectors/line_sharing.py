"""Share the lines of a log out among its dialects: each sees what is not surely another's."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from collectors.line_reading import LineDialect
from collectors.readings import Reading, join_readings
from collectors.sniffing import ReadOptions
from collectors.texts.distinct_texts import digitless_texts, distinct_texts
from collectors.texts.few_texts import matches, names_digits
from collectors.usual_lines import shown_to


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """Lines to share out.

    Attributes:
        lines: `LINES` with the columns of `usual_lines`, numbered from 0 without a gap.
        sure: Whose each line surely is; see `sure_of`.
        due: Those that are to be told; the others stand around them.
        wanted: Names of the dialects that may have lines among them.
    """

    lines: pl.DataFrame
    sure: pl.Series
    due: slice
    wanted: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """What the dialects made of some lines.

    Attributes:
        reading: Their frames.
        rest: Whether nobody claims a line, for each of them.
    """

    reading: Reading
    rest: pl.Series


def sure_of(text: pl.Series, dialects: Sequence[LineDialect]) -> pl.Series:
    """Return for each line the number, from 1, of the dialect whose it surely is; 0 is no one's.

    What is surely one dialect's is never another's, so the next one looks only at what is left.
    """
    whose = pl.repeat(0, len(text), dtype=pl.UInt8, eager=True)
    left = pl.int_range(len(text), dtype=pl.UInt32, eager=True)
    for number, one in enumerate(dialects, start=1):
        if one.sure is not None and len(left):
            fits = matches(text if len(left) == len(text) else text.gather(left), one.sure)
            whose = whose.scatter(left.filter(fits), number)
            left = left.filter(~fits)
    return whose


def hinted_lines(
    text: pl.Series, sure: pl.Series, dialects: Sequence[LineDialect]
) -> dict[str, pl.Series]:
    """Return where lines are that each dialect may know; dialects without any are left out.

    Args:
        text: The lines.
        sure: Whose each surely is; other dialects are not asked for those.
        dialects: Who may know them.
    """
    nobodys = (sure == 0).arg_true()
    exact, found = distinct_texts(text.gather(nobodys)), dict[str, pl.Series]()
    shapes, owners = digitless_texts(exact), frozenset(sure.unique())
    for number, one in enumerate(dialects, start=1):
        places = [(sure == number).arg_true()] if number in owners else []
        asked = exact if names_digits(one.hint) else shapes
        fits = matches(asked.texts, one.hint)
        if fits.any():
            places.append(nobodys.filter(fits.gather(asked.numbers)))
        if places:
            found[one.name] = pl.concat(places).sort() if len(places) > 1 else places[0]
    return found


def share_out(shown: Shown, dialects: Sequence[LineDialect], options: ReadOptions) -> Shared:
    """Return what the dialects make of lines, one after the other.

    Args:
        shown: The lines.
        dialects: In order, as for `sure_of`: one sees what those before it have not claimed,
            without the lines that are surely another's, unless it asks for those.
        options: What the log cannot say of itself.
    """
    numbers = {one.name: number for number, one in enumerate(dialects, start=1)}
    free = pl.repeat(value=True, n=shown.lines.height, dtype=pl.Boolean, eager=True)
    readings = list[Reading]()
    for dialect in (one for one in dialects if one.name in shown.wanted):
        theirs = [0, *(numbers[name] for name in (dialect.name, *dialect.beside))]
        part = slice(shown.due.start, shown.due.stop) if dialect.alone else slice(None)
        mine = free[part] & shown.sure[part].is_in(theirs)
        lines = shown_to(dialect, shown.lines[part])
        lines = lines if mine.all() else lines.filter(mine)
        answer = dialect.read(lines, options)
        readings.append(answer.reading)
        if len(answer.claimed):
            free = free.scatter(answer.claimed.cast(pl.UInt32), values=False)
    return Shared(reading=join_readings(readings), rest=free)
