"""Counters of network ports: traffic that follows the job, and errors that come at random."""

import numpy as np

from paceline.simulation.draws import Bools, Floats, Ints
from paceline.simulation.lockstep import Timeline

RATE_BYTES_PER_SECOND = 50_000_000_000
_STEP_BYTES = 200e9
"""What a NIC moves in a step, either way."""


def count_up(draw: np.random.Generator, rates: Floats, seconds: Floats, old: Ints) -> Ints:
    """Return counters that grow at random with the given rates.

    Args:
        draw: The random stream.
        rates: By scrape and port, events per second since the scrape before.
        seconds: By scrape, when it was taken.
        old: By port, what was counted before the recording.
    """
    passed = np.diff(seconds, prepend=seconds[0])
    grown = draw.poisson(rates * passed[:, None])
    return old + np.cumsum(grown, axis=0)


def old_counts(draw: np.random.Generator, ports: int, share: float, most: int) -> Ints:
    """Return by port what it counted long ago: a few have some, and it says nothing now."""
    counts = draw.integers(1, most + 1, size=ports)
    return np.where(draw.random(ports) < share, counts, 0)


def moved_bytes(draw: np.random.Generator, timeline: Timeline, seconds: Floats, ports: int) -> Ints:
    """Return by scrape and port the bytes moved: they follow the job's steps."""
    times = np.concatenate((timeline.starts[:1], timeline.ends))
    done = np.interp(seconds, times, np.arange(len(times)))
    share = draw.normal(1.0, 0.02, size=ports)
    old = draw.integers(10**12, 10**14, size=ports)
    return old + (done[:, None] * share * _STEP_BYTES).astype(np.int64)


def is_moving(timeline: Timeline, seconds: Floats) -> Bools:
    """Return by scrape whether the job was still moving data."""
    return seconds <= timeline.ends[-1] if timeline.waiting_since is not None else seconds >= 0.0
