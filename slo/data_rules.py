"""Alerts about the data behind an objective: it contradicts itself, has stopped, or never was.

Source: reports to slok/sloth and pyrra-dev/pyrra where an objective looked healthy because nothing
was known about it. They have a severity of their own: whoever mends data is not whoever is woken by
a burning budget.
"""

from typing import Final

from slo.contradictions import can_contradict
from slo.expressions import bad_events, by_group, good_events, total_events
from slo.growth import MAX_BAD_EXCESS_COUNT, MAX_BAD_EXCESS_RATIO, MAX_GOOD_EXCESS_RATIO
from slo.objectives import Method, Objective
from slo.records import recorded
from slo.windows import duration, exact

DATA_SEVERITY: Final = "data"
FAULT_FOR_SECONDS: Final = 300
ABSENT_FOR_SECONDS: Final = 600
MAX_AGE_SECONDS: Final = 300
"""Prometheus' own lookback: from this age on, a series without newer samples is not seen."""
FORGET_SECONDS: Final = 1800
"""A group that has been silent for so long has ended, and is not missed any more."""

Rule = dict[str, object]


def data_rules(objective: Objective) -> list[Rule]:
    """Return the alerts about the data of an objective."""
    fault = _data_alert(objective, "DataFault", _fault(objective), FAULT_FOR_SECONDS)
    return [
        *([fault] if can_contradict(objective) else []),
        _data_alert(objective, "DataAge", _age(objective), 0),
        _data_alert(objective, "Absent", f"absent({objective.total.text})", ABSENT_FOR_SECONDS),
    ]


def data_labels(objective: Objective) -> dict[str, str]:
    """Return the labels of an alert about the data."""
    return objective.labels_of(None) | {"objective": objective.name, "severity": DATA_SEVERITY}


def data_annotations(objective: Objective, suffix: str) -> dict[str, str]:
    """Return the annotations of an alert about the data; `$labels` are left to Prometheus."""
    groups = ", ".join(f"{label} {{{{ $labels.{label} }}}}" for label in objective.group_labels)
    where = f" ({groups})" if groups and suffix != "Absent" else ""
    reason = {
        "DataFault": "its counts contradict each other, so its burn rates cannot be trusted",
        "DataAge": f"its newest sample is older than {duration(MAX_AGE_SECONDS)}, so burn rates "
        f"tell of the past, and after {duration(FORGET_SECONDS)} nobody will miss it",
        "Absent": f"there is no series of {objective.total.metric}, so nothing is judged",
    }[suffix]
    return {"summary": f"{objective.title}: {reason}{where}"}


def alert_name(objective: Objective, suffix: str) -> str:
    """Return the name of one of an objective's alerts, as in `TrainingStepsBudgetBurn`."""
    return "".join(part.capitalize() for part in objective.name.split("-")) + suffix


def fault_seconds(objective: Objective) -> int:
    """Return the window that faults are seen in.

    The shortest one of all: what is said there again and again is no accident.
    """
    return objective.window_seconds[0]


def _data_alert(objective: Objective, suffix: str, expression: str, for_seconds: int) -> Rule:
    """Return an alert about the data, which is not for those whom burn rates wake."""
    waits = {"for": duration(for_seconds)} if for_seconds else {}
    return {
        "alert": alert_name(objective, suffix),
        "expr": expression,
        **waits,
        "labels": data_labels(objective),
        "annotations": data_annotations(objective, suffix),
    }


def _fault(objective: Objective) -> str:
    """Return what holds for counts that contradict each other: no burn rate can be trusted."""
    seconds = fault_seconds(objective)
    total = total_events(objective, seconds)
    if objective.bad is None:
        most = f"{exact(1 + MAX_GOOD_EXCESS_RATIO)} * ({total})"
        return f"({good_events(objective, seconds)}) > {most}"
    bad = f"({bad_events(objective, seconds)})"
    if objective.method is Method.OCCURRENCES:
        bad, total = (recorded(objective, events, seconds) for events in ("bad", "total"))
    most = f"{exact(1 + MAX_BAD_EXCESS_RATIO)} * {total} + {exact(MAX_BAD_EXCESS_COUNT)}"
    orphaned = f"({bad} > 0 and {total} == 0)\nor\n({bad} > 0 unless {total})"
    return f"({bad} > {most})\nor\n{orphaned}\n"


def _age(objective: Objective) -> str:
    """Return what holds for a group that had samples a while ago, and has none since."""
    head = by_group(objective, "group")
    some, recent = (
        f"{head}(last_over_time({objective.total.text}[{duration(seconds)}]))"
        for seconds in (FORGET_SECONDS, MAX_AGE_SECONDS)
    )
    return f"{some}\nunless\n{recent}\n"
