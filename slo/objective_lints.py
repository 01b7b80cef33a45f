"""What is doubtful about an objective as a whole, said before its rules are switched on.

Sources: The Site Reliability Workbook, chapter 5 (targets too fast for people, low traffic);
slok/sloth and pyrra-dev/pyrra, whose reported mistakes each message is there to prevent.
"""

from collections.abc import Iterator
from typing import Final

from slo.lints import Lint, LintParams, lint_one_failure, lint_windows
from slo.objectives import Counting, Method, Objective
from slo.windows import (
    MINUTE_SECONDS,
    PeriodTooShortError,
    duration,
    windows_by_period,
)

MIN_BUDGET_SECONDS: Final = MINUTE_SECONDS
"""A budget of full outage that is shorter is gone before anyone has read the page."""
MAX_GROUP_LABELS: Final = 4
"""More labels multiply into more groups than anyone looks at."""
_UNBOUNDED: Final = frozenset(
    {
        "container_id",
        "email",
        "id",
        "instance",
        "ip",
        "path",
        "pod",
        "request_id",
        "session",
        "trace_id",
        "uid",
        "url",
        "user",
        "user_id",
    }
)
"""Labels that gain values for as long as a service runs."""
_OWN: Final = frozenset({"le", "quantile"})
"""Labels of a histogram's or a summary's parts."""


def lint_objective(objective: Objective, params: LintParams) -> list[Lint]:
    """Return every message about an objective: its pairs first, then the rest of it."""
    lints = lint_windows(
        objective.windows,
        target_percent=objective.target_percent,
        period_seconds=objective.period_seconds,
        params=params,
    )
    lints = [lint for lint in lints if lint.code != "one-failure"] + list(_lint_one(objective))
    lints += _lint_period(objective, params)
    lints += _lint_slices(objective, params)
    lints += _lint_guard(objective)
    lints += _lint_groups(objective)
    return lints + list(_lint_events(objective))


def _lint_one(objective: Objective) -> Iterator[Lint]:
    """Yield the traffic below which one bad event, or slice, fires a pair by itself."""
    if objective.guard.min_bad_count > 1:
        return
    for window in objective.windows:
        if objective.slices is None:
            yield from lint_one_failure(window, objective.target_percent)
        elif objective.threshold(window) * window.long_seconds < objective.slices.seconds:
            yield Lint(
                code="one-failure",
                level="note",
                text=f"{window.name}: a single bad slice fires it, since the long window holds "
                f"{window.long_seconds // objective.slices.seconds}",
            )


def _lint_period(objective: Objective, params: LintParams) -> Iterator[Lint]:
    """Yield what is wrong with a target over its period."""
    period, seconds = duration(objective.period_seconds), objective.period_seconds
    left = float(objective.budget) * seconds
    if objective.target_percent < 1:
        yield Lint(
            code="percent-as-ratio",
            level="warning",
            text=f"{objective.target_percent} % promises next to nothing; as a ratio it would be "
            f"{objective.target_percent.scaleb(2):f} %: write percent",
        )
    if left < MIN_BUDGET_SECONDS:
        yield Lint(
            code="too-tight",
            level="warning",
            text=f"{objective.target_percent} % leaves {left:.3g} s of full outage in {period}, "
            "faster than people are; lower the target, or let machines answer",
        )
    if seconds > params.retention_seconds:
        yield Lint(
            code="period-beyond-retention",
            level="note",
            text=f"the budget of {period} looks back farther than samples are kept "
            f"({duration(params.retention_seconds)}); keep them longer, or report from a store",
        )
    if objective.calendar is not None and objective.windows == _shares(objective, params):
        yield Lint(
            code="calendar-shares",
            level="warning",
            text=f"windows are shares of {period}, and a calendar {objective.calendar.unit} is not "
            "always that long; use recommended windows, or write the pairs out",
        )


def _shares(objective: Objective, params: LintParams) -> object:
    """Return the windows that are shares of the period; null where they would be too short."""
    try:
        return windows_by_period(objective.period_seconds, scrape_seconds=params.scrape_seconds)
    except PeriodTooShortError:
        return None


def _lint_slices(objective: Objective, params: LintParams) -> Iterator[Lint]:
    """Yield what is wrong with how the period is cut."""
    if objective.slices is None:
        return
    seconds = objective.slices.seconds
    least = params.min_scrapes * params.scrape_seconds
    if seconds < least:
        yield Lint(
            code="short-slice",
            level="error",
            text=f"a slice of {duration(seconds)} holds fewer than {params.min_scrapes} scrapes of "
            f"{params.scrape_seconds} s; scrape more often or cut slices of at least {least} s",
        )
    for window in objective.windows:
        if window.short_seconds < seconds:
            yield Lint(
                code="window-under-slice",
                level="error",
                text=f"{window.name}: the short window is shorter than a slice "
                f"({duration(seconds)}), so it never holds one that has ended; lengthen it to "
                f"{duration(seconds)} or more, or cut shorter slices",
            )
        elif window.short_seconds % seconds or window.long_seconds % seconds:
            yield Lint(
                code="window-cuts-slice",
                level="warning",
                text=f"{window.name}: not a whole number of slices of {duration(seconds)}; slices "
                "on the edge count for one window or the other",
            )
    allowed = objective.budget * (objective.period_seconds // seconds)
    if objective.method is Method.TIMESLICES and allowed < 1:
        yield Lint(
            code="no-bad-slice",
            level="warning",
            text=f"{float(allowed):.3g} bad slices are allowed in "
            f"{duration(objective.period_seconds)}: a single one breaks the promise; cut shorter "
            "slices or lower the target",
        )


def _lint_guard(objective: Objective) -> Iterator[Lint]:
    """Yield where a guard holds nothing back, or everything."""
    guard, slices = objective.guard, objective.slices
    never = {
        "min-bad-count 1": guard.min_bad_count == 1,
        "by-traffic": guard.by_traffic and slices is not None,
        "confidence 0.5": guard.confidence_ratio == 0.5,  # noqa: PLR2004 -- an even chance
    }
    because = {
        "min-bad-count 1": "a pair that burns holds a bad event anyway; ask for 2 or more",
        "by-traffic": "slices come evenly, whatever the traffic; leave it out",
        "confidence 0.5": "an even chance is the ratio itself; ask for 0.95",
    }
    for name, is_idle in never.items():
        if is_idle:
            yield Lint(
                code="idle-guard",
                level="warning",
                text=f"the guard {name} never holds anything back: {because[name]}",
            )
    for window in objective.windows if slices and guard.min_bad_count > 1 else ():
        most = window.long_seconds // slices.seconds if slices else 0
        if guard.min_bad_count > most:
            yield Lint(
                code="blocking-guard",
                level="error",
                text=f"{window.name}: the guard asks for {guard.min_bad_count} bad slices and the "
                f"long window holds {most}: it can never fire; ask for fewer",
            )


def _lint_groups(objective: Objective) -> Iterator[Lint]:
    """Yield what is wrong with the groups."""
    labels = objective.group_labels
    for label in labels:
        if label in _OWN:
            yield Lint(
                code="group-by-bucket",
                level="error",
                text=f"{label!r} tells the parts of one metric apart, and no two things that are "
                "measured; leave it out of the group labels",
            )
        elif label in _UNBOUNDED:
            yield Lint(
                code="group-cardinality",
                level="warning",
                text=f"{label!r} gains values for as long as the service runs, each with "
                f"{2 * len(objective.window_seconds)} recorded series and a budget of its own; "
                "group by what people own",
            )
    if len(labels) > MAX_GROUP_LABELS:
        yield Lint(
            code="group-cardinality",
            level="warning",
            text=f"{len(labels)} group labels multiply; above {objective.max_group_count} groups "
            "results are refused; group by fewer",
        )
    if labels:
        yield Lint(
            code="group-bound",
            level="note",
            text=f"each {', '.join(labels)} has a budget of its own, in at most "
            f"{objective.max_group_count} groups; paceline/max-groups sets the bound",
        )


def _lint_events(objective: Objective) -> Iterator[Lint]:
    """Yield what is wrong with what is counted, and with whom it is told to."""
    part = objective.bad or objective.good or objective.total
    if objective.counting is not Counting.SAMPLES and part == objective.total:
        share = "bad" if objective.bad else "good"
        yield Lint(
            code="same-metric",
            level="error",
            text=f"every event is {share}: its series are those of all events ({part.text}); add "
            "the matcher that tells them apart",
        )
    outcomes = {
        matcher.label for matcher in part.matchers if matcher not in objective.total.matchers
    }
    for label in objective.group_labels:
        if label in outcomes - _OWN:
            yield Lint(
                code="group-by-outcome",
                level="error",
                text=f"grouped by {label!r}, which tells bad events from good ones: each group is "
                "all bad or all good; leave it out of the group labels",
            )
    for name in sorted(
        {label.name for label in objective.labels if label.name.startswith("original_")}
    ):
        yield Lint(
            code="label-renamed",
            level="warning",
            text=f"alerts set {name.removeprefix('original_')!r} themselves, so the document's is "
            f"carried as {name!r}; let routes match that, or our own",
        )
    if set(objective.muted) >= {window.severity for window in objective.windows}:
        yield Lint(
            code="muted",
            level="note",
            text="every pair is muted: it is recorded and reported, and never alerts; leave "
            "paceline/mute (or disable) out to be told",
        )
