"""Stretches in which an entity is worse than its peers: found, then verified.

A suspect's series of log peer ratios is cut into level segments; a segment is bad when it lies a
minimum effect above the entity's own good level, or, for an entity that was never good, above its
peers. A bad run counts when it persists; three runs or more are flapping; one that grew instead of
jumping is a ramp and begins where it began to grow. Source: methods reference, sections 4 and 5
(effect 1.10 as in Greyhound's verification; 16 of 20 ticks; flapping from three runs in an hour).
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from math import erfc, log, sqrt
from typing import Final

import numpy as np

from detectors.changes import HUBER_LIMIT, segment_bounds, shift_between
from detectors.panels import Floats, Ints
from detectors.ramps import find_ramp

MIN_SEGMENT_TICKS: Final = 4
"""A bad run shorter than four ticks (a minute at 15 s) is noise, by the flapping rule."""

NOISE_MARGIN: Final = 2.0
"""A tick is bad only when it is this many times the noise above the reference."""

CLEAR_NOISE: Final = 4.0
"""Four ticks in a row this many times the noise above the good level are no accident."""

GOOD_QUANTILE: Final = 0.3
"""The good level of a series that is bad for up to two thirds of its time."""

PENALTY_FACTOR: Final = 3.0
"""Split penalty is this times ln n: the default of the methods reference for squared cost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeParams:
    """When a stretch counts.

    Attributes:
        min_slowdown: Least ratio to the own good level; above 1.0.
        min_level: Least ratio to the peers for an entity that was bad throughout.
        strong_slowdown: Ratio from which less persistence is asked.
        min_bad_ticks: Bad ticks that make a run persist.
        min_strong_ticks: The same for a strong one.
        min_clear_ticks: Ticks in a row that make a clear run, see `detectors.clear_runs`; null
            where such do not count.
        min_bad_share: Share of a run's ticks that must be bad.
        min_reference_ticks: Ticks that make up the own good level.
        max_gap_ticks: Good ticks that do not end a run.
        flap_runs: Bad runs that make it flapping.
        noise_floor: Least noise of a log ratio from tick to tick.
    """

    min_slowdown: float = 1.10
    min_level: float = 1.13
    strong_slowdown: float = 1.30
    min_bad_ticks: int = 16
    min_strong_ticks: int = 10
    min_clear_ticks: int | None = None
    min_bad_share: float = 0.8
    min_reference_ticks: int = 20
    max_gap_ticks: int = 10
    flap_runs: int = 3
    noise_floor: float = 0.005

    def __post_init__(self) -> None:
        """Refuse thresholds that every entity would pass."""
        for name in ("min_slowdown", "min_level", "strong_slowdown"):
            if getattr(self, name) <= 1.0:
                raise ValueError(f"{name} must be above 1.0, got {getattr(self, name)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """One stretch, or several that flap; positions count ticks of the series.

    Attributes:
        start: First bad tick.
        stop: First tick after it; the number of ticks while it lasts.
        detected: Tick at which its persistence was complete.
        effect: Log ratio to the reference.
        runs: Bad runs in it; 3 or more are flapping.
        bad_ticks: Ticks on the bad side.
        from_level: Judged against the peers, since the own good level is not known.
        p_value: Chance of such a stretch in noise alone; null where a budget of false alarms was
            kept instead.
        is_ramp: It grew instead of jumping; `effect` is then that of its last level.
    """

    start: int
    stop: int
    detected: int
    effect: float
    runs: int
    bad_ticks: int
    from_level: bool
    p_value: float | None
    is_ramp: bool = False


@dataclass(frozen=True, slots=True)
class _Run:
    start: int
    stop: int


def find_episodes(ratios: Floats, noise: float, params: EpisodeParams) -> list[Episode]:
    """Return the verified bad stretches of one entity, in time order.

    Args:
        ratios: Log peer ratios, positive is worse; shape (ticks,); NaN is not known.
        noise: The entity's noise from tick to tick, in log ratio.
        params: The thresholds.

    Returns:
        The episodes. A series that is not known for at least the strong persistence has none.
    """
    known = np.flatnonzero(~np.isnan(ratios))
    if known.size < params.min_strong_ticks:
        return []
    values = ratios[known]
    bounds = _bounds(values, max(noise, params.noise_floor), params)
    reference, from_level = _reference(values, bounds, params)
    runs = _bad_runs(values, bounds, reference, from_level=from_level, params=params)
    series = _Series(values, max(noise, params.noise_floor), reference, from_level)
    if len(runs) >= params.flap_runs and not from_level:
        found = [_flapping(series, runs)]
    else:
        found = [_grown(series, one) for run in runs if (one := _verified(series, run, params))]
    return [_on_axis(one, known, ratios.size) for one in found]


@dataclass(frozen=True, slots=True)
class _Series:
    values: Floats
    noise: float
    reference: float
    from_level: bool


def _bounds(values: Floats, noise: float, params: EpisodeParams) -> list[int]:
    """Return where segments begin and end: changes of level, and edges of clear short runs."""
    scores = np.clip((values - np.median(values)) / noise, -HUBER_LIMIT, HUBER_LIMIT)
    penalty = PENALTY_FACTOR * log(values.size) * _correlation_factor(scores)
    changes = segment_bounds(scores, penalty=penalty, min_ticks=MIN_SEGMENT_TICKS)
    return sorted({*changes, *_run_edges(values, noise, params)})


def _run_edges(values: Floats, noise: float, params: EpisodeParams) -> list[int]:
    """Return first and past-the-end ticks of short runs that are clearly bad tick by tick.

    A level that comes and goes often hides from segmentation, whose two sides have the same mean.
    """
    least = max(log(params.min_slowdown), CLEAR_NOISE * noise)
    level = float(np.quantile(values, GOOD_QUANTILE))
    bad = np.concatenate([[False], values - level >= least, [False]])
    edges = np.flatnonzero(bad[1:] != bad[:-1]).reshape(-1, 2)
    long = edges[:, 1] - edges[:, 0] >= MIN_SEGMENT_TICKS
    return [int(at) for at in edges[long].ravel()]


def _correlation_factor(scores: Floats) -> float:
    """Return (1+rho)/(1-rho) of the differenced noise: how much a sum varies beyond white noise.

    The lag-one correlation is taken from differences (whose own is -1/2 for white noise), so that
    a level shift does not pass for correlated noise.
    """
    steps = np.diff(scores)
    power = float(np.sum(steps**2))
    if power == 0.0:
        return 1.0
    lag_one = float(np.sum(steps[:-1] * steps[1:])) / power
    rho = float(np.clip(1.0 + 2.0 * lag_one, 0.0, 0.8))
    return (1.0 + rho) / (1.0 - rho)


def _reference(values: Floats, bounds: list[int], params: EpisodeParams) -> tuple[float, bool]:
    """Return the entity's own good level, and whether there is none so that peers stand in.

    The good level is that of the segments nearest to the peers: taking the lowest instead would
    make a spell of luck the yardstick.
    """
    spans = list(pairwise(bounds))
    spans.sort(key=lambda span: (abs(float(np.median(values[span[0] : span[1]]))), span[0]))
    sizes = np.cumsum([stop - start for start, stop in spans])
    enough = int(np.searchsorted(sizes, min(params.min_reference_ticks, values.size))) + 1
    level = float(np.median(np.concatenate([values[at:to] for at, to in spans[:enough]])))
    return (0.0, True) if level >= log(params.min_level) else (level, False)


def _bad_runs(
    values: Floats,
    bounds: list[int],
    reference: float,
    *,
    from_level: bool,
    params: EpisodeParams,
) -> list[_Run]:
    """Return bad segments joined into runs; a short good gap does not end a run."""
    least = log(params.min_level if from_level else params.min_slowdown)
    runs: list[_Run] = []
    for start, stop in pairwise(bounds):
        level = float(np.median(values[start:stop]))
        if level - reference < least or level < log(params.min_slowdown) / 2:
            continue
        if runs and start - runs[-1].stop <= params.max_gap_ticks:
            runs[-1] = _Run(runs[-1].start, stop)
        else:
            runs.append(_Run(start, stop))
    return runs


def _verified(series: _Series, run: _Run, params: EpisodeParams) -> Episode | None:
    """Return the run as an episode if its effect and persistence hold, else nothing."""
    inside = series.values[run.start : run.stop]
    effect = _effect(series, [run])
    bad = inside > series.reference + _bad_side(series, effect, params)
    strong = effect >= log(params.strong_slowdown)
    need = params.min_strong_ticks if strong else params.min_bad_ticks
    count = int(np.sum(bad))
    least = log(params.min_level if series.from_level else params.min_slowdown)
    if effect < least or count < need or count < params.min_bad_share * inside.size:
        return None
    detected = run.start + int(np.searchsorted(np.cumsum(bad), need))
    return _episode(series, [run], detected, effect)


def _grown(series: _Series, episode: Episode) -> Episode:
    """Return the episode as a ramp if it grew out of the good ticks before it."""
    if series.from_level:
        return episode
    ramp = find_ramp(series.values[: episode.stop])
    if ramp is None or ramp.start >= episode.start or ramp.rise < episode.effect:
        return episode
    return replace(episode, start=ramp.start, effect=ramp.rise, is_ramp=True)


def _bad_side(series: _Series, effect: float, params: EpisodeParams) -> float:
    """Return how far above the reference a tick is bad: beyond noise, half the effect at most."""
    clear = max(log(params.min_slowdown) / 2, NOISE_MARGIN * series.noise)
    return min(clear, effect / 2)


def _flapping(series: _Series, runs: list[_Run]) -> Episode:
    third = runs[2]
    return _episode(series, runs, third.start + MIN_SEGMENT_TICKS - 1, _effect(series, runs))


def _effect(series: _Series, runs: list[_Run]) -> float:
    """Return the shift of the bad ticks from the good ones, or from the peers."""
    inside = np.concatenate([series.values[run.start : run.stop] for run in runs])
    if series.from_level:
        return float(np.median(inside))
    mask = np.ones(series.values.size, dtype=bool)
    for run in runs:
        mask[run.start : run.stop] = False
    good = series.values[mask]
    near = good[np.abs(good - series.reference) <= np.median(np.abs(good - series.reference)) * 3]
    return shift_between(near if near.size else np.array([series.reference]), inside)


def _episode(series: _Series, runs: list[_Run], detected: int, effect: float) -> Episode:
    inside = np.concatenate([series.values[run.start : run.stop] for run in runs])
    count = int(np.sum(inside > series.reference + effect / 2))
    score = effect / series.noise * sqrt(count) / 2.0
    return Episode(
        start=runs[0].start,
        stop=runs[-1].stop,
        detected=detected,
        effect=effect,
        runs=len(runs),
        bad_ticks=count,
        from_level=series.from_level,
        p_value=0.5 * erfc(min(score, 37.0) / sqrt(2.0)),
    )


def moved(episode: Episode, ticks: int) -> Episode:
    """Return the episode with positions that count from so many ticks earlier."""
    return replace(
        episode,
        start=episode.start + ticks,
        stop=episode.stop + ticks,
        detected=episode.detected + ticks,
    )


def _on_axis(episode: Episode, known: Ints, ticks: int) -> Episode:
    """Return the episode with positions of the full tick axis instead of the known ticks.

    What is bad from its first known tick on was so before: ticks that nobody told prove nothing.
    """
    return replace(
        episode,
        start=int(known[episode.start]) if episode.start else 0,
        stop=ticks if episode.stop >= known.size else int(known[episode.stop]),
        detected=int(known[min(episode.detected, known.size - 1)]),
    )
