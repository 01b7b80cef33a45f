"""What one tick does to the incidents, in the transaction that it is handed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from sqlalchemy import Connection

from alerts.blast_radii import BlastRadius
from alerts.faults import Fault, JoinParams
from alerts.identities import likeness
from alerts.incidents import Incident, incident_json, incident_of
from alerts.known_incidents import MatchParams
from alerts.lifecycle import DATA, Life, Told, follow
from alerts.matching import match_incidents
from alerts.storing.evidence_rows import Evidence, first_onset, move_evidence, write_evidence
from alerts.storing.history_rows import Happening, write_happenings
from alerts.storing.incident_rows import (
    has_changed,
    insert_record,
    life_of,
    next_number,
    parts_of,
    with_life,
    write_record,
)
from alerts.storing.known_rows import known_incidents
from alerts.storing.records import Change, ChangeKind, IncidentRecord
from detectors.verdicts import rfc3339, sort_verdicts
from slo.windows import Severity

_BEGINNING: Final = datetime.min.replace(tzinfo=UTC)


def take_tick(
    connection: Connection, found: Sequence[Incident], params: MatchParams, *, now: datetime
) -> list[Change]:
    """Write what a tick found, and return what that changed, by number."""
    known, records = known_incidents(connection, found, params)
    matching = match_incidents(found, known, params)
    changes = [
        _join(connection, records, part, whole, now=now) for part, whole in matching.joins.items()
    ]
    evidence = list[Evidence]()
    for home, pieces in sorted(matching.homes.items(), key=_opening_order):
        tick = _Piled(pieces=pieces, whole=_whole(home, pieces, params.joining), now=now)
        record = records.get(home)
        changes.append(
            _open(connection, tick) if record is None else _continue(connection, record, tick)
        )
        evidence.append(Evidence(incident=home, whole=tick.whole, pieces=pieces))
    write_evidence(connection, evidence, now=now)
    changed = [one for one in changes if one.kind != "standing"]
    return sorted(changed, key=lambda change: change.after.number)


def _join(
    connection: Connection,
    records: dict[str, IncidentRecord],
    part: str,
    whole: str,
    *,
    now: datetime,
) -> Change:
    change = join_records(connection, records, part, whole, now=now)
    key = f"{part}:merged:{change.after.version}"
    body = merged_body(change)
    happened = Happening(incident=whole, at=now, actor=DATA, kind="merged", body=body, key=key)
    write_happenings(connection, [happened])
    return change


def join_records(
    connection: Connection,
    records: dict[str, IncidentRecord],
    part: str,
    whole: str,
    *,
    now: datetime,
) -> Change:
    """Make an incident part of another, with all that it rests on; `records` is kept up to date."""
    before, into = records[part], records[whole]
    merged = replace(before, merged_into=whole)
    after = records[part] = write_record(connection, before, merged, now=now)
    move_evidence(connection, part, whole)
    wider = replace(
        into,
        severity=_graver(before.severity, into.severity),
        onset=_min(before.onset, into.onset),
        detected=_min(before.detected, into.detected),
        paged_at=_min(before.paged_at, into.paged_at),
    )
    records[whole] = write_record(connection, into, wider, now=now)
    return Change(kind="merged", before=before, after=after)


def merged_body(change: Change) -> dict[str, object]:
    """Return what the history of an incident says of another that became part of it."""
    part = change.after
    return {"part": part.id, "part_number": part.number, "title": part.title}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piled:
    """What a tick told of one incident.

    Attributes:
        pieces: As the tick told it.
        whole: All of it as one.
        now: When the tick ran.
    """

    pieces: tuple[Incident, ...]
    whole: Incident
    now: datetime

    def told(self, rests_on: str | None) -> Told:
        """Return what the data say, beside what was told on data up to a time."""
        onsets = [one.onset for one in self.pieces if one.onset]
        lasts = any(one.state == "open" for one in self.pieces)
        ended = self.whole.cleared or self.whole.as_of or self.now
        as_of = None if self.whole.as_of is None else rfc3339(self.whole.as_of)
        return Told(
            lasts=lasts,
            onset=max(onsets, default=None),
            ended=None if lasts else max([ended, *onsets]),
            is_newer=as_of is None or rests_on is None or as_of > rests_on,
        )


def _opening_order(home: tuple[str, tuple[Incident, ...]]) -> tuple[datetime, str]:
    """Return the order in which new incidents are numbered: as they began."""
    name, pieces = home
    return min(one.onset or _BEGINNING for one in pieces), name


def _whole(home: str, pieces: tuple[Incident, ...], joining: JoinParams) -> Incident:
    """Return the evidence of one incident as one, under the incident's own id."""
    if len(pieces) == 1:
        return replace(pieces[0], id=home)
    verdicts = {one: None for piece in pieces for one in (*piece.suspects, *piece.context)}
    burns = {one: None for piece in pieces for one in piece.burns}
    fault = Fault(
        runs=tuple(sorted({run for one in pieces for run in one.blast_radius.jobs})),
        verdicts=tuple(sort_verdicts(verdicts)),
        firings=tuple(sorted(burns, key=lambda one: (one.active_at, one.fired_at, repr(one)))),
    )
    as_of = max((one.as_of for one in pieces if one.as_of), default=None)
    whole = incident_of(fault, _widest(fault.runs, pieces), joining, as_of)
    return replace(whole, id=home)


def _widest(runs: tuple[str, ...], pieces: Iterable[Incident]) -> BlastRadius:
    """Return whom several pieces hurt together: the same ranks may wait for both."""
    radii = [one.blast_radius for one in pieces]
    return BlastRadius(
        jobs=runs,
        ranks=max((one.ranks for one in radii if one.ranks is not None), default=None),
        hosts=max((one.hosts for one in radii if one.hosts is not None), default=None),
        gpu_hours_lost=max(
            (one.gpu_hours_lost for one in radii if one.gpu_hours_lost is not None), default=None
        ),
        victims=tuple(dict.fromkeys(name for one in radii for name in one.victims)),
    )


def _open(connection: Connection, tick: _Piled) -> Change:
    """Write a new incident; it may be over already."""
    whole = tick.whole
    blank = IncidentRecord(
        id=whole.id,
        number=next_number(connection),
        state="open",
        severity=whole.severity,
        run=whole.run,
        title=whole.title,
        onset=whole.onset,
        detected=whole.detected,
        paged_at=whole.paged_at,
        likeness=likeness(whole),
        body=incident_json(whole),
        first_seen=tick.now,
        updated=tick.now,
        version=1,
    )
    record = with_life(blank, follow(Life(), tick.told(None)))
    insert_record(connection, record)
    told = {"severity": record.severity, "title": record.title}
    happened = [_happening(record, tick, "opened", told, f"{record.id}:opened")]
    if record.state == "resolved":
        happened.append(_resolved(record, tick))
    write_happenings(connection, happened)
    return Change(kind="opened", before=None, after=record)


def _continue(connection: Connection, before: IncidentRecord, tick: _Piled) -> Change:
    """Write what a tick changes about an incident that is known."""
    life = follow(life_of(before), tick.told(before.body["as_of"]))
    wanted = with_life(_refreshed(connection, before, tick, life), life)
    if not has_changed(before, wanted):
        return Change(kind="standing", before=before, after=before)
    after = write_record(connection, before, wanted, now=tick.now)
    write_happenings(connection, list(_happenings(before, after, tick)))
    return Change(kind=_kind(before, after), before=before, after=after)


def _refreshed(
    connection: Connection, before: IncidentRecord, tick: _Piled, life: Life
) -> IncidentRecord:
    """Return an incident on its newest evidence; what people did to it stays."""
    whole = tick.whole
    came_back = life.reopened_count > before.reopened_count
    # What comes back is as urgent as it is now; what lasts does not become less urgent.
    lasting = whole.severity if came_back else before.severity
    fresh = replace(
        before,
        severity=_graver(lasting, whole.severity),
        run=whole.run,
        title=whole.title,
        onset=whole.onset or before.onset,
        detected=_min(before.detected, whole.detected),
        paged_at=_min(before.paged_at, whole.paged_at),
        likeness=likeness(whole),
        body=incident_json(whole),
    )
    return replace(fresh, onset=_onset(connection, before, fresh.onset, life))


def _onset(
    connection: Connection, before: IncidentRecord, onset: datetime | None, life: Life
) -> datetime | None:
    """Return when an incident began: what came back or took in another, with the first of them."""
    several = life.reopened_count > 0 or len(parts_of(connection, before.id)) > 1
    earlier = before.onset if several else first_onset(connection, before.id, ended_by=onset)
    return _min(earlier, onset)


def _happenings(before: IncidentRecord, after: IncidentRecord, tick: _Piled) -> Iterable[Happening]:
    """Yield what people should read of a change."""
    name = after.id
    if after.reopened_count > before.reopened_count:
        was_by = {"resolved_by": before.resolved_by}
        yield _happening(after, tick, "reopened", was_by, f"{name}:reopened:{after.reopened_count}")
    if before.severity != after.severity:
        body = {"from": before.severity, "to": after.severity}
        kind = "escalated" if after.severity == "page" else "eased"
        yield _happening(after, tick, kind, body, f"{name}:{kind}:{after.version}")
    if before.title != after.title:
        titles = {"from": before.title, "to": after.title}
        yield _happening(after, tick, "retitled", titles, f"{name}:retitled:{after.version}")
    came_back = after.reopened_count > before.reopened_count
    if after.state == "resolved" and (before.state != "resolved" or came_back):
        yield _resolved(after, tick)


def _resolved(record: IncidentRecord, tick: _Piled) -> Happening:
    over = None if record.resolved_at is None else rfc3339(record.resolved_at)
    key = f"{record.id}:resolved:{record.reopened_count}"
    return _happening(record, tick, "resolved", {"resolved_at": over}, key)


def _happening(
    record: IncidentRecord, tick: _Piled, kind: str, body: Mapping[str, object], key: str
) -> Happening:
    return Happening(incident=record.id, at=tick.now, actor=DATA, kind=kind, body=body, key=key)


def _kind(before: IncidentRecord, after: IncidentRecord) -> ChangeKind:
    if after.state == "resolved" and before.state != "resolved":
        return "resolved"
    if after.reopened_count > before.reopened_count:
        return "reopened"
    return "escalated" if before.severity != after.severity else "updated"


def _graver(one: Severity, other: Severity) -> Severity:
    return one if one == "page" else other


def _min(one: datetime | None, other: datetime | None) -> datetime | None:
    return min((time for time in (one, other) if time is not None), default=None)
