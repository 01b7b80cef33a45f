"""`increase`, `rate` and `delta` over tracks, exactly as Prometheus computes them.

Source: Prometheus, promql/functions.go; ranges became left-open with 3.0. We differ in speed only:
what depends on stamps alone is computed once for all series that were scraped together, and the
clamp to zero only where it can bind.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

import numpy as np

from detectors.panels import Bools, Floats, Ints
from slo.extrapolation import Stretch, clamp_to_zero, stretch_of
from slo.falls import Falls, falls_of
from slo.promql import DEFAULT_LOOKBACK_SECONDS, MILLISECONDS, Semantics
from slo.tracks import Block, Tracks, blocks_of

MIN_SAMPLES: Final = 2
"""Growth needs two samples."""
CELLS_AT_ONCE: Final = 1 << 17
"""Cells that are worked on together: a few arrays of them stay in a core's cache."""


class Growth(StrEnum):
    """What is asked of a range."""

    INCREASE = "increase"
    """Growth of a counter, extrapolated to the edges of the range."""
    RATE = "rate"
    """The same per second."""
    DELTA = "delta"
    """Change of a gauge, extrapolated to the edges."""
    OBSERVED = "observed"
    """Growth of a counter since its last sample before the range, not extrapolated: adjacent ranges
    lose no event and count none twice. No Prometheus function does that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranges:
    """Ranges of time, one for each evaluation.

    Attributes:
        low: Their left edges in milliseconds, ascending.
        at: Their right edges in milliseconds, ascending.
        seconds: Their length, where all have the same; only a rate needs it.
        semantics: Whose selection and arithmetic.
    """

    low: Ints
    at: Ints
    seconds: int
    semantics: Semantics


@dataclass(frozen=True, slots=True, kw_only=True)
class Grown:
    """What each range of each series holds; arrays of shape (series, range).

    Attributes:
        values: The growth; of no meaning where it is not known.
        known: Whether there is a result at all.
        counts: How many samples the range held.
        overlaps: How many of them look like a second replica's; null when none does anywhere.
    """

    values: Floats
    known: Bools
    counts: Ints
    overlaps: Ints | None = None


class Growths:
    """Tracks made ready to be asked for growth over many ranges."""

    def __init__(self, tracks: Tracks) -> None:
        """Take the tracks apart once.

        Args:
            tracks: Series of counters, or of gauges for `DELTA`.
        """
        self._count = tracks.count
        self._blocks = blocks_of(tracks.unmarked())
        self._falls = [_falls_by_row(block) for block in self._blocks]

    def over(self, ranges: Ranges, growth: Growth) -> Grown:
        """Return the growth of each series over each range."""
        blocks = self._blocks if ranges.at.size else []
        asked = [_positions(block, ranges, growth) for block in blocks]
        values = np.zeros((self._count, ranges.at.size))
        with np.errstate(all="ignore"):
            for block, falls, positions in zip(blocks, self._falls, asked, strict=False):
                here = falls if growth is not Growth.DELTA else {}
                for piece in _pieces(block, here, positions, ranges):
                    _fill(piece, values, ranges, growth)
        counts = self._spread(asked, ranges)
        overlaps = self._overlaps(asked, values.shape)
        return Grown(values=values, known=counts >= MIN_SAMPLES, counts=counts, overlaps=overlaps)

    def _spread(self, asked: "list[_Positions]", ranges: Ranges) -> Ints:
        """Return how many samples each range of each series has."""
        shape = (self._count, ranges.at.size)
        if len(asked) == 1 and asked[0].counts.ndim == 1 and self._blocks[0].is_whole(shape[0]):
            return np.broadcast_to(asked[0].counts, shape)
        counts = np.zeros(shape, dtype=np.int64)
        for block, positions in zip(self._blocks, asked, strict=False):
            counts[block.rows] = positions.counts
        return counts

    def _overlaps(self, asked: "list[_Positions]", shape: tuple[int, int]) -> Ints | None:
        """Return how many dips of a second replica each range has; null when none is anywhere."""
        if not any(each.overlaps[-1] for falls in self._falls for each in falls.values()):
            return None
        overlaps = np.zeros(shape, dtype=np.int64)
        for block, falls, positions in zip(self._blocks, self._falls, asked, strict=False):
            for row, each in falls.items():
                first, last = positions.within(row, block.base(row), each.overlaps.size)
                overlaps[block.rows[row]] = each.overlaps[last] - each.overlaps[first]
        return overlaps


@dataclass(frozen=True, slots=True)
class _Positions:
    """First and last sample of each range in a block's values, and how many there are."""

    first: Ints
    last: Ints
    counts: Ints

    def rows(self, rows: slice) -> "_Positions":
        """Return the positions of some series."""
        if self.first.ndim == 1:
            return self
        return _Positions(self.first[rows], self.last[rows], self.counts[rows])

    def within(self, number: int, base: int, size: int) -> tuple[Ints, Ints]:
        """Return the positions of one series within itself, the first never the later one."""
        first, last = (
            each if each.ndim == 1 else each[number] - base for each in (self.first, self.last)
        )
        last = np.clip(last, 0, size - 1)
        return np.clip(first, 0, last), last


@dataclass(frozen=True, slots=True)
class _Piece:
    """Some series of a block."""

    block: Block
    rows: slice
    positions: _Positions
    stretch: Stretch
    falls: dict[int, Falls]

    @property
    def target(self) -> slice | Ints:
        """Where the series belong among all of them; next to each other, if they are."""
        rows = self.block.rows[self.rows]
        follows = rows[-1] - rows[0] == rows.size - 1
        return slice(int(rows[0]), int(rows[-1]) + 1) if follows else rows

    def taken(self, positions: Ints) -> Floats:
        """Return the samples at positions, a row a series."""
        if self.block.offsets is None:
            return taken_along(self.block.values[self.rows], positions)
        return np.take(self.block.values, positions, mode="clip")

    def firsts(self, ranges: slice) -> Floats:
        """Return the first sample of some ranges."""
        return self.taken(self.positions.first[..., ranges])

    @property
    def differences(self) -> Floats:
        """The last sample of each range less its first one."""
        last, first = self.taken(self.positions.last), self.positions.first
        delay = _delay(first) if self.block.offsets is None else None
        if delay is None:
            return np.subtract(last, self.taken(first))
        values = self.block.values[self.rows]
        found = np.empty_like(last)
        np.subtract(last[:, :delay], values[:, :1], out=found[:, :delay])
        np.subtract(last[:, delay:], values[:, : last.shape[1] - delay], out=found[:, delay:])
        return found


def taken_along(values: Floats, positions: Ints) -> Floats:
    """Return values at positions along their rows."""
    if _delay(positions) == 0:
        return values[:, : positions.size]
    return np.take(values, positions, axis=1, mode="clip")


def _delay(positions: Ints) -> int | None:
    """Return by how many positions these lag behind 0, 1, 2, ..., waiting at 0; null if not so.

    Where ranges move with the scrapes, positions do as well: then stretches are taken as they are.
    """
    delay = positions.size - 1 - int(positions[-1]) if positions.size else -1
    if not 0 <= delay <= positions.size:
        return None
    moves = positions[delay:]
    is_plain = not positions[:delay].any() and np.array_equal(moves, np.arange(moves.size))
    return delay if is_plain else None


def _falls_by_row(block: Block) -> dict[int, Falls]:
    """Return the falls of those rows of a block that fell."""
    if block.offsets is None:
        fell = np.flatnonzero((block.values[:, 1:] < block.values[:, :-1]).any(axis=1))
    else:
        number = np.repeat(np.arange(block.rows.size), np.diff(block.offsets))
        inside = number[1:] == number[:-1]
        fell = np.unique(number[1:][inside & (block.values[1:] < block.values[:-1])])
    return {int(row): falls_of(block.row(int(row))) for row in fell}


def _positions(block: Block, ranges: Ranges, growth: Growth) -> _Positions:
    """Return where each range begins and ends in a block."""
    last = block.counts_until(ranges.at, inclusive=True) - 1
    first = block.counts_until(ranges.low, inclusive=not ranges.semantics.is_closed)
    if growth is Growth.OBSERVED:
        before = block.counts_until(ranges.low, inclusive=True) - 1
        oldest = ranges.low - DEFAULT_LOOKBACK_SECONDS * MILLISECONDS
        is_fresh = block.stamps[np.maximum(before, 0)] >= oldest
        first = np.where((before >= block.first) & is_fresh, before, before + 1)
    counts = np.maximum(last - first + 1, 0)
    return _Positions(np.minimum(first, block.stamps.size - 1), np.maximum(last, 0), counts)


def _pieces(
    block: Block, falls: dict[int, Falls], positions: _Positions, ranges: Ranges
) -> Iterator[_Piece]:
    """Give the series of a block a few at a time."""
    step = max(1, CELLS_AT_ONCE // max(1, positions.first.shape[-1]))
    shared = _stretch(block, positions, ranges) if block.offsets is None else None
    for begin in range(0, block.rows.size, step):
        rows = slice(begin, begin + step)
        here = positions.rows(rows)
        yield _Piece(block, rows, here, shared or _stretch(block, here, ranges), falls)


def _fill(piece: _Piece, values: Floats, ranges: Ranges, growth: Growth) -> None:
    """Put the growth of a few series where it belongs; 0 where there is none."""
    raw = piece.differences
    _restore(piece, raw)
    if growth is not Growth.OBSERVED:
        stretch = piece.stretch
        if growth is Growth.RATE:
            stretch = replace(stretch, divisor=float(ranges.seconds))
        grown = raw * stretch.factor
        if growth is not Growth.DELTA:
            clamp_to_zero(grown, piece.firsts, raw, stretch)
        raw = grown
    unknown = piece.positions.counts < MIN_SAMPLES
    raw[(slice(None), unknown) if unknown.ndim == 1 else unknown] = 0.0
    values[piece.target] = raw


def _stretch(block: Block, positions: _Positions, ranges: Ranges) -> Stretch:
    """Return the seconds that a block's growth stands for."""
    return stretch_of(
        (block.stamps[positions.first], block.stamps[positions.last]),
        (ranges.low, ranges.at),
        positions.counts,
        is_closed=ranges.semantics.is_closed,
    )


def _restore(piece: _Piece, raw: Floats) -> None:
    """Add what resets lost to the growth of the rows that have any."""
    begin = piece.rows.start
    for row in sorted(piece.falls.keys() & set(range(begin, begin + raw.shape[0]))):
        falls, number = piece.falls[row], row - begin
        base = piece.block.base(row)
        first, last = piece.positions.within(number, base, falls.running.size)
        raw[number] = falls.restored(raw[number], first, last)
