"""Watch a fleet tick by tick: moving means of peer ratios, judged by the fleet's own spread.

One test serves level and change: a device's moving mean, less what its own past is worth as a
yardstick. With no past that is the peers (a level test); with a long one it is the past (a change
test); between the two it is shrunk as an empirical Bayes estimate (W. James and C. Stein, 1961; B.
Efron and C. Morris, JASA 70, 1975). Means over windows of several lengths, as in scan statistics
(N. R. Zhang and D. O. Siegmund, Biometrics 63, 2007), find large faults fast and small ones late.
A mean is judged in units of how much the same mean varies over the fleet: noise of real telemetry
is neither independent nor Gaussian, so no textbook quantile would hold. We differ in that nothing
is forgotten inside a segment, and that a suspect's past stands still.
"""

from dataclasses import dataclass, replace
from math import log, sqrt
from typing import Final

import numpy as np

from detectors.panels import Floats, Ints
from detectors.peers import MAD_TO_SIGMA, known_median

MIN_FLEET: Final = 8
"""Known devices from which a spread over the fleet means anything."""

MIN_LEVEL_SPREAD: Final = 0.01
"""Levels of like devices lie at least this far apart, as a log ratio: silicon always does."""

CLIP_SLOWDOWNS: Final = 3.0
"""Ratios are never cut below this many times the least slowdown."""

MIN_WEIGHT: Final = 1e-9

NEVER: Final = -(2**62)
"""Number of a tick before all others."""

_BY_DEVICE: Final = {
    "_ring": np.nan,
    "_sums": 0.0,
    "_counts": 0.0,
    "_past": 0.0,
    "_past_counts": 0.0,
    "_held": 0.0,
    "_worst": 0.0,
    "_last": np.nan,
    "_weights": 0.0,
    "_open": -1,
    "_closed": NEVER,
    "_opened": NEVER,
}
"""Arrays with a column a device, and what a new one has in them."""

OWN_PAST: Final = 0.5
"""Share of the own past in the yardstick from which a shift is a change and no level."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchParams:
    """When a moving mean alarms.

    Attributes:
        window_ticks: Lengths of the moving means, rising.
        min_scores: Scores from which each of them alarms, in spreads of the fleet.
        min_slowdown: Least ratio to the own past.
        min_level: Least ratio to the peers where the own past is no yardstick yet.
        min_known_share: Share of a window that must be known; a mean of less than all of it counts
            as much less as a mean of independent values would.
        clip_noises: Ratios are cut at this many noises of a tick around the yardstick.
        max_level_spreads: The past is never a yardstick farther from the peers than this many
            spreads of levels: a device that was always bad is bad.
        memory_ticks: Over how many ticks spreads are averaged.
        spread_every_ticks: How often spreads are taken.
        clear_ticks: A suspect is clear when a mean of this many ticks is below half its worst.
    """

    window_ticks: tuple[int, ...] = (20, 40, 240)
    min_scores: tuple[float, ...] = (6.8, 5.9, 4.3)
    min_slowdown: float = 1.05
    min_level: float = 1.10
    min_known_share: float = 0.25
    clip_noises: float = 6.0
    max_level_spreads: float = 3.0
    memory_ticks: int = 2880
    spread_every_ticks: int = 5
    clear_ticks: int = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """One device became suspect.

    Attributes:
        entity: Row number of the device.
        tick: Number of the tick at which a mean alarmed, from the first pushed.
        window: Length of that mean, in ticks.
        effect: The mean less the yardstick, a log ratio.
        score: The same in spreads of the fleet.
        yardstick: What it was compared with, a log ratio to the peers.
        is_level: The yardstick was more the peers than the device's own past.
        segment: Number of the first tick after the last gap.
        cleared: Number of the tick at which it was clear; null while it is not.
    """

    entity: int
    tick: int
    window: int
    effect: float
    score: float
    yardstick: float
    is_level: bool
    segment: int
    cleared: int | None = None


class Watch:
    """The carried state of a fold over ticks: a ring of recent ratios and running sums.

    It belongs to one fold and moves on with each `push`. What it says after a number of ticks does
    not depend on how they were handed over.

    Attributes:
        tick: How many ticks were pushed.
        alarms: Those that were raised, in order; of each device the last may still be open.
    """

    def __init__(self, entities: int, params: WatchParams) -> None:
        """Begin a watch.

        Args:
            entities: How many devices; their order is that of each tick's ratios.
            params: When it alarms.
        """
        windows = len(params.window_ticks)
        self.tick = 0
        self.alarms: list[Alarm] = []
        self._params = params
        self._wander, self._apart = np.full(windows, np.nan), np.full(windows, np.nan)
        self._taken = np.zeros(windows)
        self._level, self._noise = 0.0, 0.0
        self._open = np.full(entities, -1)
        self._begin_segment(entities)

    def push(self, ratios: Floats, *, after_gap: bool = False) -> None:
        """Move on by one tick.

        Args:
            ratios: Log ratio of each device to its peers, positive is worse; NaN is not known.
            after_gap: The tick before is so long ago that what was recent is not any more.
        """
        if after_gap:
            self._begin_segment(ratios.size)
        yardstick, worth = self._yardsticks()
        self._slide(self._clipped(ratios, yardstick[-1]))
        means = self._means()
        shifts = means - yardstick
        self._weights = np.sqrt(self._counts / np.array(self._params.window_ticks)[:, None])
        if self.tick % self._params.spread_every_ticks == 0:
            self._take_spreads(means, shifts)
        self._take_noise(ratios)
        self._clear(shifts)
        self._alarm(shifts, yardstick, worth)
        self.tick += 1

    def widened(self, entities: int, places: Ints) -> None:
        """Make room for devices that were not there before.

        Args:
            entities: How many devices there are now.
            places: New row number of each device that was there.
        """
        for name, empty in _BY_DEVICE.items():
            old = getattr(self, name)
            wide = np.full((*old.shape[:-1], entities), empty, dtype=old.dtype)
            wide[..., places] = old
            setattr(self, name, wide)
        self.alarms = [replace(one, entity=int(places[one.entity])) for one in self.alarms]

    def _begin_segment(self, entities: int) -> None:
        """Forget all that a gap makes void: recent values, the past, and who is suspect."""
        windows = self._params.window_ticks
        shape = (len(windows), entities)
        self._ring = np.full((max(windows), entities), np.nan)
        self._sums, self._counts = np.zeros(shape), np.zeros(shape)
        self._past, self._past_counts = np.zeros(shape), np.zeros(shape)
        self._held, self._worst = np.zeros(shape), np.zeros(entities)
        self._last = np.full(entities, np.nan)
        self._closed = np.zeros(entities, dtype=np.int64)
        self._opened = np.zeros(entities, dtype=np.int64)
        self._weights = np.zeros(shape)
        self._close(np.flatnonzero(self._open >= 0))
        self._closed[:] = NEVER
        self._segment = self.tick

    def wanders(self) -> bool:
        """Return whether means move farther over the fleet than the least slowdown that counts."""
        params = self._params
        at = params.window_ticks.index(params.clear_ticks)
        return bool(params.min_scores[at] * self._wander[at] > log(params.min_slowdown))

    def _yardsticks(self) -> tuple[Floats, Floats]:
        """Return what each mean is compared with, and how much of it is the device's own past."""
        params, level = self._params, self._level**2
        with np.errstate(divide="ignore", invalid="ignore"):
            doubt = self._doubt() / self._past_counts
            worth = np.nan_to_num(level / (level + doubt), nan=0.0)
            own = np.nan_to_num(self._past / self._past_counts, nan=0.0)
        farthest = params.max_level_spreads * self._level
        yardstick = np.clip(worth * own, -farthest, farthest)
        return np.where(self._open >= 0, self._held, yardstick), worth

    def _clipped(self, ratios: Floats, centre: Floats) -> Floats:
        """Return the ratios cut where noise ends: one spike must not make a mean."""
        params = self._params
        most = max(params.clip_noises * self._noise, CLIP_SLOWDOWNS * log(params.min_slowdown))
        cut: Floats = np.clip(ratios, centre - most, centre + most)
        return cut

    def _slide(self, values: Floats) -> None:
        """Move every window on by one tick; what leaves it becomes past, unless suspect."""
        size = self._ring.shape[0]
        windows = np.array(self._params.window_ticks)
        leaving = self._ring[(self.tick - windows) % size]
        left = ~np.isnan(leaving)
        known = ~np.isnan(values)
        gone = np.where(left, leaving, 0.0)
        self._sums += np.where(known, values, 0.0) - gone
        self._counts += known.astype(np.float64) - left
        calm = (self._open < 0) & (self.tick - self._closed >= windows[:, None])
        self._past += np.where(calm, gone, 0.0)
        self._past_counts += left & calm
        self._ring[self.tick % size] = values

    def _means(self) -> Floats:
        """Return the moving means; NaN where too little of a window is known."""
        windows = np.array(self._params.window_ticks)[:, None]
        enough = self._counts >= self._params.min_known_share * windows
        enough &= self.tick - self._segment + 1 >= windows
        return np.where(enough, self._sums / np.maximum(self._counts, 1.0), np.nan)

    def _doubt(self) -> float:
        """Return the variance of a mean of the past, times the ticks in it.

        Noise that lasts makes long means vary more than short ones let expect, so the worst counts.
        """
        lengths = np.array(self._params.window_ticks)
        return float(np.nan_to_num(np.fmax.reduce(self._wander**2 * lengths), nan=np.inf))

    def _take_spreads(self, means: Floats, shifts: Floats) -> None:
        """Take how much the means vary over the fleet, and how far levels lie apart."""
        params, calm = self._params, self._open < 0
        lengths = np.array(params.window_ticks)[:, None]
        counts = np.where((self._past_counts >= lengths) & calm, self._past_counts, np.nan)
        own = (means - self._past / counts) * self._weights / np.sqrt(1.0 + lengths / counts)
        known = np.sum(~np.isnan(own), axis=1) >= MIN_FLEET
        least = params.spread_every_ticks / params.memory_ticks
        rate = np.maximum(least, 1.0 / (self._taken + 1.0))
        now = (MAD_TO_SIGMA * known_median(np.abs(own), 1)) ** 2
        mixed = np.sqrt((1.0 - rate) * np.nan_to_num(self._wander) ** 2 + rate * now)
        self._wander = np.where(known, mixed, self._wander)
        self._taken += known
        self._take_apart((shifts * self._weights)[:, calm])
        self._take_levels()

    def _take_apart(self, shifts: Floats) -> None:
        """Take how far apart the means are, which stands in while nothing is known of wander."""
        known = np.sum(~np.isnan(shifts), axis=1) >= MIN_FLEET
        apart = MAD_TO_SIGMA * known_median(np.abs(shifts), 1)
        self._apart = np.where(known, np.fmax(self._apart, apart), self._apart)

    def _take_levels(self) -> None:
        """Take how far the levels of devices lie apart, beyond what their noise explains."""
        first = self._params.window_ticks[0]
        counts = self._past_counts[0]
        rows = np.flatnonzero((counts >= first) & (self._open < 0))
        if rows.size < MIN_FLEET:
            return
        own = self._past[0, rows] / counts[rows]
        doubt = self._doubt() / float(np.median(counts[rows]))
        seen = float(MAD_TO_SIGMA * np.median(np.abs(own))) ** 2 - doubt
        self._level = max(MIN_LEVEL_SPREAD, float(np.sqrt(max(seen, 0.0))))

    def _take_noise(self, ratios: Floats) -> None:
        """Take the noise from one tick to the next."""
        steps = np.abs(ratios - self._last)
        self._last = ratios
        known = steps[~np.isnan(steps)]
        if known.size < MIN_FLEET:
            return
        noise = MAD_TO_SIGMA * float(np.median(known)) / sqrt(2.0)
        rate = max(1.0 / self._params.memory_ticks, 1.0 / (self.tick + 1.0))
        self._noise = sqrt((1.0 - rate) * self._noise**2 + rate * noise**2)

    def _clear(self, shifts: Floats) -> None:
        """Close the alarms of devices that are half as bad as they were at worst."""
        suspect = self._open >= 0
        if not suspect.any():
            return
        recent = shifts[self._params.window_ticks.index(self._params.clear_ticks)]
        self._worst = np.where(suspect, np.fmax(self._worst, recent), 0.0)
        whole = self.tick - self._opened >= self._params.clear_ticks
        self._close(np.flatnonzero(suspect & whole & (recent < self._worst / 2.0)))

    def _close(self, rows: Ints) -> None:
        for entity in rows:
            at = int(self._open[entity])
            self.alarms[at] = replace(self.alarms[at], cleared=self.tick)
        self._open[rows] = -1
        self._closed[rows] = self.tick

    def _alarm(self, shifts: Floats, yardstick: Floats, worth: Floats) -> None:
        """Open an alarm for each device of which a mean is beyond its threshold."""
        params = self._params
        young = self._taken * params.spread_every_ticks < max(params.window_ticks)
        wander = np.where(young, self._apart, self._wander)
        spread = np.sqrt(wander[:, None] ** 2 + self._level**2 * (1.0 - worth))
        least = np.where(worth >= OWN_PAST, log(params.min_slowdown), log(params.min_level))
        spread /= np.maximum(self._weights, MIN_WEIGHT)
        limits = np.maximum(np.array(params.min_scores)[:, None] * spread, least)
        since = self.tick - self._closed >= np.array(params.window_ticks)[:, None]
        over = (shifts > limits) & (self._open < 0) & since
        for entity in np.flatnonzero(over.any(axis=0)):
            column = shifts[:, entity]
            window = int(np.argmax(np.where(over[:, entity], column / limits[:, entity], -1.0)))
            effect = float(column[window])
            self._open[entity] = len(self.alarms)
            self._held[:, entity] = yardstick[:, entity]
            self._worst[entity] = effect
            self._opened[entity] = self.tick
            self.alarms.append(
                Alarm(
                    entity=int(entity),
                    tick=self.tick,
                    window=params.window_ticks[window],
                    effect=effect,
                    score=effect / float(spread[window, entity]),
                    yardstick=float(yardstick[window, entity]),
                    is_level=bool(worth[window, entity] < OWN_PAST),
                    segment=self._segment,
                )
            )
