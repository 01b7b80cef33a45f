"""An online screen for a rise of unknown size, over a whole fleet at once.

Source: G. Romano, I. A. Eckley, P. Fearnhead and G. Rigaill, "Fast online changepoint detection via
functional pruning CUSUM statistics" (FOCuS), JMLR 24 (2023). CUSUM needs the size of the change
told; this one takes the largest score over all times at which a change may have begun. Only those
times can win that are corners of the lower convex hull of the running sums, about ln t of t ticks,
so the answer is exact while few are kept. We differ: scores are Huberised, only rises count, and
hulls are kept side by side for all series; one that is full loses the corner that matters least.
"""

from dataclasses import dataclass, replace
from math import log
from typing import Final

import numpy as np

from detectors.changes import HUBER_LIMIT
from detectors.panels import Bools, Floats, Ints

MAX_CORNERS: Final = 32
"""Noise has about ten after a million ticks. Only a rise that grows steadily has more; then the
times that are left lie close to those that go."""

FOCUS_THRESHOLDS: Final = (
    (157.0, 4.0),
    (487.0, 5.0),
    (1_197.0, 6.0),
    (3_031.0, 7.0),
    (7_809.0, 8.0),
    (21_719.0, 9.0),
    (54_436.0, 10.0),
    (154_296.0, 11.0),
    (430_156.0, 12.0),
)
"""Mean ticks between false alarms, and the level of the statistic that has them. SIMULATED with
independent Gaussian scores by `python -m benchmarks.focus_thresholds`, 49,152 series of 2,000
ticks; 228 alarms at the last level, hence 7 % of doubt. Real noise is not independent: deflate the
scores by its correlation, or take the level from the fleet's own history."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FocusState:
    """What the screen remembers between ticks, for each of its series.

    Attributes:
        tick: Ticks seen so far.
        count: Known ones of them; shape (entities,), as the next four.
        total: Sum of their scores.
        depth: Corners that are kept.
        statistic: At the last known tick.
        since: First tick of the change it speaks for; -1 for none.
        ticks: At each corner the first tick after it; shape (`MAX_CORNERS`, entities).
        counts: `count` at each corner; same shape.
        sums: `total` at each corner, infinite where none is kept; same shape.
    """

    tick: int
    count: Floats
    total: Floats
    depth: Ints
    statistic: Floats
    since: Ints
    ticks: Ints
    counts: Floats
    sums: Floats


def start(entities: int) -> FocusState:
    """Return the state before the first tick.

    Args:
        entities: How many series run side by side.
    """
    shape, rest = (MAX_CORNERS, entities), (MAX_CORNERS - 1, entities)
    return FocusState(
        tick=0,
        count=np.zeros(entities),
        total=np.zeros(entities),
        depth=np.ones(entities, dtype=np.int64),
        statistic=np.zeros(entities),
        since=np.full(entities, -1, dtype=np.int64),
        ticks=np.zeros(shape, dtype=np.int64),
        counts=np.zeros(shape),
        sums=np.concatenate([np.zeros((1, entities)), np.full(rest, np.inf)]),
    )


def push(state: FocusState, scores: Floats) -> tuple[FocusState, Floats, Ints]:
    """Return the state after one more tick, the statistic, and since when the change lasts.

    Args:
        state: Before the tick; it is left as it is.
        scores: Standardised values, shape (entities,); positive is worse, NaN is not known and
            leaves statistic and state of its series as they were.

    Returns:
        The new state; the statistic, half the largest squared sum over its number of ticks; and the
        first tick of the change that reaches it, -1 where no sum is positive. Both (entities,).
    """
    own = replace(
        state,
        depth=state.depth.copy(),
        ticks=state.ticks.copy(),
        counts=state.counts.copy(),
        sums=state.sums.copy(),
    )
    known = ~np.isnan(scores)
    after, halves = _pushed(own, scores, known)
    best = np.argmax(halves, axis=0)[None, :]
    begun = np.take_along_axis(state.ticks, best, axis=0)[0]
    since = np.where(after.statistic > 0.0, begun, -1)
    after = replace(after, since=np.where(known, since, state.since))
    return after, after.statistic, after.since


def focus_statistics(scores: Floats) -> Floats:
    """Return the statistic after each tick of each series.

    Args:
        scores: Standardised values, shape (entities, ticks); positive is worse, NaN is not known.

    Returns:
        Same shape. Time grows with entities times ticks times corners, a handful in noise.
    """
    entities, ticks = scores.shape
    state, columns = start(entities), np.ascontiguousarray(scores.T)
    found = np.zeros((ticks, entities))
    for tick in range(ticks):
        now = columns[tick]
        state, _ = _pushed(state, now, ~np.isnan(now))
        found[tick] = state.statistic
    return found.T


def focus_threshold(mean_ticks_between_alarms: float) -> float:
    """Return the level of the statistic that a budget of false alarms allows.

    Args:
        mean_ticks_between_alarms: Ticks of one device between two false alarms, ARL0.

    Returns:
        The level, between the points of `FOCUS_THRESHOLDS` along the logarithm of ARL0 and beyond
        them along the last two: the rate of alarms falls exponentially with the level.
    """
    budgets, levels = (np.array(column) for column in zip(*FOCUS_THRESHOLDS, strict=True))
    logs = np.log(budgets)
    wanted = log(mean_ticks_between_alarms)
    if wanted <= logs[-1]:
        return float(np.interp(wanted, logs, levels))
    slope = (levels[-1] - levels[-2]) / (logs[-1] - logs[-2])
    return float(levels[-1] + slope * (wanted - logs[-1]))


def _pushed(state: FocusState, scores: Floats, known: Bools) -> tuple[FocusState, Floats]:
    """Return the state after one more tick, and what each corner scored; corners are written over.

    `since` stays what it was: only who asks for it should pay for it.
    """
    cut = np.where(known, np.clip(scores, -HUBER_LIMIT, HUBER_LIMIT), 0.0)
    after = replace(state, tick=state.tick + 1, count=state.count + known, total=state.total + cut)
    halves = _halves(after)
    statistic = np.where(known, halves.max(axis=0), state.statistic)
    _add_corners(after, known)
    return replace(after, statistic=statistic), halves


def _halves(state: FocusState) -> Floats:
    """Return half the squared sum over its ticks since each corner; 0 where the sum fell.

    Corners that are not kept have an infinite sum, from which every sum fell.
    """
    top = max(1, int(state.depth.max(initial=0)))
    gain = np.maximum(state.total - state.sums[:top], 0.0)
    width = np.maximum(state.count - state.counts[:top], 1.0)
    halves: Floats = gain * gain / (width + width)
    return halves


def _add_corners(state: FocusState, known: Bools) -> None:
    """Put the newest sums on the hulls, and take off the corners that lie above them now."""
    _thin(state, np.flatnonzero(known & (state.depth == MAX_CORNERS)))
    lowest = np.flatnonzero(known & (state.total <= state.sums[0]))
    state.sums[: int(state.depth.max(initial=0)), lowest] = np.inf
    state.depth[lowest] = 0
    left = np.flatnonzero(known & (state.depth > 1))
    while left.size:
        left = left[_above(state, left)]
        state.depth[left] -= 1
        state.sums[state.depth[left], left] = np.inf
        left = left[state.depth[left] > 1]
    at = np.flatnonzero(known)
    places = state.depth[at]
    state.ticks[places, at] = state.tick
    state.counts[places, at] = state.count[at]
    state.sums[places, at] = state.total[at]
    state.depth[at] += 1


def _above(state: FocusState, at: Ints) -> Bools:
    """Return whether the last corner lies on or above the line from the one before to the end."""
    last = state.depth[at] - 1
    total, count = state.sums[last, at], state.counts[last, at]
    rise, run = total - state.sums[last - 1, at], count - state.counts[last - 1, at]
    above: Bools = rise * (state.count[at] - count) >= (state.total[at] - total) * run
    return above


def _thin(state: FocusState, full: Ints) -> None:
    """Take off each full hull the corner whose neighbours are nearest, for its age.

    What is left of a hull is one too; corners become as far apart as their age asks.
    """
    counts = state.counts[:, full]
    gaps = (counts[2:] - counts[:-2]) / (state.count[full] - counts[1:-1])
    places = np.arange(MAX_CORNERS - 1)[:, None]
    kept = places + (places > np.argmin(gaps, axis=0))
    for column in (state.ticks, state.counts, state.sums):
        column[:-1, full] = np.take_along_axis(column[:, full], kept, axis=0)
    state.sums[-1, full] = np.inf
    state.depth[full] -= 1
