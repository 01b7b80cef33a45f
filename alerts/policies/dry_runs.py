"""What a policy would have sent over a history of incidents, and when.

Source: the same decisions as in the live service, taken at each moment at which something changed:
an incident was found, became a page, was acknowledged or ended; planned work or quiet hours ended;
a repetition was due. An incident that came back is taken as one that lasted.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import count
from typing import Final

from alerts.identities import likeness
from alerts.incidents import Incident, incident_json
from alerts.lifecycle import DATA, State
from alerts.policies.decisions import Sent, Surroundings, decide_notifications
from alerts.policies.outgoing import Outgoing
from alerts.policies.policies import Policy
from alerts.policies.quiet_hours import quiet_until
from alerts.policies.silencing import Quiet, decide_quiet
from alerts.policies.traits import traits_of
from alerts.storing.records import Change, IncidentRecord, MaintenanceWindow

_SEVERITIES: Final = ("page", "ticket")


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What happened, as a policy is tried on it.

    Attributes:
        records: Incidents; one that lasts is followed until `until`.
        windows: Planned work that people declared.
        upstream: Switches and racks above each host.
        until: End of the history.
    """

    records: Sequence[IncidentRecord]
    windows: Sequence[MaintenanceWindow] = ()
    upstream: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class WouldSend:
    """A message that would have been sent.

    Attributes:
        decided: When it would have been decided.
        message: The message; `due` says when it would have left.
    """

    decided: datetime
    message: Outgoing


def decide_over_history(history: History, policy: Policy) -> list[WouldSend]:
    """Return what a policy would have sent, in the order in which it would have left."""
    waiting: set[datetime] = {time for one in history.records for time in _moments(one)}
    waiting |= {one.ends for one in history.windows} | {one.ends for one in policy.maintenance}
    sent: dict[str, list[Sent]] = {}
    found: list[WouldSend] = []
    known: dict[str, IncidentRecord] = {}
    while waiting:
        now = min(waiting)
        waiting = {time for time in waiting if time > now}
        if now > history.until:
            break
        told = _decide(history, policy, known, sent, now=now)
        found += [WouldSend(decided=now, message=one) for one in told]
        waiting |= set(_wake_ups(policy, sent, now=now))
    return sorted(found, key=lambda one: one.message.due)


def records_of(incidents: Sequence[Incident], *, now: datetime) -> list[IncidentRecord]:
    """Return the incidents of an analysis as they would be kept, numbered as they were found.

    Args:
        incidents: What `alerts.incidents.join_incidents` gave.
        now: When those without a clock count as found.
    """
    ordered = sorted(incidents, key=lambda one: (_found(one) or now, one.id))
    return [_record(one, number, now) for number, one in zip(count(1), ordered, strict=False)]


def _record(one: Incident, number: int, now: datetime) -> IncidentRecord:
    over = (one.cleared or one.as_of or now) if one.state == "resolved" else None
    first = _found(one) or now
    return IncidentRecord(
        id=one.id,
        number=number,
        state=one.state,
        severity=one.severity,
        run=one.run,
        title=one.title,
        onset=one.onset,
        detected=one.detected,
        paged_at=one.paged_at,
        mitigated_at=over,
        resolved_at=over,
        resolved_by=DATA if over else None,
        likeness=likeness(one),
        body=incident_json(one),
        first_seen=first,
        updated=over or first,
        version=1,
    )


def _found(one: Incident) -> datetime | None:
    return one.detected or one.onset


def _moments(record: IncidentRecord) -> Iterable[datetime]:
    """Yield when something about an incident changed that a policy looks at."""
    begun = _begun(record)
    times = (
        begun,
        record.paged_at,
        record.acknowledged_at,
        record.mitigated_at,
        record.resolved_at,
    )
    yield from (max(begun, time) for time in times if time is not None)


def _begun(record: IncidentRecord) -> datetime:
    return record.detected or record.onset or record.first_seen


def _decide(
    history: History,
    policy: Policy,
    known: dict[str, IncidentRecord],
    sent: dict[str, list[Sent]],
    *,
    now: datetime,
) -> list[Outgoing]:
    """Return what leaves at a moment; `known` and `sent` are kept up to date."""
    standing = {
        one.id: _as_of(one, now)
        for one in history.records
        if _begun(one) <= now and one.merged_into is None
    }
    fresh = {name: one for name, one in standing.items() if known.get(name) != one or _lasts(one)}
    changes = [
        Change(kind="updated", before=known.get(name), after=one) for name, one in fresh.items()
    ]
    lasting = {name: one for name, one in fresh.items() if _lasts(one)}
    around = Surroundings(
        sent=sent, quiet=_quiet(history, lasting, policy, now), upstream=history.upstream
    )
    told = decide_notifications(changes, policy, now=now, around=around)
    for message in told:
        _note(sent.setdefault(message.incident, []), message, now)
    known |= fresh
    return told


def _lasts(record: IncidentRecord) -> bool:
    return record.state != "resolved"


def _quiet(
    history: History, lasting: Mapping[str, IncidentRecord], policy: Policy, now: datetime
) -> dict[str, Quiet]:
    about = {name: (one, traits_of(one, history.upstream)) for name, one in lasting.items()}
    return decide_quiet(about, history.windows, policy, now=now)


def _as_of(record: IncidentRecord, now: datetime) -> IncidentRecord:
    """Return an incident as it stood at a time."""
    never_told_when = record.severity == "page" and record.paged_at is None
    waking = never_told_when or (record.paged_at is not None and record.paged_at <= now)
    steps: list[tuple[State, datetime | None]] = [
        ("acknowledged", record.acknowledged_at),
        ("mitigated", record.mitigated_at),
        ("resolved", record.resolved_at),
    ]
    reached = [state for state, at in steps if at is not None and at <= now]
    is_over = "resolved" in reached
    return replace(
        record,
        state=reached[-1] if reached else "open",
        severity="page" if waking else "ticket",
        acknowledged_at=record.acknowledged_at if "acknowledged" in reached else None,
        mitigated_at=record.mitigated_at if "mitigated" in reached else None,
        resolved_at=record.resolved_at if is_over else None,
        resolved_by=record.resolved_by if is_over else None,
    )


def _note(told: list[Sent], message: Outgoing, now: datetime) -> None:
    """Take down that a message was sent."""
    same = [
        one
        for one in told
        if (one.receiver, one.dedup_key) == (message.receiver, message.dedup_key)
    ]
    before = same[0] if same else None
    told[:] = [one for one in told if one is not before]
    known = message.action == "acknowledge" or bool(before and before.acknowledged)
    told.append(
        Sent(
            receiver=message.receiver,
            dedup_key=message.dedup_key,
            action=message.action,
            at=now,
            due=max(message.due, before.due) if before else message.due,
            triggered=before.triggered if before and message.action != "trigger" else now,
            count=before.count + 1 if before else 1,
            acknowledged=known and message.action != "trigger",
        )
    )


def _wake_ups(
    policy: Policy, sent: Mapping[str, Sequence[Sent]], *, now: datetime
) -> Iterable[datetime]:
    """Yield when it is worth looking again although nothing happens."""
    ends = (quiet_until(policy.quiet_hours, severity, now) for severity in _SEVERITIES)
    yield from (end for end in ends if end is not None)
    told = [one.repeat for one in policy.receivers] + [one.repeat for one in policy.routes]
    repeats = {repeat for repeat in told if repeat is not None}
    standing = [one for each in sent.values() for one in each if one.action != "resolve"]
    for one in standing:
        times = (max(one.at, one.due) + repeat for repeat in repeats)
        yield from (time for time in times if time > now)
