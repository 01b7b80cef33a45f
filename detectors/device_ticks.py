"""Slow devices as a fold over ticks: what a service carries from one scrape to the next.

The answer after any number of ticks is that of `find_slow_devices` on the same samples, as long as
they fit into what is carried; what is older was settled when it left. A frozen exporter is told by
its whole series, and so by `detectors.telemetry` alone.
"""

from collections import deque
from dataclasses import replace
from typing import Final

import numpy as np
import polars as pl

from collectors.frames import SAMPLES, require
from detectors.device_values import SPEED_SIGNALS, cleaned_values, log_values
from detectors.devices import ENTITY, GROUP, DeviceParams, device_verdicts, fleet_params
from detectors.episodes import moved
from detectors.fleets import Fleet
from detectors.panels import Floats, Panel, group_numbers
from detectors.suspects import Suspect
from detectors.verdicts import verdict_frame

_NAMES: Final = tuple(dict.fromkeys([*GROUP, *ENTITY]))


class DeviceTicks:
    """The state of a fold over the samples of one speed signal.

    Attributes:
        devices: One row a device, sorted by group and name: the columns that name it.
    """

    def __init__(self, signal: str, *, seconds: float, params: DeviceParams) -> None:
        """Begin a fold.

        Args:
            signal: A key of `SPEED_SIGNALS`.
            seconds: Time between two scrapes, the width of a tick.
            params: The thresholds.

        Raises:
            ValueError: The signal is not one that tells how fast a device works.
        """
        if signal not in SPEED_SIGNALS:
            known = sorted(SPEED_SIGNALS)
            raise ValueError(f"no speed signal {signal!r}; known: {known}")
        self.devices = pl.DataFrame()
        self._name, self._seconds, self._params = signal, seconds, params
        self._fleet: Fleet | None = None
        self._ticks = deque[int](maxlen=params.fleet.history_ticks)

    def push(self, samples: pl.DataFrame) -> None:
        """Move on by the ticks of some samples.

        Args:
            samples: `SAMPLES` of one tick or more, later than all before, whole ticks; devices
                that were not there before join.

        Raises:
            SchemaError: `samples` is not a `SAMPLES`.
            ValueError: A tick is not later than those before.
        """
        rows = samples.lazy().pipe(require, SAMPLES).drop_nulls("time")
        values = cleaned_values(rows, self._name, self._params.values)
        width = int(self._seconds * 1e6)
        known = (
            log_values(values, SPEED_SIGNALS[self._name])
            .drop_nulls("log_value")
            .with_columns(tick=pl.col("time").cast(pl.Int64) // width * width)
            .group_by(*_NAMES, "tick")
            .agg(pl.col("log_value").median())
            .collect()
        )
        for tick in known["tick"].unique().sort():
            self._push(int(tick), known.filter(pl.col("tick") == tick))

    def verdicts(self, samples: pl.DataFrame) -> pl.DataFrame:
        """Return what stands after the ticks so far.

        Args:
            samples: `SAMPLES` of the carried time, for the evidence.

        Returns:
            `VERDICTS`, as `find_slow_devices` gives them.
        """
        if self._fleet is None:
            return verdict_frame([])
        values = self._fleet.values()
        start = self._fleet.tick - values.shape[1]
        panel = Panel(
            entities=self.devices,
            groups=group_numbers(self.devices, GROUP),
            ticks=np.array(self._ticks, dtype=np.int64),
            values=values,
        )
        found = self._fleet.suspects()
        stand = [_placed(one, start) for one in found if one.episode.stop > start]
        return verdict_frame(
            device_verdicts(panel, samples.lazy(), self._name, self._seconds, stand)
        )

    def _push(self, tick: int, values: pl.DataFrame) -> None:
        if self._ticks and tick <= self._ticks[-1]:
            raise ValueError(f"ticks must rise: {tick} came after {self._ticks[-1]} (microseconds)")
        self._join(values.select(_NAMES))
        column = self.devices.join(
            values, on=_NAMES, how="left", nulls_equal=True, maintain_order="left"
        )["log_value"].to_numpy()
        fleet = self._started(column)
        gap = self._params.max_gap_ticks * self._seconds * 1e6
        fleet.push(column, after_gap=bool(self._ticks) and tick - self._ticks[-1] > gap)
        self._ticks.append(tick)

    def _started(self, first: Floats) -> Fleet:
        """Return the fold, begun with the first tick."""
        if self._fleet is None:
            signal = SPEED_SIGNALS[self._name]
            params = fleet_params(first, signal, self._seconds, self._params)
            self._fleet = Fleet(group_numbers(self.devices, GROUP), params)
        return self._fleet

    def _join(self, devices: pl.DataFrame) -> None:
        """Let devices that were not there before join, in the order of a panel."""
        if self.devices.is_empty():
            self.devices = devices.sort(_NAMES, nulls_last=True)
            return
        new = devices.join(self.devices, on=_NAMES, how="anti", nulls_equal=True)
        if new.is_empty() or self._fleet is None:
            return
        marked = pl.concat([self.devices.with_row_index("old"), new], how="diagonal")
        ordered = marked.sort(_NAMES, nulls_last=True).with_row_index("row")
        self.devices = ordered.select(_NAMES)
        places = ordered.drop_nulls("old").sort("old")["row"].to_numpy().astype(np.int64)
        self._fleet.widened(group_numbers(self.devices, GROUP), places)


def _placed(suspect: Suspect, start: int) -> Suspect:
    """Return the suspect with positions that count from the first carried tick."""
    here = moved(suspect.episode, -start)
    first, seen = max(0, here.start), max(0, here.detected)
    return replace(suspect, episode=replace(here, start=first, detected=seen))
