"""Tell a series that worsens all along from one that changed at some time.

Source: progress reference, section 15.5, and public reports of throughput that decays from the
first step on: there is no good stretch to compare with, and cut into levels it would be many
episodes. A straight line of the logarithms (so much a step) must explain nearly all.
"""

from dataclasses import dataclass
from math import log
from typing import Final

import numpy as np

from detectors.panels import Floats
from detectors.peers import known_median

MAX_BLOCKS: Final = 60
"""The fit looks at medians of at most this many blocks, so that single spikes are outvoted."""

MIN_SAVED_SHARE: Final = 0.5
"""The line must save this share of the squared error that the best jump leaves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendParams:
    """When a series has a trend.

    Attributes:
        min_ticks: Ticks below which nothing is said.
        min_slowdown: Least ratio of the line's end to its beginning; above 1.0.
        min_explained_share: Share of the variance that the line must explain.
        min_rising_share: Share of the steps between blocks that must go up.
    """

    min_ticks: int = 20
    min_slowdown: float = 1.25
    min_explained_share: float = 0.9
    min_rising_share: float = 0.75


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """A rise from the first tick to the last.

    Attributes:
        rise: Of the line, from its beginning to its end, in the unit of the values.
        per_tick: The same for one tick.
        level: The line's value at the first tick.
        spread: Largest distance of a block from the line.
    """

    rise: float
    per_tick: float
    level: float
    spread: float


def find_trend(values: Floats, params: TrendParams) -> Trend | None:
    """Return the trend of a whole series; null if it has none.

    Args:
        values: Logarithms, shape (ticks,), without NaN; more is worse.
        params: When it counts.
    """
    if values.size < params.min_ticks:
        return None
    width = -(-values.size // MAX_BLOCKS)
    count = values.size // width
    blocks = known_median(values[: count * width].reshape(count, width), -1)
    at = np.arange(count, dtype=np.float64) * width + (width - 1) / 2
    slope, level = (float(one) for one in np.polyfit(at, blocks, 1))
    residual = blocks - (level + slope * at)
    error, total = float(np.sum(residual**2)), float(np.sum((blocks - blocks.mean()) ** 2))
    rise = slope * (values.size - 1)
    clear = error <= (1.0 - params.min_explained_share) * total
    grows = float(np.mean(np.diff(blocks) > 0)) >= params.min_rising_share
    if rise < log(params.min_slowdown) or not (clear and grows) or _jumps(blocks, error):
        return None
    spread = float(np.max(np.abs(residual)))
    return Trend(rise=rise, per_tick=slope, level=level, spread=spread)


def _jumps(blocks: Floats, error: float) -> bool:
    """Return whether one jump explains the blocks about as well as the line does."""
    splits = range(1, blocks.size)
    steps = [
        float(np.sum((blocks[:at] - blocks[:at].mean()) ** 2))
        + float(np.sum((blocks[at:] - blocks[at:].mean()) ** 2))
        for at in splits
    ]
    return error > (1.0 - MIN_SAVED_SHARE) * min(steps)
