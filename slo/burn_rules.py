"""Alerts of burning budgets: one for each pair of windows, and one for a person.

Source: The Site Reliability Workbook, chapter 5; pyrra-dev/pyrra issues 1883 and 1884, where one
outage paged four times. Each pair has an alert with its windows in the labels `long` and `short`,
to be looked at; `severity` is `info` there. What is routed is one alert a severity, whose labels
name the objective and the group only: a second pair that fires, or a first one that lets go,
neither sends another page nor changes what a page is filed under.
"""

from typing import Final

from slo.data_rules import alert_name
from slo.expressions import by_group, recorded_condition
from slo.objectives import Counting, Method, Objective
from slo.piece_rules import Rule
from slo.selectors import quoted
from slo.windows import BurnWindow, Severity, duration, spent_budget

PAIR_SUFFIX: Final = "BudgetBurn"
PAIR_SEVERITY: Final = "info"
ROUTED_SUFFIXES: Final[dict[Severity, str]] = {"page": "Page", "ticket": "Ticket"}


def burn_rule(objective: Objective, window: BurnWindow) -> Rule:
    """Return the alert of one pair of windows."""
    rule: Rule = {
        "alert": alert_name(objective, PAIR_SUFFIX),
        "expr": recorded_condition(objective, window),
        "for": duration(window.for_seconds),
    }
    if window.keep_firing_seconds:
        rule["keep_firing_for"] = duration(window.keep_firing_seconds)
    return rule | {
        "labels": burn_labels(objective, window),
        "annotations": burn_annotations(objective, window),
    }


def routed_rule(objective: Objective, severity: Severity) -> Rule:
    """Return the alert that fires while any pair of a severity does."""
    matchers = {
        "alertname": alert_name(objective, PAIR_SUFFIX),
        "alertstate": "firing",
        "objective": objective.name,
        "tier": severity,
    }
    inside = ",".join(f"{name}={quoted(value)}" for name, value in matchers.items())
    return {
        "alert": alert_name(objective, ROUTED_SUFFIXES[severity]),
        "expr": f"{by_group(objective, 'count')}(ALERTS{{{inside}}})",
        "labels": routed_labels(objective, severity),
        "annotations": routed_annotations(objective, severity),
    }


def routed_severities(objective: Objective) -> list[Severity]:
    """Return the severities that an objective alerts with."""
    severities = {window.severity for window in objective.alerting_windows}
    return [severity for severity in ROUTED_SUFFIXES if severity in severities]


def burn_labels(objective: Objective, window: BurnWindow) -> dict[str, str]:
    """Return the labels that a pair's alert adds to those of its group."""
    return objective.labels_of(window.severity) | {
        "objective": objective.name,
        "severity": PAIR_SEVERITY,
        "tier": window.severity,
        "long": duration(window.long_seconds),
        "short": duration(window.short_seconds),
    }


def routed_labels(objective: Objective, severity: Severity) -> dict[str, str]:
    """Return the labels that a routed alert adds to those of its group."""
    return objective.labels_of(severity) | {"objective": objective.name, "severity": severity}


def burn_annotations(objective: Objective, window: BurnWindow) -> dict[str, str]:
    """Return the annotations of a pair's alert; `$labels` and `$value` are left to Prometheus."""
    threshold = f"{objective.threshold(window) * 100:.6g} %"
    spent = f"{float(spent_budget(window, objective.period_seconds)) * 100:.3g} %"
    return {
        "summary": _summary(objective),
        "description": "{{ $value | humanizePercentage }} of the "
        f"{_counted(objective)} of the last {duration(window.long_seconds)} were bad, and those "
        f"of the last {duration(window.short_seconds)} are too: above {threshold}, which is "
        f"{float(window.factor):.4g} times the budget of {_budget(objective)}. Kept up for "
        f"{duration(window.long_seconds)}, it spends {spent} of the budget of "
        f"{duration(objective.period_seconds)}.",
    } | _links(objective)


def routed_annotations(objective: Objective, severity: Severity) -> dict[str, str]:
    """Return the annotations of a routed alert."""
    pairs = [window for window in objective.alerting_windows if window.severity == severity]
    return {
        "summary": _summary(objective),
        "description": f"The budget of {_budget(objective)} ({objective.promise}) burns too fast "
        f"in {{{{ $value }}}} of {len(pairs)} pairs of windows; the alerts "
        f"{alert_name(objective, PAIR_SUFFIX)} of tier {severity} say in which, and how fast. It "
        f"ends within about {duration(max(window.short_seconds for window in pairs))} of the "
        "recovery.",
    } | _links(objective)


def _summary(objective: Objective) -> str:
    """Return what is hurt, and where."""
    where = ", ".join(f"{label} {{{{ $labels.{label} }}}}" for label in objective.group_labels)
    return f"{objective.title}: budget burns fast" + (f" ({where})" if where else "")


def _counted(objective: Objective) -> str:
    """Return what is counted, for people."""
    if objective.method is not Method.OCCURRENCES:
        return "slices"
    return "samples" if objective.counting is Counting.SAMPLES else "events"


def _budget(objective: Objective) -> str:
    """Return the budget in percent, for people."""
    return f"{float(objective.budget) * 100:.6g} %"


def _links(objective: Objective) -> dict[str, str]:
    """Return where to go on from an alert."""
    links = {"runbook_url": objective.runbook_url, "dashboard_url": objective.dashboard_url}
    return {name: url for name, url in links.items() if url}
