"""Bad and total of each group over any ranges: events, or slices, as the method has it.

Source: OpenSLO v1, `budgetingMethod`. Whatever the method and the counting, two numbers come out;
burn rates, states and budgets do not care which.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from collectors.frames import TIME
from detectors.panels import Bools, Floats, Ints
from slo.indicators import EventCounts, Indicator, View
from slo.objectives import Counting, Method, Objective
from slo.promql import MILLISECONDS
from slo.ranges import Growth, Ranges
from slo.slice_counts import JudgedSlices, SliceCounts, Spans, judge_slices

Cells = tuple[Ints, Ints]
"""Group and range of each of some cells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What was counted over ranges; arrays of shape (group, range).

    Attributes:
        ranges: The ranges.
        events: The events.
        bad: Bad events, or how bad the slices were; below 0 where good events exceed all of them.
        total: All events, or slices that count.
        known: Whether there is a total.
    """

    ranges: Ranges
    events: EventCounts
    bad: Floats
    total: Floats
    known: Bools

    @property
    def cells(self) -> Cells:
        """Group and range of every cell in which anything is known."""
        group, number = np.nonzero(self.known | self.events.part.known)
        return group, number


class Measurement:
    """An objective over series, ready to be asked over any ranges."""

    def __init__(
        self, series: pl.DataFrame, objective: Objective, times: pl.Series, view: View
    ) -> None:
        """Pick and group the series, and judge the slices if there are any.

        Args:
            series: `metric`, labels, `time`, `value`: one row a sample.
            objective: What is promised.
            times: Evaluation times, `TIME`.
            view: Whose eyes see the series.

        Raises:
            MissingColumnError: `series` lacks a column that the objective asks for.
            DuplicateSampleError: A series has two different values at one time.
        """
        self.objective, self.view = objective, view
        self.indicator = Indicator(series, objective, view)
        self.at: Ints = times.dt.epoch("ms").unique().sort().cast(pl.Int64).to_numpy()
        self._judged = None if objective.method is Method.OCCURRENCES else self._judge()
        self._slices = None if self._judged is None else SliceCounts(self._judged)

    def before(self, range_seconds: int) -> Ranges:
        """Return the ranges of one length that end at the evaluation times."""
        low = self.at - range_seconds * MILLISECONDS
        return self.since(low, range_seconds)

    def since(self, low: Ints, range_seconds: int) -> Ranges:
        """Return the ranges from given times, in milliseconds, to the evaluation times."""
        semantics = self.view.semantics
        return Ranges(low=low, at=self.at, seconds=range_seconds, semantics=semantics)

    def counts(self, ranges: Ranges, growth: Growth = Growth.INCREASE) -> Counts:
        """Return what was bad and what there was in all over each range."""
        events = self.indicator.over(ranges, growth)
        if self._slices is not None:
            bad, total = self._slices.over(ranges.low, ranges.at)
            return Counts(ranges=ranges, events=events, bad=bad, total=total, known=total > 0)
        bad, total = self._events(events)
        return Counts(ranges=ranges, events=events, bad=bad, total=total, known=events.total.known)

    def excluded(self, ranges: Ranges, spans: Spans) -> tuple[Floats, Floats]:
        """Return what was bad, and what there was in all, in those parts of the ranges.

        Args:
            ranges: The ranges.
            spans: Stretches that are left out.
        """
        if self._judged is not None and self.objective.slices is not None:
            length = self.objective.slices.seconds * MILLISECONDS
            kept = SliceCounts(self._judged.without(spans, length))
            every = SliceCounts(self._judged)
            whole = every.over(ranges.low, ranges.at)
            net = kept.over(ranges.low, ranges.at)
            return whole[0] - net[0], whole[1] - net[1]
        shape = (self.indicator.count, ranges.at.size)
        bad, total = np.zeros(shape), np.zeros(shape)
        # Growth lies between samples; a sample that is an event itself belongs to its own moment.
        early = 0 if self.objective.counting is Counting.COUNTER else 1
        for start, end in spans:
            low = np.maximum(ranges.low, start - early)
            at = np.maximum(np.minimum(ranges.at, end - early), low)
            inside = Ranges(low=low, at=at, seconds=ranges.seconds, semantics=ranges.semantics)
            more_bad, more = self._events(self.indicator.over(inside, Growth.OBSERVED))
            bad, total = bad + more_bad, total + more
        return bad, total

    def _events(self, events: EventCounts) -> tuple[Floats, Floats]:
        """Return bad and all events; what is not known adds nothing."""
        total, part = events.total.values, events.part.values
        if not np.isfinite(total.sum()):
            # Of a total that is no number nothing is known, not even that none was bad.
            with np.errstate(invalid="ignore"):
                part = np.where(events.part.known, part, 0.0 * total)
        with np.errstate(invalid="ignore"):
            return (part if self.objective.bad is not None else total - part), total

    def _judge(self) -> JudgedSlices:
        """Return the slices from the first that any range could ask for."""
        longest = max(self.objective.period_seconds, *self.objective.window_seconds)
        # A calendar's longest period is a little longer than its nominal one.
        last = int(self.at.max(initial=0))
        oldest = int(self.at.min(initial=last)) - 2 * longest * MILLISECONDS
        first = int(self.indicator.first_milliseconds.min(initial=last))
        span = (max(oldest, first), last)
        growth = Growth.INCREASE if self.view.is_parity else Growth.OBSERVED
        return judge_slices(self.indicator, self.objective, span, growth)

    def labels_at(self, groups: Ints, numbers: Ints) -> pl.DataFrame:
        """Return the group labels and times of some cells."""
        time = pl.Series("time", self.at[numbers] * MILLISECONDS).cast(TIME)
        return self.indicator.groups[groups].select(*self.objective.group_labels, pl.lit(time))
