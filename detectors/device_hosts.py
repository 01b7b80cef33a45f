"""Find hosts whose devices slowed as one: what the peers on the same host cannot see.

A shared cause (the host's bus, its controller, its load) slows all drives of a host alike. Among
themselves nobody stands out, so the middle of each host is compared with those of other hosts; no
device is at fault. Only changes count: hosts differ for good reasons. Source: methods reference,
section 6, group against sister groups.
"""

from dataclasses import replace
from math import exp
from typing import Any, Final

import numpy as np
import polars as pl

from collectors.frames import SAMPLES, require
from detectors.device_values import SPEED_SIGNALS
from detectors.devices import DeviceParams, folded, speed_panel, speed_signals
from detectors.panels import Panel, group_numbers, group_sizes
from detectors.peers import known_median
from detectors.suspects import Suspect
from detectors.timelines import clock_timeline
from detectors.verdicts import Evidence, Subject, Verdict, verdict_frame

MIN_HOSTS: Final = 4
"""Hosts below which nobody can say which of them moved."""

MIN_DEVICES: Final = 4
"""On a host with fewer devices one of them moves the middle."""

MIN_MOVED_SHARE: Final = 0.6
"""Share of a host's devices that must have moved with it (methods reference, section 6)."""

MIN_SLOWDOWN: Final = 1.10
"""A host's middle has less noise than its devices: the least effect that counts for a group."""

NEVER_BY_LEVEL: Final = 1000.0

BEFORE_TICKS: Final = 240
"""Ticks before a stretch with which its devices are compared: an hour at 15 s."""

_SISTERS: Final = ("device_kind", "run", "model")


def find_slow_device_hosts(samples: pl.LazyFrame, params: DeviceParams) -> pl.DataFrame:
    """Return the hosts whose devices slowed together against those of other hosts.

    Args:
        samples: `SAMPLES`; only signals whose peers are the devices of the same host are judged.
        params: The thresholds of devices.

    Returns:
        `VERDICTS` of kind group_slow at level host, one row a stretch; no device is named.
        Partition key: signal, device kind and model.

    Raises:
        SchemaError: `samples` is not a `SAMPLES`.
    """
    rows = samples.pipe(require, SAMPLES).drop_nulls("time")
    judged = [name for name in speed_signals(rows) if SPEED_SIGNALS[name].host_peers]
    return verdict_frame(
        verdict
        for name in judged
        for _, verdict in judged_hosts(*speed_panel(rows, name, params), name, params)[1]
    )


def judged_hosts(
    panel: Panel, seconds: float, name: str, params: DeviceParams
) -> tuple[int, list[tuple[Suspect, Verdict]]]:
    """Return how many hosts were judged, and those that slowed with what is said of each.

    Args:
        panel: Logarithms of the signal, one row a device, by `speed_panel`.
        seconds: Width of a tick.
        name: The signal.
        params: The thresholds of devices.
    """
    hosts = _host_panel(panel)
    if hosts.groups.size < MIN_HOSTS:
        return 0, []
    least = replace(
        SPEED_SIGNALS[name], min_slowdown=MIN_SLOWDOWN, min_level=NEVER_BY_LEVEL, quantum=0.0
    )
    timeline = clock_timeline(hosts.ticks, int(seconds * 1e6))
    found: list[tuple[Suspect, Verdict]] = []
    for one in folded(hosts, least, seconds, params):
        count, size = _moved(panel, hosts, one)
        if not one.episode.from_level and count >= MIN_MOVED_SHARE * size:
            who = hosts.entities.row(one.entity, named=True)
            seen = _verdict(who, one, f"{count} of {size}", name)
            found.append((one, replace(seen, **timeline.span(one.episode))))
    return hosts.groups.size, found


def _host_panel(panel: Panel) -> Panel:
    """Return the middles of the groups of devices, one row a host, sisters in one group."""
    numbers = np.flatnonzero(group_sizes(panel.groups) >= MIN_DEVICES)
    rows = [np.flatnonzero(panel.groups == number) for number in numbers]
    firsts = panel.entities[[int(row[0]) for row in rows]]
    order = firsts.with_row_index("at").sort(*_SISTERS, "host", nulls_last=True)["at"].to_list()
    entities = firsts[order]
    middles = [known_median(panel.values[rows[at]], 0) for at in order]
    return Panel(
        entities=entities,
        groups=group_numbers(entities, _SISTERS),
        ticks=panel.ticks,
        values=np.stack(middles) if middles else np.zeros((0, panel.ticks.size)),
    )


def _moved(panel: Panel, hosts: Panel, suspect: Suspect) -> tuple[int, int]:
    """Return how many devices of a host moved with it against other hosts, and of how many."""
    who = hosts.entities["host"][suspect.entity]
    rows = np.flatnonzero((panel.entities["host"] == who).to_numpy())
    sisters = known_median(np.delete(hosts.values, suspect.entity, axis=0), 0)
    relative = panel.values[rows] - sisters
    episode = suspect.episode
    inside = known_median(relative[:, episode.start : episode.stop], -1)
    before = known_median(relative[:, max(0, episode.start - BEFORE_TICKS) : episode.start], -1)
    return int(np.sum(inside - before >= episode.effect / 2)), int(rows.size)


def _verdict(who: dict[str, Any], suspect: Suspect, moved: str, name: str) -> Verdict:
    ratio = exp(suspect.episode.effect)
    what = (
        f"{moved} devices slowed together: the middle of their {name} is x{ratio:.2f} of what it "
        f"was against {suspect.members - 1} other hosts"
    )
    return Verdict(
        kind="group_slow",
        level="host",
        subject=Subject(run=who["run"], host=who["host"]),
        slowdown=ratio,
        confidence="medium",
        peers=f"middles of the {who['device_kind']}s of other hosts",
        peer_count=suspect.members - 1,
        q_value=suspect.q_value,
        evidence=(Evidence(source=f"{who['device_kind']} samples", what=what),),
        action="no device to replace: look at what they share, the host's load, bus and controller",
    )
