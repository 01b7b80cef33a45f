"""What OpenSLO has no field for: annotations of ours, each with a name that begins `paceline/`.

Annotations of others are left alone; an unknown one of ours is refused, since a misspelt wish would
silently not come true.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, get_args

from slo.guards import NO_GUARD, Guard
from slo.slices import EmptySlice
from slo.windows import Severity

PREFIX: Final = "paceline/"
_THRESHOLDS: Final = ("samples", "histogram")

ANNOTATIONS: Final = (
    "paceline/confidence",
    "paceline/dashboard-url",
    "paceline/empty-slices",
    "paceline/group-labels",
    "paceline/guard-by-traffic",
    "paceline/max-groups",
    "paceline/min-bad-count",
    "paceline/mute",
    "paceline/runbook-url",
    "paceline/slow-step-ratio",
    "paceline/threshold",
    "paceline/windows",
)


class AnnotationError(ValueError):
    """An annotation of ours has an unknown name or an impossible value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notes:
    """What annotations of ours ask for.

    Attributes:
        group_labels: Labels that each have a budget of their own; null is not said.
        windows: A scheme or pairs written out; null is not said.
        muted: Severities that are never alerted on.
        max_group_count: Groups beyond which results are refused.
        guard: What holds a page back at low traffic.
        empty: What a slice without events counts as.
        is_histogram: Whether a threshold is a bound of a histogram, and not for samples of a gauge.
        slow_step_ratio: How much slower than healthy counts as slow; null is not said.
        runbook_url: Where the next steps are written; null when nowhere.
        dashboard_url: Where it is drawn; null when nowhere.
    """

    group_labels: tuple[str, ...] | None = None
    windows: str | None = None
    muted: tuple[Severity, ...] = ()
    max_group_count: int = 10_000
    guard: Guard = field(default=NO_GUARD)
    empty: EmptySlice = EmptySlice.EXCLUDED
    is_histogram: bool = False
    slow_step_ratio: float | None = None
    runbook_url: str | None = None
    dashboard_url: str | None = None


def read_annotations(annotations: Mapping[str, object], where: str) -> Notes:
    """Return what our annotations ask for.

    Args:
        annotations: Every annotation of a document.
        where: What messages call the document.

    Raises:
        AnnotationError: One of ours is unknown or impossible.
    """
    ours = {key: _text(value) for key, value in annotations.items() if key.startswith(PREFIX)}
    unknown = sorted(set(ours) - set(ANNOTATIONS))
    if unknown:
        raise AnnotationError(f"{where}: unknown annotation {unknown}; known: {ANNOTATIONS}")
    notes = {key.removeprefix(PREFIX): value for key, value in ours.items()}
    groups = notes.get("group-labels")
    return Notes(
        group_labels=None if groups is None else _names(groups),
        windows=notes.get("windows"),
        muted=_muted(notes.get("mute", ""), where),
        max_group_count=_count(notes, "max-groups", "10000", where, least=1),
        guard=_guard(notes, where),
        empty=_empty(notes.get("empty-slices", EmptySlice.EXCLUDED.value), where),
        is_histogram=_is_histogram(notes.get("threshold", "samples"), where),
        slow_step_ratio=_slow_step_ratio(notes.get("slow-step-ratio"), where),
        runbook_url=notes.get("runbook-url"),
        dashboard_url=notes.get("dashboard-url"),
    )


def _text(value: object) -> str:
    """Return a value as the text that stands in YAML."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _names(text: str) -> tuple[str, ...]:
    """Return the names of a list with commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _muted(text: str, where: str) -> tuple[Severity, ...]:
    """Return the severities of a list."""
    names = _names(text)
    severities = tuple(one for one in get_args(Severity) if one in names)
    if len(severities) != len(names):
        raise AnnotationError(
            f"{where}: wanted paceline/mute to list {' and '.join(get_args(Severity))}, found "
            f"{text!r}"
        )
    return severities


def _count(notes: Mapping[str, str], name: str, default: str, where: str, *, least: int) -> int:
    """Return a whole number."""
    text = notes.get(name, default)
    if not re.fullmatch(r"[0-9]+", text) or int(text) < least:
        raise AnnotationError(
            f"{where}: wanted a whole number from {least} on as paceline/{name}, found {text!r}"
        )
    return int(text)


def _guard(notes: Mapping[str, str], where: str) -> Guard:
    """Return what holds a page back."""
    by_traffic = notes.get("guard-by-traffic", "false")
    if by_traffic not in ("true", "false"):
        raise AnnotationError(
            f"{where}: wanted paceline/guard-by-traffic to be true or false, found {by_traffic!r}"
        )
    confidence = notes.get("confidence")
    try:
        return Guard(
            min_bad_count=_count(notes, "min-bad-count", "0", where, least=0),
            by_traffic=by_traffic == "true",
            confidence_ratio=None if confidence is None else float(confidence),
        )
    except ValueError as error:
        if isinstance(error, AnnotationError):
            raise
        raise AnnotationError(
            f"{where}: wanted paceline/confidence as in '0.95', found {confidence!r}: {error}"
        ) from error


def _empty(text: str, where: str) -> EmptySlice:
    """Return what an empty slice counts as."""
    if text not in tuple(EmptySlice):
        raise AnnotationError(
            f"{where}: wanted paceline/empty-slices to be {', '.join(EmptySlice)}, found {text!r}"
        )
    return EmptySlice(text)


def _is_histogram(text: str, where: str) -> bool:
    """Return whether a threshold is a bound of a histogram."""
    if text not in _THRESHOLDS:
        raise AnnotationError(
            f"{where}: wanted paceline/threshold to be {' or '.join(_THRESHOLDS)}, found {text!r}"
        )
    return text == "histogram"


def _slow_step_ratio(text: str | None, where: str) -> float | None:
    """Return how much slower than healthy counts as slow."""
    if text is None:
        return None
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?", text) or float(text) <= 1:
        raise AnnotationError(
            f"{where}: wanted paceline/slow-step-ratio above 1, as in '1.10', found {text!r}"
        )
    return float(text)
