"""A real Alertmanager takes what we push, sends it back, and tells us what Prometheus fired."""

import subprocess
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import requests
from pydantic import SecretStr
from sqlalchemy import select

from alerts.delivery.answers import Delivered
from alerts.delivery.example_configuration import example_configuration
from alerts.delivery.letters import Action, Letter
from alerts.delivery.receivers.alertmanager import AlertmanagerReceiver
from alerts.delivery.telling import Places
from alerts.incidents import Incident
from alerts.intake.alertmanager_api import AlertmanagerApi
from alerts.intake.queueing import queue_notification
from alerts.intake.working import work_inbox
from alerts.notifications import parse_notification
from alerts.storing.databases import open_database
from alerts.storing.tables import ALERT_EPISODES, INBOX
from slo.specs import load_library

EXAMPLE = Path(__file__).parent.parent / "docs" / "examples" / "alertmanager.yml"
CONFIG = """
route: {{receiver: paceline, group_by: [alertname], group_wait: 0s, group_interval: 1s}}
receivers:
- name: paceline
  webhook_configs: [{{url: "{url}/hook", max_alerts: 2, send_resolved: true}}]
"""
PATIENCE_SECONDS = 20.0


@dataclass
class Webhook:
    """What the webhook got, read again and again until it holds what is waited for."""

    receiver: Any
    seen: list[bytes] = field(default_factory=list)

    def wait_for(self, alertname: str, status: str) -> bytes:
        """Return the first body about alerts of a name and status."""
        give_up = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < give_up:
            for got in list(self.receiver.received):
                told = parse_notification(got.body)
                if told.group_labels == {"alertname": alertname} and told.status == status:
                    return got.body
            time.sleep(0.05)
        pytest.fail(f"no notification that {alertname} is {status}")


def letter(incident: Incident, action: Action) -> Letter:
    """A letter about an incident that the receiver knows."""
    return Letter(
        key=action,
        dedup_key="d" * 64,
        action=action,
        incident=incident,
        standing=None if action == "trigger" else incident,
        created=datetime.now(UTC),
    )


def test_both_ways(
    alertmanager: Callable[[str], AbstractContextManager[str]],
    http_receiver: Any,
    slow_host_incident: Incident,
    tmp_path: Path,
) -> None:
    """Our alert fires and ends there and comes back; a truncated group is made whole."""
    hook = Webhook(http_receiver)
    engine = open_database(f"sqlite:///{tmp_path / 'paceline.db'}")
    with alertmanager(CONFIG.format(url=http_receiver.url)) as url:
        pushing = AlertmanagerReceiver(
            url=SecretStr(url), places=Places(service_url="https://paceline.example")
        )
        fired = pushing.send(letter(slow_host_incident, "trigger"), now=datetime.now(UTC))
        steps = [{"labels": {"alertname": "Steps", "objective": "x", "run": one}} for one in "abc"]
        requests.post(f"{url}/api/v2/alerts", json=steps, timeout=5).raise_for_status()
        bodies = [hook.wait_for(name, "firing") for name in ("PacelineIncident", "Steps")]
        listed = requests.get(f"{url}/api/v2/alerts", timeout=5).json()
        ended = pushing.send(letter(slow_host_incident, "resolve"), now=datetime.now(UTC))
        bodies.append(hook.wait_for("PacelineIncident", "resolved"))
        for body in bodies:
            queue_notification(engine, body, now=datetime.now(UTC))
        source = AlertmanagerApi(url=SecretStr(url))
        first = work_inbox(engine, now=datetime.now(UTC), source=source)
    with engine.begin() as connection:
        rows = connection.execute(select(ALERT_EPISODES.c.labels, ALERT_EPISODES.c.status)).all()
        errors = set(connection.execute(select(INBOX.c.error)).scalars())
    engine.dispose()

    ours = next(one for one in listed if one["labels"]["alertname"] == "PacelineIncident")
    told = {labels.get("run"): status for labels, status in rows}
    assert (fired, ended) == (Delivered(), Delivered())
    assert ours["labels"]["incident"] == slow_host_incident.id
    assert ours["generatorURL"] == f"https://paceline.example/incidents/{slow_host_incident.id}"
    assert (first.taken_count, first.whole_count, errors) == (3, 1, {None})
    assert told == {"orion": "resolved", "a": "firing", "b": "firing", "c": "firing"}


def test_renewed_alert(slow_host_incident: Incident) -> None:
    """An alert's labels stay while it lasts, and it never ends before it began."""
    pushing = AlertmanagerReceiver(url=SecretStr("http://alertmanager.example"))
    now = slow_host_incident.burns[0].fired_at + timedelta(minutes=5)
    fires: Any = pushing.alert(letter(slow_host_incident, "trigger"), now=now)
    back: Any = pushing.alert(letter(slow_host_incident, "resolve"), now=now - timedelta(hours=1))

    assert (fires["startsAt"], fires["endsAt"]) == ("2026-01-05T01:26:00Z", "2026-01-05T01:35:00Z")
    assert back["startsAt"] == back["endsAt"] == "2026-01-05T00:31:00Z"
    assert fires["labels"] == back["labels"]


def test_acknowledged(slow_host_incident: Incident) -> None:
    """Alertmanager knows no acknowledgement, so none is sent."""
    pushing = AlertmanagerReceiver(url=SecretStr("http://alertmanager.invalid"))

    assert pushing.send(letter(slow_host_incident, "acknowledge"), now=datetime.now(UTC)) == (
        Delivered()
    )


def test_example(golden: Callable[[str, str], None], tmp_path: Path) -> None:
    """The configuration that the docs show is made of the ready objectives, and amtool takes it."""
    text = example_configuration(
        load_library(),
        webhook_url="http://127.0.0.1:8765/api/v1/alertmanager",
        token_file="/etc/paceline/ingest-token",  # noqa: S106 - a path
    )
    golden(str(EXAMPLE), text)
    path = tmp_path / "alertmanager.yml"
    path.write_text(text, encoding="utf-8")
    done = subprocess.run(
        ["amtool", "check-config", path], capture_output=True, text=True, check=False
    )

    assert (done.returncode, "SUCCESS" in done.stdout) == (0, True), done.stderr
