"""Take findings out of an incident, for all ticks to come."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, update

from alerts.faults import JoinParams
from alerts.identities import digest, likeness, verdict_identity
from alerts.incident_documents import read_incident, read_verdict
from alerts.incidents import Incident, incident_json
from alerts.known_incidents import findings
from alerts.lifecycle import Life, Told, follow
from alerts.matching import narrowed
from alerts.storing.acting import Request, is_done, standing, write_act
from alerts.storing.evidence_rows import add_marks, verdict_rows
from alerts.storing.history_rows import Happening, write_happenings
from alerts.storing.incident_rows import (
    insert_record,
    next_number,
    refuse_stale,
    whole_record,
    with_life,
    write_record,
)
from alerts.storing.records import Change, IncidentRecord
from alerts.storing.refusals import RefusedSplitError
from alerts.storing.tables import VERDICTS

_Row = Mapping[str, Any]


def split(
    connection: Connection,
    incident_id: str,
    verdict_ids: Sequence[str],
    request: Request,
    joining: JoinParams,
) -> list[Change]:
    """Make an incident of its own of some findings; nothing, when it is done already.

    The new incident comes first in what is returned.
    """
    record = whole_record(connection, incident_id)
    told: dict[str, object] = {"verdicts": sorted(set(verdict_ids))}
    if is_done(connection, record, "split", told, request):
        return [standing(whole_record(connection, _fresh_id(record, request)))]
    refuse_stale(record, request.version)
    rows = verdict_rows(connection, record.id)
    taken = [row for row in rows if row["id"] in verdict_ids]
    left = [row for row in rows if row["id"] not in verdict_ids]
    _refuse(record, set(verdict_ids), taken, left)
    evidence = read_incident(record.body)
    part = narrowed(evidence, _verdicts(evidence, taken), joining, with_burns=False)
    made = _split_off(connection, record, replace(part, id=_fresh_id(record, request)), request)
    _pin(connection, made.id, taken)
    rest = narrowed(evidence, _verdicts(evidence, left), joining, with_burns=True)
    told_now = _told_now(record, replace(rest, id=record.id))
    after = write_record(connection, record, told_now, now=request.at)
    write_act(connection, record.id, "split", {**told, "number": made.number}, request)
    return [
        Change(kind="opened", before=None, after=made),
        Change(kind="acted", before=record, after=after),
    ]


def _fresh_id(record: IncidentRecord, request: Request) -> str:
    return digest("split", record.id, request.key)


def _refuse(
    record: IncidentRecord, wanted: set[str], taken: Sequence[_Row], left: Sequence[_Row]
) -> None:
    strange = sorted(wanted - {row["id"] for row in taken})
    if strange or not wanted:
        raise RefusedSplitError(
            f"wanted findings of incident #{record.number}, found {', '.join(strange) or 'none'}; "
            "list its verdicts to see their ids"
        )
    if not left:
        raise RefusedSplitError(
            f"wanted to leave a finding in incident #{record.number}, found all of them taken; "
            "it is one already"
        )


def _verdicts(evidence: Incident, rows: Sequence[_Row]) -> list[Any]:
    """Return the findings of rows; those that are still told in the words of the newest tick."""
    told = {verdict_identity(one): one for one in findings(evidence)}
    return [told.get(row["identity"]) or read_verdict(row["body"]) for row in rows]


def _split_off(
    connection: Connection, record: IncidentRecord, part: Incident, request: Request
) -> IncidentRecord:
    """Write the incident that some findings make."""
    blank = replace(
        _told_now(record, part),
        id=part.id,
        number=next_number(connection),
        severity=part.severity,
        detected=part.detected,
        paged_at=part.paged_at,
        maintenance=None,
        inhibited_by=None,
        first_seen=request.at,
        updated=request.at,
        version=1,
    )
    ended = None if part.state == "open" else part.cleared or part.as_of or request.at
    told = Told(lasts=part.state == "open", onset=part.onset, ended=ended)
    made = with_life(blank, follow(Life(assignee=record.assignee), told))
    insert_record(connection, made)
    add_marks(connection, made.id, part)
    body = {"split_from": record.id, "split_from_number": record.number, "title": made.title}
    happened = Happening(
        incident=made.id,
        at=request.at,
        actor=request.actor,
        kind="opened",
        body=body,
        key=f"{made.id}:opened",
    )
    write_happenings(connection, [happened])
    return made


def _told_now(record: IncidentRecord, evidence: Incident) -> IncidentRecord:
    """Return an incident that rests on other evidence."""
    return replace(
        record,
        run=evidence.run,
        title=evidence.title,
        onset=evidence.onset or record.onset,
        likeness=likeness(evidence),
        body=incident_json(evidence),
    )


def _pin(connection: Connection, incident: str, rows: Sequence[_Row]) -> None:
    ids = [row["id"] for row in rows]
    connection.execute(
        update(VERDICTS).where(VERDICTS.c.id.in_(ids)).values(incident=incident, pinned=1)
    )
