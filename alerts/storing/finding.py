"""Look incidents up: by what they are about, and like which they are."""

from collections.abc import Iterable
from typing import Final

from sqlalchemy import ColumnElement, Connection, Select, and_, or_, select

from alerts.storing.incident_rows import record_of
from alerts.storing.records import (
    IncidentFilters,
    IncidentPage,
    IncidentRecord,
    PageRequest,
)
from alerts.storing.tables import INCIDENT_MARKS, INCIDENTS

_MAX_SIMILAR: Final = 20
"""Earlier incidents that are worth a look; more of them say no more."""


def find(connection: Connection, filters: IncidentFilters, page: PageRequest) -> IncidentPage:
    """Return a page of incidents, newest number first."""
    conditions = list(_conditions(filters))
    if page.before is not None:
        conditions.append(INCIDENTS.c.number < page.before)
    query = select(INCIDENTS).where(*conditions).order_by(INCIDENTS.c.number.desc())
    rows = connection.execute(query.limit(page.limit + 1)).mappings()
    found = [record_of(row) for row in rows]
    shown = tuple(found[: page.limit])
    return IncidentPage(
        records=shown, next_before=shown[-1].number if len(found) > page.limit else None
    )


def similar(connection: Connection, record: IncidentRecord) -> list[IncidentRecord]:
    """Return earlier incidents of the same kind and subject, newest first."""
    query = (
        select(INCIDENTS)
        .where(
            INCIDENTS.c.likeness == record.likeness,
            INCIDENTS.c.number < record.number,
            INCIDENTS.c.merged_into.is_(None),
        )
        .order_by(INCIDENTS.c.number.desc())
        .limit(_MAX_SIMILAR)
    )
    return [record_of(row) for row in connection.execute(query).mappings()]


def _conditions(filters: IncidentFilters) -> Iterable[ColumnElement[bool]]:
    if not filters.merged:
        yield INCIDENTS.c.merged_into.is_(None)
    if filters.states:
        yield INCIDENTS.c.state.in_(filters.states)
    if filters.severity is not None:
        yield INCIDENTS.c.severity == filters.severity
    for name in ("run", "host", "kind"):
        value = getattr(filters, name)
        if value is not None:
            yield INCIDENTS.c.id.in_(_marked(name, value))
    if filters.since is not None:
        unknown = and_(INCIDENTS.c.onset.is_(None), INCIDENTS.c.first_seen >= filters.since)
        yield or_(INCIDENTS.c.onset >= filters.since, unknown)


def _marked(name: str, value: str) -> Select[tuple[str]]:
    return select(INCIDENT_MARKS.c.incident).where(
        INCIDENT_MARKS.c.name == name, INCIDENT_MARKS.c.value == value
    )
