"""Slices that were bad, or their bad ratios, over any ranges: Timeslices and RatioTimeslices.

Source: OpenSLO v1, `budgetingMethod`. Slices lie on absolute multiples of their length. A slice
belongs to a range when it ended inside, so that an open one counts for nothing. Its events are
those since the last sample before it: with increase's extrapolation a slice as short as the scrape
interval would have none.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from detectors.panels import Bools, Floats, Ints
from slo.indicators import Indicator
from slo.objectives import Method, Objective
from slo.promql import MILLISECONDS
from slo.range_sums import RunningSums, running_sums
from slo.ranges import Growth, Ranges
from slo.slices import EmptySlice, Slices

Spans = list[tuple[int, int]]
"""Stretches in milliseconds, `[start, end)`, ascending and apart."""


@dataclass(frozen=True, slots=True)
class JudgedSlices:
    """Every slice of every group; arrays of shape (group, slice).

    Attributes:
        ends: When each slice ends, in milliseconds.
        bad: How bad it was, 0 to 1; 0 where it does not count.
        counted: Whether it counts.
    """

    ends: Ints
    bad: Floats
    counted: Bools

    def without(self, spans: Spans, slice_milliseconds: int) -> "JudgedSlices":
        """Return the slices without those that lie in one of the stretches as a whole."""
        starts = self.ends - slice_milliseconds
        inside = np.zeros(self.ends.size, np.bool_)
        for start, end in spans:
            inside |= (starts >= start) & (self.ends <= end)
        counted = self.counted & ~inside
        return JudgedSlices(ends=self.ends, bad=np.where(counted, self.bad, 0.0), counted=counted)


class SliceCounts:
    """Judged slices, ready to be added up over many ranges."""

    def __init__(self, judged: JudgedSlices) -> None:
        """Add them up once."""
        self._ends = judged.ends
        self._bad = [running_sums(row) for row in judged.bad]
        self._counted = [running_sums(row.astype(np.float64)) for row in judged.counted]

    def over(self, low: Ints, at: Ints) -> tuple[Floats, Floats]:
        """Return how bad the slices were that ended in each range, and how many there were.

        Args:
            low: Left edges in milliseconds; a slice that ended on one is outside.
            at: Right edges in milliseconds.
        """
        first = np.searchsorted(self._ends, low, side="right")
        stop = np.maximum(np.searchsorted(self._ends, at, side="right"), first)
        return _between(self._bad, first, stop), _between(self._counted, first, stop)


def judge_slices(
    indicator: Indicator, objective: Objective, span: tuple[int, int], growth: Growth
) -> JudgedSlices:
    """Return every slice that ends in a span of time.

    Args:
        indicator: The objective's events.
        objective: How slices are cut and judged.
        span: From and to, in milliseconds; nothing is counted before a group's first sample.
        growth: How a slice's events are counted.
    """
    slices = objective.slices or Slices()
    length = slices.seconds * MILLISECONDS
    ends = np.arange(-(-span[0] // length), span[1] // length + 1, dtype=np.int64) * length
    ranges = Ranges(
        low=ends - length, at=ends, seconds=slices.seconds, semantics=indicator.view.semantics
    )
    events = indicator.over(ranges, growth)
    part = np.where(events.part.known, events.part.values, 0.0)
    total = events.total.values
    bad = part if objective.bad is not None else total - part
    is_known = events.total.known & ~np.isnan(total) & ~np.isnan(bad)
    is_full = is_known & ((total > 0) | (bad > 0))
    with np.errstate(all="ignore"):
        ratio = np.where(total > 0, np.clip(bad / total, 0.0, 1.0), 1.0)
    began = ends > indicator.first_milliseconds[:, None]
    counted, empty = _with_empty(is_full, is_known, slices.empty)
    judged = _judged(ratio, objective)
    return JudgedSlices(
        ends=ends,
        bad=np.where(is_full, judged, empty) * (counted & began),
        counted=counted & began,
    )


_EMPTY_IS: Final = {EmptySlice.EXCLUDED: 0.0, EmptySlice.GOOD: 0.0, EmptySlice.BAD: 1.0}


def _with_empty(is_full: Bools, is_known: Bools, empty: EmptySlice) -> tuple[Bools, float]:
    """Return which slices count, and how bad the empty ones are.

    Good is only what is known to have been empty: no data is never healthy.
    """
    counted = {
        EmptySlice.EXCLUDED: is_full,
        EmptySlice.GOOD: is_full | is_known,
        EmptySlice.BAD: np.ones_like(is_full),
    }[empty]
    return counted, _EMPTY_IS[empty]


def _judged(ratio: Floats, objective: Objective) -> Floats:
    """Return how bad slices of the given bad ratios are."""
    if objective.method is Method.RATIO_TIMESLICES:
        return ratio
    target = None if objective.slices is None else objective.slices.target_ratio
    most = float(objective.budget if target is None else 1 - target)
    return (ratio > most).astype(np.float64)


def _between(sums: list[RunningSums], first: Ints, stop: Ints) -> Floats:
    """Return the sums of each group over each range."""
    found = [row.between(first, stop) for row in sums]
    return np.stack(found) if found else np.zeros((0, first.size))
