"""Where counters fell: what a restart lost, and dips that look like a second replica's.

Source: Prometheus, promql/functions.go: the value before each reset is added to the growth, one
after the other. Sums over prefixes lose digits after one large counter, so they are taken only
where they are exact: for whole numbers that a float holds.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from detectors.panels import Bools, Floats, Ints

MAX_EXACT: Final = 2.0**53
"""Whole numbers up to here are floats without rounding."""
MAX_OVERLAP_DROP_RATIO: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Falls:
    """The falls of one series.

    Attributes:
        running: How many resets came up to each sample, itself included.
        lost: The value before each reset, in order.
        sums: Sum of the lost values before each reset; null when that would not be exact.
        overlaps: How many dips of a second replica came up to each sample.
    """

    running: Ints
    lost: Floats
    sums: Floats | None
    overlaps: Ints

    def restored(self, raw: Floats, first: Ints, last: Ints) -> Floats:
        """Return growth with what the resets between two samples lost.

        Args:
            raw: Growth from the first to the last sample of each range.
            first: Positions of the first samples.
            last: Positions of the last samples, none before its first.
        """
        before, until = self.running[first], self.running[last]
        if self.sums is not None:
            return raw + (self.sums[until] - self.sums[before])
        count = until - before
        for number in range(1, int(count.max(initial=0)) + 1):
            touched = np.flatnonzero(count >= number)
            raw[touched] += self.lost[before[touched] + number - 1]
        return raw


def falls_of(values: Floats) -> Falls:
    """Return where a series fell. A comparison with NaN is no fall."""
    falls: Bools = np.concatenate([[False], values[1:] < values[:-1]])
    lost = values[np.flatnonzero(falls) - 1]
    return Falls(
        running=np.cumsum(falls, dtype=np.int64),
        lost=lost,
        sums=_exact_sums(values, lost),
        overlaps=np.cumsum(falls & _is_overlap(values), dtype=np.int64),
    )


def _exact_sums(values: Floats, lost: Floats) -> Floats | None:
    """Return running sums of what was lost, when no order of adding could change a digit."""
    most = float(np.abs(lost).sum() + 2 * np.abs(values).max())
    if not (most < MAX_EXACT and bool((values == np.floor(values)).all())):
        return None
    return np.concatenate([[0.0], np.cumsum(lost)])


def _is_overlap(values: Floats) -> Bools:
    """Return whether a fall is a second replica's dip, and not a restart.

    A restarted counter begins near zero; a replica that counts a little behind dips by less than
    half, and the next sample is back where the first replica was.
    """
    before = np.concatenate([[np.nan], values[:-1]])
    after = np.concatenate([values[1:], [np.inf]])
    return (values > before * MAX_OVERLAP_DROP_RATIO) & (after >= before)
