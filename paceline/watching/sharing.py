"""Share a fleet: each group is judged by one member, and one of them joins what all found.

Every member watches all sources, so that it can take any group at once. What a tick saw is kept
until the fleet is committed up to it. A group's owner commits its findings tick after tick, none
left out and none twice: the group's cursor is written with them, under its fence. The fleet's owner
joins a tick when all groups have committed it, and so may be a tick behind; who follows it goes on
with the first that it had not.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, delete, insert, select
from sqlalchemy.exc import SQLAlchemyError

from alerts.storing.databases import reading, writing
from alerts.storing.incident_store import IncidentStore
from alerts.storing.notifying import notify
from alerts.storing.records import Change
from alerts.storing.refreshing import take_tick
from alerts.storing.tables import CURSORS, GROUP_FINDINGS
from detectors.verdicts import VERDICTS, Verdict, verdict_frame, verdicts_of
from paceline.findings import Views
from paceline.watching.cursors import read_cursor, write_cursor
from paceline.watching.fences import PREFIX, Fences
from paceline.watching.groups import (
    FLEET,
    find_group,
    groups_of,
    packed,
    part_of,
    united,
    unpacked,
)
from paceline.watching.judging import Judge, Judgement, Moment
from paceline.watching.roster import Roster
from paceline.watching.vanishing import Vanishing

MAX_WAITING: Final = 20
"""Ticks that wait for a group; older ones are left out, as one that comes late is."""

_LOG: Final = logging.getLogger("paceline")


@dataclass(slots=True, kw_only=True)
class Waiting:
    """A moment that the fleet is not committed up to.

    Attributes:
        moment: What its tick saw.
        groups: The groups that it has.
        is_blind: Whether a source was silent.
        views: What the detectors look at, and whose part of it; null when nobody asked yet.
    """

    moment: Moment
    groups: frozenset[str]
    is_blind: bool
    views: tuple[frozenset[str], Views] | None = None


@dataclass(slots=True, kw_only=True)
class Share:
    """One member's share.

    Attributes:
        store: The incidents.
        judge: What finds.
        roster: Who is there.
        fences: Which groups are ours.
        vanishing: Ends what is found no more; goes with the fleet from owner to owner.
        joined: Up to when the fleet is committed, as seen last; null is not at all.
        verdicts: What was found at that tick.
    """

    store: IncidentStore
    judge: Judge
    roster: Roster
    fences: Fences
    vanishing: Vanishing
    joined: datetime | None = None
    verdicts: Sequence[Verdict] = ()
    _waiting: list[Waiting] = field(default_factory=list[Waiting])
    _cursors: dict[str, datetime] = field(default_factory=dict[str, datetime])

    def take(self, moment: Moment, *, is_blind: bool) -> list[Change]:
        """Take a tick, do what of it and of those before is ours, and return what changed."""
        groups = groups_of(moment.reading)
        self._waiting.append(Waiting(moment=moment, groups=groups, is_blind=is_blind))
        if len(self._waiting) > MAX_WAITING:
            self._waiting.pop(0)
            _LOG.warning("a tick was left out: a group was not committed for too long")
        return self.turn(moment.now)

    def turn(self, now: datetime) -> list[Change]:
        """Take the groups that are ours at a tick's time, and commit what is due for them."""
        try:
            with writing(self.store.engine) as connection:
                members = self.roster.look(connection, now)
                self._claim(connection, members, now)
            self._commit_groups()
            changes = self._commit_fleet()
        except Exception:
            # Whether the last commit was kept is not known: groups are claimed, and read, anew.
            self.fences.held = {}
            raise
        return changes

    def judgement(self, moment: Moment) -> Judgement:
        """Return what is known at a tick: its own data, and the findings of the fleet's newest."""
        own = frozenset(self.fences.held)
        views = self.judge.views(part_of(moment.reading, own))
        waiting = [one for one in self._waiting if one.moment is moment and one.views]
        if waiting and waiting[0].views is not None:
            views = waiting[0].views[1]
        return Judgement(
            now=moment.now,
            reading=moment.reading,
            views=views,
            verdicts=self.verdicts,
            burning=moment.burning,
            incidents=(),
            seconds=dict(moment.seconds),
        )

    @property
    def leads(self) -> bool:
        """Whether this one joins what all found."""
        return FLEET in self.fences.held

    def leave(self) -> None:
        """Let others take all at once; without an answer they wait until this one is silent."""
        try:
            with writing(self.store.engine) as connection:
                self.roster.leave(connection)
                self.fences.leave(connection)
        except SQLAlchemyError:
            _LOG.exception("the groups could not be given up")

    def _claim(
        self, connection: Connection, members: Mapping[str, datetime], now: datetime
    ) -> None:
        """See up to when each group is committed, and take ours; see `Fences.claim`."""
        had_fence = self.fences.held.get(FLEET)
        self._cursors = _cursors(connection)
        self._see_fleet(connection)
        groups = frozenset[str]().union(*(one.groups for one in self._waiting))
        self.fences.claim(connection, groups, members, self._cursors, now)
        if self.fences.held.get(FLEET) not in {None, had_fence}:
            cursor = read_cursor(connection, PREFIX + FLEET)
            if cursor is not None:
                self.vanishing = Vanishing(window=self.vanishing.window)
                self.vanishing.restore(cursor["vanishing"])

    def _see_fleet(self, connection: Connection) -> None:
        """Take what the fleet's owner committed, and forget the ticks up to there."""
        joined = self._cursors.get(FLEET)
        if joined is None or joined == self.joined:
            return
        body = _bodies(connection, joined).get(FLEET)
        self.verdicts = () if body is None else verdicts_of(unpacked(body))
        self._done(joined)

    def _done(self, joined: datetime) -> None:
        self.joined = joined
        self._waiting = [one for one in self._waiting if one.moment.now > joined]

    def _commit_groups(self) -> None:
        """Commit the findings of our groups for every tick that they still need."""
        own = sorted(set(self.fences.held) - {FLEET})
        due = [
            (one, group)
            for one in self._waiting
            for group in own
            if group not in self._cursors or one.moment.now > self._cursors[group]
        ]
        params = self.judge.settings.detectors
        found = [
            (group, one.moment.now, find_group(self._views(one), params, group))
            for one, group in due
        ]
        with writing(self.store.engine) as connection:
            kept = {group for group in own if self.fences.holds(connection, group)}
            for group, now, body in found:
                if group in kept:
                    _write_findings(connection, group, now, body)
                    self._move(connection, group, now, {})

    def _commit_fleet(self) -> list[Change]:
        """Join every tick that all groups have committed, one after the other."""
        changes = list[Change]()
        while FLEET in self.fences.held and self._waiting:
            one = self._waiting[0]
            with reading(self.store.engine) as connection:
                bodies, cursors = _bodies(connection, one.moment.now), _cursors(connection)
            missing = one.groups - {FLEET, *bodies}
            if any(group in cursors and cursors[group] > one.moment.now for group in missing):
                # Nobody who lives has seen this tick: it is one that never was.
                _LOG.warning("a tick was left out: the owner of a group had not seen it")
                self._waiting.pop(0)
                continue
            if missing:
                break
            bodies.pop(FLEET, None)
            known = united(bodies[group] for group in sorted(bodies))
            changes += self._join(one, known)
        return changes

    def _join(self, one: Waiting, known: Mapping[str, Any]) -> list[Change]:
        """Commit the incidents of a tick, with up to when the fleet is joined."""
        store, moment = self.store, one.moment
        verdicts = self.judge.find(moment, self._views(one), known)
        incidents = self.judge.join(moment, verdicts)
        ended = self.vanishing.ended(incidents, moment.now, is_blind=one.is_blind)
        with writing(store.engine) as connection:
            if not self.fences.holds(connection, FLEET):
                # Another has the fleet, and what it was told is read anew when it comes back.
                del self.fences.held[FLEET]
                return []
            found = take_tick(connection, [*incidents, *ended], store.params, now=moment.now)
            changes = notify(connection, found, store.telling, now=moment.now)
            connection.execute(delete(GROUP_FINDINGS).where(GROUP_FINDINGS.c.tick < moment.now))
            body = packed(verdict_frame(verdicts).select(VERDICTS.names()))
            _write_findings(connection, FLEET, moment.now, body)
            self._move(connection, FLEET, moment.now, {"vanishing": self.vanishing.state()})
        self.verdicts = verdicts
        self._done(moment.now)
        return list(changes)

    def _views(self, one: Waiting) -> Views:
        """Return what the detectors of our groups look at, made once while these are the same."""
        own = frozenset(self.fences.held)
        if one.views is None or one.views[0] != own:
            one.views = own, self.judge.views(part_of(one.moment.reading, own))
        return one.views[1]

    def _move(
        self, connection: Connection, group: str, now: datetime, more: Mapping[str, Any]
    ) -> None:
        write_cursor(connection, PREFIX + group, {"tick": now.isoformat(), **more})
        self._cursors[group] = now


def _cursors(connection: Connection) -> dict[str, datetime]:
    """Return up to when each group is committed."""
    query = select(CURSORS).where(CURSORS.c.name.startswith(PREFIX))
    return {
        row.name.removeprefix(PREFIX): datetime.fromisoformat(row.body["tick"])
        for row in connection.execute(query)
    }


def _bodies(connection: Connection, now: datetime) -> dict[str, bytes]:
    """Return the findings that are kept of a tick, by group."""
    query = select(GROUP_FINDINGS.c.group_name, GROUP_FINDINGS.c.body)
    rows = connection.execute(query.where(GROUP_FINDINGS.c.tick == now))
    return {row.group_name: bytes(row.body) for row in rows}


def _write_findings(connection: Connection, group: str, now: datetime, body: bytes) -> None:
    """Keep findings; a second time for one tick is refused by the table."""
    connection.execute(insert(GROUP_FINDINGS).values(group_name=group, tick=now, body=body))
