"""Incidents as rows: read, insert, and write what has changed."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime
from functools import cache
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    String,
    Update,
    bindparam,
    func,
    insert,
    or_,
    select,
    update,
)

from alerts.lifecycle import Life
from alerts.storing.records import IncidentRecord
from alerts.storing.refusals import StaleVersionError, UnknownIncidentError
from alerts.storing.tables import INCIDENT_ALIASES, INCIDENTS

_FIELDS: Final = tuple(item.name for item in fields(IncidentRecord))
_LIFE: Final = tuple(item.name for item in fields(Life))
_OF_WRITING: Final = frozenset({"updated", "version"})
"""What a write itself changes."""


def records_where(connection: Connection, *conditions: ColumnElement[bool]) -> list[IncidentRecord]:
    """Return the incidents that meet the conditions, by number."""
    query = select(INCIDENTS).where(*conditions).order_by(INCIDENTS.c.number)
    return [record_of(row) for row in connection.execute(query).mappings()]


def record_of(row: Mapping[Any, Any]) -> IncidentRecord:
    """Return the incident that a row of `incidents` holds."""
    return IncidentRecord(**{name: row[name] for name in _FIELDS})


@cache
def _by_id_or_alias() -> Select[Any]:
    """Return what finds an incident; put together once, as that takes longer than finding it."""
    wanted = bindparam("wanted", type_=String())
    alias = select(INCIDENT_ALIASES.c.incident).where(INCIDENT_ALIASES.c.alias == wanted)
    fits = or_(INCIDENTS.c.id == wanted, INCIDENTS.c.id == alias.scalar_subquery())
    return select(INCIDENTS).where(fits).order_by(INCIDENTS.c.number)


def known_record(connection: Connection, incident_id: str) -> IncidentRecord:
    """Return the incident with an id or an alias, as it stands.

    Raises:
        UnknownIncidentError: There is no such incident.
    """
    rows = connection.execute(_by_id_or_alias(), {"wanted": incident_id}).mappings()
    found = [record_of(row) for row in rows]
    exact = [one for one in found if one.id == incident_id] or found
    if not exact:
        raise UnknownIncidentError(
            f"no incident {incident_id[:40]!r}; list incidents to find its id"
        )
    return exact[0]


def whole_record(connection: Connection, incident_id: str) -> IncidentRecord:
    """Return the incident that an id stands for now: what it was merged into, if it was.

    Raises:
        UnknownIncidentError: There is no such incident.
    """
    record = known_record(connection, incident_id)
    while record.merged_into is not None:
        record = known_record(connection, record.merged_into)
    return record


def next_number(connection: Connection) -> int:
    """Return the number of the next incident; only within the lock of writers."""
    return 1 + (connection.execute(select(func.max(INCIDENTS.c.number))).scalar() or 0)


def insert_record(connection: Connection, record: IncidentRecord) -> None:
    """Write a new incident."""
    connection.execute(insert(INCIDENTS).values(**_values(record)))


def write_record(
    connection: Connection, before: IncidentRecord, after: IncidentRecord, *, now: datetime
) -> IncidentRecord:
    """Write what has changed about an incident and return it; nothing, when nothing has.

    Raises:
        StaleVersionError: Somebody else has changed it since it was read.
    """
    if not has_changed(before, after):
        return before
    return _written(connection, before, after, now)


def touch_record(
    connection: Connection, record: IncidentRecord, *, now: datetime
) -> IncidentRecord:
    """Write that something about an incident is new that is not among its columns.

    Raises:
        StaleVersionError: Somebody else has changed it since it was read.
    """
    return _written(connection, record, record, now)


def _written(
    connection: Connection, before: IncidentRecord, after: IncidentRecord, now: datetime
) -> IncidentRecord:
    written = replace(after, updated=now, version=before.version + 1)
    values = {f"new_{name}": value for name, value in _values(written).items()}
    asked = {"of": before.id, "old_version": before.version, **values}
    done = connection.execute(_rewrite(), asked)
    if done.rowcount != 1:
        raise stale(before, before.version)
    return written


@cache
def _rewrite() -> Update:
    """Return what writes an incident whose version is still the old one."""
    columns = INCIDENTS.c
    fresh = {name: bindparam(f"new_{name}", type_=columns[name].type) for name in _FIELDS}
    return (
        update(INCIDENTS)
        .where(columns.id == bindparam("of"), columns.version == bindparam("old_version"))
        .values(fresh)
    )


def has_changed(before: IncidentRecord, after: IncidentRecord) -> bool:
    """Return whether anything differs but the write itself."""
    return any(
        getattr(before, name) != getattr(after, name) for name in _FIELDS if name not in _OF_WRITING
    )


def refuse_stale(record: IncidentRecord, version: int | None) -> None:
    """Refuse a version that is not the newest.

    Raises:
        StaleVersionError: The incident has changed since.
    """
    if version is not None and version != record.version:
        raise stale(record, version)


def stale(record: IncidentRecord, version: int) -> StaleVersionError:
    """Return that an incident has changed."""
    return StaleVersionError(
        f"wanted version {record.version} of incident #{record.number}, found {version}; "
        "look at it again"
    )


def life_of(record: IncidentRecord) -> Life:
    """Return where an incident stands in its life."""
    return Life(**{name: getattr(record, name) for name in _LIFE})


def with_life(record: IncidentRecord, life: Life) -> IncidentRecord:
    """Return an incident that stands elsewhere in its life."""
    return replace(record, **{name: getattr(life, name) for name in _LIFE})


def parts_of(connection: Connection, incident_id: str) -> Sequence[str]:
    """Return an incident's id and those of all that were merged into it."""
    found = [incident_id]
    for one in found:
        found += sorted(connection.execute(_merged_into(), {"whole": one}).scalars())
    return found


@cache
def _merged_into() -> Select[Any]:
    whole = bindparam("whole", type_=String())
    return select(INCIDENTS.c.id).where(INCIDENTS.c.merged_into == whole)


def _values(record: IncidentRecord) -> dict[str, Any]:
    return {name: getattr(record, name) for name in _FIELDS}
