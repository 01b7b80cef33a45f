"""What is clear of all else that an entity did: effects beyond its wandering, and short runs.

Workers that are not in lockstep wander by several per cent for hours, so their noise from one tick
to the next is no measure of what is unusual; how far they are from where they were a while ago is.

A point of a series that is told every tenth step stands for ten steps, so four of them in a row
last as long as forty: few points persist, if they are clear. Around them the run lasts while the
entity is slower than it usually is and than its usual place among its peers.

Source: methods reference, section 5 (persistence in time, hysteresis). There a run ends at half the
effect; here at the least effect that counts, since a short run's peak is far above the rest of it.
"""

from dataclasses import dataclass, replace
from math import erfc, exp, log, sqrt
from typing import Final

import numpy as np

from detectors.episodes import Episode, EpisodeParams, find_episodes
from detectors.panels import Bools, Floats, Ints
from detectors.peers import MAD_TO_SIGMA, known_median

MIN_SCALES: Final = 4.0
"""Robust scales of its wandering from which on what an entity does is clear."""

WANDER_TICKS: Final = 20
"""Wandering is how far ticks are from those so many later: a stretch that is slow, however long,
is in few of those pairs."""

WINDOW_TICKS: Final = 5
"""The running median of so many ticks does not notice a spike of two."""


@dataclass(frozen=True, slots=True)
class Course:
    """What one entity did, tick by tick.

    Attributes:
        values: In log units, positive is worse; shape (ticks,); NaN is not known.
        ratios: Log ratios to its peers, of the same ticks.
        noise: Of the ratios from tick to tick.
    """

    values: Floats
    ratios: Floats
    noise: float


def episodes_of(course: Course, params: EpisodeParams, *, wanders: bool) -> list[Episode]:
    """Return the bad stretches of an entity, and its clear runs, in time order.

    Args:
        course: What the entity did.
        params: The thresholds.
        wanders: Whether entities wander against each other, so that only what is beyond counts.
    """
    least = beyond_wander(params, course.ratios) if wanders else params
    return with_clear_runs(find_episodes(course.ratios, course.noise, least), course, params)


def with_clear_runs(found: list[Episode], course: Course, params: EpisodeParams) -> list[Episode]:
    """Return the episodes, and the clear runs that are in none of them, in time order.

    Args:
        found: Episodes that persist tick by tick.
        course: What the entity did.
        params: The thresholds; with `min_clear_ticks` null there are no such runs.

    Returns:
        Effect and bad ticks of a clear run are those of its clear ticks; it starts and stops with
        all that is slow around them. Clear runs of one stretch are one episode.
    """
    known = np.flatnonzero(~np.isnan(course.ratios))
    if params.min_clear_ticks is None or known.size < params.min_reference_ticks:
        return found
    slow, clear = _slow_and_clear(course.values[known], course.ratios[known], params)
    fresh: list[Episode] = []
    for start, stop in _runs(slow):
        peaks = [one for one in _runs(clear) if start <= one[0] and one[1] <= stop]
        long = [one for one in peaks if one[1] - one[0] >= params.min_clear_ticks]
        if long:
            at = (start, stop, long[0][0] + params.min_clear_ticks - 1)
            bad = np.flatnonzero(clear[start:stop]) + start
            fresh.append(_episode(course, known, at, bad))
    apart = [one for one in fresh if not any(_overlap(one, other) for other in found)]
    return sorted([*found, *apart], key=lambda one: one.start)


def beyond_wander(params: EpisodeParams, ratios: Floats) -> EpisodeParams:
    """Return the thresholds for an entity that wanders, raised to what is clear of that.

    Args:
        params: The thresholds.
        ratios: Log ratios of the entity to its peers; shape (ticks,); NaN is not known.
    """
    least = exp(MIN_SCALES * _wander(ratios[~np.isnan(ratios)]))
    return replace(
        params,
        min_slowdown=max(params.min_slowdown, least),
        min_level=max(params.min_level, least),
        strong_slowdown=max(params.strong_slowdown, least),
    )


def _wander(ratios: Floats) -> float:
    """Return the robust scale of ratios without NaN, as told by differences of distant ticks."""
    lag = min(WANDER_TICKS, ratios.size // 3)
    apart = np.abs(ratios[lag:] - ratios[: ratios.size - lag])
    return MAD_TO_SIGMA * float(np.median(apart)) / sqrt(2.0) if lag else 0.0


def _slow_and_clear(values: Floats, ratios: Floats, params: EpisodeParams) -> tuple[Bools, Bools]:
    """Return which ticks are slow, and which of them are clear."""
    rise = log(params.min_slowdown)
    own, apart = _excess(values), _excess(ratios)
    least = max(rise, MIN_SCALES * _wander(ratios))
    clear = (apart >= least) & (own >= rise) & (ratios >= rise / 2)
    slow = clear | ((_smooth(own) >= rise) & (_smooth(apart) > 0.0))
    return slow, clear


def _overlap(one: Episode, other: Episode) -> bool:
    return one.start < other.stop and other.start < one.stop


def _excess(values: Floats) -> Floats:
    middle = np.median(values)
    excess: Floats = values - middle
    return excess


def _smooth(values: Floats) -> Floats:
    """Return running medians, of less ticks at both ends."""
    padded = np.pad(values, WINDOW_TICKS // 2, constant_values=np.nan)
    return known_median(np.lib.stride_tricks.sliding_window_view(padded, WINDOW_TICKS), 1)


def _runs(marked: Bools) -> list[tuple[int, int]]:
    """Return the first tick, and the first after it, of each run of marked ticks."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], marked, [False]]).astype(np.int8)))
    return [(int(start), int(stop)) for start, stop in edges.reshape(-1, 2)]


def _episode(course: Course, known: Ints, at: tuple[int, int, int], bad: Ints) -> Episode:
    """Return a run of known ticks, from, to and detected, as an episode on the axis of all."""
    start, stop, detected = at
    ratios = course.ratios[known]
    effect = float(np.median(ratios[bad]) - np.median(ratios))
    score = effect / course.noise * sqrt(bad.size) / 2.0
    return Episode(
        start=int(known[start]) if start else 0,
        stop=course.ratios.size if stop >= known.size else int(known[stop]),
        detected=int(known[detected]),
        effect=effect,
        runs=1,
        bad_ticks=bad.size,
        from_level=False,
        p_value=0.5 * erfc(min(score, 37.0) / sqrt(2.0)),
    )
