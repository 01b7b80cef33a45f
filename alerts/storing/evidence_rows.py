"""What an incident rests on, as rows: its findings, the ids they had, what it can be found by."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import (
    Connection,
    Select,
    String,
    Table,
    bindparam,
    func,
    insert,
    select,
    tuple_,
    update,
)

from alerts.identities import digest, firing_identity, marks, verdict_identity
from alerts.incidents import Incident
from alerts.storing.records import VerdictRecord
from alerts.storing.tables import INCIDENT_ALIASES, INCIDENT_MARKS, VERDICTS
from detectors.verdicts import Verdict, rfc3339, verdict_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a tick found of one incident.

    Attributes:
        incident: Whose it is, by id.
        whole: All of it.
        pieces: Its parts as the tick told them, for their ids.
    """

    incident: str
    whole: Incident
    pieces: Sequence[Incident]


def write_evidence(connection: Connection, found: Sequence[Evidence], *, now: datetime) -> None:
    """Write what a tick found of its incidents.

    Args:
        connection: Within the transaction of the tick, for which all other writers wait.
        found: Of each incident once.
        now: When the tick ran.
    """
    for one in found:
        _write_verdicts(connection, one.incident, (*one.whole.suspects, *one.whole.context), now)
    aliases = [{"alias": part.id, "incident": one.incident} for one in found for part in one.pieces]
    _add_missing(connection, INCIDENT_ALIASES, aliases)
    marked = [row for one in found for row in _mark_rows(one.incident, one.whole)]
    _add_missing(connection, INCIDENT_MARKS, marked)


def add_marks(connection: Connection, incident_id: str, whole: Incident) -> None:
    """Write what an incident can be found by, in addition to what it could before."""
    _add_missing(connection, INCIDENT_MARKS, _mark_rows(incident_id, whole))


def _mark_rows(incident_id: str, whole: Incident) -> list[dict[str, Any]]:
    return [{"incident": incident_id, "name": n, "value": v} for n, v in sorted(_marks(whole))]


def verdict_rows(connection: Connection, incident_id: str) -> list[Mapping[str, Any]]:
    """Return the findings of an incident, by onset and id; those without an onset first."""
    found = connection.execute(_verdicts_of(), {"of": incident_id}).mappings()
    rows = [dict(row) for row in found]
    return sorted(rows, key=lambda row: (_text(row["onset"]), row["id"]))


@cache
def _verdicts_of() -> Select[Any]:
    return select(VERDICTS).where(VERDICTS.c.incident == bindparam("of", type_=String()))


def first_onset(
    connection: Connection, incident_id: str, *, ended_by: datetime | None
) -> datetime | None:
    """Return when the first finding began that ended by a time; null when none did."""
    if ended_by is None:
        return None
    asked = {"of": incident_id, "ended_by": ended_by}
    onset: datetime | None = connection.execute(_first_onset(), asked).scalar()
    return onset


@cache
def _first_onset() -> Select[Any]:
    ended_by = bindparam("ended_by", type_=VERDICTS.c.cleared.type)
    return select(func.min(VERDICTS.c.onset)).where(
        VERDICTS.c.incident == bindparam("of", type_=String()), VERDICTS.c.cleared <= ended_by
    )


def verdict_record(row: Mapping[str, Any]) -> VerdictRecord:
    """Return the finding that a row of `verdicts` holds."""
    return VerdictRecord(
        id=row["id"],
        incident=row["incident"],
        body=row["body"],
        first_seen=row["first_seen"],
        last_seen=row["last_seen"],
        cleared=row["cleared"],
        pinned=bool(row["pinned"]),
    )


def move_evidence(connection: Connection, old: str, new: str) -> None:
    """Give all that one incident rests on to another; what was apart by hand is not any more."""
    connection.execute(
        update(VERDICTS).where(VERDICTS.c.incident == old).values(incident=new, pinned=0)
    )
    connection.execute(
        update(INCIDENT_ALIASES).where(INCIDENT_ALIASES.c.incident == old).values(incident=new)
    )
    _add_missing(connection, INCIDENT_ALIASES, [{"alias": old, "incident": new}])
    query = select(INCIDENT_MARKS).where(INCIDENT_MARKS.c.incident == old)
    copied = [{**row, "incident": new} for row in connection.execute(query).mappings()]
    _add_missing(connection, INCIDENT_MARKS, copied)


def _write_verdicts(
    connection: Connection, incident_id: str, verdicts: Iterable[Verdict], now: datetime
) -> None:
    rows = verdict_rows(connection, incident_id)
    fresh: dict[str, dict[str, Any]] = {}
    moved: dict[str, dict[str, Any]] = {}
    for verdict in verdicts:
        values = _values(verdict, now)
        known = _known_row(values["identity"], verdict, rows)
        if known is None:
            made = {"incident": incident_id, "first_seen": now, "pinned": 0, **values}
            fresh[_verdict_id(incident_id, verdict)] = made
        else:
            moved[known["id"]] = values
    if fresh:
        connection.execute(insert(VERDICTS), [{"id": name, **row} for name, row in fresh.items()])
    if moved:
        query = update(VERDICTS).where(VERDICTS.c.id == bindparam("of"))
        connection.execute(query, [{"of": name, **row} for name, row in moved.items()])


def _values(verdict: Verdict, now: datetime) -> dict[str, Any]:
    return {
        "identity": verdict_identity(verdict),
        "kind": verdict.kind,
        "level": verdict.level,
        "host": verdict.subject.host,
        "onset": verdict.onset,
        "body": verdict_json(verdict),
        "last_seen": now,
        "cleared": verdict.cleared,
    }


def _known_row(
    identity: str, verdict: Verdict, rows: Iterable[Mapping[str, Any]]
) -> Mapping[str, Any] | None:
    """Return the row of a finding that was told before; one that comes back is a finding anew."""
    same = [
        row
        for row in rows
        if row["identity"] == identity
        and (row["cleared"] is None or verdict.onset is None or verdict.onset <= row["cleared"])
    ]
    return min(
        same, key=lambda row: (_distance(row["onset"], verdict.onset), row["id"]), default=None
    )


def _distance(one: datetime | None, other: datetime | None) -> float:
    return abs((one - other).total_seconds()) if one and other else 0.0


def _verdict_id(incident_id: str, verdict: Verdict) -> str:
    onset = f"step {verdict.onset_step}" if verdict.onset is None else rfc3339(verdict.onset)
    return digest(incident_id, verdict_identity(verdict), onset)


def _marks(whole: Incident) -> set[tuple[str, str]]:
    """Return what an incident can be found by."""
    verdicts = (*whole.suspects, *whole.context)
    found = {pair for verdict in verdicts for pair in marks(verdict.subject)}
    found |= {("kind", verdict.kind) for verdict in verdicts}
    found |= {("run", run) for run in whole.blast_radius.jobs}
    return found | {("burn", firing_identity(burn)) for burn in whole.burns}


def _add_missing(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert the rows whose key is not there yet."""
    keys = list(table.primary_key.columns)
    wanted = {tuple(row[key.name] for key in keys): row for row in rows}
    if not wanted:
        return
    query = select(*keys).where(tuple_(*keys).in_(list(wanted)))
    known = {tuple(row) for row in connection.execute(query)}
    fresh = [dict(row) for key, row in wanted.items() if key not in known]
    if fresh:
        connection.execute(insert(table), fresh)


def _text(time: datetime | None) -> str:
    return "" if time is None else rfc3339(time)
