"""Tests of what a policy would have sent over a history."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from alerts.incidents import Incident
from alerts.policies.dry_runs import History, decide_over_history, records_of
from alerts.policies.policy_files import parse_policy
from alerts.storing.records import IncidentRecord, MaintenanceWindow

POLICY = """
version: 1
receivers: [{name: oncall, repeat: 2h}, {name: chat}]
routes:
  - {match: {severity: page}, receivers: [oncall]}
  - {receivers: [chat]}
quiet_hours: [{zone: UTC, from: "23:00", to: "06:00"}]
"""
START = datetime(2026, 1, 5, 1, 20, tzinfo=UTC)


@pytest.fixture
def page(slow_host_incident: Incident) -> IncidentRecord:
    """An incident that was found at 01:23 and woke somebody at 01:26."""
    return records_of([slow_host_incident], now=START)[0]


def told(*records: IncidentRecord, hours: int = 6, **other: Any) -> list[tuple[str, str, str, str]]:
    """Return when which message would have left to whom, by number and in clock times."""
    until = START + timedelta(hours=hours)
    history = History(records=records, until=until, **other)
    return [
        (f"{one.message.due:%H:%M}", one.message.action, one.message.receiver, one.message.incident)
        for one in decide_over_history(history, parse_policy(POLICY, "p.yml"))
    ]


def at(minutes: int) -> datetime:
    """Return a time some minutes after 01:20."""
    return START + timedelta(minutes=minutes)


def test_a_night(page: IncidentRecord) -> None:
    """The ticket waits for the morning; the page does not, and it ends when it ends."""
    record = replace(page, acknowledged_at=at(60), resolved_at=at(200))

    assert [(time, action, who) for time, action, who, _ in told(record)] == [
        ("01:26", "trigger", "oncall"),
        ("02:20", "acknowledge", "oncall"),
        ("04:40", "resolve", "oncall"),
        ("06:00", "trigger", "chat"),
        ("06:00", "resolve", "chat"),
    ]


def test_nobody_takes_it(page: IncidentRecord) -> None:
    """Repetitions come where they are due, though nothing happens then; not in quiet hours."""
    times = [(time, action) for time, action, who, _ in told(page, hours=10) if who == "oncall"]

    assert times == [
        ("01:26", "trigger"),
        ("03:26", "renew"),
        ("05:26", "renew"),
        ("07:26", "renew"),
        ("09:26", "renew"),
    ]


def test_planned_work(page: IncidentRecord) -> None:
    """What began in planned work is told when that ends, if it lasts."""
    window = MaintenanceWindow(
        id="w", matchers={"run": "orion"}, starts=at(0), ends=at(60), who="ann", why="fans"
    )
    short = replace(page, id="short", number=2, resolved_at=at(30))

    messages = told(page, short, windows=[window], hours=2)

    assert messages == [("02:20", "trigger", "oncall", page.id)]


def test_parts(page: IncidentRecord) -> None:
    """What was merged into another was told by that."""
    assert told(replace(page, merged_into="b")) == []


def test_numbers(slow_host_incident: Incident) -> None:
    """The incidents of an analysis are numbered as they were found, and end as they ended."""
    timeless = replace(slow_host_incident, id="t", onset=None, detected=None, state="resolved")
    early = replace(slow_host_incident, id="e", detected=at(-9), state="resolved", cleared=at(9))

    records = records_of([timeless, slow_host_incident, early], now=at(600))

    assert [(one.number, one.id, one.state, one.resolved_at) for one in records] == [
        (1, "e", "resolved", at(9)),
        (2, slow_host_incident.id, "open", None),
        (3, "t", "resolved", timeless.as_of),
    ]
