"""How far each entity is from its peers: leave-one-out medians and scales that small groups allow.

Source: methods reference, sections 2 and 3 (simulated false-alarm rates of the median/MAD rule).
An entity is never its own yardstick: with the median that includes it, a group of four hides a
third of its own outlier.
"""

from typing import Final

import numpy as np

from detectors.panels import Floats, Ints, group_sizes

MAD_TO_SIGMA: Final = 1.4826
"""Ratio of the standard deviation to the median absolute deviation of a Gaussian."""

MAD_BIAS: Final = ((2, 0.50), (3, 0.62), (4, 0.74), (8, 0.89), (16, 0.95), (64, 0.99), (1024, 1.0))
"""Expected 1.4826*MAD over sigma by group size; from 4 on measured by simulation in the methods
reference, below extrapolated (and never used to accuse)."""


def peer_medians(values: Floats, groups: Ints, *, left_out: bool = False) -> Floats:
    """Return for each value the median of its group's other members at the same tick.

    Args:
        values: Shape (entities, ticks); NaN is not known and is no peer.
        groups: Group of each entity, rising from 0 without a hole; shape (entities,).
        left_out: Whether unknown values get the median of all that is known in their group.

    Returns:
        Same shape; NaN where there is no peer, and where the value is not known unless `left_out`.
    """
    medians = np.full_like(values, np.nan)
    sizes = group_sizes(groups)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]) if sizes.size else sizes
    for size in np.unique(sizes):
        rows = np.add.outer(starts[sizes == size], np.arange(int(size)))
        block = values[rows]
        found = _left_out_medians(block)
        if left_out:
            found = np.where(np.isnan(block), known_median(block, 1)[:, None, :], found)
        medians[rows] = found
    return medians


def _left_out_medians(block: Floats) -> Floats:
    """Return leave-one-out medians of (groups, members, ticks), from one sort of each group.

    Taking one member out of a sorted row moves its middle by at most one place, so three order
    statistics hold every answer.
    """
    ordered = np.sort(block, axis=1)
    count = np.sum(~np.isnan(block), axis=1, keepdims=True)
    half = count // 2
    last = block.shape[1] - 1
    below: Floats = np.take_along_axis(ordered, np.clip(half - 1, 0, last), axis=1)
    middle: Floats = np.take_along_axis(ordered, np.clip(half, 0, last), axis=1)
    above: Floats = np.take_along_axis(ordered, np.clip(half + 1, 0, last), axis=1)
    even = count % 2 == 0
    pivot = np.where(count > 1, np.where(even, below, middle), np.nan)
    sides = (
        (np.less, np.where(even, middle, (middle + above) / 2.0)),
        (np.equal, np.where(even, middle, (below + above) / 2.0)),
        (np.greater, np.where(even, below, (below + middle) / 2.0)),
    )
    medians = np.full_like(block, np.nan)
    for lies, median in sides:
        np.copyto(medians, median, where=lies(block, pivot))
    return medians


def robust_scale(values: Floats, axis: int = -1) -> Floats:
    """Return 1.4826 times the median absolute deviation along an axis; NaN values are left out."""
    centre = known_median(values, axis)
    spread = np.abs(values - np.expand_dims(centre, axis))
    return MAD_TO_SIGMA * known_median(spread, axis)


def unbiased_scale(scale: float, count: int) -> float:
    """Return a MAD-based scale corrected for the size of the group it came from."""
    sizes, factors = zip(*MAD_BIAS, strict=True)
    return scale / float(np.interp(count, sizes, factors))


def tick_noise(values: Floats, floor: float) -> Floats:
    """Return the noise of each series from one tick to the next, not its drifts or shifts.

    Args:
        values: Shape (entities, ticks); NaN is left out.
        floor: Least scale, in the unit of the values: ties must not make noise vanish.

    Returns:
        Shape (entities,): the robust scale of first differences over the square root of two.
    """
    if values.shape[1] < 3:  # noqa: PLR2004 -- two differences are the least that have a scale
        return np.zeros(values.shape[0]) + floor
    steps = np.diff(values, axis=1)
    scale: Floats = MAD_TO_SIGMA * known_median(np.abs(steps), 1) / np.sqrt(2.0)
    noise: Floats = np.fmax(scale, floor)
    return noise


def known_median(values: Floats, axis: int) -> Floats:
    """Return medians of what is known along an axis.

    Args:
        values: NaN is not known.
        axis: The axis that goes.

    Returns:
        NaN where nothing is known, or where the axis is empty.
    """
    if not values.shape[axis]:
        return np.full(np.delete(values.shape, axis), np.nan)
    ordered = np.sort(values, axis=axis)
    count = np.sum(~np.isnan(values), axis=axis, keepdims=True)
    low = np.take_along_axis(ordered, np.maximum((count - 1) // 2, 0), axis=axis)
    high = np.take_along_axis(ordered, np.minimum(count // 2, values.shape[axis] - 1), axis=axis)
    middle: Floats = np.squeeze((low + high) / 2.0, axis=axis)
    return middle
