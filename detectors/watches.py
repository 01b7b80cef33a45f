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

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import log
from typing import Final

import numpy as np

from detectors.fleet_spreads import FleetSpreads
from detectors.moving_means import MovingMeans, wide_array
from detectors.panels import Floats, Ints

CLIP_SLOWDOWNS: Final = 3.0
"""Ratios are never cut below this many times the least slowdown."""

MIN_WEIGHT: Final = 1e-9
"""A mean of no known value weighs nothing; it is not known anyway."""

NEVER: Final = -(2**62)
"""Number of a tick before all others."""

_BY_DEVICE: Final[Mapping[str, float]] = {
    "_last": np.nan,
    "_worst": 0.0,
    "_held": 0.0,
    "_open": -1,
    "_opened": NEVER,
    "_closed": NEVER,
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
    """The carried state of a fold over ticks.

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
        windows = params.window_ticks
        self.tick, self._segment = 0, 0
        self.alarms: list[Alarm] = []
        self._params = params
        self._spreads = FleetSpreads(
            len(windows), every_ticks=params.spread_every_ticks, memory_ticks=params.memory_ticks
        )
        self._means = MovingMeans(entities, windows)
        self._last, self._worst = np.full(entities, np.nan), np.zeros(entities)
        self._held = np.zeros((len(windows), entities))
        self._open = np.full(entities, -1)
        self._opened, self._closed = np.full(entities, NEVER), np.full(entities, NEVER)

    def push(self, ratios: Floats, *, after_gap: bool = False) -> None:
        """Move on by one tick.

        Args:
            ratios: Log ratio of each device to its peers, positive is worse; NaN is not known.
            after_gap: The tick before is so long ago that what was recent is not any more.
        """
        if after_gap:
            self._begin_segment(ratios.size)
        params, lengths = self._params, self._means.lengths
        yardstick, worth = self._yardsticks()
        calm = (self._open < 0) & (self.tick - self._closed >= lengths)
        self._means.slide(self._clipped(ratios, yardstick[-1]), calm)
        means = self._means.means(params.min_known_share)
        if self.tick % params.spread_every_ticks == 0:
            self._spreads.take(self._means, means, yardstick, self._open < 0)
        self._spreads.take_noise(ratios - self._last)
        self._last = ratios
        self._clear(means - yardstick)
        self._alarm(means - yardstick, yardstick, worth)
        self.tick += 1

    def widened(self, entities: int, places: Ints) -> None:
        """Make room for devices that were not there before.

        Args:
            entities: How many devices there are now.
            places: New row number of each device that was there.
        """
        self._means.widened(entities, places)
        for name, empty in _BY_DEVICE.items():
            setattr(self, name, wide_array(getattr(self, name), entities, places, empty))
        self.alarms = [replace(one, entity=int(places[one.entity])) for one in self.alarms]

    def wanders(self) -> bool:
        """Return whether means move farther over the fleet than the least slowdown that counts."""
        params = self._params
        at = params.window_ticks.index(params.clear_ticks)
        return bool(params.min_scores[at] * self._spreads.wander[at] > log(params.min_slowdown))

    def _begin_segment(self, entities: int) -> None:
        """Forget all that a gap makes void: recent values, the past, and who is suspect."""
        self._means = MovingMeans(entities, self._params.window_ticks)
        self._last = np.full(entities, np.nan)
        self._close(np.flatnonzero(self._open >= 0))
        self._closed[:] = NEVER
        self._segment = self.tick

    def _yardsticks(self) -> tuple[Floats, Floats]:
        """Return what each mean is compared with, and how much of it is the device's own past."""
        spreads, counts = self._spreads, self._means.past_counts
        doubt = spreads.doubt(self._means) / np.maximum(counts, 1.0)
        worth = np.where(counts > 0, spreads.level**2 / (spreads.level**2 + doubt), 0.0)
        farthest = self._params.max_level_spreads * spreads.level
        yardstick = np.clip(worth * np.nan_to_num(self._means.past()), -farthest, farthest)
        return np.where(self._open >= 0, self._held, yardstick), worth

    def _clipped(self, ratios: Floats, centre: Floats) -> Floats:
        """Return the ratios cut where noise ends: one spike must not make a mean."""
        params = self._params
        noise = params.clip_noises * self._spreads.noise
        most = max(noise, CLIP_SLOWDOWNS * log(params.min_slowdown))
        cut: Floats = np.clip(ratios, centre - most, centre + most)
        return cut

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
        params, lengths = self._params, self._means.lengths
        least = min(log(params.min_slowdown), log(params.min_level))
        rows = np.flatnonzero((shifts > least).any(axis=0) & (self._open < 0))
        if not rows.size:
            return
        near, unit, limits = self._limits(shifts, worth, rows)
        over = (near > limits) & (self.tick - self._closed[rows] >= lengths)
        excess = np.where(over, near / limits, 0.0)
        for at in np.flatnonzero(over.any(axis=0)):
            window, entity = int(np.argmax(excess[:, at])), int(rows[at])
            alarm = Alarm(
                entity=entity,
                tick=self.tick,
                window=params.window_ticks[window],
                effect=float(near[window, at]),
                score=float(near[window, at] / unit[window, at]),
                yardstick=float(yardstick[window, entity]),
                is_level=bool(worth[window, entity] < OWN_PAST),
                segment=self._segment,
            )
            self._open_alarm(alarm, yardstick[:, entity])

    def _limits(self, shifts: Floats, worth: Floats, rows: Ints) -> tuple[Floats, Floats, Floats]:
        """Return the shifts of some devices, their units, and where they alarm."""
        params, own = self._params, worth[:, rows]
        unit = self._spreads.units(max(params.window_ticks))[:, None]
        unit = np.sqrt(unit**2 + self._spreads.level**2 * (1.0 - own))
        unit /= np.maximum(self._means.weights(rows), MIN_WEIGHT)
        least = np.where(own >= OWN_PAST, log(params.min_slowdown), log(params.min_level))
        limits = np.maximum(np.array(params.min_scores)[:, None] * unit, least)
        return shifts[:, rows], unit, limits

    def _open_alarm(self, alarm: Alarm, yardstick: Floats) -> None:
        """Take a device for suspect: its yardstick stands still."""
        self._open[alarm.entity] = len(self.alarms)
        self._held[:, alarm.entity] = yardstick
        self._worst[alarm.entity] = alarm.effect
        self._opened[alarm.entity] = self.tick
        self.alarms.append(alarm)
