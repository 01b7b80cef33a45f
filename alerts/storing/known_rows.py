"""The incidents that the evidence of a tick may belong to, as they are kept."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, or_, select

from alerts.identities import (
    firing_identity,
    places,
    told_firing_identity,
    verdict_identity,
)
from alerts.incidents import Incident
from alerts.known_incidents import Known, MatchParams, findings
from alerts.storing.incident_rows import records_where
from alerts.storing.records import IncidentRecord
from alerts.storing.tables import INCIDENT_ALIASES, INCIDENT_MARKS, INCIDENTS, VERDICTS
from detectors.verdicts import Subject


def known_incidents(
    connection: Connection, found: Sequence[Incident], params: MatchParams
) -> tuple[list[Known], dict[str, IncidentRecord]]:
    """Return what evidence may be recognised by, and the incidents themselves by id.

    These are the incidents that are not over, and of the others those that share an id, a finding
    or a burn with the evidence and were not over long before it.
    """
    records = records_where(
        connection,
        INCIDENTS.c.merged_into.is_(None),
        or_(INCIDENTS.c.state != "resolved", _is_told_of(found, params)),
    )
    ids = [one.id for one in records]
    aliases = _grouped(connection, ids, found)
    rows = _verdicts(connection, ids)
    known = [_known(one, aliases.get(one.id, ()), rows.get(one.id, ())) for one in records]
    return known, {one.id: one for one in records}


def _is_told_of(found: Sequence[Incident], params: MatchParams) -> ColumnElement[bool]:
    identities = {verdict_identity(one) for piece in found for one in findings(piece)}
    burns = {firing_identity(burn) for piece in found for burn in piece.burns}
    by_id = select(INCIDENT_ALIASES.c.incident).where(
        INCIDENT_ALIASES.c.alias.in_(sorted({one.id for one in found}))
    )
    by_finding = select(VERDICTS.c.incident).where(VERDICTS.c.identity.in_(sorted(identities)))
    by_burn = select(INCIDENT_MARKS.c.incident).where(
        INCIDENT_MARKS.c.name == "burn", INCIDENT_MARKS.c.value.in_(sorted(burns))
    )
    shared = or_(INCIDENTS.c.id.in_(by_finding), INCIDENTS.c.id.in_(by_burn))
    onsets = [piece.onset for piece in found]
    times = [onset for onset in onsets if onset is not None]
    if times and len(times) == len(onsets):
        soon = timedelta(seconds=params.max_reopen_seconds)
        recent = INCIDENTS.c.resolved_at >= min(times) - soon
        shared = and_(shared, or_(recent, INCIDENTS.c.resolved_at.is_(None)))
    return or_(INCIDENTS.c.id.in_(by_id), shared)


def _grouped(
    connection: Connection, ids: Sequence[str], found: Sequence[Incident]
) -> Mapping[str, Sequence[str]]:
    """Return the ids of evidence that are known, by incident."""
    query = select(INCIDENT_ALIASES).where(
        INCIDENT_ALIASES.c.alias.in_(sorted({one.id for one in found})),
        INCIDENT_ALIASES.c.incident.in_(ids),
    )
    grouped: dict[str, list[str]] = {}
    for alias, incident in connection.execute(query):
        grouped.setdefault(incident, []).append(alias)
    return grouped


def _verdicts(
    connection: Connection, ids: Sequence[str]
) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    query = select(
        VERDICTS.c.incident,
        VERDICTS.c.identity,
        VERDICTS.c.kind,
        VERDICTS.c.pinned,
        VERDICTS.c.body,
    ).where(VERDICTS.c.incident.in_(ids))
    grouped: dict[str, list[Mapping[str, Any]]] = {}
    for row in connection.execute(query).mappings():
        grouped.setdefault(row["incident"], []).append(dict(row))
    return grouped


def _known(
    record: IncidentRecord, aliases: Iterable[str], rows: Iterable[Mapping[str, Any]]
) -> Known:
    rows = list(rows)
    return Known(
        id=record.id,
        number=record.number,
        severity=record.severity,
        is_over=record.state == "resolved",
        onset=record.onset,
        ended=record.resolved_at,
        runs=frozenset(record.body["blast_radius"]["jobs"]),
        aliases=frozenset(aliases),
        findings=frozenset(row["identity"] for row in rows),
        firings=frozenset(told_firing_identity(burn) for burn in record.body["burns"]),
        pinned=frozenset(row["identity"] for row in rows if row["pinned"]),
        places=places(Subject(**row["body"]["subject"]) for row in rows),
        kinds=frozenset(row["kind"] for row in rows),
    )
