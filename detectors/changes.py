"""Change tests over peer ratios: a fleet-wide screen, and segments of the few suspects.

Sources: E. S. Page, "Continuous inspection schemes", Biometrika 41 (1954), for CUSUM; D. Siegmund,
"Sequential Analysis" (1985), for its threshold; A. J. Scott and M. Knott, Biometrics 30 (1974), for
binary segmentation; J. L. Hodges and E. L. Lehmann, Ann. Math. Stat. 34 (1963), for the shift.
"""

from dataclasses import dataclass
from math import log
from typing import Final

import numpy as np

from detectors.panels import Floats, Ints

HUBER_LIMIT: Final = 3.0
"""Standardised values are cut here before they are summed: one spike must not make a change."""

MAX_PAIRS_SIDE: Final = 400
"""Hodges-Lehmann takes at most this many values of each side, evenly spread: 160,000 pairs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarms:
    """What a screen found, one entry an entity.

    Attributes:
        at: Tick number of the first alarm; -1 for none.
        since: Tick number at which the sum last left zero before it; -1 for none.
    """

    at: Ints
    since: Ints


def cusum_threshold(mean_ticks_between_alarms: float, reference: float) -> float:
    """Return the CUSUM threshold h that a budget of false alarms allows.

    Args:
        mean_ticks_between_alarms: Ticks of one device between two false alarms, ARL0.
        reference: The allowance k, in standard deviations.

    Returns:
        h in standard deviations, from Siegmund's approximation for independent Gaussian noise:
        ln(2 k^2 ARL0) / (2 k) - 1.166.
    """
    return log(2.0 * reference**2 * mean_ticks_between_alarms) / (2.0 * reference) - 1.166


def cusum_alarms(scores: Floats, *, reference: float, threshold: float) -> Alarms:
    """Return the first upward CUSUM alarm of each series, all series side by side.

    Args:
        scores: Standardised values, shape (entities, ticks); NaN keeps the sum as it is.
        reference: Allowance k, in standard deviations.
        threshold: Alarm level h, in standard deviations.

    Returns:
        The alarms; `since` estimates the onset.
    """
    entities, ticks = scores.shape
    total = np.zeros(entities)
    since = np.zeros(entities, dtype=np.int64)
    at, onset = np.full(entities, -1), np.full(entities, -1)
    steps = np.nan_to_num(np.clip(scores, -HUBER_LIMIT, HUBER_LIMIT) - reference, nan=0.0)
    for tick in range(ticks):
        total = np.maximum(0.0, total + steps[:, tick])
        since = np.where(total == 0.0, tick + 1, since)
        fresh = (total > threshold) & (at < 0)
        at, onset = np.where(fresh, tick, at), np.where(fresh, since, onset)
    return Alarms(at=at.astype(np.int64), since=onset.astype(np.int64))


def segment_bounds(scores: Floats, *, penalty: float, min_ticks: int) -> list[int]:
    """Return where a series changes its level, by binary segmentation with a squared cost.

    Args:
        scores: Standardised values without NaN, shape (ticks,).
        penalty: Cost that a split must save, in variances; 3 ln n is close to the MBIC.
        min_ticks: Shortest segment.

    Returns:
        Rising bounds that start with 0 and end with the number of ticks.
    """
    sums = np.concatenate([[0.0], np.cumsum(scores)])
    bounds, todo = [0, scores.size], [(0, scores.size)]
    while todo:
        start, stop = todo.pop()
        at, saved = _best_split(sums, start, stop, min_ticks)
        if saved > penalty:
            bounds.append(at)
            todo += [(start, at), (at, stop)]
    return _refined(sums, sorted(bounds), min_ticks)


def _refined(sums: Floats, bounds: list[int], min_ticks: int) -> list[int]:
    """Return the bounds, each moved to where it splits best between its neighbours.

    Binary segmentation places a bound before it knows the later ones; one more look at each
    removes that bias without the cost of an exact search.
    """
    for at in range(1, len(bounds) - 1):
        bounds[at] = _best_split(sums, bounds[at - 1], bounds[at + 1], min_ticks)[0]
    return bounds


def _best_split(sums: Floats, start: int, stop: int, min_ticks: int) -> tuple[int, float]:
    """Return the split of [start, stop) that saves most squared cost, and how much it saves."""
    at = np.arange(start + min_ticks, stop - min_ticks + 1)
    if not at.size:
        return start, 0.0
    left = (sums[at] - sums[start]) / (at - start)
    right = (sums[stop] - sums[at]) / (stop - at)
    saved = (left - right) ** 2 * (at - start) * (stop - at) / (stop - start)
    best = int(np.argmax(saved))
    return int(at[best]), float(saved[best])


def shift_between(before: Floats, after: Floats) -> float:
    """Return the Hodges-Lehmann shift: the median of all differences `after` minus `before`.

    Args:
        before: Reference values without NaN, at least one.
        after: Later values without NaN, at least one.

    Returns:
        The shift in the values' unit. Of long sides an evenly spread part is taken.
    """
    first, second = (_spread(side) for side in (before, after))
    return float(np.median(second[:, None] - first[None, :]))


def _spread(values: Floats) -> Floats:
    if values.size <= MAX_PAIRS_SIDE:
        return values
    at = np.linspace(0, values.size - 1, MAX_PAIRS_SIDE).round().astype(np.int64)
    kept: Floats = values[at]
    return kept
