"""Declared maintenance: documents of our own kind, and the objectives that they are for.

Source: reports to slok/sloth and Kibana that planned work eats the budget. No peer's spec can say
it, so the kind is ours. It names whom it is for: what excluded every objective by accident would
hide an outage.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, Literal

from slo.documents import Document, DocumentError, Part, checked
from slo.exclusions import Exclusion, ExclusionError
from slo.objectives import Objective

VERSION: Final = "paceline/v1"
KIND: Final = "Maintenance"


class _Metadata(Part):
    """Name of a document."""

    name: str


class _Spec(Part):
    """When, by whom, why, and whom it is for."""

    start: str
    end: str
    author: str
    reason: str
    objectives: tuple[str, ...] = ()
    services: tuple[str, ...] = ()


class _Document(Part):
    """A document of kind Maintenance."""

    api_version: Literal["paceline/v1"]
    kind: Literal["Maintenance"]
    metadata: _Metadata
    spec: _Spec


def exclude_maintenance(
    objectives: Sequence[Objective], documents: Sequence[Document]
) -> list[Objective]:
    """Return the objectives with the maintenance that is declared for them, earliest first.

    Args:
        objectives: Every objective that was read.
        documents: Documents of kind Maintenance.

    Raises:
        DocumentError: An unknown or missing field, nobody or an unknown one that it is for, or a
            time that is none.
        ExclusionError: A time without a zone, no length, or nobody behind it.
    """
    excluded: dict[str, list[Exclusion]] = {objective.name: [] for objective in objectives}
    for document in documents:
        spec = checked(_Document, document.content, document.where).spec
        exclusion = _exclusion(spec, document.where)
        for name in _names(spec, objectives, document.where):
            excluded[name].append(exclusion)
    return [
        replace(objective, exclusions=_ordered(excluded[objective.name]))
        for objective in objectives
    ]


def _ordered(exclusions: list[Exclusion]) -> tuple[Exclusion, ...]:
    """Return exclusions by time; the order of documents means nothing."""
    return tuple(sorted(exclusions, key=lambda one: (one.start, one.end, one.author, one.reason)))


def _names(spec: _Spec, objectives: Sequence[Objective], where: str) -> list[str]:
    """Return the objectives that a document is for."""
    if not spec.objectives and not spec.services:
        raise DocumentError(
            f"{where}: wanted objectives or services that the maintenance is for, found none"
        )
    names = {objective.name for objective in objectives}
    services = {objective.service for objective in objectives}
    unknown = sorted((set(spec.objectives) - names) | (set(spec.services) - services))
    if unknown:
        raise DocumentError(
            f"{where}: nothing here is called {unknown}; known objectives: {sorted(names)}, "
            f"services: {sorted(services)}"
        )
    return [
        objective.name
        for objective in objectives
        if objective.name in spec.objectives or objective.service in spec.services
    ]


def _exclusion(spec: _Spec, where: str) -> Exclusion:
    """Return the stretch of time that a document declares."""
    start, end = (_time(text, where) for text in (spec.start, spec.end))
    try:
        return Exclusion(start=start, end=end, author=spec.author, reason=spec.reason)
    except ExclusionError as error:
        raise ExclusionError(f"{where}: {error}") from error


def _time(text: str, where: str) -> datetime:
    """Return a time; whether it has a zone is asked later, of both ends at once."""
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise DocumentError(
            f"{where}: wanted a time as in 2026-01-01T10:00:00Z, found {text!r}"
        ) from error
