"""Moving means of many series over windows of several lengths, and the past that is behind each.

A ring of recent values and running sums: a tick costs the same however long the windows are.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np

from detectors.panels import Bools, Floats, Ints

_BY_DEVICE: Final[Mapping[str, float]] = {
    "_ring": np.nan,
    "_sums": 0.0,
    "counts": 0.0,
    "_past": 0.0,
    "past_counts": 0.0,
}
"""Arrays with a column a series, and what a new one has in them."""


EVERY: Final = slice(None)
"""All series."""


class MovingMeans:
    """The state of the windows; it belongs to one fold and moves on with each `slide`.

    Attributes:
        lengths: Lengths of the windows in ticks, rising; shape (windows, 1).
        ticks: How many ticks there were.
        counts: Known values in each window; shape (windows, series).
        past_counts: The same of the values behind each window.
    """

    def __init__(self, series: int, lengths: tuple[int, ...]) -> None:
        """Begin without a past.

        Args:
            series: How many series.
            lengths: Lengths of the windows, in ticks, rising.
        """
        shape = (len(lengths), series)
        self.lengths = np.array(lengths)[:, None]
        self.ticks = 0
        self.counts, self.past_counts = np.zeros(shape), np.zeros(shape)
        self._sums, self._past = np.zeros(shape), np.zeros(shape)
        self._ring = np.full((max(lengths), series), np.nan)

    def slide(self, values: Floats, calm: Bools) -> None:
        """Move every window on by one tick.

        Args:
            values: One value a series; NaN is not known.
            calm: Whether what leaves a window becomes past; shape (windows, series).
        """
        size = self._ring.shape[0]
        leaving = self._ring[(self.ticks - self.lengths[:, 0]) % size]
        left, known = ~np.isnan(leaving), ~np.isnan(values)
        gone = np.where(left, leaving, 0.0)
        self._sums += np.where(known, values, 0.0) - gone
        self.counts += known.astype(np.float64) - left
        self._past += np.where(calm, gone, 0.0)
        self.past_counts += left & calm
        self._ring[self.ticks % size] = values
        self.ticks += 1

    def means(self, min_known_share: float) -> Floats:
        """Return the means; NaN where a window is not over, or too little of it is known."""
        enough = self.counts >= min_known_share * self.lengths
        enough &= self.ticks >= self.lengths
        return np.where(enough, self._sums / np.maximum(self.counts, 1.0), np.nan)

    def weights(self, rows: Ints | slice = EVERY) -> Floats:
        """Return what means of less than a whole window count, as for independent values."""
        weights: Floats = np.sqrt(self.counts[:, rows] / self.lengths)
        return weights

    def past(self) -> Floats:
        """Return the means of what is behind each window; NaN where there is nothing."""
        counts = np.where(self.past_counts > 0, self.past_counts, np.nan)
        return self._past / counts

    def widened(self, series: int, places: Ints) -> None:
        """Make room for more series; those that were there move to `places`."""
        for name, empty in _BY_DEVICE.items():
            setattr(self, name, wide_array(getattr(self, name), series, places, empty))


def wide_array(values: Floats, series: int, places: Ints, empty: float) -> Floats:
    """Return an array with more columns: the old ones at `places`, the others empty."""
    wide = np.full((*values.shape[:-1], series), empty, dtype=values.dtype)
    wide[..., places] = values
    return wide
