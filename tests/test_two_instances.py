"""Two instances share one database: no letter and no message is done by both, or in no order."""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import Engine, func, insert, select

from alerts.delivery.answers import Answer, Delivered
from alerts.delivery.couriers import deliver_due
from alerts.delivery.letters import Letter, Renewal
from alerts.incidents import Incident, incident_json
from alerts.intake.enrichment import prometheus_firings
from alerts.intake.queueing import queue_notification
from alerts.intake.working import work_inbox
from alerts.storing.databases import open_database
from alerts.storing.tables import ALERT_EPISODES, INBOX, OUTBOX

NOW = datetime(2026, 1, 5, 2, tzinfo=UTC)
THINGS = 12


@dataclass
class Shared:
    """A receiver that both instances reach."""

    got: list[tuple[str, str]] = field(default_factory=list)
    min_gap_seconds: float = 0.0
    renewal: Renewal | None = None

    def send(self, letter: Letter, *, now: datetime) -> Answer:
        """Keep what it is told."""
        del now
        self.got.append((letter.dedup_key, letter.action))
        return Delivered()


@pytest.fixture
def engines(database_url: str) -> Iterator[list[Engine]]:
    """Two engines over one database."""
    opened = [open_database(database_url) for _ in range(2)]
    yield opened
    for engine in opened:
        engine.dispose()


def both(run: Any, engines: list[Engine]) -> None:
    """Run the same with either engine at the same time."""
    threads = [threading.Thread(target=run, args=(one, str(at))) for at, one in enumerate(engines)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_letters(engines: list[Engine], slow_host_incident: Incident) -> None:
    """Each letter is sent by one of two instances, a trigger before its resolve."""
    body = incident_json(slow_host_incident)
    rows = [
        {"key": f"{thing}{action}", "receiver": "team", "dedup_key": str(thing), "action": action}
        | {"body": body, "due": NOW, "created": NOW, "attempts": 0, "state": "waiting"}
        for action in ("trigger", "resolve")
        for thing in range(THINGS)
    ]
    with engines[0].begin() as connection:
        connection.execute(insert(OUTBOX), rows)
    team = Shared()

    def deliver(engine: Engine, name: str) -> None:
        for _ in range(3):
            deliver_due(engine, {"team": team}, now=lambda: NOW, claim_as=name)

    both(deliver, engines)

    assert len(team.got) == len(set(team.got)) == 2 * THINGS
    assert all(
        team.got.index((str(thing), "trigger")) < team.got.index((str(thing), "resolve"))
        for thing in range(THINGS)
    )


def test_gap_and_renewals(engines: list[Engine], slow_host_incident: Incident) -> None:
    """A receiver's rest holds for both, and a thing has one row of reminders."""
    body = incident_json(slow_host_incident)
    with engines[0].begin() as connection:
        for thing in range(2):
            row = {"key": str(thing), "receiver": "team", "dedup_key": str(thing)}
            row |= {"action": "trigger", "body": body, "due": NOW, "created": NOW}
            connection.execute(insert(OUTBOX).values(**row, attempts=0, state="waiting"))
    team = Shared(min_gap_seconds=1.0, renewal=Renewal())
    for at, engine in enumerate(engines):
        deliver_due(engine, {"team": team}, now=lambda: NOW, claim_as=str(at))
    with engines[0].begin() as connection:
        actions = list(connection.execute(select(OUTBOX.c.action).order_by(OUTBOX.c.id)).scalars())

    assert (team.got, actions) == ([("0", "trigger")], ["trigger", "trigger", "renew"])


def test_messages(engines: list[Engine]) -> None:
    """Each message is folded once, and the episodes are there whoever worked."""
    for name in range(THINGS):
        labels = {"alertname": "x", "objective": "steps", "severity": "page", "run": str(name)}
        alert = {"status": "firing", "labels": labels, "startsAt": NOW.isoformat()}
        told = {"version": "4", "groupKey": str(name), "status": "firing", "receiver": "r"}
        told["alerts"] = [alert | {"fingerprint": f"f{one}"} for one in range(name, name + 3)]
        queue_notification(engines[name % 2], json.dumps(told).encode(), now=NOW)

    def work(engine: Engine, _: str) -> None:
        for _ in range(3):
            work_inbox(engine, now=NOW)

    both(work, engines)
    with engines[0].begin() as connection:
        states = set(connection.execute(select(INBOX.c.state)).scalars())
        count = connection.execute(select(func.count()).select_from(ALERT_EPISODES)).scalar()

    assert (states, count) == ({"done"}, THINGS + 2)
    assert len(prometheus_firings(engines[1], {}, now=NOW)) == THINGS + 2
