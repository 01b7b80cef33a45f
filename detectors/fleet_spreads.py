"""How far moving means vary over a fleet: the unit in which a device is judged.

Noise of real telemetry lasts and has heavy tails, so no formula tells how far the mean of an hour
strays; the fleet's other devices do. Medians of absolute values, so the few that are sick do not
count. Source: methods reference, sections 3 and 4 (thresholds from the fleet's own history).
"""

from math import sqrt
from typing import Final

import numpy as np

from detectors.moving_means import MovingMeans
from detectors.panels import Bools, Floats
from detectors.peers import MAD_TO_SIGMA, known_median

MIN_FLEET: Final = 8
"""Known devices from which a spread over the fleet means anything."""

MIN_LEVEL_SPREAD: Final = 0.01
"""Levels of like devices lie at least this far apart, as a log ratio: silicon always does."""


class FleetSpreads:
    """Spreads of a fleet, averaged over time; all are log ratios.

    Attributes:
        wander: How far each window's mean strays from the device's own past; shape (windows,).
        apart: How far means lay apart at most, which stands in while nothing is known of wander.
        level: How far the levels of devices lie apart.
        noise: Of single values, from one tick to the next.
    """

    def __init__(self, windows: int, *, every_ticks: int, memory_ticks: int) -> None:
        """Begin without knowledge.

        Args:
            windows: How many windows.
            every_ticks: Ticks from one call of `take` to the next.
            memory_ticks: Over how many ticks spreads are averaged.
        """
        self.wander, self.apart = np.full(windows, np.nan), np.full(windows, np.nan)
        self.level, self.noise = MIN_LEVEL_SPREAD, 0.0
        self._taken, self._noises = np.zeros(windows), 0
        self._every, self._memory = every_ticks, memory_ticks

    def units(self, shortest_ticks: int) -> Floats:
        """Return the spread of each window's mean; NaN while nothing is known.

        Args:
            shortest_ticks: Ticks of averaging below which wander is not believed yet.
        """
        young = self._taken * self._every < shortest_ticks
        return np.where(young, self.apart, self.wander)

    def doubt(self, windows: MovingMeans) -> float:
        """Return the variance of a mean of the past, times the ticks in it.

        Noise that lasts makes long means vary more than short ones let expect: the worst counts.
        """
        worst = np.fmax.reduce(self.wander**2 * windows.lengths[:, 0])
        return float(np.nan_to_num(worst, nan=np.inf))

    def take(self, windows: MovingMeans, means: Floats, yardstick: Floats, calm: Bools) -> None:
        """Take spreads from the means of this tick.

        Args:
            windows: The windows.
            means: Their means, shape (windows, devices).
            yardstick: What they are compared with, same shape.
            calm: Which devices are no suspects, shape (devices,).
        """
        weights = windows.weights()
        counts = np.where(
            (windows.past_counts >= windows.lengths) & calm, windows.past_counts, np.nan
        )
        own = (means - windows.past()) * weights / np.sqrt(1.0 + windows.lengths / counts)
        known = np.sum(~np.isnan(own), axis=1) >= MIN_FLEET
        rate = np.maximum(self._every / self._memory, 1.0 / (self._taken + 1.0))
        now = (MAD_TO_SIGMA * known_median(np.abs(own), 1)) ** 2
        mixed = np.sqrt((1.0 - rate) * np.nan_to_num(self.wander) ** 2 + rate * now)
        self.wander = np.where(known, mixed, self.wander)
        self._taken += known
        self._take_apart(((means - yardstick) * weights)[:, calm])
        self._take_level(windows, calm)

    def take_noise(self, steps: Floats) -> None:
        """Take the noise from the differences of this tick's ratios to the last one's."""
        known = np.abs(steps[~np.isnan(steps)])
        self._noises += 1
        if known.size < MIN_FLEET:
            return
        noise = MAD_TO_SIGMA * float(np.median(known)) / sqrt(2.0)
        rate = max(1.0 / self._memory, 1.0 / self._noises)
        self.noise = sqrt((1.0 - rate) * self.noise**2 + rate * noise**2)

    def _take_apart(self, shifts: Floats) -> None:
        known = np.sum(~np.isnan(shifts), axis=1) >= MIN_FLEET
        apart = MAD_TO_SIGMA * known_median(np.abs(shifts), 1)
        self.apart = np.where(known, np.fmax(self.apart, apart), self.apart)

    def _take_level(self, windows: MovingMeans, calm: Bools) -> None:
        """Take how far levels lie apart beyond what the noise of the past explains."""
        counts = windows.past_counts[0]
        rows = np.flatnonzero((counts >= windows.lengths[0, 0]) & calm)
        if rows.size < MIN_FLEET:
            return
        own = windows.past()[0, rows]
        doubt = self.doubt(windows) / float(np.median(counts[rows]))
        seen = float(MAD_TO_SIGMA * np.median(np.abs(own))) ** 2 - doubt
        self.level = max(MIN_LEVEL_SPREAD, sqrt(max(seen, 0.0)))
