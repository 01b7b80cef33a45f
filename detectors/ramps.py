"""Tell a change that grew from one that came at once, and say when it began to grow.

A step model and a ramp model are fitted to the same series; the ramp stands only when it explains
clearly more. Source: methods reference, section 8 (creep), with the plateau that a device reaches
when its firmware stops throttling further.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from detectors.panels import Floats, Ints
from detectors.peers import known_median

MAX_BLOCKS: Final = 120
"""Fits look at medians of at most this many blocks: robust, and 7,000 candidates at most."""

MIN_BLOCK_TICKS: Final = 4
"""A block's median outvotes one spike."""

MIN_BLOCKS: Final = 8
MIN_RAMP_BLOCKS: Final = 4
"""A shorter rise is a step that one block cut in two, or the noise beside it."""

MIN_SAVED_SHARE: Final = 0.5
"""The ramp must save this share of the squared error that the best step leaves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ramp:
    """A rise from one level to another.

    Attributes:
        start: Tick at which it begins to rise.
        rise: Last level less the first, in the unit of the values.
    """

    start: int
    rise: float


def find_ramp(values: Floats) -> Ramp | None:
    """Return the rise of a series that grew, or nothing if it jumped or stayed.

    Args:
        values: Shape (ticks,), without NaN; the later part is the higher one.
    """
    width = max(MIN_BLOCK_TICKS, -(-values.size // MAX_BLOCKS))
    count = values.size // width
    if count < MIN_BLOCKS:
        return None
    blocks = known_median(values[: count * width].reshape(count, width), -1)
    start, stop = (side.astype(np.int64) for side in np.triu_indices(count, k=1))
    errors, rises = _fits(blocks, start, stop)
    steep = stop - start < MIN_RAMP_BLOCKS
    best = int(np.argmin(np.where(steep, np.inf, errors)))
    step = float(np.min(errors[steep]))
    if rises[best] <= 0.0 or errors[best] > (1.0 - MIN_SAVED_SHARE) * step:
        return None
    return Ramp(start=int(start[best]) * width, rise=float(rises[best]))


def _fits(blocks: Floats, start: Ints, stop: Ints) -> tuple[Floats, Floats]:
    """Return squared error and rise of the best fit for each pair of corners."""
    at = np.arange(blocks.size, dtype=np.float64)
    shape = np.clip((at - start[:, None]) / (stop - start)[:, None], 0.0, 1.0)
    centred = shape - shape.mean(axis=1, keepdims=True)
    power = np.sum(centred**2, axis=1)
    rises = centred @ (blocks - blocks.mean()) / power
    total = float(np.sum((blocks - blocks.mean()) ** 2))
    return np.maximum(0.0, total - rises**2 * power), rises
