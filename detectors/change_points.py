"""Find where a series changed for good: its level, or the line it follows.

Sources: G. Schwarz, "Estimating the dimension of a model", Annals of Statistics 6 (1978), for the
price of a parameter, ln n of its unit; `detectors/segmentation.py` for the search and
`detectors/habits.py` for what is no change; both name their papers. We differ from both in the
unit: not the noise between neighbouring ticks but the variance of the whole series, or that of its
wandering and swings where they are larger. People call a change what is large for the series that
they look at.
"""

from dataclasses import dataclass
from itertools import pairwise
from math import log
from typing import Final

import numpy as np

from detectors.changes import shift_between
from detectors.habits import (
    season_ticks,
    swing_variance,
    wander_variance,
    without_season,
    without_spikes,
)
from detectors.panels import Floats
from detectors.peers import known_median
from detectors.segmentation import Prices, best_bounds

_PIECE_PARAMETERS: Final = 2.0
"""Where a piece begins, and its level; the slope of a line is one more."""

_ROUNDING: Final = 1e-9
"""What is smaller beside the values is the rounding of their sums, and is divided no further."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePointParams:
    """When a series has changed.

    Attributes:
        price_factor: Price of one parameter over ln n of the series' variance; 1.0 is the BIC.
        min_ticks: Known ticks between two changes, and before the first and after the last.
        min_shift: Least shift between the stretches beside a change, in the unit of the values.
        max_ticks: Longer series are looked at by block medians, so that time stays bounded.
    """

    price_factor: float = 1.0
    min_ticks: int = 5
    min_shift: float = 0.0
    max_ticks: int = 2000

    def __post_init__(self) -> None:
        """Refuse what would make each tick a change, or leave none to look at."""
        if self.price_factor <= 0.0:
            raise ValueError(f"price_factor must be above 0, got {self.price_factor}")
        if not 1 <= self.min_ticks <= self.max_ticks:
            raise ValueError(
                f"min_ticks must be from 1 to max_ticks {self.max_ticks}, got {self.min_ticks}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePoint:
    """One change of a series.

    Attributes:
        at: First tick after it.
        shift: Of the stretch after it from the stretch before (Hodges-Lehmann), in the unit of the
            values.
    """

    at: int
    shift: float


def find_change_points(values: Floats, params: ChangePointParams) -> list[ChangePoint]:
    """Return where a series changed for good, in order.

    Args:
        values: One number a tick, shape (ticks,); NaN is not known. Logarithms where ratios matter.
        params: When it counts.

    Returns:
        The changes. A spike, a season, one straight drift, and levels that come and go all the time
        are none. A series too short to tell has none.
    """
    known = np.flatnonzero(np.isfinite(values))
    series: Floats = values[known]
    width = -(-max(1, series.size) // params.max_ticks)
    bounds = _bounds(_blocks(series, width), params)
    bounds = [one * width for one in bounds[:-1]] + [series.size]
    shifts = _merged(series, bounds, params.min_shift)
    return [ChangePoint(at=int(known[at]), shift=shift) for at, shift in shifts]


def _blocks(series: Floats, width: int) -> Floats:
    """Return medians of blocks; the last ticks that fill none are left to the last piece."""
    count = series.size // width
    return series if width == 1 else known_median(series[: count * width].reshape(count, width), 1)


def _bounds(series: Floats, params: ChangePointParams) -> list[int]:
    if series.size < 2 * params.min_ticks:
        return [0, series.size]
    calm = without_spikes(series)
    calm = without_season(calm, season_ticks(calm))
    rounding = (_ROUNDING * float(np.max(np.abs(series)))) ** 2
    variance = max(float(np.var(calm)), wander_variance(calm), swing_variance(calm), rounding)
    price = params.price_factor * log(series.size) * variance
    prices = Prices(piece=_PIECE_PARAMETERS * price, slope=price)
    return best_bounds(calm, prices, min_ticks=params.min_ticks)


def _merged(series: Floats, bounds: list[int], min_shift: float) -> list[tuple[int, float]]:
    """Return the inner bounds with their shifts, the weakest gone first until all are large."""
    kept = list(bounds)
    while True:
        parts = [series[start:stop] for start, stop in pairwise(kept)]
        shifts = [shift_between(before, after) for before, after in pairwise(parts)]
        if not shifts:
            return []
        weakest = int(np.argmin(np.abs(shifts)))
        if abs(shifts[weakest]) >= min_shift:
            return list(zip(kept[1:-1], shifts, strict=True))
        del kept[weakest + 1]
