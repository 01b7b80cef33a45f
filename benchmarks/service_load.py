"""1,000 alerts a second into the webhook for a minute, and 50 page views a second beside them.

Run by hand: `python -m benchmarks.service_load [SECONDS [ALERTS_PER_SECOND [VIEWS_PER_SECOND]]]`.
Alerts come in groups, as Alertmanager sends them: many small ones and a few large ones; each alert
is one of its own. Twenty of them burn an objective and so become incidents, whose pages are viewed.
Times count from the moment at which a request was due: one that had to wait for the one before it
waited, too. Beside them sleeps a thread that does nothing else: how late it wakes is how busy the
machine is, and no time below that says anything about the service.
"""

import http.client
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import requests
from sqlalchemy import func, select

from alerts.storing.databases import open_database
from alerts.storing.tables import ALERT_EPISODES, INBOX, INCIDENTS, OUTBOX
from benchmarks.service_kills import LOOPBACK, Team, listen, wait_until_ready

GROUP_SIZES = (1, 1, 2, 3, 5, 10, 20, 40, 80)
"""Alerts in one message; 18 in the mean."""
RUNS = 20
CLIENTS = 6
"""Connections of each kind; Alertmanager and browsers keep theirs open."""
TICK_SECONDS = 15
"""As the settings have it."""
PATIENCE_SECONDS = 120.0


def messages(alert_count: int) -> list[bytes]:
    """Return messages with so many alerts in all."""
    draw, found, told = random.Random(3), list[bytes](), 0  # noqa: S311 -- sizes are no secret
    while told < alert_count:
        size = min(draw.choice(GROUP_SIZES), alert_count - told)
        found.append(_message(range(told, told + size), f"{len(found)}"))
        told += size
    return found


def _message(numbers: range, group: str) -> bytes:
    alerts = [
        {
            "status": "firing",
            "labels": _labels(at),
            "annotations": {"summary": f"host {at} is hot", "description": "x" * 200},
            "startsAt": "2026-01-05T01:00:00Z",
            "endsAt": "0001-01-01T00:00:00Z",
            "generatorURL": "http://prometheus.example/graph?g0.expr=hot",
            "fingerprint": f"{at:016x}",
        }
        for at in numbers
    ]
    told = {"version": "4", "groupKey": group, "status": "firing", "receiver": "paceline"}
    return json.dumps(told | {"alerts": alerts}).encode()


def _labels(number: int) -> dict[str, str]:
    if number < RUNS:
        burn = {"objective": "steps", "severity": "page", "run": f"run-{number}"}
        return {"alertname": "StepsPage"} | burn
    return {"alertname": "HostHot", "host": f"hx8-{number:06d}", "severity": "warning"}


@dataclass
class Lane:
    """Requests of one kind, each due at its time.

    Attributes:
        port: Where the service is.
        requests: Method, path and body of each.
        per_second: How many are due a second.
        seconds: What each took, from the moment it was due.
        statuses: What each was answered with.
    """

    port: int
    requests: Sequence[tuple[str, str, bytes]]
    per_second: float
    seconds: list[float] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)

    def run(self, began: float) -> list[threading.Thread]:
        """Start the clients."""
        threads = [
            threading.Thread(target=self._client, args=(began, client)) for client in range(CLIENTS)
        ]
        for thread in threads:
            thread.start()
        return threads

    def _client(self, began: float, client: int) -> None:
        connection = http.client.HTTPConnection(LOOPBACK, self.port, timeout=60)
        for at in range(client, len(self.requests), CLIENTS):
            due = began + at / self.per_second
            time.sleep(max(0.0, due - time.monotonic()))
            method, path, body = self.requests[at]
            connection.request(method, path, body or None)
            answer = connection.getresponse()
            answer.read()
            self.seconds.append(time.monotonic() - due)
            self.statuses.append(answer.status)
        connection.close()

    def figures(self, name: str) -> str:
        """Return how many there were, what was not answered well, and the times."""
        if not self.seconds:
            return f"{name}: none"
        ordered = sorted(self.seconds)
        bad = sum(status >= http.client.BAD_REQUEST for status in self.statuses)
        p50, p99 = (ordered[int(len(ordered) * share)] * 1000 for share in (0.5, 0.99))
        longest = ordered[-1] * 1000
        return (
            f"{name}: {len(ordered)} requests, {bad} not answered well, p50 {p50:.0f} ms, "
            f"p99 {p99:.0f} ms, longest {longest:.0f} ms"
        )


@dataclass
class Sleeper:
    """Sleeps for 5 ms again and again, and keeps how late it woke, in seconds."""

    late: list[float] = field(default_factory=list)
    is_done: bool = False

    def run(self) -> None:
        """Sleep until done."""
        while not self.is_done:
            began = time.monotonic()
            time.sleep(0.005)
            self.late.append(time.monotonic() - began - 0.005)

    def figures(self) -> str:
        """Return how late it woke."""
        ordered = sorted(self.late)
        p99, longest = ordered[int(len(ordered) * 0.99)], ordered[-1]
        return f"a sleeper woke late by p99 {p99 * 1000:.0f} ms, longest {longest * 1000:.0f} ms"


def memory_bytes(process: int) -> int:
    """Return how much memory a process holds."""
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


def cpu_seconds(process: int) -> float:
    """Return the processor time that a process has had."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def pages_of(base: str) -> list[str]:
    """Return the list of incidents and the pages of some."""
    listed = requests.get(f"{base}/api/v1/incidents", timeout=30).json()
    ids = [one["id"] for one in listed.get("items", listed.get("incidents", []))]
    return ["/", *(f"/incidents/{one}" for one in ids[:5]), "/fleet"]


def wait_for(is_there: Callable[[], bool]) -> float:
    """Wait until something is so; return how long that took."""
    began = time.monotonic()
    while not is_there():
        assert time.monotonic() - began < PATIENCE_SECONDS
        time.sleep(0.2)
    return time.monotonic() - began


def main(seconds: int = 60, alerts_per_second: int = 1000, views_per_second: int = 50) -> None:
    """Print the figures, and fail if an alert was lost."""
    team = Team(draw=random.Random(1), is_calm=True)  # noqa: S311 -- moods are no secret
    server = listen(team)
    with socket.create_server((LOOPBACK, 0)) as probe:
        port = probe.getsockname()[1]
    base = f"http://{LOOPBACK}:{port}"
    with tempfile.TemporaryDirectory() as name:
        url = f"sqlite:///{Path(name) / 'paceline.db'}"
        receiver = f"http://{LOOPBACK}:{server.server_port}/"
        command = [sys.executable, "-m", "benchmarks.service_worker", url, str(port), receiver]
        with subprocess.Popen([*command, str(TICK_SECONDS)]) as service:
            try:
                wait_until_ready(f"{base}/healthz", service)
                load(service.pid, base, url, (seconds, alerts_per_second, views_per_second))
            finally:
                service.kill()
    server.shutdown()


def load(process: int, base: str, url: str, plan: tuple[int, int, int]) -> None:
    """Load a service and print what was seen."""
    seconds, alerts_per_second, views_per_second = plan
    engine = open_database(url)

    def count(query: object) -> int:
        with engine.connect() as connection:
            return int(connection.execute(query).scalar())  # type: ignore[call-overload]

    first, *rest = messages(RUNS + seconds * alerts_per_second)
    bodies = [first, *rest]
    hook = "/api/v1/alertmanager"
    early, late = bodies[:RUNS], bodies[RUNS:]
    for body in early:
        requests.post(base + hook, data=body, timeout=30).raise_for_status()
    wait_for(lambda: count(select(func.count()).select_from(INCIDENTS)) > 0)
    pages = pages_of(base)
    port = int(base.rpartition(":")[2])
    lanes = {
        "webhook": Lane(port, [("POST", hook, body) for body in late], len(late) / seconds),
        "pages": Lane(
            port,
            [("GET", pages[at % len(pages)], b"") for at in range(seconds * views_per_second)],
            views_per_second,
        ),
    }
    held, began, cpu = [memory_bytes(process)], time.monotonic(), cpu_seconds(process)
    sleeper = Sleeper()
    threading.Thread(target=sleeper.run, daemon=True).start()
    threads = [thread for lane in lanes.values() for thread in lane.run(began)]
    while any(thread.is_alive() for thread in threads):
        time.sleep(1.0)
        held.append(memory_bytes(process))
    lasted = time.monotonic() - began
    sleeper.is_done = True
    drained = wait_for(
        lambda: not count(select(func.count()).select_from(INBOX).where(INBOX.c.state != "done"))
    )
    cpu = cpu_seconds(process) - cpu
    sent = RUNS + seconds * alerts_per_second
    kept = count(select(func.count()).select_from(ALERT_EPISODES))
    waits = OUTBOX.c.state != "delivered"
    with suppress(AssertionError):
        wait_for(lambda: not count(select(func.count()).select_from(OUTBOX).where(waits)))
    megabytes = [size // 2**20 for size in held]
    quarter = len(megabytes) // 4
    print(
        f"MEASURED {sent} alerts in {len(bodies)} messages in {lasted:.0f} s, {sent - kept} lost, "
        f"inbox empty {drained:.1f} s after, {cpu:.1f} s of CPU; {len(pages)} pages in turn"
    )
    for name, lane in lanes.items():
        print(f"MEASURED {lane.figures(name)}")
    print(f"MEASURED {sleeper.figures()}")
    print(
        f"MEASURED memory {megabytes[0]} MB before, {max(megabytes[:quarter] or megabytes)} MB in "
        f"the first quarter, {max(megabytes[-quarter:] or megabytes)} MB in the last"
    )
    engine.dispose()
    assert sent == kept


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:4]))
