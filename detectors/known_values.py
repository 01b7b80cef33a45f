"""Means and quantiles of what is known, along axes of dense arrays; NaN marks what is not.

NumPy's own ones warn where nothing is known, and take twice as long.
"""

from typing import Final

import numpy as np

from detectors.panels import Floats

MEDIAN: Final = 0.5


def known_mean(values: Floats, axes: tuple[int, ...]) -> Floats:
    """Return the mean of what is known along axes, which stay; NaN where nothing is."""
    known = ~np.isnan(values)
    count = known.sum(axis=axes, keepdims=True)
    total = np.where(known, values, 0.0).sum(axis=axes, keepdims=True)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def known_quantile(values: Floats, axes: tuple[int, ...], level: float) -> Floats:
    """Return a quantile of what is known along axes, which stay; NaN where nothing is.

    The mean of the two values around it, as a median has it.
    """
    kept = tuple(axis for axis in range(values.ndim) if axis not in axes)
    shape = tuple(1 if axis in axes else size for axis, size in enumerate(values.shape))
    if values.size == 0:
        return np.full(shape, np.nan)
    rows = values.transpose(*kept, *axes).reshape(*(values.shape[axis] for axis in kept), -1)
    ordered = np.sort(rows, axis=-1)
    count = (~np.isnan(ordered)).sum(axis=-1, keepdims=True)
    place = level * np.maximum(count - 1, 0)
    around = (np.floor(place).astype(np.int64), np.ceil(place).astype(np.int64))
    low, high = (np.take_along_axis(ordered, at, axis=-1) for at in around)
    return ((low + high) / 2.0).reshape(shape)
