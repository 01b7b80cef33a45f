"""What people do to incidents, each thing once, in the transaction that they are handed."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from alerts.lifecycle import Action, Asked, act_on
from alerts.storing.history_rows import Happening, happened, write_happenings
from alerts.storing.incident_rows import (
    life_of,
    parts_of,
    refuse_stale,
    touch_record,
    whole_record,
    with_life,
    write_record,
)
from alerts.storing.records import Change, IncidentRecord
from alerts.storing.refreshing import join_records, merged_body
from alerts.storing.refusals import RefusedMergeError, ReusedKeyError


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Who asks for something, when, and under which name.

    Attributes:
        actor: Who asks.
        at: When.
        key: Names the request: asked again, it is not done again.
        version: Version of the incident that the person saw; null does not care.
    """

    actor: str
    at: datetime
    key: str
    version: int | None = None


def act(
    connection: Connection, incident_id: str, action: Action, asked: Asked, request: Request
) -> list[Change]:
    """Do what a person asks of an incident; nothing, when it is done already."""
    record = whole_record(connection, incident_id)
    told: dict[str, object] = {"note": asked.note, "assignee": asked.assignee}
    if is_done(connection, record, action, told, request):
        return [standing(record)]
    refuse_stale(record, request.version)
    life = act_on(life_of(record), action, asked)
    after = write_record(connection, record, with_life(record, life), now=request.at)
    if after is record:
        # A note changes nothing else; whoever has the page open should see that there is one.
        after = touch_record(connection, record, now=request.at)
    write_act(connection, record.id, action, told, request)
    return [Change(kind="acted", before=record, after=after)]


def merge(connection: Connection, into: str, other: str, request: Request) -> list[Change]:
    """Make an incident part of another; nothing, when it is done already."""
    whole, part = whole_record(connection, into), whole_record(connection, other)
    told: dict[str, object] = {"into": into, "other": other}
    if is_done(connection, whole, "merged", told, request):
        return [standing(whole)]
    refuse_stale(whole, request.version)
    if whole.id == part.id:
        raise RefusedMergeError(
            f"wanted two incidents to merge, found #{whole.number} and itself; name another"
        )
    records = {whole.id: whole, part.id: part}
    change = join_records(connection, records, part.id, whole.id, now=request.at)
    write_act(connection, whole.id, "merged", {**merged_body(change), **told}, request)
    return [change, Change(kind="acted", before=whole, after=records[whole.id])]


def is_done(
    connection: Connection,
    record: IncidentRecord,
    kind: str,
    told: Mapping[str, object],
    request: Request,
) -> bool:
    """Return whether the same was asked for under the same key.

    Raises:
        ReusedKeyError: Something else was.
    """
    entry = happened(connection, _key(request))
    if entry is None:
        return False
    same = all(entry.body.get(name) == value for name, value in told.items())
    here = entry.incident in parts_of(connection, record.id)
    if not (same and here and (entry.kind, entry.actor) == (kind, request.actor)):
        raise ReusedKeyError(
            f"wanted a new key, found one that named '{entry.kind}' by {entry.actor}; "
            "give each request a key of its own"
        )
    return True


def write_act(
    connection: Connection,
    incident: str,
    kind: str,
    body: Mapping[str, object],
    request: Request,
) -> None:
    """Write down what was done, under the name of the request."""
    happening = Happening(
        incident=incident,
        at=request.at,
        actor=request.actor,
        kind=kind,
        body=body,
        key=_key(request),
    )
    write_happenings(connection, [happening])


def standing(record: IncidentRecord) -> Change:
    """Return that nothing was done."""
    return Change(kind="standing", before=record, after=record)


def _key(request: Request) -> str:
    """Return the key in the history; those of ticks are spelled otherwise."""
    return f"act:{request.key}"
