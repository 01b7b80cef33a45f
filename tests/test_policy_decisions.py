"""Tests of which messages leave."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from alerts.incidents import Incident
from alerts.policies.decisions import Sent, Surroundings, decide_notifications
from alerts.policies.dry_runs import records_of
from alerts.policies.outgoing import Outgoing, incident_dedup_key
from alerts.policies.policies import Policy
from alerts.policies.policy_files import parse_policy
from alerts.policies.silencing import Quiet
from alerts.storing.records import Change, IncidentRecord

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
NIGHT = datetime(2026, 1, 5, 23, tzinfo=UTC)
MORNING = datetime(2026, 1, 6, 7, tzinfo=UTC)
POLICY = parse_policy(
    """
version: 1
receivers: [{name: oncall, repeat: 4h}, {name: chat}]
routes:
  - {match: {severity: page}, receivers: [oncall], continue: true}
  - {match: {run: dev-*}, receivers: [chat], repeat: 1h}
  - {receivers: [chat, oncall]}
severities:
  - {match: {run: dev-*}, severity: ticket, why: nobody waits}
  - {match: {run: scratch}, severity: none, why: nobody cares}
quiet_hours:
  - {zone: UTC, from: "22:00", to: "07:00"}
""",
    "p.yml",
)


@pytest.fixture
def page(slow_host_incident: Incident) -> IncidentRecord:
    """An open page of run `orion`."""
    return records_of([slow_host_incident], now=NOON)[0]


def decided(
    record: IncidentRecord,
    *,
    now: datetime = NOON,
    sent: Sequence[Sent] = (),
    quiet: Quiet | None = None,
    is_new: bool = False,
    policy: Policy = POLICY,
) -> list[Outgoing]:
    """Return what leaves of one incident."""
    change = Change(kind="updated", before=None if is_new else record, after=record)
    held = {} if quiet is None else {record.id: quiet}
    around = Surroundings(sent={record.id: sent}, quiet=held)
    return decide_notifications([change], policy, now=now, around=around)


def told(messages: Sequence[Outgoing]) -> list[tuple[str, str, datetime]]:
    """Return action, receiver and due time of each message."""
    return [(one.action, one.receiver, one.due) for one in messages]


def was_sent(record: IncidentRecord, receiver: str, **other: Any) -> Sent:
    """Return that a receiver was told of an incident as a page, an hour before noon."""
    key = incident_dedup_key(record.id, other.pop("severity", "page"))
    at = NOON - timedelta(hours=1)
    usual: dict[str, Any] = {"action": "trigger", "at": at, "due": at, "triggered": at, "count": 1}
    return Sent(receiver=receiver, dedup_key=key, **{**usual, **other})


def test_trigger(page: IncidentRecord) -> None:
    """A page goes to each receiver of its routes once, and says under which name it is filed."""
    messages = decided(page)

    assert told(messages) == [("trigger", "chat", NOON), ("trigger", "oncall", NOON)]
    assert {one.dedup_key for one in messages} == {incident_dedup_key(page.id, "page")}
    assert {name: messages[0].body[name] for name in ("number", "severity", "title")} == {
        "number": 1,
        "severity": "page",
        "title": page.title,
    }
    assert messages[0].body["incident"]["id"] == page.id


@pytest.mark.parametrize(
    ("severity", "due"),
    [
        pytest.param("page", NIGHT, id="a page does not wait"),
        pytest.param("ticket", MORNING, id="a ticket waits for the morning"),
    ],
)
def test_quiet_hours(page: IncidentRecord, severity: Any, due: datetime) -> None:
    """In quiet hours what may wait is due when they end."""
    messages = decided(replace(page, severity=severity), now=NIGHT)

    assert {one.due for one in messages} == {due}


def test_the_end_of_what_waits(page: IncidentRecord) -> None:
    """A ticket that ends in the night ends after it was told of."""
    over = replace(page, severity="ticket", state="resolved", resolved_at=NIGHT)
    waiting = was_sent(page, "chat", severity="ticket", at=NIGHT, due=MORNING)

    assert told(decided(over, now=NIGHT, sent=[waiting])) == [("resolve", "chat", MORNING)]


@pytest.mark.parametrize(
    ("change", "sent", "expected"),
    [
        pytest.param({}, {}, [], id="nothing is new"),
        pytest.param(
            {"acknowledged_at": NOON, "state": "acknowledged"},
            {},
            ["acknowledge"],
            id="somebody took it",
        ),
        pytest.param(
            {"acknowledged_at": NOON, "state": "acknowledged"},
            {"acknowledged": True, "action": "acknowledge"},
            [],
            id="they know that",
        ),
        pytest.param(
            {"acknowledged_at": NOON - timedelta(hours=2), "state": "acknowledged"},
            {},
            [],
            id="who took the ticket has not taken the page",
        ),
        pytest.param({"state": "resolved", "resolved_at": NOON}, {}, ["resolve"], id="it is over"),
        pytest.param(
            {"state": "resolved", "resolved_at": NOON},
            {"action": "resolve"},
            [],
            id="they know that it is over",
        ),
        pytest.param({"merged_into": "b"}, {}, ["resolve"], id="it is part of another"),
        pytest.param({}, {"action": "resolve", "count": 2}, ["trigger"], id="it came back"),
        pytest.param(
            {},
            {"at": NOON - timedelta(hours=4), "due": NOON - timedelta(hours=4)},
            ["renew"],
            id="nobody took it for long",
        ),
        pytest.param(
            {},
            {"due": NOON - timedelta(hours=3), "at": NOON - timedelta(hours=9)},
            [],
            id="they were told late",
        ),
        pytest.param(
            {"acknowledged_at": NOON, "state": "acknowledged"},
            {"at": NOON - timedelta(hours=9), "acknowledged": True},
            [],
            id="who took it is not reminded",
        ),
    ],
)
def test_on_call(
    page: IncidentRecord, change: dict[str, Any], sent: dict[str, Any], expected: list[str]
) -> None:
    """A receiver that knows of an incident is told what became of it, each thing once."""
    messages = decided(
        replace(page, **change), sent=[was_sent(page, "oncall", **sent), was_sent(page, "chat")]
    )

    assert [one.action for one in messages if one.receiver == "oncall"] == expected


@pytest.mark.parametrize(
    "quiet",
    [
        pytest.param(Quiet(maintenance="w"), id="planned work"),
        pytest.param(Quiet(inhibited_by="b"), id="another incident"),
    ],
)
def test_kept_quiet(page: IncidentRecord, quiet: Quiet) -> None:
    """What is kept quiet is neither told nor repeated, and still ends."""
    old = was_sent(page, "oncall", at=NOON - timedelta(hours=9))
    over = replace(page, state="resolved", resolved_at=NOON)

    assert decided(page, quiet=quiet) == []
    assert told(decided(page, quiet=quiet, sent=[old])) == []
    assert told(decided(over, sent=[old])) == [("resolve", "oncall", NOON)]


def test_escalation(page: IncidentRecord) -> None:
    """When a ticket becomes a page, the ticket is closed and the page is opened."""
    ticket = was_sent(page, "chat", severity="ticket")
    messages = decided(page, sent=[ticket])

    assert told(messages) == [
        ("resolve", "chat", NOON),
        ("trigger", "chat", NOON),
        ("trigger", "oncall", NOON),
    ]
    assert messages[0].dedup_key == ticket.dedup_key != messages[1].dedup_key


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        pytest.param("dev-1", [("trigger", "ticket")], id="less urgent than it seems"),
        pytest.param("scratch", [], id="nobody is told"),
    ],
)
def test_severities(page: IncidentRecord, run: str, expected: list[tuple[str, str]]) -> None:
    """A policy can make an incident less urgent, also for its routes."""
    radius = {**page.body["blast_radius"], "jobs": [run]}
    record = replace(page, run=run, body={**page.body, "blast_radius": radius})

    messages = decided(record)

    assert [(one.action, one.body["severity"]) for one in messages] == expected


@pytest.mark.parametrize(
    ("ended", "change", "expected"),
    [
        pytest.param(10, {}, ["trigger", "resolve"] * 2, id="a moment ago"),
        pytest.param(90, {}, [], id="long ago"),
        pytest.param(10, {"merged_into": "b"}, [], id="as part of another"),
    ],
)
def test_over_at_first_sight(
    page: IncidentRecord, ended: int, change: dict[str, Any], expected: list[str]
) -> None:
    """What was over when it was first seen is told of when it ended lately."""
    over = NOON - timedelta(minutes=ended)
    record = replace(page, state="resolved", resolved_at=over, **change)

    messages = decided(record, is_new=True)

    assert [one.action for one in messages] == expected
    assert len({one.key for one in messages}) == len(expected)
    assert {one.body["incident"]["state"] for one in messages if one.action == "resolve"} <= {
        "resolved"
    }


def test_repeats_of_a_route(page: IncidentRecord) -> None:
    """A route's own repetition counts before its receiver's, and waits for the end of a night."""
    radius = {**page.body["blast_radius"], "jobs": ["dev-1"]}
    record = replace(page, run="dev-1", body={**page.body, "blast_radius": radius})
    sent = was_sent(page, "chat", severity="ticket")

    assert told(decided(record, sent=[sent])) == [("renew", "chat", NOON)]
    assert decided(record, sent=[sent], now=NIGHT) == []


def test_keys(page: IncidentRecord) -> None:
    """No two messages to a receiver have one key, and the same decision has the same."""
    rounds = [
        decided(page),
        decided(replace(page, state="resolved"), sent=[was_sent(page, "oncall")]),
        decided(page, sent=[was_sent(page, "oncall", action="resolve", count=2)]),
    ]
    keys = [one.key for messages in rounds for one in messages if one.receiver == "oncall"]

    assert len(set(keys)) == len(keys) == 3
    assert decided(page) == rounds[0]


def test_silent(page: IncidentRecord) -> None:
    """A policy without a route tells nobody."""
    assert decided(page, policy=Policy(version=1)) == []
