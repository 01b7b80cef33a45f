"""OpenSLO v1alpha documents, said again in v1.

Source: OpenSLO, openslo/v1alpha, as Sloth's examples write it: each objective holds its own ratio,
and the period is a count of units. Nothing is guessed: a field without a counterpart is refused.
"""

from typing import Annotated, Final, Literal

from pydantic import Field

from slo.documents import Document, DocumentError, Exact, Part, checked
from slo.events import Operator
from slo.openslo_parts import Metadata

VERSION: Final = "openslo/v1alpha"
_LETTERS: Final = {
    "Minute": "m",
    "Hour": "h",
    "Day": "d",
    "Week": "w",
    "Month": "M",
    "Quarter": "Q",
    "Year": "Y",
}


class _Query(Part):
    """What to ask Prometheus for."""

    source: Literal["prometheus", "Prometheus"] = "prometheus"
    query_type: Literal["promql", "PromQL"] = "promql"
    query: str


class _Ratio(Part):
    """Good or bad events over all events."""

    counter: bool | None = None
    incremental: bool | None = None
    good: _Query | None = None
    bad: _Query | None = None
    total: _Query


class _Threshold(Part):
    """A gauge whose samples are compared with a value."""

    threshold_metric: _Query


class _Calendar(Part):
    """Where a calendar's periods begin."""

    start_time: str = ""
    time_zone: str


class _TimeWindow(Part):
    """The period of the budget."""

    count: int = Field(gt=0)
    unit: Literal["Minute", "Hour", "Day", "Week", "Month", "Quarter", "Year"]
    is_rolling: bool | None = None
    calendar: _Calendar | None = None


class _Target(Part):
    """The promised share, with the ratio that it is about."""

    display_name: str = ""
    ratio_metrics: _Ratio | None = None
    op: Operator | None = None
    value: Exact | None = None
    target: Exact
    time_slice_target: Exact | None = None
    time_slice_window: int | str | None = None


class _Spec(Part):
    """What is promised."""

    description: str = ""
    service: str
    indicator: _Threshold | None = None
    time_windows: Annotated[tuple[_TimeWindow, ...], Field(min_length=1, max_length=1)]
    budgeting_method: Literal["Occurrences", "Timeslices"] = "Occurrences"
    objectives: Annotated[tuple[_Target, ...], Field(min_length=1)]


class _Document(Part):
    """A document of kind SLO."""

    api_version: Literal["openslo/v1alpha"]
    kind: Literal["SLO"]
    metadata: Metadata
    spec: _Spec


def modernised(document: Document) -> list[Document]:
    """Return the v1 documents that say what one of v1alpha does, one an objective.

    Several objectives are numbered from 0, as Sloth does, since each has an indicator of its own.

    Raises:
        DocumentError: An unknown or missing field, a wrong type, no indicator.
    """
    old = checked(_Document, document.content, document.where)
    several = len(old.spec.objectives) > 1
    return [
        Document(
            where=f"{document.where}, objective {number}" if several else document.where,
            content={
                "apiVersion": "openslo/v1",
                "kind": "SLO",
                "metadata": _metadata(old.metadata, target, f"-{number}" if several else ""),
                "spec": _spec(old.spec, target, document.where),
            },
        )
        for number, target in enumerate(old.spec.objectives)
    ]


def _metadata(metadata: Metadata, target: _Target, suffix: str) -> dict[str, object]:
    """Return the metadata of one objective."""
    title = metadata.display_name or metadata.name
    words = f": {target.display_name}" if target.display_name and suffix else ""
    return {
        "name": f"{metadata.name}{suffix}",
        "displayName": f"{title}{words}",
        "annotations": metadata.annotations,
    }


def _spec(spec: _Spec, target: _Target, where: str) -> dict[str, object]:
    """Return the spec of one objective."""
    return {
        "description": spec.description,
        "service": spec.service,
        "indicator": {"spec": _indicator(spec, target, where)},
        "timeWindow": [_time_window(spec.time_windows[0])],
        "budgetingMethod": spec.budgeting_method,
        "objectives": [
            {
                "displayName": target.display_name,
                "op": target.op,
                "value": target.value,
                "target": target.target,
                "timeSliceTarget": target.time_slice_target,
                "timeSliceWindow": target.time_slice_window,
            }
        ],
    }


def _indicator(spec: _Spec, target: _Target, where: str) -> dict[str, object]:
    """Return the indicator of one objective."""
    ratio = target.ratio_metrics
    if ratio is None and spec.indicator is not None:
        return {"thresholdMetric": _metric(spec.indicator.threshold_metric)}
    if ratio is None or spec.indicator is not None:
        raise DocumentError(
            f"{where}: wanted either ratioMetrics or an indicator's thresholdMetric"
        )
    is_counter = ratio.incremental if ratio.counter is None else ratio.counter
    named = {"good": ratio.good, "bad": ratio.bad, "total": ratio.total}
    metrics = {name: _metric(query) for name, query in named.items() if query is not None}
    return {"ratioMetric": {"counter": is_counter, **metrics}}


def _metric(query: _Query) -> dict[str, object]:
    """Return a query as v1 wraps it."""
    return {"metricSource": {"type": "Prometheus", "spec": {"query": query.query}}}


def _time_window(window: _TimeWindow) -> dict[str, object]:
    """Return a period as v1 writes it."""
    calendar = window.calendar
    return {
        "duration": f"{window.count}{_LETTERS[window.unit]}",
        "isRolling": window.is_rolling,
        "calendar": calendar and calendar.model_dump(by_alias=True),
    }
