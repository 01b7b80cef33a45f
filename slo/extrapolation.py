"""What growth between samples is taken to stand for: Prometheus' extrapolation to the edges.

Source: Prometheus, promql/functions.go (`extrapolatedRate`) at 2.42 and 3.x; the order of the
clamps changed with pull request 13725 (2.51). The order of the floating-point operations is part of
the method: change none of it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from detectors.panels import Bools, Floats, Ints
from slo.promql import MILLISECONDS

EXTRAPOLATION_LIMIT: Final = 1.1
_SURELY: Final = 1 + 1e-9
"""Widens the question whether a clamp can bind, so that rounding never answers no."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """What depends on stamps alone: seconds, for each range.

    Attributes:
        span: From the first sample to the last one.
        start: That growth is extrapolated to before the first sample.
        end: That growth is extrapolated to after the last sample.
        most: Where the counter was zero less than so long before the first sample, that is the
            start instead.
        divisor: What growth is divided by in the end: the length of the range for a rate, else 1.
    """

    span: Floats
    start: Floats
    end: Floats
    most: Floats
    divisor: float

    @property
    def factor(self) -> Floats:
        """What growth is multiplied by where no counter was zero."""
        return _factor(self.span, self.start, self.end, self.divisor)


def stretch_of(
    stamps: tuple[Ints, Ints], edges: tuple[Ints, Ints], counts: Ints, *, is_closed: bool
) -> Stretch:
    """Return the seconds that growth stands for.

    Args:
        stamps: Times of the first and the last sample of each range, in milliseconds.
        edges: Left and right edge of each range.
        counts: How many samples each range has.
        is_closed: Whether the arithmetic is that up to 2.50.
    """
    thousand = float(MILLISECONDS)
    span = (stamps[1] - stamps[0]).astype(np.float64) / thousand
    gap = span / (counts - 1).astype(np.float64)
    limit = gap * EXTRAPOLATION_LIMIT
    start = (stamps[0] - edges[0]).astype(np.float64) / thousand
    end = (edges[1] - stamps[1]).astype(np.float64) / thousand
    limited = np.where(start < limit, start, gap / 2.0)
    return Stretch(
        span=span,
        start=limited,
        end=np.where(end < limit, end, gap / 2.0),
        # Up to 2.50 the clamp came before the limit, so it binds up to the smaller of the two.
        most=np.minimum(start, limit) if is_closed else limited,
        divisor=1.0,
    )


def clamp_to_zero(
    grown: Floats, firsts: Callable[[slice], Floats], raw: Floats, stretch: Stretch
) -> None:
    """Mend growth where a counter was zero after the start that was extrapolated to.

    Args:
        grown: Growth without the clamp, shape (series, range); changed in place.
        firsts: The first sample of each of some ranges.
        raw: Growth from the first to the last sample.
        stretch: Shape (range) or (series, range).
    """
    # Where the range begins with a sample there is nothing to clamp: mostly everywhere, or nowhere.
    # NaN is a range without growth, and says nothing of the others.
    can = np.flatnonzero(np.fmax.reduce(stretch.most.reshape(-1, grown.shape[1]), axis=0) > 0)
    if not can.size:
        return
    some = slice(int(can[0]), int(can[-1]) + 1)
    value, raw = firsts(some), raw[:, some]
    span, start, end, most = (
        each[..., some] for each in (stretch.span, stretch.start, stretch.end, stretch.most)
    )
    if not (value <= raw * (most / span * _SURELY)).any():
        return
    zero = span * (value / raw)
    binds: Bools = (raw > 0) & (value >= 0) & (zero < most)
    start = np.where(binds, zero, start)
    np.multiply(raw, _factor(span, start, end, stretch.divisor), out=grown[:, some])


def _factor(span: Floats, start: Floats, end: Floats, divisor: float) -> Floats:
    """Return the seconds that growth stands for over those that it was seen in."""
    factor: Floats = (span + start + end) / span
    return factor if divisor == 1.0 else factor / divisor
