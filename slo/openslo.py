"""Read objectives from OpenSLO v1 documents.

Source: OpenSLO specification, openslo/v1 (https://github.com/OpenSLO/OpenSLO). We read ratio
metrics over Prometheus counters, rolling windows and Occurrences; whatever else a document asks for
is refused by name, never silently left out. What OpenSLO has no field for stands in annotations
that begin with `paceline/`.
"""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from slo.documents import (
    WAY_OUT,
    DocumentError,
    IndicatorSpec,
    SliDocument,
    SloDocument,
    SloSpec,
    Target,
    TimeWindow,
    split_documents,
)
from slo.lints import LintParams
from slo.objectives import Method, Objective
from slo.windows import RECOMMENDED_WINDOWS, BurnWindow, windows_by_period, windows_by_share

_PREFIX: Final = "paceline/"
_ANNOTATIONS: Final = (
    "paceline/dashboard-url",
    "paceline/group-labels",
    "paceline/runbook-url",
    "paceline/slow-step-ratio",
    "paceline/windows",
)
_UNIT_SECONDS: Final = {"m": 60, "h": 3600, "d": 86400, "w": 604800}


class AnnotationError(ValueError):
    """An annotation of ours has an unknown name or an impossible value."""


class PeriodError(ValueError):
    """A time window is not a rolling one of a fixed length."""


def openslo_objectives(text: str, *, source: str) -> list[Objective]:
    """Return the objectives of a text with one or more OpenSLO documents, in their order.

    Args:
        text: YAML; every document of it is read.
        source: What messages call the text.

    Raises:
        DocumentError: No YAML, no SLO, an unknown or missing field, a wrong type.
        TargetError: A target leaves no budget (0, 100 or beyond).
        SelectorError: A query is not the bare selector of a counter.
        AnnotationError: An annotation of ours is unknown or impossible.
        GroupLabelError: A group label cannot be used as one.
        PeriodError: The window is a calendar's, or its length is not known.
        PeriodTooShortError: Windows by period do not fit into the period.
    """
    indicators: dict[str, IndicatorSpec] = {}
    slos: list[SloDocument] = []
    for where, document in split_documents(text, source):
        if isinstance(document, SliDocument):
            indicators[document.metadata.name] = document.spec
        else:
            slos.append(document)
            _refuse_twin(slos, where)
    if not slos:
        raise DocumentError(f"{source}: wanted at least one document of kind SLO; {WAY_OUT}")
    return [_objective(slo, indicators, source) for slo in slos]


def _refuse_twin(slos: list[SloDocument], where: str) -> None:
    """Refuse a second objective of the same name: their rules would overwrite each other."""
    names = [slo.metadata.name for slo in slos]
    if names[-1] in names[:-1]:
        raise DocumentError(f"{where}: wanted a name of its own, found {names[-1]!r} again")


def _objective(
    document: SloDocument, indicators: Mapping[str, IndicatorSpec], source: str
) -> Objective:
    """Return the objective that a document describes."""
    name, spec = document.metadata.name, document.spec
    where = f"{source}, SLO {name!r}"
    ratio = _indicator(spec, indicators, where).ratio_metric
    if (ratio.good is None) == (ratio.bad is None):
        raise DocumentError(f"{where}: wanted either good or bad events, found both or neither")
    notes = _annotations(document.metadata.annotations, where)
    period_seconds = _period_seconds(spec.time_window[0], where)
    return Objective(
        name=name,
        title=document.metadata.display_name or name,
        description=spec.description.strip(),
        service=spec.service,
        target_percent=_target_percent(spec.objectives[0], where),
        period_seconds=period_seconds,
        total=ratio.total.selector,
        bad=ratio.bad.selector if ratio.bad else None,
        good=ratio.good.selector if ratio.good else None,
        group_labels=_names(notes.get("group-labels", "")),
        windows=_windows(notes.get("windows", "recommended"), period_seconds, where),
        method=Method(spec.budgeting_method),
        slow_step_ratio=_slow_step_ratio(notes.get("slow-step-ratio"), where),
        runbook_url=notes.get("runbook-url"),
        dashboard_url=notes.get("dashboard-url"),
    )


def _indicator(spec: SloSpec, indicators: Mapping[str, IndicatorSpec], where: str) -> IndicatorSpec:
    """Return the indicator that stands inline or in another document of the same text."""
    if spec.indicator is not None:
        return spec.indicator.spec
    found = indicators.get(spec.indicator_ref or "")
    if found is not None:
        return found
    raise DocumentError(
        f"{where}: wanted an indicator, found no document of kind SLI named "
        f"{spec.indicator_ref!r}; known: {sorted(indicators)}"
    )


def _target_percent(target: Target, where: str) -> Decimal:
    """Return the target in percent, as exact as it was written."""
    if target.target_percent is not None and target.target is None:
        return _plain(target.target_percent)
    if target.target is not None and target.target_percent is None:
        return _plain(target.target.scaleb(2))
    raise DocumentError(f"{where}: wanted either target or targetPercent, found both or neither")


def _plain(number: Decimal) -> Decimal:
    """Return a number without an exponent, so that it prints as people write it."""
    return Decimal(f"{number:f}")


def _period_seconds(window: TimeWindow, where: str) -> int:
    """Return the length of a rolling window."""
    found = re.fullmatch(r"([1-9][0-9]*)([mhdw])", window.duration)
    if found is None or not window.is_rolling:
        raise PeriodError(
            f"{where}: wanted a rolling window in m, h, d or w, as in 30d with isRolling: true, "
            f"found {window.duration!r} with isRolling: {str(window.is_rolling).lower()}"
        )
    return int(found[1]) * _UNIT_SECONDS[found[2]]


def _annotations(annotations: Mapping[str, str], where: str) -> dict[str, str]:
    """Return our annotations without their prefix; those of others are left alone."""
    ours = {key: value for key, value in annotations.items() if key.startswith(_PREFIX)}
    unknown = sorted(set(ours) - set(_ANNOTATIONS))
    if unknown:
        raise AnnotationError(f"{where}: unknown annotation {unknown}; known: {_ANNOTATIONS}")
    return {key.removeprefix(_PREFIX): value for key, value in ours.items()}


def _names(text: str) -> tuple[str, ...]:
    """Return the names of a list with commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _windows(scheme: str, period_seconds: int, where: str) -> tuple[BurnWindow, ...]:
    """Return the windows of a scheme."""
    if scheme == "recommended":
        return RECOMMENDED_WINDOWS
    if scheme == "by-share":
        return windows_by_share(period_seconds)
    if scheme == "by-period":
        return windows_by_period(period_seconds, scrape_seconds=LintParams().scrape_seconds)
    raise AnnotationError(
        f"{where}: wanted paceline/windows to be recommended, by-share or by-period, "
        f"found {scheme!r}"
    )


def _slow_step_ratio(text: str | None, where: str) -> float | None:
    """Return how much slower than healthy counts as slow."""
    if text is None:
        return None
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?", text) or float(text) <= 1:
        raise AnnotationError(
            f"{where}: wanted paceline/slow-step-ratio above 1, as in '1.10', found {text!r}"
        )
    return float(text)
