"""Read objectives from Sloth's specs, for Prometheus and for Kubernetes.

Source: slok/sloth, pkg/prometheus/api/v1 and pkg/kubernetes/api/sloth/v1, and its windows
(AlertWindows). Queries are taken apart into the events that they count. Names and texts of alerts
are ours; labels are carried on, and a label that our rules set themselves is carried on as
`original_` and its name. A plug-in changes what a spec means in a program of its own, so a spec
that wants one is refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Final, Literal, get_args

from pydantic import AliasChoices, AliasGenerator, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from slo.documents import Document, DocumentError, Exact, checked
from slo.events import Events, ratio_events, raw_events
from slo.objectives import RESERVED_LABELS, AlertLabel, Objective
from slo.periods import read_wait_seconds
from slo.sloth_windows import AlertWindows, default_windows
from slo.windows import BurnWindow, Severity

VERSION: Final = "prometheus/v1"
KUBERNETES_VERSION: Final = "sloth.slok.dev/v1"
KUBERNETES_KIND: Final = "PrometheusServiceLevel"
_DONE_PLUGINS: Final = ("sloth.dev/contrib/alert_for/v1",)
"""Plug-ins whose work is done here anyway: `for` of an alert."""
_RUNBOOKS: Final = ("runbook_url", "runbook")
_DASHBOARDS: Final = ("dashboard_url", "dashboard")


class _Part(BaseModel):
    """A part whose fields are in snake case in files, and in camel case in Kubernetes."""

    model_config = ConfigDict(
        extra="forbid",
        alias_generator=AliasGenerator(
            validation_alias=lambda name: AliasChoices(name, to_camel(name))
        ),
        frozen=True,
    )


_Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9]([-_.A-Za-z0-9]*[A-Za-z0-9])?$")]
"""What a label, and the name of a file, can be made of."""


class _Plugin(_Part):
    """A program that changes what comes of a spec."""

    id: str
    config: object = None
    priority: int = 0


class _Plugins(_Part):
    """Programs in their order."""

    override_default: bool = False
    override_previous: bool = False
    chain: tuple[_Plugin, ...] = ()


class _Events(_Part):
    """Bad events over all events."""

    error_query: str
    total_query: str


class _Raw(_Part):
    """A bad share that is divided already."""

    error_ratio_query: str


class _Sli(_Part):
    """What is measured, in one of three ways."""

    events: _Events | None = None
    raw: _Raw | None = None
    plugin: object = None


class _Alert(_Part):
    """What is particular to pages, or to tickets."""

    disable: bool = False
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    for_: str = "0s"

    model_config = ConfigDict(
        extra="forbid",
        alias_generator=AliasGenerator(validation_alias=lambda name: name.removesuffix("_")),
        frozen=True,
    )


class _Alerting(_Part):
    """How it is alerted on."""

    name: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    page_alert: _Alert = _Alert()
    ticket_alert: _Alert = _Alert()


class _Slo(_Part):
    """One objective."""

    name: _Name
    description: str = ""
    objective: Exact
    labels: dict[str, str] = {}
    sli: _Sli
    alerting: _Alerting = _Alerting()
    plugins: _Plugins = _Plugins()
    interval: object = None


class _Spec(_Part):
    """The objectives of a service."""

    version: Literal["prometheus/v1"] = "prometheus/v1"
    service: _Name
    labels: dict[str, str] = {}
    slo_plugins: _Plugins = _Plugins()
    slos: tuple[_Slo, ...]


class _Resource(_Part):
    """The same as a resource of Kubernetes; its metadata are for Kubernetes."""

    api_version: str
    kind: Literal["PrometheusServiceLevel"]
    metadata: object = None
    spec: _Spec
    status: object = None


def sloth_objectives(
    document: Document, alert_windows: Sequence[AlertWindows] = ()
) -> list[Objective]:
    """Return the objectives of one of Sloth's specs, in their order.

    Args:
        document: The spec, or the resource of Kubernetes that holds it.
        alert_windows: Windows that were read beside it; without any, Sloth's own for 30 days.

    Raises:
        DocumentError: An unknown or missing field, a wrong type, or a plug-in.
        TargetError: A target leaves no budget.
        QueryError: A query counts something that no selector says.
        SelectorError: A selector looks at another time, or names no metric.
        PeriodError: A length of time cannot be read.
    """
    if document.kind == KUBERNETES_KIND:
        spec = checked(_Resource, document.content, document.where).spec
    else:
        spec = checked(_Spec, document.content, document.where)
    _refuse_plugins(spec.slo_plugins, document.where)
    period_seconds, windows = default_windows(alert_windows, document.where)
    return [
        _objective(spec, slo, period_seconds, windows, f"{document.where}, SLO {slo.name!r}")
        for slo in spec.slos
    ]


def _objective(
    spec: _Spec, slo: _Slo, period_seconds: int, windows: tuple[BurnWindow, ...], where: str
) -> Objective:
    """Return one objective."""
    _refuse_plugins(slo.plugins, where)
    events = _read_events(slo.sli, where)
    annotations = slo.alerting.annotations
    return Objective(
        name=f"{spec.service}-{slo.name}",
        title=slo.name,
        description=slo.description.strip(),
        service=spec.service,
        target_percent=slo.objective,
        period_seconds=period_seconds,
        total=events.total,
        bad=events.bad,
        good=events.good,
        group_labels=events.group_labels,
        counting=events.counting,
        windows=tuple(_held(window, slo.alerting, where) for window in windows),
        muted=_muted(slo.alerting),
        labels=_labels({**spec.labels, **slo.labels, **slo.alerting.labels}, slo.alerting),
        runbook_url=_first(annotations, _RUNBOOKS),
        dashboard_url=_first(annotations, _DASHBOARDS),
    )


def _refuse_plugins(plugins: _Plugins, where: str) -> None:
    """Refuse programs that change what comes of a spec."""
    unknown = [plugin.id for plugin in plugins.chain if plugin.id not in _DONE_PLUGINS]
    if unknown:
        raise DocumentError(
            f"{where}: wanted a spec without plug-ins, found {', '.join(unknown)}; say what it "
            "does in the queries, or with annotations of an OpenSLO document"
        )


def _read_events(sli: _Sli, where: str) -> Events:
    """Return what an indicator counts."""
    if sli.plugin is not None:
        raise DocumentError(f"{where}: wanted queries, found an SLI plug-in; write its queries out")
    if sli.events is not None and sli.raw is None:
        return ratio_events(
            sli.events.error_query,
            sli.events.total_query,
            part_is_bad=True,
            is_counter=None,
            where=where,
        )
    if sli.raw is not None and sli.events is None:
        return raw_events(sli.raw.error_ratio_query, is_bad=True, where=where)
    raise DocumentError(f"{where}: wanted either events or raw, found both or neither")


def _alert_of(alerting: _Alerting, severity: Severity) -> _Alert:
    """Return what is particular to a severity."""
    return alerting.page_alert if severity == "page" else alerting.ticket_alert


def _held(window: BurnWindow, alerting: _Alerting, where: str) -> BurnWindow:
    """Return a pair with the wait that its alert asks for."""
    wait = read_wait_seconds(_alert_of(alerting, window.severity).for_, where)
    return replace(window, for_seconds=wait)


def _muted(alerting: _Alerting) -> tuple[Severity, ...]:
    """Return the severities whose alerts are switched off."""
    return tuple(one for one in get_args(Severity) if _alert_of(alerting, one).disable)


def _labels(common: Mapping[str, str], alerting: _Alerting) -> tuple[AlertLabel, ...]:
    """Return the labels that alerts carry, those of all of them first."""
    given: list[tuple[str, str, Severity | None]] = [
        (name, value, None) for name, value in sorted(common.items())
    ]
    for severity in get_args(Severity):
        own = _alert_of(alerting, severity).labels
        given += [(name, value, severity) for name, value in sorted(own.items())]
    return tuple(
        AlertLabel(name=unreserved(name), value=value, severity=severity)
        for name, value, severity in given
    )


def unreserved(name: str) -> str:
    """Return a label's name, or another one where our rules set it themselves."""
    return f"original_{name}" if name in RESERVED_LABELS else name


def _first(annotations: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    """Return the first annotation of some names; null when there is none."""
    return next((annotations[name] for name in names if name in annotations), None)
