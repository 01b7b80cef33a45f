"""Slow devices as folds that go on from tick to tick, one a speed signal.

A fold takes whole ticks in their order, so a tick is pushed when the next one has begun; a sample
that comes later than that is in the window, and no more in the fold. After a start the window is
pushed, whose hours are what a fold carries.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

import polars as pl

from detectors.device_ticks import DeviceTicks
from detectors.device_values import SPEED_SIGNALS
from detectors.devices import CADENCE_DEVICES, DeviceParams
from detectors.verdicts import verdict_frame

MIN_READINGS: Final = 4
"""Readings of a device below which nobody can tell how often it is read."""


@dataclass(slots=True, kw_only=True)
class _Fold:
    """One signal's fold.

    Attributes:
        ticks: The fold.
        width: Width of a tick.
        pushed: End of the last tick that was pushed; null before the first.
    """

    ticks: DeviceTicks
    width: timedelta
    pushed: datetime | None = None


@dataclass(slots=True, kw_only=True)
class DeviceFolds:
    """The folds of all speed signals.

    Attributes:
        params: The thresholds of devices.
    """

    params: DeviceParams
    _folds: dict[str, _Fold] = field(default_factory=dict[str, _Fold])

    def find(self, samples: pl.DataFrame) -> pl.DataFrame:
        """Move all folds on by the whole ticks that are new, and return what stands.

        Args:
            samples: `SAMPLES` of the window, named.

        Returns:
            `VERDICTS`, as `find_slow_devices` gives them.
        """
        there = set(samples["signal"].unique())
        found = [self._fold(name, samples) for name in SPEED_SIGNALS if name in there]
        return pl.concat([verdict_frame([]), *found])

    def _fold(self, name: str, samples: pl.DataFrame) -> pl.DataFrame:
        fold = self._folds.get(name) or self._begun(name, samples)
        if fold is None:
            return verdict_frame([])
        self._folds[name] = fold
        newest = _newest(samples.filter(pl.col("signal") == name))
        stop = None if newest is None else _floor(newest, fold.width)
        if stop is not None and (fold.pushed is None or stop > fold.pushed):
            is_due = pl.col("time") < stop
            if fold.pushed is not None:
                is_due &= pl.col("time") >= fold.pushed
            fold.ticks.push(samples.filter(is_due))
            fold.pushed = stop
        return fold.ticks.verdicts(samples)

    def _begun(self, name: str, samples: pl.DataFrame) -> _Fold | None:
        """Return a fold whose tick is the usual time between readings; null if none can be told."""
        seconds = _cadence_seconds(samples.filter(pl.col("signal") == name))
        if seconds is None:
            return None
        width = max(seconds, self.params.usual_seconds)
        ticks = DeviceTicks(name, seconds=width, params=self.params)
        return _Fold(ticks=ticks, width=timedelta(seconds=width))


def _newest(samples: pl.DataFrame) -> datetime | None:
    newest = samples["time"].max()
    return newest if isinstance(newest, datetime) else None


def _floor(moment: datetime, width: timedelta) -> datetime:
    """Return the start of the tick that a time is in, as folds count them."""
    micros = int(width.total_seconds() * 1e6)
    stamp = int(moment.timestamp()) * 1_000_000 + moment.microsecond
    return moment - timedelta(microseconds=stamp % micros)


def _cadence_seconds(samples: pl.DataFrame) -> float | None:
    """Return the usual time between two readings of a device, in whole seconds; null if unknown."""
    devices = samples.select("host", "device", "index").unique(maintain_order=True)
    some = devices.sort("host", "device", "index").head(CADENCE_DEVICES)
    times = (
        samples.join(some, on=["host", "device", "index"], how="semi", nulls_equal=True)
        .drop_nulls(["time", "value"])
        .sort("time")
        .group_by("host", "device", "index")
        .agg(pl.col("time").diff().dt.total_microseconds().median() / 1e6, count=pl.len())
        .filter(pl.col("count") >= MIN_READINGS)
    )
    usual = times["time"].median()
    return float(round(usual)) if isinstance(usual, int | float) and usual > 0 else None
