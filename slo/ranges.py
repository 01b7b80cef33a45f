"""`increase`, `rate` and `delta` over tracks, exactly as Prometheus computes them.

Source: Prometheus, promql/functions.go (`extrapolatedRate`) at 2.42 and 3.x; the order of
extrapolation clamps changed with pull request 13725 (2.51), ranges became left-open with 3.0. The
order of the floating-point operations is part of the method: change none of it. We differ in speed
only: what depends on stamps alone is computed once for all series that were scraped together, and
the clamp to zero only where it can bind.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np

from detectors.panels import Bools, Floats, Ints
from slo.falls import Falls, falls_of
from slo.promql import DEFAULT_LOOKBACK_SECONDS, MILLISECONDS, Semantics
from slo.tracks import Block, Tracks, blocks_of

EXTRAPOLATION_LIMIT: Final = 1.1
MIN_SAMPLES: Final = 2
"""Growth needs two samples."""
CELLS_AT_ONCE: Final = 1 << 17
"""Cells that are worked on together: a few arrays of them stay in a core's cache."""
_SURELY: Final = 1 + 1e-9
"""Widens the question whether a clamp can bind, so that rounding never answers no."""


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
        shape = (self._count, ranges.at.size)
        values, counts = np.zeros(shape), np.zeros(shape, dtype=np.int64)
        overlaps = np.zeros(shape, dtype=np.int64) if self._has_overlaps else None
        for block, falls in zip(self._blocks, self._falls, strict=True):
            positions = _positions(block, ranges, growth)
            counts[block.rows] = positions.counts
            for rows, edges in _pieces(block, ranges, positions):
                here = falls if growth is not Growth.DELTA else {}
                values[block.rows[rows]] = _values(_Piece(block, rows, edges, here), ranges, growth)
            if overlaps is not None:
                _count_overlaps(overlaps, block, falls, positions)
        known = counts >= MIN_SAMPLES
        return Grown(values=values, known=known, counts=counts, overlaps=overlaps)

    @property
    def _has_overlaps(self) -> bool:
        return any(each.overlaps[-1] for falls in self._falls for each in falls.values())


@dataclass(frozen=True, slots=True)
class _Positions:
    """First and last sample of each range in a block's values, and how many there are."""

    first: Ints
    last: Ints
    counts: Ints


@dataclass(frozen=True, slots=True)
class _Edges:
    """What depends on stamps alone: seconds between samples and edges, extrapolated."""

    first: Ints
    last: Ints
    span: Floats
    start: Floats
    end: Floats
    most: Floats


@dataclass(frozen=True, slots=True)
class _Piece:
    """Some rows of a block."""

    block: Block
    rows: slice
    edges: _Edges
    falls: dict[int, Falls]

    def taken(self, positions: Ints) -> Floats:
        """Return the samples at positions, a row a series."""
        if self.block.offsets is None:
            return np.take(self.block.values[self.rows], positions, axis=1, mode="clip")
        return np.take(self.block.values, positions, mode="clip")


def _falls_by_row(block: Block) -> dict[int, Falls]:
    """Return the falls of those rows of a block that fell."""
    if block.offsets is None:
        fell = np.flatnonzero((block.values[:, 1:] < block.values[:, :-1]).any(axis=1))
    else:
        number = np.repeat(np.arange(block.rows.size), np.diff(block.offsets))
        inside = number[1:] == number[:-1]
        fell = np.unique(number[1:][inside & (block.values[1:] < block.values[:-1])])
    found = {int(row): falls_of(block.row(int(row))) for row in fell}
    return {row: falls for row, falls in found.items() if falls is not None}


def _positions(block: Block, ranges: Ranges, growth: Growth) -> _Positions:
    """Return where each range begins and ends in a block."""
    last = block.counts_until(ranges.at, inclusive=True) - 1
    first = block.counts_until(ranges.low, inclusive=not ranges.semantics.is_closed)
    if growth is Growth.OBSERVED:
        before = block.counts_until(ranges.low, inclusive=True) - 1
        oldest = ranges.low - DEFAULT_LOOKBACK_SECONDS * MILLISECONDS
        age_known = block.stamps[np.maximum(before, 0)] >= oldest
        first = np.where((before >= block.first) & age_known, before, before + 1)
    counts = np.maximum(last - first + 1, 0)
    return _Positions(
        first=np.minimum(first, block.stamps.size - 1), last=np.maximum(last, 0), counts=counts
    )


def _pieces(block: Block, ranges: Ranges, positions: _Positions) -> Iterator[tuple[slice, _Edges]]:
    """Give the rows of a block a few at a time, with the edges of their ranges."""
    step = max(1, CELLS_AT_ONCE // max(1, ranges.at.size))
    shared = _edges(block, ranges, positions) if block.offsets is None else None
    for begin in range(0, block.rows.size, step):
        rows = slice(begin, begin + step)
        if shared is not None:
            yield rows, shared
        else:
            own = _Positions(positions.first[rows], positions.last[rows], positions.counts[rows])
            yield rows, _edges(block, ranges, own)


def _edges(block: Block, ranges: Ranges, positions: _Positions) -> _Edges:
    """Return the seconds that a range's growth stands for, before the clamp to zero."""
    begin, stop = block.stamps[positions.first], block.stamps[positions.last]
    thousand = float(MILLISECONDS)
    span = (stop - begin).astype(np.float64) / thousand
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = span / (positions.counts - 1).astype(np.float64)
    limit = gap * EXTRAPOLATION_LIMIT
    start = (begin - ranges.low).astype(np.float64) / thousand
    end = (ranges.at - stop).astype(np.float64) / thousand
    limited = np.where(start < limit, start, gap / 2.0)
    # Up to 2.50 the clamp came before the limit, so it binds up to the smaller of the two.
    most = np.minimum(start, limit) if ranges.semantics.is_closed else limited
    return _Edges(
        first=positions.first,
        last=positions.last,
        span=span,
        start=limited,
        end=np.where(end < limit, end, gap / 2.0),
        most=most,
    )


def _values(piece: _Piece, ranges: Ranges, growth: Growth) -> Floats:
    """Return the growth of a few series."""
    edges = piece.edges
    with np.errstate(all="ignore"):
        value = piece.taken(edges.first)
        raw = piece.taken(edges.last)
        raw -= value
        _restore(piece, raw)
        if growth is Growth.OBSERVED:
            return raw
        factor = _factor(edges.span, edges.start, edges.end, ranges, growth)
        grown = raw * factor
        if growth is not Growth.DELTA:
            _clamp(piece, value, raw, grown, (ranges, growth))
    return grown


def _restore(piece: _Piece, raw: Floats) -> None:
    """Add what resets lost to the growth of the rows that have any."""
    edges, block = piece.edges, piece.block
    for row in range(raw.shape[0]):
        falls = piece.falls.get(piece.rows.start + row)
        if falls is None:
            continue
        first, last = edges.first, edges.last
        if block.offsets is not None:
            base = block.offsets[piece.rows.start + row]
            first, last = first[row] - base, last[row] - base
        most = falls.running.size - 1
        first, last = np.clip(first, 0, most), np.clip(last, 0, most)
        raw[row] = falls.restored(raw[row], np.minimum(first, last), last)


def _factor(span: Floats, start: Floats, end: Floats, ranges: Ranges, growth: Growth) -> Floats:
    """Return what raw growth is multiplied by."""
    factor: Floats = (span + start + end) / span
    return factor / float(ranges.seconds) if growth is Growth.RATE else factor


def _clamp(
    piece: _Piece, value: Floats, raw: Floats, grown: Floats, asked: tuple[Ranges, Growth]
) -> None:
    """Mend the growth where a counter was zero after the start that was extrapolated to."""
    edges = piece.edges
    may = value <= raw * (edges.most / edges.span * _SURELY)
    if not may.any():
        return
    where = np.nonzero(may)
    value, raw = value[where], raw[where]
    span, start, end, most = (
        np.broadcast_to(each, grown.shape)[where]
        for each in (edges.span, edges.start, edges.end, edges.most)
    )
    zero = span * (value / raw)
    binds: Bools = (raw > 0) & (value >= 0) & (zero < most)
    start = np.where(binds, zero, start)
    grown[where] = raw * _factor(span, start, end, *asked)


def _count_overlaps(
    overlaps: Ints, block: Block, falls: dict[int, Falls], positions: _Positions
) -> None:
    """Count the dips of a second replica in each range."""
    for row, each in falls.items():
        first, last = positions.first, positions.last
        if block.offsets is not None:
            first, last = first[row] - block.offsets[row], last[row] - block.offsets[row]
        most = each.overlaps.size - 1
        found = each.overlaps[np.clip(last, 0, most)] - each.overlaps[np.clip(first, 0, most)]
        overlaps[block.rows[row]] = np.maximum(found, 0)
