"""The cheapest division of a series into levels and straight lines, found exactly.

Source: R. Killick, P. Fearnhead and I. A. Eckley, "Optimal detection of changepoints with a linear
computational cost", JASA 107 (2012): least squared error plus a price for each piece, with starts
that can never win left out. We differ in that each piece is a level or a line, whichever is cheaper
with its price, so that a drift is one line and not a staircase; leaving out allows for that.
"""

from dataclasses import dataclass
from math import inf
from typing import Self

import numpy as np

from detectors.panels import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """What must be saved in squared error, in the unit of the values squared.

    Attributes:
        piece: For one more piece: where it begins, and its level.
        slope: For a piece that is a line and no level, on top; infinite for levels only.
    """

    piece: float
    slope: float = inf

    def __post_init__(self) -> None:
        """Refuse what would pay for pieces."""
        if min(self.piece, self.slope) < 0.0:
            raise ValueError(f"prices must be 0 or more, got {self.piece} and {self.slope}")


@dataclass(frozen=True, slots=True)
class _Sums:
    """Running sums from which the error of any piece follows; each has one entry more than ticks.

    Times run from -0.5 to 0.5, and values are taken from their mean, so that differences of sums
    keep their digits.
    """

    ones: Floats
    times: Floats
    times_squared: Floats
    values: Floats
    values_squared: Floats
    products: Floats

    @classmethod
    def of(cls, values: Floats) -> Self:
        centred = values - values.mean()
        times = (np.arange(values.size) - (values.size - 1) / 2.0) / values.size
        columns = (np.ones(values.size), times, times**2, centred, centred**2, centred * times)
        return cls(*(np.concatenate([[0.0], np.cumsum(one)]) for one in columns))

    def cost(self, starts: Ints, stop: int, slope_price: float) -> Floats:
        """Return the cheaper of a level's and a line's squared error, for pieces that end alike."""
        ticks = self.ones[stop] - self.ones[starts]
        time, value = self.times[stop] - self.times[starts], self.values[stop] - self.values[starts]
        level = self.values_squared[stop] - self.values_squared[starts] - value**2 / ticks
        power = self.times_squared[stop] - self.times_squared[starts] - time**2 / ticks
        shared = self.products[stop] - self.products[starts] - time * value / ticks
        saved = shared**2 / np.where(ticks > 1.0, power, inf)
        cheaper: Floats = np.maximum(0.0, np.minimum(level, level - saved + slope_price))
        return cheaper


def best_bounds(values: Floats, prices: Prices, *, min_ticks: int) -> list[int]:
    """Return where the pieces of the cheapest division begin and end.

    Args:
        values: Shape (ticks,), without NaN.
        prices: What a piece and a slope cost.
        min_ticks: Shortest piece; 1 or more.

    Returns:
        Rising bounds that start with 0 and end with the number of ticks. A series too short for two
        pieces is one. Time grows with the ticks where changes are many, else with their square.
    """
    count = values.size
    if count < 2 * min_ticks:
        return [0, count]
    sums = _Sums.of(values)
    least, origin = np.full(count + 1, inf), np.zeros(count + 1, dtype=np.int64)
    least[0] = -prices.piece
    loses_from = np.full(count + 1, count + 1)
    starts = np.zeros(0, dtype=np.int64)
    for stop in range(min_ticks, count + 1):
        newest = stop - min_ticks
        if np.isfinite(least[newest]):
            starts = np.append(starts, newest)
        starts = starts[loses_from[starts] > stop]
        total = least[starts] + sums.cost(starts, stop, prices.slope)
        best = int(np.argmin(total))
        least[stop], origin[stop] = total[best] + prices.piece, starts[best]
        lost = starts[total >= least[stop] + _split_price(prices)]
        loses_from[lost] = np.minimum(loses_from[lost], stop + min_ticks)
    return _walked_back(origin)


def _split_price(prices: Prices) -> float:
    """Return what cutting a piece in two can cost beyond the piece: a second slope."""
    return prices.slope if np.isfinite(prices.slope) else 0.0


def _walked_back(origin: Ints) -> list[int]:
    bounds = [origin.size - 1]
    while bounds[-1] > 0:
        bounds.append(int(origin[bounds[-1]]))
    return bounds[::-1]
