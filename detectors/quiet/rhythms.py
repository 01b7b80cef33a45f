"""Find the period at which something recurs, in the times of many things at once.

Each moment asks whether the same thing came again one period later. By chance few do; of what
recurs nearly all do, whatever its phase, so things with the same period and different phases are
found together. A period's multiples fit as well, so the shortest one that fits is taken.

Source: methods reference, section 5 (the period is the first lag at which a series resembles
itself) and 7 (multiplicity); the recurrence of single moments in place of an autocorrelation is
ours: moments are few, and steps are no even clock.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import betainc

from detectors.panels import Bools, Floats, Ints

MAX_CANDIDATES: Final = 100
"""Periods that are tried: the differences between moments that are met most often."""

MAX_LAG: Final = 64
"""Moments of a thing further apart than this many are not compared for a candidate."""

MAX_MOMENTS: Final = 20_000
"""More moments than that say nothing new; the first things are taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RhythmParams:
    """When something recurs.

    Attributes:
        min_share: Of the moments that come again one period later, of those that could.
        min_hits: Moments that do.
        min_cycles: Periods that the data must hold.
        max_chance_share: Share that would come again by chance, at most: else moments are too many
            to tell.
        min_cycle_share: Of the periods from the first to the last, that must hold one: a burst is
            no rhythm.
        max_p_value: Of so many hits by chance, times the candidates tried.
        min_period_ticks: Period over the tolerance: shorter ones are no period.
    """

    min_share: float = 0.75
    min_hits: int = 6
    min_cycles: float = 4.0
    max_chance_share: float = 0.6
    min_cycle_share: float = 0.7
    max_p_value: float = 1e-4
    min_period_ticks: float = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rhythm:
    """A period.

    Attributes:
        seconds: Its length.
        share: Of the moments that came again, of those that could.
        is_part: Which moments came again, or were such a coming; shape (moments,).
        hits: How many came again.
        pairs: For each that came again, its number and that of its coming; shape (hits, 2).
    """

    seconds: float
    share: float
    is_part: Bools
    hits: int
    pairs: Ints


def find_rhythm(
    things: Ints, moments: Floats, span: float, tolerance: float, params: RhythmParams
) -> Rhythm | None:
    """Return the shortest period at which moments come again; null if there is none.

    Args:
        things: Number of the thing that each moment is of, from 0; sorted; shape (moments,).
        moments: Seconds since the start of the data, rising within a thing; shape (moments,).
        span: Seconds of data.
        tolerance: Seconds by which a coming may be early or late.
        params: The thresholds.
    """
    things, moments = things[:MAX_MOMENTS], moments[:MAX_MOMENTS]
    if moments.size <= params.min_hits or span <= 0 or tolerance <= 0:
        return None
    # Things one after the other on one line, too far apart to meet.
    line = moments + things * (4.0 * span)
    tried = _candidates(line, span, tolerance, params)
    counts = np.bincount(things)[things]
    lived = max(float(np.ptp(moments)), tolerance)
    chance = float(np.mean(-np.expm1(-2.0 * tolerance * counts / lived)))
    if chance > params.max_chance_share:
        return None
    for period in tried:
        rhythm = _tested(line, moments, float(period), (span, tolerance, chance), params)
        if rhythm is not None:
            return rhythm
    return None


def _candidates(line: Floats, span: float, tolerance: float, params: RhythmParams) -> Floats:
    """Return the differences between moments that are met most often, rising."""
    lags = range(1, min(MAX_LAG, line.size - 1) + 1)
    gaps = np.concatenate([line[lag:] - line[:-lag] for lag in lags])
    least = params.min_period_ticks * tolerance
    gaps = gaps[(gaps >= least) & (gaps <= span / params.min_cycles)]
    if gaps.size < params.min_hits:
        return np.zeros(0)
    codes = (gaps / tolerance).astype(np.int64)
    near = np.ones(3)
    counts = np.convolve(np.bincount(codes), near, "same")
    sums = np.convolve(np.bincount(codes, weights=gaps), near, "same")
    padded = np.pad(counts, 1)
    is_top = (counts >= padded[:-2]) & (counts >= padded[2:]) & (counts >= params.min_hits)
    tops = np.flatnonzero(is_top)
    best = tops[np.argsort(-counts[tops], kind="stable")][:MAX_CANDIDATES]
    candidates: Floats = np.sort(sums[best] / counts[best])
    return candidates


def _tested(
    line: Floats,
    moments: Floats,
    period: float,
    scene: tuple[float, float, float],
    params: RhythmParams,
) -> Rhythm | None:
    """Return the rhythm of a period, if enough moments come again."""
    span, tolerance, chance = scene
    could = moments + period + tolerance <= span
    after = np.searchsorted(line, line + period - tolerance)
    comes = after < np.searchsorted(line, line + period + tolerance, side="right")
    hit = could & comes
    hits, tries = int(hit.sum()), int(could.sum())
    if hits < max(params.min_hits, params.min_share * tries):
        return None
    # The upper tail of the binomial distribution.
    sides = (np.array([float(one)]) for one in (hits, tries - hits + 1, chance))
    by_chance = float(betainc(*sides)[0])
    if by_chance * MAX_CANDIDATES > params.max_p_value:
        return None
    pairs = np.stack([np.flatnonzero(hit), after[hit]], axis=1)
    is_part = hit.copy()
    is_part[pairs[:, 1]] = True
    cycles = np.floor((moments[is_part] - moments[is_part].min()) / period)
    if np.unique(cycles).size < max(params.min_cycles, params.min_cycle_share * cycles.max()):
        return None
    length = float(np.median(line[pairs[:, 1]] - line[pairs[:, 0]]))
    return Rhythm(seconds=length, share=hits / tries, is_part=is_part, hits=hits, pairs=pairs)
