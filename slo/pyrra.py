"""Read objectives from Pyrra's resources of kind ServiceLevelObjective.

Source: pyrra-dev/pyrra, kubernetes/api/v1alpha1, and slo/rules.go for its windows: shares of the
period, four of them. A latency is a histogram's bucket over its count. We group by `grouping` only:
a regular expression never groups. Native histograms are refused, since their fractions are
interpolated. A name given to an alert is not kept, nor the texts: they are ours. That nothing is
known is always told, in a severity of its own, whatever `absent` says: silence is never healthy.
"""

from collections.abc import Mapping
from typing import Annotated, Final, Literal

from pydantic import ConfigDict, Field

from slo.documents import Document, DocumentError, Exact, Part, checked
from slo.events import Events
from slo.lints import LintParams
from slo.objectives import AlertLabel, Counting, Objective
from slo.periods import read_seconds
from slo.selectors import parse_selector
from slo.sloth import unreserved
from slo.windows import windows_by_period

VERSION: Final = "pyrra.dev/v1alpha1"
KIND: Final = "ServiceLevelObjective"
_LABEL_PREFIX: Final = "pyrra.dev/"
"""Labels of the resource that begin so are put on alerts, without it."""


class _Query(Part):
    """One metric."""

    metric: str


class _Ratio(Part):
    """Errors over all events."""

    errors: _Query
    total: _Query
    grouping: tuple[str, ...] | None = None


class _Latency(Part):
    """The bucket of those fast enough over all events."""

    success: _Query
    total: _Query
    grouping: tuple[str, ...] | None = None


class _BoolGauge(Part):
    """A gauge of 1 and 0."""

    metric: str
    grouping: tuple[str, ...] | None = None


class _Indicator(Part):
    """What is measured, in one of four ways."""

    model_config = ConfigDict(alias_generator=None)

    ratio: _Ratio | None = None
    latency: _Latency | None = None
    latency_native: Annotated[object, Field(alias="latencyNative")] = None
    bool_gauge: _BoolGauge | None = None


class _Alerting(Part):
    """How it is alerted on."""

    disabled: bool = False
    burnrates: bool = True
    absent: bool = True
    name: str = ""
    absent_name: str = ""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class _Metadata(Part):
    """Name and labels of the resource; whatever else stands there is for Kubernetes."""

    model_config = ConfigDict(extra="ignore")

    name: Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$")]
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class _Spec(Part):
    """What is promised."""

    model_config = ConfigDict(alias_generator=None)

    description: str = ""
    target: Exact
    window: str
    indicator: _Indicator
    alerting: _Alerting = _Alerting()
    partial_response_strategy: str = ""


class _Resource(Part):
    """A resource of kind ServiceLevelObjective."""

    api_version: Literal["pyrra.dev/v1alpha1"]
    kind: Literal["ServiceLevelObjective"]
    metadata: _Metadata
    spec: _Spec
    status: object = None


def pyrra_objectives(document: Document) -> list[Objective]:
    """Return the objective of one of Pyrra's resources.

    Raises:
        DocumentError: An unknown or missing field, a wrong type, or a native histogram.
        TargetError: A target leaves no budget.
        SelectorError: A metric is not a bare selector.
        PeriodError: The window cannot be read.
        PeriodTooShortError: Its windows would be too short for it; the least period is named.
    """
    resource = checked(_Resource, document.content, document.where)
    metadata, spec = resource.metadata, resource.spec
    where = f"{document.where}, ServiceLevelObjective {metadata.name!r}"
    events = _events(spec.indicator, where)
    period_seconds = read_seconds(spec.window, where)
    is_muted = spec.alerting.disabled or not spec.alerting.burnrates
    annotations = {**(metadata.annotations or {}), **(spec.alerting.annotations or {})}
    objective = Objective(
        name=metadata.name,
        title=metadata.name,
        description=spec.description.strip(),
        service=metadata.name,
        target_percent=spec.target,
        period_seconds=period_seconds,
        total=events.total,
        bad=events.bad,
        good=events.good,
        group_labels=events.group_labels,
        counting=events.counting,
        windows=windows_by_period(period_seconds, scrape_seconds=LintParams().scrape_seconds),
        muted=("page", "ticket") if is_muted else (),
        labels=_labels(metadata.labels or {}, spec.alerting.labels or {}, events),
        runbook_url=annotations.get("runbook_url", annotations.get("pyrra.dev/runbook_url")),
        dashboard_url=annotations.get("dashboard_url"),
    )
    return [objective]


def _events(indicator: _Indicator, where: str) -> Events:
    """Return what an indicator counts."""
    if indicator.latency_native is not None:
        raise DocumentError(
            f"{where}: wanted ratio, latency or bool_gauge, found latencyNative, whose fractions "
            "are interpolated; use latency with a bucket of a classic histogram"
        )
    given = [one for one in (indicator.ratio, indicator.latency, indicator.bool_gauge) if one]
    if len(given) != 1:
        raise DocumentError(f"{where}: wanted one of ratio, latency and bool_gauge")
    (one,) = given
    groups = tuple(one.grouping or ())
    if isinstance(one, _BoolGauge):
        gauge = parse_selector(one.metric)
        return Events(total=gauge, good=gauge, group_labels=groups, counting=Counting.SAMPLES)
    total = parse_selector(one.total.metric)
    if isinstance(one, _Ratio):
        return Events(total=total, bad=parse_selector(one.errors.metric), group_labels=groups)
    good = parse_selector(one.success.metric)
    if not any(matcher.label == "le" for matcher in good.matchers):
        raise DocumentError(
            f"{where}: wanted a bucket with le as latency.success, found {good.text}"
        )
    return Events(total=total, good=good, group_labels=groups)


def _labels(
    resource: Mapping[str, str], alerting: Mapping[str, str], events: Events
) -> tuple[AlertLabel, ...]:
    """Return the labels that alerts carry."""
    marked = {
        name.removeprefix(_LABEL_PREFIX): value
        for name, value in resource.items()
        if name.startswith(_LABEL_PREFIX)
    }
    return tuple(
        AlertLabel(name=unreserved(name), value=value)
        for name, value in sorted({**marked, **alerting}.items())
        if name not in events.group_labels
    )
