"""What happened to incidents, each thing once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert, select

from alerts.storing.records import HistoryEntry
from alerts.storing.tables import INCIDENT_HISTORY


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """Something that happened to an incident.

    Attributes:
        incident: Whose it is.
        at: When.
        actor: Who did it.
        kind: What it was.
        body: What belongs to it.
        key: Names it for ever: the same again is not written again.
    """

    incident: str
    at: datetime
    actor: str
    kind: str
    body: Mapping[str, Any]
    key: str


def write_happenings(connection: Connection, happenings: Sequence[Happening]) -> None:
    """Write down what happened, in its order, but for what stands there already."""
    keys = [one.key for one in happenings]
    query = select(INCIDENT_HISTORY.c.key).where(INCIDENT_HISTORY.c.key.in_(keys))
    known = set(connection.execute(query).scalars()) if keys else set[str]()
    for one in happenings:
        if one.key not in known:
            known.add(one.key)
            connection.execute(
                insert(INCIDENT_HISTORY).values(
                    incident=one.incident,
                    at=one.at,
                    actor=one.actor,
                    kind=one.kind,
                    body=dict(one.body),
                    key=one.key,
                )
            )


def happened(connection: Connection, key: str) -> HistoryEntry | None:
    """Return what was written under a key; null when nothing was."""
    query = select(INCIDENT_HISTORY).where(INCIDENT_HISTORY.c.key == key)
    row = connection.execute(query).mappings().first()
    return None if row is None else _entry(row)


def history_of(connection: Connection, incidents: Sequence[str]) -> list[HistoryEntry]:
    """Return what happened to incidents, in the order in which it was written."""
    query = (
        select(INCIDENT_HISTORY)
        .where(INCIDENT_HISTORY.c.incident.in_(incidents))
        .order_by(INCIDENT_HISTORY.c.id)
    )
    return [_entry(row) for row in connection.execute(query).mappings()]


def _entry(row: Mapping[Any, Any]) -> HistoryEntry:
    return HistoryEntry(
        id=row["id"],
        incident=row["incident"],
        at=row["at"],
        actor=row["actor"],
        kind=row["kind"],
        body=row["body"],
    )
