"""The parts of OpenSLO v1 documents.

Source: OpenSLO specification, openslo/v1 (https://github.com/OpenSLO/OpenSLO). A field that is not
named here is refused: a document never means more than what is done with it.
"""

from typing import Annotated, Final, Literal, cast

from pydantic import BeforeValidator, Field

from slo.documents import Exact, Part
from slo.events import Operator

PROMETHEUS_TYPES: Final = (
    "prometheus",
    "amazonprometheus",
    "cortex",
    "mimir",
    "thanos",
    "victoriametrics",
)
"""Sources that answer PromQL."""

Name = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9.]{0,253}[a-z0-9])?$")]
"""As the specification has it; the parts that no file name could carry are left out."""


def _listed(value: object) -> object:
    """Return a single mapping as a list of one, as people write it."""
    return [cast("object", value)] if isinstance(value, dict) else value


class Query(Part):
    """What to ask a source for."""

    query: str | None = None
    promql: str | None = None
    query_type: Literal["promql"] | None = None


class MetricSource(Part):
    """Where a metric comes from."""

    metric_source_ref: str | None = None
    type: str | None = None
    spec: Query


class Metric(Part):
    """One query."""

    metric_source: MetricSource


class Ratio(Part):
    """Good or bad events over all events, or their ratio."""

    counter: bool | None = None
    good: Metric | None = None
    bad: Metric | None = None
    total: Metric | None = None
    raw_type: Literal["success", "failure"] | None = None
    raw: Metric | None = None


class IndicatorSpec(Part):
    """What is measured."""

    description: str = ""
    ratio_metric: Ratio | None = None
    threshold_metric: Metric | None = None


class Metadata(Part):
    """Name and annotations of a document; labels are for people, in any form."""

    name: Name
    display_name: str = ""
    namespace: str = ""
    labels: dict[str, object] | list[object] | None = None
    annotations: dict[str, object] | None = None


class LooseMetadata(Metadata):
    """Metadata of a document whose name becomes nobody's id."""

    name: str


class Indicator(Part):
    """An indicator that stands inside its objective."""

    api_version: Literal["openslo/v1"] = "openslo/v1"
    kind: Literal["SLI"] = "SLI"
    metadata: LooseMetadata | None = None
    spec: IndicatorSpec


class CalendarStart(Part):
    """Where a calendar's periods begin."""

    start_time: str = ""
    time_zone: str


class TimeWindow(Part):
    """The period of the budget."""

    duration: str
    is_rolling: bool | None = None
    calendar: CalendarStart | None = None


class Target(Part):
    """The promised share, as a ratio or in percent, and what a threshold is compared with."""

    display_name: str = ""
    op: Operator | None = None
    value: Exact | None = None
    target: Exact | None = None
    target_percent: Exact | None = None
    time_slice_target: Exact | None = None
    time_slice_window: int | str | None = None


class Condition(Part):
    """When an alert is due."""

    kind: Literal["burnrate", "Burnrate", "BurnRate"] = "burnrate"
    op: Literal["gt"] = "gt"
    threshold: Exact
    lookback_window: str
    alert_after: str = "0m"


class ConditionSpec(Part):
    """How grave a condition is."""

    description: str = ""
    severity: str
    condition: Condition


class InlineCondition(Part):
    """A condition that stands inside its policy, or a name of one that does not."""

    condition_ref: str | None = None
    api_version: Literal["openslo/v1"] = "openslo/v1"
    kind: Literal["AlertCondition"] = "AlertCondition"
    metadata: LooseMetadata | None = None
    spec: ConditionSpec | None = None


class PolicySpec(Part):
    """Conditions, and when they are told; to whom is said by the routes of Alertmanager."""

    description: str = ""
    alert_when_no_data: bool = False
    alert_when_resolved: bool = False
    alert_when_breaching: bool = True
    conditions: Annotated[tuple[InlineCondition, ...], Field(min_length=1, max_length=1)]
    notification_targets: tuple[object, ...] = ()


class InlinePolicy(Part):
    """A policy that stands inside its objective, or a name of one that does not."""

    alert_policy_ref: str | None = None
    api_version: Literal["openslo/v1"] = "openslo/v1"
    kind: Literal["AlertPolicy"] = "AlertPolicy"
    metadata: LooseMetadata | None = None
    spec: PolicySpec | None = None


class SloSpec(Part):
    """What is promised."""

    description: str = ""
    service: str
    indicator: Indicator | None = None
    indicator_ref: str | None = None
    time_window: Annotated[
        tuple[TimeWindow, ...], Field(min_length=1, max_length=1), BeforeValidator(_listed)
    ]
    budgeting_method: Literal["Occurrences", "Timeslices", "RatioTimeslices"]
    objectives: Annotated[tuple[Target, ...], Field(min_length=1)]
    alert_policies: tuple[str | InlinePolicy, ...] | None = None


class SloDocument(Part):
    """A document of kind SLO."""

    api_version: Literal["openslo/v1"]
    kind: Literal["SLO"]
    metadata: Metadata
    spec: SloSpec


class SliDocument(Part):
    """A document of kind SLI, to which others refer by name."""

    api_version: Literal["openslo/v1"]
    kind: Literal["SLI"]
    metadata: LooseMetadata
    spec: IndicatorSpec


class PolicyDocument(Part):
    """A document of kind AlertPolicy, to which objectives refer by name."""

    api_version: Literal["openslo/v1"]
    kind: Literal["AlertPolicy"]
    metadata: LooseMetadata
    spec: PolicySpec


class ConditionDocument(Part):
    """A document of kind AlertCondition, to which policies refer by name."""

    api_version: Literal["openslo/v1"]
    kind: Literal["AlertCondition"]
    metadata: LooseMetadata
    spec: ConditionSpec


class _SourceSpec(Part):
    """What a data source is; how it is connected to is another's business."""

    description: str = ""
    type: str
    connection_details: object = None


class SourceDocument(Part):
    """A document of kind DataSource, to which metrics refer by name."""

    api_version: Literal["openslo/v1"]
    kind: Literal["DataSource"]
    metadata: LooseMetadata
    spec: _SourceSpec
