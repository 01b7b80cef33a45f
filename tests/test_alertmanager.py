"""What a real Alertmanager sends, lists and accepts is what our edge reads and writes."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import requests

from alerts.groups import group_filters, group_view
from alerts.notifications import Notification, parse_listed_alerts, parse_notification
from alerts.silences import silence_body
from alerts.zoned_times import parse_zoned_time

CONFIG = """
route: {{receiver: paceline, group_by: [objective], group_wait: 1s, group_interval: 1s}}
receivers:
- name: paceline
  webhook_configs: [{{url: {url}, max_alerts: 2, send_resolved: true}}]
inhibit_rules:
- source_matchers: [severity="page"]
  target_matchers: [severity="ticket"]
  equal: [objective]
"""
PATIENCE_SECONDS = 20.0


class Inbox:
    """A webhook that keeps what it is sent."""

    def __init__(self) -> None:
        """Listen on a free port of the loopback."""
        self.bodies: list[bytes] = []
        inbox = self

        class Handler(BaseHTTPRequestHandler):
            """Takes any body."""

            def do_POST(self) -> None:
                """Keep a body and answer at once."""
                inbox.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(200)
                self.end_headers()

            def log_message(self, format: str, *_: object) -> None:  # noqa: A002 - its own name
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"

    def about(self, objective: str) -> list[Notification]:
        """Return the notifications about one objective so far."""
        found = [parse_notification(body) for body in self.bodies]
        return [each for each in found if each.group_labels == {"objective": objective}]

    def wait_for(self, objective: str) -> Notification:
        """Return the first notification about an objective."""
        give_up = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < give_up:
            if found := self.about(objective):
                return found[0]
            time.sleep(0.05)
        pytest.fail(f"no notification about {objective}")


@pytest.fixture(scope="module")
def inbox() -> Iterator[Inbox]:
    """A webhook that runs while the module's tests do."""
    box = Inbox()
    thread = threading.Thread(target=box.server.serve_forever)
    thread.start()
    yield box
    box.server.shutdown()
    thread.join()
    box.server.server_close()


@pytest.fixture(scope="module")
def api(alertmanager: Callable[[str], AbstractContextManager[str]], inbox: Inbox) -> Iterator[str]:
    """The API v2 of an Alertmanager that sends to the webhook."""
    with alertmanager(CONFIG.format(url=inbox.url)) as url:
        yield f"{url}/api/v2"


def post(api: str, *labels: dict[str, str], start: datetime | None = None) -> None:
    """Send alerts that fire."""
    alerts = [
        {"labels": each} | ({"startsAt": start.isoformat()} if start else {}) for each in labels
    ]
    requests.post(f"{api}/alerts", json=alerts, timeout=5).raise_for_status()


def test_truncated_group(api: str, inbox: Inbox) -> None:
    """What `max_alerts` cuts off is counted in the message and found in the API."""
    post(api, *({"alertname": "Burn", "objective": "steps", "run": run} for run in "abc"))

    told = inbox.wait_for("steps")
    answer = requests.get(f"{api}/alerts", params=group_filters(told), timeout=5)
    listed = parse_listed_alerts(answer.content, now=datetime.now(UTC))

    assert (group_view(told).count_text, group_view(told, listed).count_text) == ("2 of 3", "3")
    assert {each.ends_at for each in told.alerts} == {None}
    assert {each.labels["run"] for each in group_view(told, listed).alerts} == set("abc")


def test_inhibited_ticket(api: str, inbox: Inbox) -> None:
    """A page inhibits the ticket of its objective that comes within the group's wait."""
    common = {"alertname": "Burn", "objective": "goodput"}
    post(api, common | {"severity": "ticket"})
    post(api, common | {"severity": "page"})

    told = inbox.wait_for("goodput")

    assert [each.labels["severity"] for each in told.alerts] == ["page"]


def test_old_ticket_does_not_wait(api: str, inbox: Inbox) -> None:
    """A ticket that began long ago is sent at once, before its page can inhibit it."""
    common = {"alertname": "Burn", "objective": "restarts"}
    post(api, common | {"severity": "ticket"}, start=datetime.now(UTC) - timedelta(hours=1))
    told = inbox.wait_for("restarts")
    post(api, common | {"severity": "page"})

    assert [each.labels["severity"] for each in told.alerts] == ["ticket"]


def test_silence(api: str) -> None:
    """A silence of ours begins and ends when it says, wherever its author lives."""
    start = datetime.now(timezone(timedelta(hours=2))) + timedelta(hours=1)
    body = silence_body(
        {"run": "z"}, start=start, end=start + timedelta(hours=1), author="ana", comment="cable"
    )

    taken = requests.post(f"{api}/silences", json=body, timeout=5)
    kept = requests.get(f"{api}/silence/{taken.json()['silenceID']}", timeout=5).json()

    assert (kept["status"]["state"], kept["matchers"]) == ("pending", body["matchers"])
    assert abs(parse_zoned_time(kept["startsAt"]) - start) < timedelta(milliseconds=1)
