"""Sums and counts of samples over ranges, and the newest sample before each time.

Source: Prometheus, promql/functions.go (`sum_over_time`, `count_over_time`): one NaN poisons the
sum of every range that holds it, and infinities of both signs give NaN. We differ in speed: running
sums are subtracted, split into a part that adds without rounding and a rest below 1e-8 of the
largest sample, so that a range of small samples keeps its digits beside ranges of large ones.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from detectors.panels import Floats, Ints
from slo.promql import DEFAULT_LOOKBACK_SECONDS, MILLISECONDS
from slo.ranges import Grown, Growth, Ranges
from slo.tracks import Block, Tracks, blocks_of

_LONG_AGO: Final = np.iinfo(np.int64).min // 2
"""A time before every sample, from which ages can still be taken."""
_EXACT_BITS: Final = 26
"""Bits of a sample that add up to 2**26 times without rounding; what is left makes the rest."""


@dataclass(frozen=True, slots=True)
class RunningSums:
    """Running sums of one series, to be subtracted.

    Attributes:
        coarse: Sums that are exact.
        fine: Sums of what the coarse ones leave out.
        odd: How many NaN, +Inf and -Inf came before each position; null when all are finite.
    """

    coarse: Floats
    fine: Floats
    odd: Ints | None

    def between(self, first: Ints, stop: Ints) -> Floats:
        """Return the sums of the samples from one position to before another."""
        sums: Floats = self.coarse[stop] - self.coarse[first]
        sums += self.fine[stop] - self.fine[first]
        if self.odd is None:
            return sums
        nans, ups, downs = self.odd[:, stop] - self.odd[:, first]
        sums = np.where(ups > 0, np.inf, np.where(downs > 0, -np.inf, sums))
        return np.where((nans > 0) | ((ups > 0) & (downs > 0)), np.nan, sums)


def running_sums(values: Floats) -> RunningSums:
    """Return the running sums of one series."""
    is_finite = np.isfinite(values)
    plain = np.where(is_finite, values, 0.0)
    most = float(np.abs(plain).max(initial=0.0))
    quantum = 2.0 ** (np.frexp(most)[1] - _EXACT_BITS)
    coarse: Floats = np.rint(plain / quantum) * quantum
    kinds = np.stack([np.isnan(values), values == np.inf, values == -np.inf])
    return RunningSums(
        coarse=_summed(coarse),
        fine=_summed(plain - coarse),
        odd=None if is_finite.all() else _counted(kinds.astype(np.int64)),
    )


class Sums:
    """Tracks made ready to be summed over many ranges."""

    def __init__(self, tracks: Tracks) -> None:
        """Add the samples up once.

        Args:
            tracks: Series whose samples are added as they are.
        """
        self._count = tracks.count
        self._blocks = blocks_of(tracks.unmarked())
        self._sums = [
            [running_sums(block.row(row)) for row in range(block.rows.size)]
            for block in self._blocks
        ]

    def over(self, ranges: Ranges, growth: Growth) -> Grown:
        """Return the sum of the samples in each range; not known where there is none.

        Args:
            ranges: The ranges.
            growth: `OBSERVED` ranges are open on the left, so that adjacent ones share no sample.
        """
        closed = ranges.semantics.is_closed and growth is not Growth.OBSERVED
        shape = (self._count, ranges.at.size)
        values, counts = np.zeros(shape), np.zeros(shape, dtype=np.int64)
        for block, sums in zip(self._blocks, self._sums, strict=True):
            first = block.counts_until(ranges.low, inclusive=not closed)
            stop = np.maximum(block.counts_until(ranges.at, inclusive=True), first)
            counts[block.rows] = stop - first
            for number, row in enumerate(block.rows):
                values[row] = sums[number].between(*_of_row(block, number, first, stop))
        return Grown(values=values, known=counts > 0, counts=counts)


class NewestTotals:
    """Gauges that are totals over their own window already: the newest one is taken as it is."""

    def __init__(self, tracks: Tracks) -> None:
        """Keep the series.

        Args:
            tracks: Series of gauges.
        """
        self._tracks = tracks
        # What is no number at one time says nothing of the others.
        self._sums = Sums(tracks.finite())

    def over(self, ranges: Ranges, growth: Growth) -> Grown:
        """Return the newest total at the end of each range, or for `OBSERVED` the sum inside it.

        A sum over a period counts an event as often as it was told of, on both sides of a ratio:
        the ratio is weighted by events.
        """
        sums = self._sums.over(ranges, growth)
        if growth is Growth.OBSERVED:
            return sums
        is_closed = ranges.semantics.is_closed
        newest = newest_of(self._tracks, ranges.at, DEFAULT_LOOKBACK_SECONDS, is_closed=is_closed)
        return Grown(values=newest.values, known=newest.known, counts=sums.counts)


def newest_of(tracks: Tracks, at: Ints, lookback_seconds: int, *, is_closed: bool) -> Grown:
    """Return the newest sample of each series at each time; none where a marker is newer.

    Args:
        tracks: The series.
        at: Times in milliseconds, ascending.
        lookback_seconds: How far back a plain gap is bridged.
        is_closed: Whether a sample exactly that old still counts.
    """
    values, stamps = _newest(tracks.unmarked(), at)
    age = at - stamps
    limit = lookback_seconds * MILLISECONDS
    known = (age <= limit) if is_closed else (age < limit)
    if tracks.markers is not None:
        known &= _newest(tracks, at)[1] == stamps
    return Grown(values=values, known=known, counts=known.astype(np.int64))


def _newest(tracks: Tracks, at: Ints) -> tuple[Floats, Ints]:
    """Return the last sample of each series at each time, and its own time; long ago if none."""
    shape = (tracks.count, at.size)
    values, stamps = np.zeros(shape), np.full(shape, _LONG_AGO)
    for block in blocks_of(tracks):
        last = block.counts_until(at, inclusive=True) - 1
        found = np.maximum(last, 0)
        values[block.rows] = block.taken(found)
        stamps[block.rows] = np.where(last >= block.first, block.stamps[found], _LONG_AGO)
    return values, stamps


def _of_row(block: Block, number: int, first: Ints, stop: Ints) -> tuple[Ints, Ints]:
    """Return positions within one series of a block."""
    if block.offsets is None:
        return first, stop
    base = block.offsets[number]
    return first[number] - base, stop[number] - base


def _summed(values: Floats) -> Floats:
    """Return sums of all that comes before each position, and of all."""
    return np.concatenate([[0.0], np.cumsum(values)])


def _counted(values: Ints) -> Ints:
    """Return how many of each kind come before each position, and in all."""
    zero = np.zeros((values.shape[0], 1), dtype=np.int64)
    return np.concatenate([zero, np.cumsum(values, axis=1)], axis=1)
