"""Windows of a log: the lines of a block, with what stands around them.

A record may go on over the end of a block, and a step is timed by the line before it. So a window
repeats the end of what came before (the last lines, and of each dialect the last that it may know),
and the last lines of a block are only told with the block after it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import polars as pl

from collectors.readings import Reading
from collectors.texts.envelope import OPEN_LINES

LINES_AROUND: Final = 2000
"""Lines that a window repeats from before, and lines of it that wait for what follows them: more
than any record has."""

KNOWN_BEHIND: Final = 50
"""Lines of each dialect that a window repeats, however far before they stand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenBlock:
    """A block without what is around its lines.

    Attributes:
        lines: `OPEN_LINES` that are left for dialects that look around.
        hinted: Positions of lines that each of them may know.
        reading: What the other dialects made of theirs, and where ranks run.
        used: How many lines became part of that.
        parts: How many lines of the file are parts of others, or nothing but a prefix.
        year: The year that its lines show; null if they show none.
    """

    lines: pl.DataFrame = field(default_factory=OPEN_LINES.to_frame)
    hinted: Mapping[str, pl.Series] = field(default_factory=dict[str, pl.Series])
    reading: Reading = field(default_factory=Reading)
    used: int = 0
    parts: int = 0
    year: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A block with what is around its lines.

    Attributes:
        block: The block.
        lines: `OPEN_LINES`, numbered from 0.
        due: Which of them are told now.
        wanted: Names of dialects that may know some of them.
        year: The year of stamps without one, by this block or the last that showed one.
    """

    block: OpenBlock
    lines: pl.DataFrame
    due: slice
    wanted: frozenset[str]
    year: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Carried:
    """What goes from window to window.

    Attributes:
        behind: Lines that were told, to be seen again.
        ahead: Lines that are still to be told.
        told: Position up to which all is told.
        known: Positions of lines that each dialect may know.
        year: The last year that was shown.
    """

    behind: pl.DataFrame = field(default_factory=OPEN_LINES.to_frame)
    ahead: pl.DataFrame = field(default_factory=OPEN_LINES.to_frame)
    told: int = 0
    known: dict[str, pl.Series] = field(default_factory=dict[str, pl.Series])
    year: int | None = None


def windows_of(blocks: Iterable[OpenBlock], around: int, seen: int) -> Iterator[Window]:
    """Yield a window for each block, or one without lines if there is none.

    Args:
        blocks: The blocks of a log, in order.
        around: See `LINES_AROUND`.
        seen: How many of the first lines were told before.
    """
    carried, held = _Carried(told=seen), OpenBlock()
    for number, block in enumerate(blocks):
        if number:
            window, carried = _window(held, carried, around, is_last=False)
            yield window
        held = block
    window, _ = _window(held, carried, around, is_last=True)
    yield window


def _window(
    block: OpenBlock, before: _Carried, around: int, *, is_last: bool
) -> tuple[Window, _Carried]:
    """Return the window of a block, and what goes to the next."""
    due = pl.concat([before.ahead, block.lines], how="diagonal")
    ahead = due.clear() if is_last else due.tail(around)
    both = pl.concat([before.behind, due], how="diagonal")
    lines = both.with_columns(line=pl.int_range(pl.len()))
    stop = _stop(due, ahead, before.told)
    first, after = lines["position"].search_sorted(pl.Series([before.told + 1, stop]))
    known = _with_hints(before.known, block.hinted, KNOWN_BEHIND + around)
    near = lines["position"][max(0, first - around) :].min() if lines.height else None
    wanted = [name for name, one in known.items() if near is not None and one[-1] >= near]
    year = before.year if block.year is None else block.year
    window = Window(
        block=block,
        lines=lines,
        due=slice(first, after),
        wanted=frozenset(wanted),
        year=year,
    )
    behind = _seen_again(lines.head(after), known, around)
    return window, _Carried(behind=behind, ahead=ahead, told=stop - 1, known=known, year=year)


def _stop(due: pl.DataFrame, ahead: pl.DataFrame, told: int) -> int:
    """Return the first position that is not told now."""
    if ahead.height:
        return int(ahead["position"][0])
    return int(due["position"][-1]) + 1 if due.height else told + 1


def _with_hints(
    known: Mapping[str, pl.Series], hinted: Mapping[str, pl.Series], count: int
) -> dict[str, pl.Series]:
    """Return the last positions that each dialect may know, those of another block among them."""
    names = dict.fromkeys([*known, *hinted])
    parts = {name: [one[name] for one in (known, hinted) if name in one] for name in names}
    return {name: pl.concat(part).tail(count) for name, part in parts.items()}


def _seen_again(told: pl.DataFrame, known: Mapping[str, pl.Series], around: int) -> pl.DataFrame:
    """Return the lines that the next window sees again: the last, and of each dialect some."""
    if told.is_empty():
        return told
    last = int(told["position"][-1])
    positions = [one.filter(one <= last).tail(KNOWN_BEHIND) for one in known.values()]
    again = pl.concat([told["position"].tail(around), *positions]).unique()
    return told.filter(pl.col("position").is_in(again.implode()))
