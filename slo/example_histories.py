"""Made-up histories of an objective's series: healthy, bad for a while, healthy again.

What happens is told as events a sample; how the series show it depends on the objective: as
counters that grow, as a gauge whose samples are good or bad, or as totals over a window.
"""

from dataclasses import dataclass
from decimal import Decimal
from itertools import accumulate
from typing import Final

from slo.example_series import Labels, is_picked, part_labels, part_of, series_text, total_labels
from slo.objectives import Counting, Objective
from slo.windows import MINUTE_SECONDS

EVENTS_PER_SAMPLE: Final = 4.0
HEALTHY: Final = 0.0
SLOW: Final = 1.0

Course = list[float]
"""The bad share (0-1) of the events at each sample, from the first one on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """A made-up series.

    Attributes:
        metric: Name of its metric.
        labels: Its labels.
        values: One value a sample, from time 0 on.
    """

    metric: str
    labels: Labels
    values: list[float]

    @property
    def input(self) -> dict[str, str]:
        """The series as an input of promtool."""
        return {
            "series": series_text(self.metric, self.labels),
            "values": notation(self.values),
        }


def step_seconds(objective: Objective) -> int:
    """Return the time between two evaluations: a minute, or a slice where time is cut."""
    return objective.slices.seconds if objective.slices else MINUTE_SECONDS


def sample_seconds(objective: Objective) -> int:
    """Return the time between two samples: a slice has to hold several to show any growth."""
    is_cut = objective.slices is not None and objective.sample_bound is None
    return step_seconds(objective) // 4 if is_cut else step_seconds(objective)


def group_histories(objective: Objective, group: str, course: Course) -> list[History]:
    """Return the series of one group of an objective.

    Args:
        objective: Whose series.
        group: Name of the group; part of the values of its labels.
        course: What happens.

    Raises:
        NoExampleError: A matcher is too involved to guess a label value for.
    """
    if objective.counting is Counting.SAMPLES:
        samples = _judged(objective, course)
        return _histories(objective, group, [1.0] * len(course), samples)
    bad = [share * EVENTS_PER_SAMPLE for share in course]
    good = [EVENTS_PER_SAMPLE - each for each in bad]
    part = bad if objective.bad is not None else good
    return _histories(objective, group, [EVENTS_PER_SAMPLE] * len(course), part)


def steady_histories(
    objective: Objective, group: str, *, total: float, part: float, count: int
) -> list[History]:
    """Return the series of one group with as many events at each sample.

    Args:
        objective: Whose series.
        group: Name of the group.
        total: Events a sample.
        part: Bad events a sample, or good ones; of a gauge of 0 and 1 their mean is shown.
        count: How many samples.
    """
    if objective.counting is Counting.SAMPLES:
        return _histories(objective, group, [1.0] * count, [part / total] * count)
    return _histories(objective, group, [total] * count, [part] * count)


def _histories(
    objective: Objective, group: str, total: list[float], part: list[float]
) -> list[History]:
    """Return series with these events at each sample: of the total and its part, or of one gauge.

    Where the part's series are some of the total's, the total gets a series with the rest.
    """
    selector, labels = part_of(objective), part_labels(objective, group)
    shown = History(metric=selector.metric, labels=labels, values=_shown(objective, part))
    if objective.counting is Counting.SAMPLES and selector == objective.total:
        return [shown]
    if is_picked(objective.total, selector.metric, labels):
        total = [all_ - some for all_, some in zip(total, part, strict=True)]
    return [
        History(
            metric=objective.total.metric,
            labels=total_labels(objective, group),
            values=_shown(objective, total),
        ),
        shown,
    ]


def notation(values: list[float]) -> str:
    """Return values in promtool's short form: `a+bxn` stands for n + 1 of them."""
    pieces: list[str] = []
    start = 0
    while start < len(values):
        end = start + 1
        step = values[end] - values[start] if end < len(values) else 0.0
        while end < len(values) and values[end] - values[end - 1] == step:
            end += 1
        pieces.append(_piece(values[start], step, end - start - 1))
        start = end
    return " ".join(pieces)


def _piece(first: float, step: float, count: int) -> str:
    """Return one run of values."""
    slope = f"{_plain(step)}" if step < 0 else f"+{_plain(step)}"
    return f"{_plain(first)}{slope if step else ''}x{count}"


def _plain(number: float) -> str:
    """Return a number without an exponent, which promtool would not read."""
    return format(Decimal(repr(number)).normalize(), "f")


def _judged(objective: Objective, course: Course) -> list[float]:
    """Return samples of a gauge: good ones where the bad share is 0, bad ones elsewhere."""
    bound = objective.sample_bound
    if bound is None:
        good, bad = (0.0, 1.0) if objective.bad is not None else (1.0, 0.0)
    else:
        away = 1.0 if bound.sign in {">", ">="} else -1.0
        good, bad = bound.value + away, bound.value - away
    return [bad if share else good for share in course]


def _shown(objective: Objective, events: list[float]) -> list[float]:
    """Return what a series of events looks like."""
    if objective.counting is Counting.COUNTER:
        return list(accumulate(events[1:], initial=0.0))
    return events
