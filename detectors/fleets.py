"""Fold a fleet's ticks into suspects: the same answer for a file of a day as tick by tick.

The carried state is the last hours of every device, its watch, and what was found before. A device
is judged only when its watch alarmed, over those hours and among its peers; what would leave the
window is settled first. Where a fleet's means wander by more than a fault must have (drives, whose
load wanders), the alarm itself is the finding: segments would only find the wander. Source: methods
reference, sections 4 to 7; parallel screening of many streams, Y. Mei, Biometrika 97 (2010).
"""

from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import polars as pl

from detectors.episodes import Episode, moved
from detectors.fleet_spreads import MIN_FLEET
from detectors.panels import Floats, Ints, Panel
from detectors.peers import peer_medians
from detectors.suspects import (
    Suspect,
    SuspectParams,
    controlled,
    peer_ratios,
    suspect_of,
    usual_spread,
    verified_suspects,
)
from detectors.watches import Alarm, Watch, WatchParams

FIRST_TICKS: Final = 128
"""Ticks for which there is room at first; it doubles when it is full."""

SAMPLED_DEVICES: Final = 1024
"""Devices from which the usual spread of levels is taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetParams:
    """How a fleet's ticks are folded.

    Attributes:
        watch: When a moving mean alarms.
        suspects: When a stretch of a device that alarmed stands.
        history_ticks: Ticks that are carried.
    """

    watch: WatchParams = field(default_factory=WatchParams)
    suspects: SuspectParams = field(default_factory=SuspectParams)
    history_ticks: int = 960


class Fleet:
    """The state of a fold over the ticks of one signal.

    Attributes:
        tick: How many ticks were pushed.
        alarms: Alarms of the watch, in order.
    """

    def __init__(self, groups: Ints, params: FleetParams) -> None:
        """Begin a fold.

        Args:
            groups: Group number of each device, rising, from 0; shape (devices,).
            params: Thresholds.
        """
        self._groups = groups
        self._params = params
        self._watch = Watch(groups.size, params.watch)
        self._ring = np.full((min(params.history_ticks, FIRST_TICKS), groups.size), np.nan)
        self._settled: list[Suspect] = []

    @property
    def tick(self) -> int:
        """Return how many ticks were pushed."""
        return self._watch.tick

    @property
    def alarms(self) -> list[Alarm]:
        """Return the alarms of the watch, in order."""
        return self._watch.alarms

    def push(self, values: Floats, *, after_gap: bool = False) -> None:
        """Move on by one tick.

        Args:
            values: Logarithm of each device's signal, positive direction is worse; NaN not known.
            after_gap: The tick before is so long ago that what was recent is not any more.
        """
        half = self._params.history_ticks // 2
        if self.tick >= self._params.history_ticks and self.tick % half == 0:
            self._settled = _merged(self._settled, self._judged())
        self._grow()
        self._ring[self.tick % self._ring.shape[0]] = values
        column = values[:, None]
        ratios = (column - peer_medians(column, self._groups))[:, 0]
        self._watch.push(ratios, after_gap=after_gap)

    def _grow(self) -> None:
        """Make room for more ticks, up to those that are carried."""
        rows, most = self._ring.shape[0], self._params.history_ticks
        if self.tick == rows < most:
            more = np.full((min(rows, most - rows), self._groups.size), np.nan)
            self._ring = np.concatenate([self._ring, more])

    def widened(self, groups: Ints, places: Ints) -> None:
        """Make room for devices that were not there before.

        Args:
            groups: Group number of each device that there is now.
            places: New row number of each device that was there.
        """
        wide = np.full((self._ring.shape[0], groups.size), np.nan)
        wide[:, places] = self._ring
        self._ring, self._groups = wide, groups
        self._settled = [replace(one, entity=int(places[one.entity])) for one in self._settled]
        self._watch.widened(groups.size, places)

    def values(self) -> Floats:
        """Return the carried values, shape (devices, ticks), the last tick last."""
        start = max(0, self.tick - self._params.history_ticks)
        return self._panel(np.arange(self._groups.size), start).values

    def suspects(self) -> list[Suspect]:
        """Return what stands after the ticks so far, by device and time; positions count ticks."""
        found = _merged(self._settled, self._judged())
        return controlled(found, self._groups.size, self._params.suspects)

    def _judged(self) -> list[Suspect]:
        """Return the suspects in the carried ticks, with positions of the whole fold."""
        start = max(0, self.tick - self._params.history_ticks)
        recent = [one for one in self.alarms if one.cleared is None or one.cleared > start]
        small = self._groups.size < MIN_FLEET
        if not recent and not small:
            return []
        if self._watch.wanders():
            fresh = [one for one in recent if one.tick >= start or self._is_settled(one)]
            return [self._alarmed(one, start) for one in fresh]
        found = self._found(recent, start, small=small)
        return [one for one in found if small or _alarm_of(one, recent) is not None]

    def _is_settled(self, alarm: Alarm) -> bool:
        """Return whether an alarm from before the carried ticks was found to bear a stretch."""
        return any(
            one.entity == alarm.entity and one.episode.start <= alarm.tick < one.episode.stop
            for one in self._settled
        )

    def _found(self, recent: list[Alarm], start: int, *, small: bool) -> list[Suspect]:
        """Return the verified stretches of the groups that hold an alarm."""
        alarmed = np.unique([self._groups[one.entity] for one in recent])
        rows = np.flatnonzero(np.isin(self._groups, alarmed) | small)
        spread = usual_spread(peer_ratios(self._panel(self._sample(), start)))
        found = verified_suspects(self._panel(rows, start), self._params.suspects, spread)
        placed = [
            replace(one, entity=int(rows[one.entity]), episode=moved(one.episode, start))
            for one in found
        ]
        return [_dated(one, _alarm_of(one, recent)) for one in placed]

    def _sample(self) -> Ints:
        """Return the devices of some groups, spread over the fleet."""
        count = int(self._groups[-1]) + 1 if self._groups.size else 0
        every = max(1, self._groups.size // SAMPLED_DEVICES)
        kept = np.arange(0, count, min(every, max(count, 1)))
        rows: Ints = np.flatnonzero(np.isin(self._groups, kept)).astype(np.int64)
        return rows

    def _panel(self, rows: Ints, start: int) -> Panel:
        """Return the carried ticks of some devices, whole groups of them."""
        slots = np.arange(start, self.tick) % self._ring.shape[0]
        return Panel(
            entities=pl.DataFrame(),
            groups=np.unique(self._groups[rows], return_inverse=True)[1].astype(np.int64),
            ticks=np.arange(start, self.tick),
            values=np.ascontiguousarray(self._ring[np.ix_(slots, rows)].T),
        )

    def _alarmed(self, alarm: Alarm, start: int) -> Suspect:
        """Return the stretch that an alarm speaks of."""
        rows = np.flatnonzero(self._groups == self._groups[alarm.entity]).astype(np.int64)
        panel = self._panel(rows, start)
        own = int(np.searchsorted(rows, alarm.entity))
        excess = peer_ratios(panel)[own] - alarm.yardstick
        episode = _episode_of(alarm, excess, start)
        found = suspect_of(panel, own, episode)
        return replace(found, entity=alarm.entity, episode=moved(episode, start))


def _episode_of(alarm: Alarm, excess: Floats, start: int) -> Episode:
    """Return the stretch of an alarm; positions count from `start`.

    It begins and ends where a cumulated sum against half the effect turns (Page's test).
    """
    at = max(0, alarm.tick - start)
    end = excess.size if alarm.cleared is None else alarm.cleared - start
    gains = np.nan_to_num(np.clip(excess, -alarm.effect, 2.0 * alarm.effect) - alarm.effect / 2.0)
    first = max(0, at - alarm.window, alarm.segment - start)
    onset = first + int(np.argmax(np.cumsum(gains[first : at + 1][::-1])[::-1]))
    stop = at + 1 + int(np.argmax(np.cumsum(gains[at:end])))
    inside = excess[onset:stop]
    known = inside[~np.isnan(inside)]
    return Episode(
        start=onset,
        stop=excess.size if alarm.cleared is None else stop,
        detected=at,
        effect=float(np.median(known)),
        runs=1,
        bad_ticks=int(np.sum(known > alarm.effect / 2.0)),
        from_level=alarm.is_level,
        p_value=None,
    )


def _alarm_of(suspect: Suspect, alarms: list[Alarm]) -> Alarm | None:
    """Return the first alarm of a suspect's device that was raised in its stretch."""
    episode = suspect.episode
    return next(
        (
            one
            for one in alarms
            if one.entity == suspect.entity
            and one.tick - one.window < episode.stop
            and (one.cleared is None or one.cleared > episode.start)
        ),
        None,
    )


def _dated(suspect: Suspect, alarm: Alarm | None) -> Suspect:
    """Return the suspect, detected when its watch had alarmed and its persistence was complete."""
    if alarm is None:
        return suspect
    seen = max(alarm.tick, suspect.episode.detected)
    return replace(suspect, episode=replace(suspect.episode, detected=seen))


def _merged(older: list[Suspect], newer: list[Suspect]) -> list[Suspect]:
    """Return all suspects, those of one device that overlap as one with the newer shape."""
    kept = list(older)
    for one in newer:
        same = [
            other
            for other in kept
            if other.entity == one.entity
            and other.episode.start < one.episode.stop
            and one.episode.start < other.episode.stop
        ]
        start = min([one.episode.start, *(other.episode.start for other in same)])
        seen = min([one.episode.detected, *(other.episode.detected for other in same)])
        kept = [other for other in kept if other not in same]
        kept.append(replace(one, episode=replace(one.episode, start=start, detected=seen)))
    return sorted(kept, key=lambda one: (one.entity, one.episode.start))
