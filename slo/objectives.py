"""The objective: one intermediate form for rules, burn rates and budgets.

Source: The Site Reliability Workbook, chapter 2 (good events over all events). Rules for Prometheus
and the evaluation over frames both read this form, so that they cannot mean different things.
"""

import re
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Final, Literal

from slo.calendars import Calendar
from slo.exclusions import Exclusion
from slo.guards import NO_GUARD, Guard
from slo.selectors import Selector
from slo.slices import Slices
from slo.windows import BurnWindow, Severity, burn_threshold, duration, error_budget

RESERVED_LABELS: Final = frozenset(
    {
        "alertname",
        "alertstate",
        "objective",
        "severity",
        "tier",
        "long",
        "short",
        "metric",
        "time",
        "value",
    }
)
"""Labels that rules and frames set themselves."""
_LABEL: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_FULL_PERCENT: Final = 100


class Method(StrEnum):
    """How the bad share of a period is counted; it belongs beside every result."""

    OCCURRENCES = "Occurrences"
    """Bad events over all events."""
    TIMESLICES = "Timeslices"
    """Slices that missed their own target over all slices with events."""
    RATIO_TIMESLICES = "RatioTimeslices"
    """Mean of the slices' bad ratios: each slice weighs the same, whatever its traffic."""


class Counting(StrEnum):
    """How an indicator's series become events."""

    COUNTER = "counter"
    """Counters that only grow: events are their increase over a window."""
    SAMPLES = "samples"
    """A gauge whose samples are the events: good where it meets the sample bound."""
    WINDOWED = "windowed"
    """Gauges that are totals over the window already: taken as they are, never rated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleBound:
    """When a sample of a gauge is good.

    Attributes:
        sign: How the sample is compared with the bound.
        value: The bound, in the gauge's own unit.
    """

    sign: Literal["<", "<=", ">", ">="]
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertLabel:
    """A label that alerts carry so that they reach whom the document names.

    Attributes:
        name: Name of the label; none that rules set themselves.
        value: Its value.
        severity: Which alerts carry it; null is all of the objective's.
    """

    name: str
    value: str
    severity: Severity | None = None


class TargetError(ValueError):
    """A target leaves no budget, or is no share at all."""


class TooManyGroupsError(ValueError):
    """The group labels split the events into more groups than the objective allows."""


class GroupLabelError(ValueError):
    """A group label, or a label of alerts, cannot be used as one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """What is promised about a service, and when it is alerted on.

    Attributes:
        name: Stable id; part of every rule and result.
        title: What people call it.
        description: What it means, in a sentence or two.
        service: Whom it is about.
        target_percent: Share of good events in percent, exactly as written.
        period_seconds: Length of the period that the budget is for; a nominal one for a calendar.
        total: All events.
        bad: Bad events; null when `good` is given.
        good: Good events; null when `bad` is given.
        group_labels: Labels that each have a budget of their own; empty is one budget for all.
        windows: When it alerts.
        muted: Severities whose pairs are recorded and judged, but never alerted on.
        labels: What alerts carry beside the labels of their group.
        max_group_count: Groups beyond which results are refused and not silently many.
        method: How the bad share is counted.
        counting: How series become events.
        sample_bound: When a sample is good; null unless samples are the events, and then null means
            a gauge of 1 (good) and 0 (bad).
        calendar: Which calendar period the budget is for; null is a rolling one.
        slices: How the period is cut; null unless the method is one of slices.
        guard: What holds a page back at low traffic.
        exclusions: Declared maintenance, which the budget does not pay for.
        slow_step_ratio: For training steps, how much slower than the healthy baseline counts as
            slow; null for any other service.
        runbook_url: Where the next steps are written; null when nowhere.
        dashboard_url: Where it is drawn; null when nowhere.
    """

    name: str
    title: str
    description: str
    service: str
    target_percent: Decimal
    period_seconds: int
    total: Selector
    bad: Selector | None = None
    good: Selector | None = None
    group_labels: tuple[str, ...]
    windows: tuple[BurnWindow, ...]
    muted: tuple[Severity, ...] = ()
    labels: tuple[AlertLabel, ...] = ()
    max_group_count: int = 10_000
    method: Method = Method.OCCURRENCES
    counting: Counting = Counting.COUNTER
    sample_bound: SampleBound | None = None
    calendar: Calendar | None = None
    slices: Slices | None = None
    guard: Guard = NO_GUARD
    exclusions: tuple[Exclusion, ...] = ()
    slow_step_ratio: float | None = None
    runbook_url: str | None = None
    dashboard_url: str | None = None

    def __post_init__(self) -> None:
        """Refuse what no rule could be made of."""
        is_number = self.target_percent.is_finite()
        if not (is_number and 0 < self.target_percent < _FULL_PERCENT):
            raise TargetError(
                f"objective {self.name!r}: wanted a target above 0 and below 100 percent, found "
                f"{self.target_percent}; 100 leaves no budget to burn, try 99.9"
            )
        if (self.bad is None) == (self.good is None):
            raise ValueError(f"objective {self.name!r}: wanted either bad or good events, not both")
        if (self.slices is None) != (self.method is Method.OCCURRENCES):
            raise ValueError(
                f"objective {self.name!r}: wanted slices with the methods Timeslices and "
                f"RatioTimeslices, and none with Occurrences; found {self.slices} "
                f"with {self.method}"
            )
        self._refuse_groups()

    def _refuse_groups(self) -> None:
        """Refuse group labels that rules or frames could not carry."""
        for label in self.group_labels:
            if label in RESERVED_LABELS or not _LABEL.fullmatch(label):
                raise GroupLabelError(
                    f"objective {self.name!r}: cannot group by {label!r}; wanted a label name "
                    f"that is none of {sorted(RESERVED_LABELS)}"
                )
        for one in self.labels:
            taken = RESERVED_LABELS | set(self.group_labels)
            if one.name in taken or not _LABEL.fullmatch(one.name):
                raise GroupLabelError(
                    f"objective {self.name!r}: alerts cannot carry the label {one.name!r}; "
                    f"wanted a label name that is none of {sorted(taken)}"
                )

    def refuse_many(self, group_count: int) -> None:
        """Refuse more groups than there may be, as the generated rules do by their `limit`.

        Raises:
            TooManyGroupsError: There are more.
        """
        if group_count > self.max_group_count:
            raise TooManyGroupsError(
                f"objective {self.name!r}: wanted at most {self.max_group_count} groups by "
                f"{', '.join(self.group_labels)}, found {group_count}; group by fewer labels, or "
                "raise paceline/max-groups"
            )

    @property
    def budget(self) -> Decimal:
        """Share of events (0-1) that may be bad."""
        return error_budget(self.target_percent)

    @property
    def window_seconds(self) -> tuple[int, ...]:
        """Every window of every pair, once, shortest first."""
        lengths = {w.long_seconds for w in self.windows} | {w.short_seconds for w in self.windows}
        return tuple(sorted(lengths))

    @property
    def alerting_windows(self) -> tuple[BurnWindow, ...]:
        """The pairs that are alerted on, in their order."""
        return tuple(window for window in self.windows if window.severity not in self.muted)

    def labels_of(self, severity: Severity | None) -> dict[str, str]:
        """Return the labels that alerts of a severity carry; null is an alert about the data."""
        return {
            label.name: label.value
            for label in self.labels
            if label.severity is None or label.severity == severity
        }

    def threshold(self, window: BurnWindow) -> float:
        """Return the error ratio that both windows of a pair must exceed."""
        return float(burn_threshold(window, self.target_percent))

    @property
    def promise(self) -> str:
        """The promise in words, as in `99 % over 30d`."""
        if self.calendar is not None:
            return (
                f"{self.target_percent} % in a calendar {self.calendar.unit} ({self.calendar.zone})"
            )
        return f"{self.target_percent} % over {duration(self.period_seconds)}"
