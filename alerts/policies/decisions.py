"""Which messages leave: decided anew from what is known and what was sent, at every write.

Source: Alertmanager sends from what fires now, never from an event alone, so that nothing depends
on one message being seen. We differ in that what was sent is read from the outbox, in the
transaction that adds to it: after a crash nothing is missing and nothing is there twice.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from alerts.policies.outgoing import Outgoing, OutgoingAction, incident_dedup_key
from alerts.policies.policies import Policy, ReceiverRule, Route
from alerts.policies.quiet_hours import quiet_until
from alerts.policies.silencing import Quiet
from alerts.policies.traits import Traits, traits_of
from alerts.storing.records import Change, IncidentRecord
from slo.windows import Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What one receiver was told of one incident last.

    Attributes:
        receiver: Who.
        dedup_key: As what.
        action: What it was told last.
        at: When that was decided.
        due: When all of it is sent, at the earliest.
        triggered: When it was decided to tell it that there is one.
        count: How many messages it was sent.
        acknowledged: Whether it knows that somebody works on it.
    """

    receiver: str
    dedup_key: str
    action: OutgoingAction
    at: datetime
    due: datetime
    triggered: datetime
    count: int
    acknowledged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What decisions rest on beside the incidents themselves.

    Attributes:
        sent: What was sent, by incident.
        quiet: What keeps incidents quiet, by incident; one that is not named is not kept quiet.
        upstream: Switches and racks above each host.
    """

    sent: Mapping[str, Sequence[Sent]] = field(default_factory=dict[str, Sequence[Sent]])
    quiet: Mapping[str, Quiet] = field(default_factory=dict[str, Quiet])
    upstream: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])


_NOTHING: Final = Surroundings()


def decide_notifications(
    changes: Sequence[Change],
    policy: Policy,
    *,
    now: datetime,
    around: Surroundings = _NOTHING,
) -> list[Outgoing]:
    """Return the messages that are due to be written, in the order in which they are to be sent.

    A trigger goes to each receiver of an incident's routes that has none standing, unless planned
    work or another incident keeps it quiet; in quiet hours it is due when they end. Nothing that
    stands is taken back by that: it ends with the incident. When a ticket becomes a page, the
    ticket is closed and the page opened.

    Args:
        changes: Incidents that are not over, whether they changed or not, and those that just
            ended.
        policy: Who is told what.
        now: The time.
        around: What was sent, and what is kept quiet.
    """
    ordered = sorted(changes, key=lambda change: change.after.number)
    return [
        message
        for change in ordered
        for message in _Desk(change, policy, around, now=now).messages()
    ]


class _Desk:
    """One incident while it is decided who is told of it."""

    def __init__(
        self, change: Change, policy: Policy, around: Surroundings, *, now: datetime
    ) -> None:
        self._record = change.after
        self._is_new = change.before is None
        self._policy = policy
        self._now = now
        self._traits = traits_of(change.after, around.upstream)
        self._quiet = around.quiet.get(change.after.id, Quiet())
        self._sent = tuple(around.sent.get(change.after.id, ()))
        self._severity: Severity | None = policy.severity(change.after.severity, self._traits)
        self._key = incident_dedup_key(change.after.id, self._severity or "none")

    def messages(self) -> list[Outgoing]:
        """Return what is to be sent of it now."""
        is_over = self._record.state == "resolved" or self._record.merged_into is not None
        standing = [one for one in self._sent if one.action != "resolve"]
        if is_over or self._severity is None:
            late = self._told_late() if self._is_new and not standing else []
            return [*late, *(self._end(one, "it is over") for one in standing)]
        moved = [one for one in standing if one.dedup_key != self._key]
        kept = {one.receiver: one for one in standing if one.dedup_key == self._key}
        ends = [self._end(one, f"it is a {self._severity} now") for one in moved]
        return [*ends, *self._current(kept, self._severity)]

    def _current(self, kept: Mapping[str, Sent], severity: Severity) -> Iterable[Outgoing]:
        """Yield what receivers are told of an incident that lasts."""
        for name, repeat in self._receivers():
            known = kept.get(name)
            if known is None:
                yield from self._trigger(name, severity)
            elif (taken := self._record.acknowledged_at) is not None:
                # Who took the ticket has not taken the page that it became.
                if not known.acknowledged and taken >= known.triggered:
                    yield self._next(known, "acknowledge", "somebody works on it")
            elif self._is_due(known, repeat):
                yield self._next(known, "renew", "nobody has acknowledged it")

    def _trigger(self, name: str, severity: Severity) -> Iterable[Outgoing]:
        if self._quiet.is_quiet:
            return
        before = max((one.count for one in self._sent_to(name)), default=0)
        due = quiet_until(self._policy.quiet_hours, severity, self._now) or self._now
        why = "it is new" if due == self._now else "it is new, and waits for the end of quiet hours"
        yield self._message(name, "trigger", count=before, due=due, why=why)

    def _told_late(self) -> list[Outgoing]:
        """Return trigger and end of what was over when it was first seen, unless that is old."""
        over = self._record.resolved_at
        if self._severity is None or over is None or self._record.merged_into is not None:
            return []
        if self._now - over > self._policy.tell_over:
            return []
        told = [one for name, _ in self._receivers() for one in self._trigger(name, self._severity)]
        return [
            message
            for one in told
            for message in (
                one,
                self._message(one.receiver, "resolve", count=1, due=one.due, why="it is over"),
            )
        ]

    def _receivers(self) -> list[tuple[str, timedelta | None]]:
        """Return who is told, each once, and after what time again."""
        rules = {one.name: one for one in self._policy.receivers}
        found: dict[str, timedelta | None] = {}
        for route in self._policy.routes_of(self._traits_now()):
            for name in route.receivers:
                found.setdefault(name, _repeat(route, rules.get(name)))
        return sorted(found.items())

    def _traits_now(self) -> Traits:
        """Return what it is about, as urgent as the policy says."""
        severity = frozenset({self._severity}) if self._severity else frozenset[str]()
        return replace(self._traits, values={**self._traits.values, "severity": severity})

    def _is_due(self, known: Sent, repeat: timedelta | None) -> bool:
        if repeat is None or self._quiet.is_quiet or self._record.state != "open":
            return False
        quiet = self._severity and quiet_until(self._policy.quiet_hours, self._severity, self._now)
        return not quiet and self._now - max(known.at, known.due) >= repeat

    def _end(self, known: Sent, why: str) -> Outgoing:
        return self._next(known, "resolve", why)

    def _next(self, known: Sent, action: OutgoingAction, why: str) -> Outgoing:
        """Return a message that follows another, and is not sent before it."""
        message = self._message(
            known.receiver, action, count=known.count, due=max(self._now, known.due), why=why
        )
        key = f"{known.receiver}:{known.dedup_key}:{action}:{known.count}"
        return replace(message, dedup_key=known.dedup_key, key=key)

    def _sent_to(self, name: str) -> list[Sent]:
        return [one for one in self._sent if one.receiver == name and one.dedup_key == self._key]

    def _message(
        self, receiver: str, action: OutgoingAction, *, count: int, due: datetime, why: str
    ) -> Outgoing:
        return Outgoing(
            key=f"{receiver}:{self._key}:{action}:{count}",
            incident=self._record.id,
            receiver=receiver,
            dedup_key=self._key,
            action=action,
            body=_told(self._record, self._severity, action),
            due=due,
            why=why,
        )


def _repeat(route: Route, rule: ReceiverRule | None) -> timedelta | None:
    return route.repeat or (rule.repeat if rule else None)


def _told(
    record: IncidentRecord, severity: Severity | None, action: OutgoingAction
) -> dict[str, object]:
    """Return what a receiver is told: the incident, and under which name it is filed."""
    state = "resolved" if action == "resolve" else "open"
    told: dict[str, object] = {
        "number": record.number,
        "severity": severity or record.severity,
        "title": record.title,
        "incident": {**record.body, "state": state},
    }
    # One more reminder: what keeps a forgetful receiver reminded is the delivery's own.
    return told | {"repeated": "trigger", "left_count": 1} if action == "renew" else told
