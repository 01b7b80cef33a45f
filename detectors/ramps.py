"""Tell a change that grew from one that came at once, and say when it began to grow.

A step model and a ramp model are fitted to the same series; the ramp stands only when it explains
clearly more. Source: methods reference, section 8 (creep), with the plateau that a device reaches
when its firmware stops throttling further.
"""

from dataclasses import dataclass
from functools import lru_cache
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
    shapes = _shapes(count)
    errors, rises = _fits(blocks, shapes)
    start = shapes.start
    steep = shapes.stop - start < MIN_RAMP_BLOCKS
    best = int(np.argmin(np.where(steep, np.inf, errors)))
    step = float(np.min(errors[steep]))
    if rises[best] <= 0.0 or errors[best] > (1.0 - MIN_SAVED_SHARE) * step:
        return None
    return Ramp(start=int(start[best]) * width, rise=float(rises[best]))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shapes:
    """Every ramp from 0 to 1 over so many blocks, one row each.

    Attributes:
        start: Block at which it begins to rise.
        stop: Block at which it is up.
        centred: Its values less their mean, shape (ramps, blocks).
        power: Sum of their squares.
    """

    start: Ints
    stop: Ints
    centred: Floats
    power: Floats


@lru_cache(maxsize=8)
def _shapes(count: int) -> _Shapes:
    """Return the ramps over so many blocks; the series of a fleet are all cut into as many."""
    start, stop = (side.astype(np.int64) for side in np.triu_indices(count, k=1))
    at = np.arange(count, dtype=np.float64)
    shape = np.clip((at - start[:, None]) / (stop - start)[:, None], 0.0, 1.0)
    centred = shape - shape.mean(axis=1, keepdims=True)
    return _Shapes(start=start, stop=stop, centred=centred, power=np.sum(centred**2, axis=1))


def _fits(blocks: Floats, shapes: _Shapes) -> tuple[Floats, Floats]:
    """Return squared error and rise of the best fit of each shape."""
    away = blocks - blocks.mean()
    rises = shapes.centred @ away / shapes.power
    total = float(np.sum(away**2))
    return np.maximum(0.0, total - rises**2 * shapes.power), rises
