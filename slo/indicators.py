"""What an objective measures, made ready to be asked for bad and total events over any ranges.

Source: The Site Reliability Workbook, chapter 5; Prometheus' advice to take the rate of each series
first and sum afterwards. Numerator and denominator stay apart until the very end, so that nothing
has to average ratios.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
import polars as pl

from detectors.panels import Floats, Ints
from slo.buckets import has_other_bounds, pick_series
from slo.group_sums import group_numbers, grouped
from slo.objectives import Counting, Objective, SampleBound
from slo.promql import MILLISECONDS, Semantics
from slo.range_sums import NewestTotals, Sums
from slo.ranges import Grown, Growth, Growths, Ranges
from slo.tracks import Tracks, tracks_of


class MissingColumnError(ValueError):
    """A frame of series lacks a column that the objective asks for."""


class Source(Protocol):
    """Series that can be asked what they hold over ranges."""

    def over(self, ranges: Ranges, growth: Growth) -> Grown:
        """Return what each series holds over each range."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Whose eyes see the series.

    Attributes:
        semantics: Whose arithmetic.
        is_parity: Whether rules in Prometheus would see just the same: every sample as it is. Else
            samples that are no number are none, and one bound is one series.
        scrape_seconds: Time between two scrapes; null takes the median of each group's gaps.
    """

    semantics: Semantics
    is_parity: bool
    scrape_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventCounts:
    """Events of each group over ranges; shape (group, range).

    Attributes:
        total: All events; their counts are samples, for coverage.
        part: Those events that are told apart: the bad ones, or the good ones.
    """

    total: Grown
    part: Grown


@dataclass(frozen=True, slots=True)
class _Side:
    """One of the two sides of a ratio."""

    source: Source
    groups: Ints


class Indicator:
    """The series of an objective, by group, ready to be asked over any ranges."""

    def __init__(self, series: pl.DataFrame, objective: Objective, view: View) -> None:
        """Pick the series, and find their groups.

        Args:
            series: `metric`, labels, `time`, `value`: one row a sample; a null label is absent, a
                null value a staleness marker.
            objective: Which series, how they are counted, and by which labels they are grouped.
            view: Whose eyes see the series.

        Raises:
            MissingColumnError: `series` has no column for `metric`, time, value or a group label.
            DuplicateSampleError: A series has two different values at one time.
            TooManyGroupsError: There are more groups than the objective allows.
        """
        _require_columns(series, objective)
        names = list(objective.group_labels)
        told = objective.bad or objective.good or objective.total
        picked = [
            pick_series(series, each, as_one=not view.is_parity) for each in (objective.total, told)
        ]
        total, part = (tracks_of(each) for each in _counted(picked, objective, view))
        self.view = view
        self.groups = _groups(total, part, names)
        objective.refuse_many(self.groups.height)
        self._total, self._part = (
            _Side(
                _SOURCES[objective.counting](each), group_numbers(each.labels, self.groups, names)
            )
            for each in (total, part)
        )
        self.first_milliseconds = _first_stamps(total, self._total.groups, self.count)
        self.gap_seconds = (
            _usual_gaps(total, self._total.groups, self.count)
            if view.scrape_seconds is None
            else np.full(self.count, view.scrape_seconds)
        )
        self.lacks_bucket = part.count == 0 and has_other_bounds(series, told)

    @property
    def count(self) -> int:
        """How many groups there are."""
        return self.groups.height

    def over(self, ranges: Ranges, growth: Growth = Growth.INCREASE) -> EventCounts:
        """Return the events of each group over each range."""
        total, part = (
            grouped(side.source.over(ranges, growth), side.groups, self.count, ranges.semantics)
            for side in (self._total, self._part)
        )
        return EventCounts(total=total, part=part)


_SOURCES: Final[dict[Counting, Callable[[Tracks], Source]]] = {
    Counting.COUNTER: Growths,
    Counting.SAMPLES: Sums,
    Counting.WINDOWED: NewestTotals,
}


def _require_columns(series: pl.DataFrame, objective: Objective) -> None:
    """Refuse series that cannot be grouped."""
    wanted = ["metric", "time", "value", *objective.group_labels]
    missing = [name for name in wanted if name not in series.columns]
    if missing:
        raise MissingColumnError(
            f"objective {objective.name!r}: wanted columns {wanted}, missing {missing}, found "
            f"{series.columns}; add each label that the objective groups by as a column"
        )


def _groups(total: Tracks, part: Tracks, names: list[str]) -> pl.DataFrame:
    """Return every group that either side has series of, by label, numbered by `_group`."""
    keys = [each.labels.with_columns(_all=0).select("_all", *names) for each in (total, part)]
    every = pl.concat(keys).unique().sort("_all", *names)
    return every.with_row_index("_group").drop("_all")


def _counted(picked: list[pl.DataFrame], objective: Objective, view: View) -> list[pl.DataFrame]:
    """Return series whose values are what is added up or grows, from what was measured."""
    if objective.counting is not Counting.SAMPLES:
        return picked
    value = pl.col("value")
    if not view.is_parity:
        # What measured nothing is no event: neither good nor bad. Beyond any bound is a measure.
        is_told = value.is_finite() if objective.sample_bound is None else value.is_not_nan()
        picked = [each.with_columns(pl.when(is_told).then(value)) for each in picked]
    total, part = picked
    return [
        total.with_columns(pl.when(value.is_not_null()).then(1.0).alias("value")),
        part.with_columns(_told(objective).alias("value")),
    ]


def _told(objective: Objective) -> pl.Expr:
    """Return how much of an event of the told kind each sample is: null stays null.

    Without a bound the gauge itself says it, as 1 or 0.
    """
    value, bound = pl.col("value"), objective.sample_bound
    if bound is None:
        return value
    is_good = _is_good(bound) & value.is_not_nan()
    return (is_good if objective.bad is None else ~is_good).cast(pl.Float64)


def _is_good(bound: SampleBound) -> pl.Expr:
    """Return whether a sample is good."""
    value, limit = pl.col("value"), bound.value
    return {
        "<": value < limit,
        "<=": value <= limit,
        ">": value > limit,
        ">=": value >= limit,
    }[bound.sign]


def _first_stamps(tracks: Tracks, groups: Ints, count: int) -> Ints:
    """Return when the first sample of each group was; far ahead for a group without any."""
    firsts = np.full(count, np.iinfo(np.int64).max)
    filled = np.flatnonzero(np.diff(tracks.offsets))
    np.minimum.at(firsts, groups[filled], tracks.milliseconds[tracks.offsets[filled]])
    return firsts


def _usual_gaps(tracks: Tracks, groups: Ints, count: int) -> Floats:
    """Return the median seconds between two samples of each group; NaN where there is no pair."""
    gaps = np.diff(tracks.milliseconds)
    edges = zip(tracks.offsets[:-1], tracks.offsets[1:], strict=True)
    inside = [gaps[begin : max(begin, stop - 1)] for begin, stop in edges]
    usual = np.full(count, np.nan)
    order = np.argsort(groups, kind="stable")
    begins = np.searchsorted(groups[order], np.arange(count + 1))
    for group in range(count):
        members: list[Ints] = [inside[row] for row in order[begins[group] : begins[group + 1]]]
        usual[group] = _median([each for each in members if each.size])
    return usual / float(MILLISECONDS)


def _median(gaps: list[Ints]) -> float:
    """Return the median of all gaps; NaN without any."""
    lows, highs = {int(each.min()) for each in gaps}, {int(each.max()) for each in gaps}
    if len(lows) == 1 and lows == highs:
        return float(lows.pop())
    return float(np.median(np.concatenate(gaps))) if gaps else float("nan")
