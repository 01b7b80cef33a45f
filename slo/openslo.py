"""Read objectives from OpenSLO v1 documents.

Source: OpenSLO specification, openslo/v1 (https://github.com/OpenSLO/OpenSLO). We read ratio and
threshold metrics over Prometheus by every budgeting method, for rolling and calendar periods;
whatever else a document asks for is refused by name, never silently left out. What OpenSLO has no
field for stands in annotations that begin with `paceline/`.
"""

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from slo.annotations import AnnotationError, Notes, read_annotations
from slo.documents import Document, DocumentError, checked
from slo.events import Events
from slo.objectives import Method, Objective
from slo.openslo_alerts import policy_windows
from slo.openslo_indicators import indicator_events
from slo.openslo_parts import SloDocument, SloSpec, Target, TimeWindow
from slo.openslo_shared import Shared
from slo.periods import Period, PeriodError, calendar_period, read_seconds, rolling_period
from slo.schemes import windows_of
from slo.slices import Slices
from slo.windows import RECOMMENDED_WINDOWS, BurnWindow, Severity

VERSION: Final = "openslo/v1"
KINDS: Final = (
    "SLO",
    "SLI",
    "AlertPolicy",
    "AlertCondition",
    "DataSource",
    "Service",
    "AlertNotificationTarget",
)
"""Kinds of the specification; the last two hold nothing that an objective needs here."""


def openslo_objectives(document: Document, shared: Shared) -> list[Objective]:
    """Return the objectives of a document of kind SLO, one a target.

    Args:
        document: The document.
        shared: What it may refer to.

    Raises:
        DocumentError: An unknown or missing field, a wrong type, a name that is nobody's.
        TargetError: A target leaves no budget (0, 100 or beyond).
        QueryError: A query counts something that no selector says.
        SelectorError: A selector looks at another time, or names no metric.
        AnnotationError: An annotation of ours is unknown or impossible.
        GroupLabelError: A group label cannot be used as one.
        PeriodError: The period has no fixed meaning.
        CalendarError: Nobody knows the zone.
        SchemeError: The windows are no scheme and no pairs.
        PeriodTooShortError: Windows by period do not fit into the period.
    """
    slo = checked(SloDocument, document.content, document.where)
    where = f"{document.where}, SLO {slo.metadata.name!r}"
    notes = read_annotations(slo.metadata.annotations or {}, where)
    period = _period(slo.spec.time_window[0], where)
    windows, muted = _windows(slo.spec, notes, shared, period=period, where=where)
    promise = _Promise(
        slo=slo, notes=notes, period=period, windows=windows, muted=muted, where=where
    )
    return [
        _objective(
            promise,
            target,
            indicator_events(
                slo.spec, target, shared, is_histogram=notes.is_histogram, where=where
            ),
        )
        for target in slo.spec.objectives
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Promise:
    """What all targets of a document share."""

    slo: SloDocument
    notes: Notes
    period: Period
    windows: tuple[BurnWindow, ...]
    muted: tuple[Severity, ...]
    where: str


def _objective(promise: _Promise, target: Target, events: Events) -> Objective:
    """Return the objective of one target."""
    spec, notes = promise.slo.spec, promise.notes
    name, title = _names(promise.slo, target, promise.where)
    return Objective(
        name=name,
        title=title,
        description=spec.description.strip(),
        service=spec.service,
        target_percent=target_percent(target.target, target.target_percent, promise.where),
        period_seconds=promise.period.seconds,
        calendar=promise.period.calendar,
        total=events.total,
        bad=events.bad,
        good=events.good,
        group_labels=_group_labels(events, notes, promise.where),
        counting=events.counting,
        sample_bound=events.sample_bound,
        windows=promise.windows,
        muted=promise.muted,
        max_group_count=notes.max_group_count,
        method=Method(spec.budgeting_method),
        slices=_slices(spec, target, notes, promise.where),
        guard=notes.guard,
        slow_step_ratio=notes.slow_step_ratio,
        runbook_url=notes.runbook_url,
        dashboard_url=notes.dashboard_url,
    )


def _names(slo: SloDocument, target: Target, where: str) -> tuple[str, str]:
    """Return id and title; those of several targets also say which one."""
    name, title = slo.metadata.name, slo.metadata.display_name or slo.metadata.name
    if len(slo.spec.objectives) == 1:
        return name, title
    percent = target_percent(target.target, target.target_percent, where)
    words = target.display_name or f"{percent} %"
    slug = re.sub(r"[^a-z0-9]+", "-", (target.display_name or f"{percent}").casefold()).strip("-")
    return f"{name}-{slug}", f"{title}: {words}"


def target_percent(ratio: Decimal | None, percent: Decimal | None, where: str) -> Decimal:
    """Return a target in percent, as exact as it was written.

    Raises:
        DocumentError: It is given twice or not at all, or percent are given as a ratio.
    """
    if percent is not None and ratio is None:
        return _plain(percent)
    if ratio is not None and ratio > 1:
        raise DocumentError(
            f"{where}: wanted target as a ratio below 1, found {ratio}; if that is in percent, "
            f"write targetPercent: {ratio}"
        )
    if ratio is not None and percent is None:
        return _plain(ratio.scaleb(2))
    raise DocumentError(f"{where}: wanted either target or targetPercent, found both or neither")


def _plain(number: Decimal) -> Decimal:
    """Return a number without an exponent, so that it prints as people write it."""
    return Decimal(f"{number:f}")


def _period(window: TimeWindow, where: str) -> Period:
    """Return the period of a time window."""
    is_rolling = window.calendar is None if window.is_rolling is None else window.is_rolling
    if is_rolling and window.calendar is None:
        return rolling_period(window.duration, where)
    if not is_rolling and window.calendar is not None:
        start, zone = window.calendar.start_time, window.calendar.time_zone
        return calendar_period(window.duration, start=start, zone=zone, where=where)
    raise PeriodError(
        f"{where}: wanted a rolling window, as in 30d with isRolling: true, or one with a "
        f"calendar (startTime and timeZone), found {window.duration!r} with isRolling: "
        f"{str(is_rolling).lower()} and {'a' if window.calendar else 'no'} calendar"
    )


def _windows(
    spec: SloSpec, notes: Notes, shared: Shared, *, period: Period, where: str
) -> tuple[tuple[BurnWindow, ...], tuple[Severity, ...]]:
    """Return the pairs of an objective, and which severities are never alerted on."""
    if not spec.alert_policies:
        return windows_of(notes.windows or "recommended", period.seconds, where), notes.muted
    if notes.windows is not None:
        raise AnnotationError(
            f"{where}: wanted either alertPolicies or paceline/windows, found both"
        )
    windows = policy_windows(
        spec.alert_policies,
        shared.policies,
        shared.conditions,
        period_seconds=period.seconds,
        where=where,
    )
    # Policies that never tell of a breach leave the pairs that are recorded, and no alert.
    return (windows, notes.muted) if windows else (RECOMMENDED_WINDOWS, ("page", "ticket"))


def _group_labels(events: Events, notes: Notes, where: str) -> tuple[str, ...]:
    """Return the labels to group by, which queries and annotation must agree on."""
    asked = notes.group_labels
    if asked is None or not events.group_labels:
        return asked or events.group_labels
    if set(asked) != set(events.group_labels):
        raise AnnotationError(
            f"{where}: wanted the same labels in paceline/group-labels and behind by, found "
            f"{list(asked)} and {list(events.group_labels)}"
        )
    return asked


def _slices(spec: SloSpec, target: Target, notes: Notes, where: str) -> Slices | None:
    """Return how the period is cut; null where events are counted."""
    method = spec.budgeting_method
    is_judged, is_cut = method == "Timeslices", method != "Occurrences"
    if (target.time_slice_target is not None) != is_judged:
        raise DocumentError(
            f"{where}: wanted timeSliceTarget with Timeslices, and with no other method; found "
            f"{target.time_slice_target} with {method}"
        )
    if (target.time_slice_window is not None) != is_cut:
        raise DocumentError(
            f"{where}: wanted timeSliceWindow with Timeslices and RatioTimeslices, and not with "
            f"Occurrences; found {target.time_slice_window!r} with {method}"
        )
    if target.time_slice_window is None:
        return None
    # As the specification has it, a plain number counts minutes.
    text = str(target.time_slice_window)
    seconds = read_seconds(f"{text}m" if text.isdecimal() else text, where)
    try:
        return Slices(seconds=seconds, target_ratio=target.time_slice_target, empty=notes.empty)
    except ValueError as error:
        raise DocumentError(f"{where}: {error}") from error
