"""Slow devices, judged a partition at a time, with false discoveries controlled over all of them.

A partition is the devices of one kind, run and model: nobody outside of it is a peer of theirs, and
what is usual is taken from among them. How many findings may be luck is a question to the whole
fleet, so a partition hands over each finding with its chance, and the rates are taken once.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import inf

import polars as pl

from collectors.frames import SAMPLES, require
from detectors.device_hosts import judged_hosts
from detectors.device_values import SPEED_SIGNALS
from detectors.devices import (
    DeviceParams,
    device_verdicts,
    folded,
    speed_panel,
    speed_signals,
)
from detectors.multiplicity import discovery_rates
from detectors.suspects import Suspect
from detectors.verdicts import Verdict, verdict_frame


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """What the tests of one signal in one partition gave.

    Attributes:
        signal: The signal.
        count: How many things were tested.
        found: Each finding with its chance under noise alone; null where a budget of false alarms
            was kept instead.
    """

    signal: str
    count: int
    found: tuple[tuple[Verdict, float | None], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DevicePart:
    """What one partition gave.

    Attributes:
        devices: Of the devices themselves, a signal each.
        hosts: Of hosts whose devices slowed together, likewise.
    """

    devices: tuple[Tested, ...] = ()
    hosts: tuple[Tested, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceFindings:
    """What all partitions gave together.

    Attributes:
        devices: `VERDICTS`, as `find_slow_devices` gives them.
        hosts: `VERDICTS`, as `find_slow_device_hosts` gives them.
    """

    devices: pl.DataFrame
    hosts: pl.DataFrame


def find_in_part(samples: pl.LazyFrame, params: DeviceParams) -> DevicePart:
    """Return the slow devices and hosts of one partition, before multiplicity.

    Args:
        samples: `SAMPLES` of the devices of one kind, run and model, and what else their hosts
            say of them; a null value is not known.
        params: The thresholds.

    Raises:
        SchemaError: `samples` is not a `SAMPLES`.
    """
    rows = samples.pipe(require, SAMPLES).drop_nulls("time")
    every = replace(params, suspects=replace(params.suspects, max_q_value=inf))
    devices, hosts = list[Tested](), list[Tested]()
    for name in speed_signals(rows):
        panel, seconds = speed_panel(rows, name, every)
        found = folded(panel, SPEED_SIGNALS[name], seconds, every)
        told = device_verdicts(panel, rows, name, seconds, found)
        devices.append(_tested(name, panel.groups.size, zip(found, told, strict=True)))
        if SPEED_SIGNALS[name].host_peers:
            hosts.append(_tested(name, *judged_hosts(panel, seconds, name, every)))
    return DevicePart(devices=tuple(devices), hosts=tuple(hosts))


def join_device_parts(parts: Iterable[DevicePart], params: DeviceParams) -> DeviceFindings:
    """Return what stands among all the tests that were made, with its rate.

    Args:
        parts: Of all partitions.
        params: The thresholds that the partitions were judged with.
    """
    given, most = list(parts), params.suspects.max_q_value
    return DeviceFindings(
        devices=_standing([one for part in given for one in part.devices], most),
        hosts=_standing([one for part in given for one in part.hosts], most),
    )


def _tested(name: str, count: int, found: Iterable[tuple[Suspect, Verdict]]) -> Tested:
    chances = ((verdict, suspect.episode.p_value) for suspect, verdict in found)
    return Tested(signal=name, count=count, found=tuple(chances))


def _standing(tested: list[Tested], max_q_value: float) -> pl.DataFrame:
    """Return the findings whose rate among all tests of their signal is low enough."""
    standing: list[Verdict] = []
    for name in SPEED_SIGNALS:
        mine = [one for one in tested if one.signal == name]
        found = [one for part in mine for one in part.found]
        chances = [chance for _, chance in found if chance is not None]
        rates = iter(discovery_rates(chances, sum(one.count for one in mine)))
        rated = [
            replace(verdict, q_value=None if chance is None else next(rates))
            for verdict, chance in found
        ]
        standing += [one for one in rated if one.q_value is None or one.q_value <= max_q_value]
    return verdict_frame(standing)
