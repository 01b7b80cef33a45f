"""The parts of OpenSLO v1 documents that we read, and the way from YAML to them.

Source: OpenSLO specification, openslo/v1 (https://github.com/OpenSLO/OpenSLO). A field that is not
named here is refused: a document never means more than what is done with it.
"""

from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated, Final, Literal, cast

import yaml
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError
from pydantic.alias_generators import to_camel

from slo.selectors import Selector, parse_selector

PASSED_OVER_KINDS: Final = ("DataSource", "Service")
"""Kinds that hold nothing an objective needs here."""
WAY_OUT: Final = "see slo/library/training-steps.yml for a document that works"


class DocumentError(ValueError):
    """A file is not an OpenSLO v1 document that can be read."""


class _Part(BaseModel):
    """A part of a document; a field that is not named here is refused."""

    model_config = ConfigDict(extra="forbid", alias_generator=to_camel, frozen=True)


class _Query(_Part):
    """What to ask Prometheus for."""

    query: str


class _MetricSource(_Part):
    """Where a metric comes from; Prometheus is the only source."""

    metric_source_ref: str | None = None
    type: Literal["Prometheus", "prometheus"] = "Prometheus"
    spec: _Query


class Metric(_Part):
    """One counter."""

    metric_source: _MetricSource

    @property
    def selector(self) -> Selector:
        """The series of the counter."""
        return parse_selector(self.metric_source.spec.query)


class Ratio(_Part):
    """Good or bad events over all events."""

    counter: Literal[True]
    good: Metric | None = None
    bad: Metric | None = None
    total: Metric


class IndicatorSpec(_Part):
    """What is measured."""

    description: str = ""
    ratio_metric: Ratio


class _Metadata(_Part):
    """Name and annotations of a document."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")]
    display_name: str = ""
    labels: dict[str, JsonValue] = {}
    annotations: dict[str, str] = {}


class _Indicator(_Part):
    """An indicator that stands inside its objective."""

    metadata: _Metadata | None = None
    spec: IndicatorSpec


class TimeWindow(_Part):
    """The period of the budget."""

    duration: str
    is_rolling: bool


class Target(_Part):
    """The promised share, as a ratio or in percent."""

    display_name: str = ""
    target: Decimal | None = None
    target_percent: Decimal | None = None


class SloSpec(_Part):
    """What is promised."""

    description: str = ""
    service: str
    indicator: _Indicator | None = None
    indicator_ref: str | None = None
    time_window: Annotated[tuple[TimeWindow, ...], Field(min_length=1, max_length=1)]
    budgeting_method: Literal["Occurrences"]
    objectives: Annotated[tuple[Target, ...], Field(min_length=1, max_length=1)]
    alert_policies: Annotated[tuple[str, ...], Field(max_length=0)] | None = None


class SloDocument(_Part):
    """A document of kind SLO."""

    api_version: Literal["openslo/v1"]
    kind: Literal["SLO"]
    metadata: _Metadata
    spec: SloSpec


class SliDocument(_Part):
    """A document of kind SLI, to which others refer by name."""

    api_version: Literal["openslo/v1"]
    kind: Literal["SLI"]
    metadata: _Metadata
    spec: IndicatorSpec


def split_documents(text: str, source: str) -> Iterator[tuple[str, SloDocument | SliDocument]]:
    """Yield each document that says something, with its place.

    Args:
        text: YAML; every document of it is read.
        source: What messages call the text.

    Raises:
        DocumentError: No YAML, an unknown kind, an unknown or missing field, a wrong type.
    """
    try:
        parts = cast("list[object]", list(yaml.safe_load_all(text)))
    except yaml.YAMLError as error:
        flat = " ".join(str(error).split())
        raise DocumentError(f"{source}: wanted YAML, found {flat}; {WAY_OUT}") from error
    for number, part in enumerate(parts, start=1):
        where = f"{source}, document {number}"
        kind = _kind(part)
        if part is None or kind in PASSED_OVER_KINDS:
            continue
        yield where, _document(part, kind, where)


def _kind(part: object) -> object:
    """Return the kind that a part of the YAML says it is."""
    if isinstance(part, dict):
        return cast("dict[object, object]", part).get("kind")
    return type(part).__name__


def _document(part: object, kind: object, where: str) -> SloDocument | SliDocument:
    """Return one document, or refuse it with everything that is wrong with it."""
    if kind not in ("SLO", "SLI"):
        known = ", ".join(("SLO", "SLI", *PASSED_OVER_KINDS))
        raise DocumentError(f"{where}: wanted a kind of {known}, found {kind!r}; {WAY_OUT}")
    try:
        if kind == "SLO":
            return SloDocument.model_validate(part)
        return SliDocument.model_validate(part)
    except ValidationError as error:
        wrong = "; ".join(
            f"{'.'.join(map(str, item['loc']))}: {item['msg']}, found {item['input']!r:.80}"
            for item in error.errors()
        )
        raise DocumentError(f"{where}: {wrong}; {WAY_OUT}") from error
