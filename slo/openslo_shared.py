"""What OpenSLO documents refer to by name: indicators, alert policies, conditions, sources.

Source: OpenSLO v1. Names are looked up among all documents that are read together, in whichever
order and file they stand.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from slo.documents import Document, DocumentError, checked
from slo.openslo_parts import (
    ConditionDocument,
    ConditionSpec,
    IndicatorSpec,
    PolicyDocument,
    PolicySpec,
    SliDocument,
    SourceDocument,
)

AnySpec = TypeVar("AnySpec")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """What documents refer to by name.

    Attributes:
        indicators: Specs of kind SLI.
        policies: Specs of kind AlertPolicy.
        conditions: Specs of kind AlertCondition.
        source_types: Types of kind DataSource.
    """

    indicators: dict[str, IndicatorSpec] = field(default_factory=dict[str, IndicatorSpec])
    policies: dict[str, PolicySpec] = field(default_factory=dict[str, PolicySpec])
    conditions: dict[str, ConditionSpec] = field(default_factory=dict[str, ConditionSpec])
    source_types: dict[str, str] = field(default_factory=dict[str, str])


def read_shared(documents: Iterable[Document]) -> Shared:
    """Return what OpenSLO documents may refer to by name.

    Raises:
        DocumentError: A document has an unknown or missing field, a wrong type, or a name that
            another one of its kind has already.
    """
    shared = Shared()
    for document in documents:
        content, where = document.content, document.where
        if document.kind == "SLI":
            sli = checked(SliDocument, content, where)
            _keep(shared.indicators, sli.metadata.name, sli.spec, where)
        elif document.kind == "AlertPolicy":
            policy = checked(PolicyDocument, content, where)
            _keep(shared.policies, policy.metadata.name, policy.spec, where)
        elif document.kind == "AlertCondition":
            condition = checked(ConditionDocument, content, where)
            _keep(shared.conditions, condition.metadata.name, condition.spec, where)
        elif document.kind == "DataSource":
            source = checked(SourceDocument, content, where)
            _keep(shared.source_types, source.metadata.name, source.spec.type, where)
    return shared


def _keep(known: dict[str, AnySpec], name: str, spec: AnySpec, where: str) -> None:
    """Keep what a document says under its name, and refuse a second one of that name."""
    if name in known:
        raise DocumentError(f"{where}: wanted a name of its own, found {name!r} again")
    known[name] = spec
