"""Kill the service 100 times while alerts come in, and count alerts, keys and incidents after it.

Run by hand: `python -m benchmarks.service_kills [KILLS [SEED]]`. Alerts come by the webhook, over
HTTP, and are repeated until they are answered, as Alertmanager does; a receiver on this machine
answers with 200, 429, 500, late, or not at all.
"""

import json
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import requests
from sqlalchemy import func, select

from alerts.storing.databases import open_database
from alerts.storing.tables import ALERT_EPISODES, INCIDENTS, OUTBOX

LOOPBACK = "127.0.0.1"
NOISE_COUNT = 20
"""Alerts of other rules in each message."""
PACE_SECONDS = 0.7
"""Time between two runs that begin to burn."""
MAX_LIFE_SECONDS = 3.0
PATIENCE_SECONDS = 120.0


@dataclass
class Team:
    """A receiver with its moods; keeps run, key and action of what it took."""

    draw: random.Random
    took: list[tuple[str, str, str]] = field(default_factory=list)
    refused_count: int = 0
    is_calm: bool = False

    def answer(self, body: bytes) -> int | None:
        """Return the status that a body is answered with; null is no answer."""
        told = json.loads(body)
        row = (told["commonLabels"]["run"], told["episode_id"], told["action"])
        mood = 0.0 if self.is_calm else self.draw.random()
        if mood > 0.85:  # noqa: PLR2004 - three moods in twenty
            self.refused_count += 1
            return self.draw.choice([429, 500, None])
        if mood > 0.8:  # noqa: PLR2004 - one in twenty is slow
            time.sleep(1.0)
        self.took.append(row)
        return 200


def listen(team: Team) -> ThreadingHTTPServer:
    """Return a server that the team sits behind."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            status = team.answer(self.rfile.read(int(self.headers["Content-Length"])))
            with suppress(OSError):
                if status is not None:
                    self.send_response(status)
                    if status == 429:  # noqa: PLR2004 - too many requests
                        self.send_header("Retry-After", "1")
                    self.end_headers()

        def log_message(self, format: str, *_: object) -> None:  # noqa: A002 - its own name
            pass

    server = ThreadingHTTPServer((LOOPBACK, 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def message(run: int, status: str) -> bytes:
    """Return what Alertmanager tells of a run that burns, with alerts of other rules beside it."""
    labels = {"alertname": "Steps", "objective": "steps", "severity": "page", "run": f"run-{run}"}
    alerts = [_alert(labels, f"f{run}", status)]
    alerts += [
        _alert({"alertname": "Noise", "number": str(at)}, f"noise-{run}-{at}", status)
        for at in range(NOISE_COUNT)
    ]
    told = {"version": "4", "groupKey": f"{run}", "status": status, "receiver": "paceline"}
    return json.dumps(told | {"alerts": alerts}).encode()


def _alert(labels: dict[str, str], fingerprint: str, status: str) -> dict[str, object]:
    end = "2026-01-05T02:00:00Z" if status == "resolved" else "0001-01-01T00:00:00Z"
    return {
        "status": status,
        "labels": labels,
        "startsAt": "2026-01-05T01:00:00Z",
        "endsAt": end,
        "fingerprint": fingerprint,
    }


@dataclass
class Feed:
    """Alertmanager's part: each message is repeated until it is answered."""

    url: str
    is_over: threading.Event = field(default_factory=threading.Event)
    runs: int = 0

    def run(self) -> None:
        """Tell of one run after another, and of the end of each a little later."""
        while not self.is_over.is_set():
            self.tell(message(self.runs, "firing"))
            self.runs += 1
            time.sleep(PACE_SECONDS)
            if self.runs > 5:  # noqa: PLR2004 - a few burn at a time
                self.tell(message(self.runs - 6, "resolved"))
        for run in range(max(0, self.runs - 6), self.runs):
            self.tell(message(run, "resolved"))

    def tell(self, body: bytes) -> None:
        """Post a message until it is taken."""
        while True:
            with suppress(requests.RequestException):
                if requests.post(self.url, data=body, timeout=5).ok:
                    return
            time.sleep(0.1)


def killed(command: list[str], ready: str, draw: random.Random, kills: int) -> None:
    """Start and kill a service again and again; a third of the kills come while it starts."""
    for count in range(kills):
        with subprocess.Popen(command) as service:
            if draw.random() > 1 / 3:
                wait_until_ready(ready, service)
            time.sleep(draw.uniform(0, MAX_LIFE_SECONDS))
            service.kill()
            service.wait()
            assert service.returncode == -signal.SIGKILL
        if (count + 1) % 20 == 0:
            print(f"{count + 1} kills", flush=True)


def wait_until_ready(url: str, service: subprocess.Popen[bytes]) -> None:
    """Wait until a service answers."""
    while service.poll() is None:
        with suppress(requests.RequestException):
            if requests.get(url, timeout=5).ok:
                return
        time.sleep(0.05)


def settled(team: Team, runs: int) -> bool:
    """Wait until the team was told of every end; return whether it was."""
    give_up = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < give_up:
        if len({run for run, _, action in list(team.took) if action == "resolve"}) == runs:
            return True
        time.sleep(0.2)
    return False


def check(url: str, team: Team, runs: int) -> dict[str, int]:
    """Return what is wrong, counted, and how much there was."""
    engine = open_database(url)
    with engine.begin() as connection:
        kept = Counter(connection.execute(select(INCIDENTS.c.run)).scalars())
        dead = connection.execute(select(OUTBOX.c.id).where(OUTBOX.c.state == "dead")).all()
        episodes = connection.execute(select(func.count()).select_from(ALERT_EPISODES)).scalar()
    engine.dispose()
    names = [f"run-{run}" for run in range(runs)]
    first: dict[tuple[str, str], int] = {}
    for at, (run, _, action) in enumerate(team.took):
        first.setdefault((run, action), at)
    keys = {run: {key for other, key, _ in team.took if other == run} for run in names}
    return {
        "runs": runs,
        "letters": len(team.took),
        "letters_again": len(team.took) - len(set(team.took)),
        "not_taken": team.refused_count,
        "episodes_lost": runs * (1 + NOISE_COUNT) - int(episodes or 0),
        "incidents_lost": sum(kept[name] == 0 for name in names),
        "incidents_doubled": sum(kept[name] > 1 for name in names),
        "triggers_lost": sum((name, "trigger") not in first for name in names),
        "resolves_lost": sum((name, "resolve") not in first for name in names),
        "second_keys": sum(len(found) > 1 for found in keys.values()),
        "ends_first": sum(
            first.get((name, "resolve"), 0) < first.get((name, "trigger"), 0) for name in names
        ),
        "dead": len(dead),
    }


def main(kills: int = 100, seed: int = 17) -> None:
    """Print the figures, and fail if anything was lost, doubled or out of order."""
    draw = random.Random(seed)  # noqa: S311 -- moments are no secret
    team = Team(draw=random.Random(seed + 1))  # noqa: S311 -- same
    server = listen(team)
    with socket.create_server((LOOPBACK, 0)) as probe:
        port = probe.getsockname()[1]
    base = f"http://{LOOPBACK}:{port}"
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        url = f"sqlite:///{Path(name) / 'paceline.db'}"
        receiver = f"http://{LOOPBACK}:{server.server_port}/"
        command = [sys.executable, "-m", "benchmarks.service_worker", url, str(port), receiver]
        feed = Feed(url=f"{base}/api/v1/alertmanager")
        feeding = threading.Thread(target=feed.run)
        feeding.start()
        killed(command, f"{base}/healthz", draw, kills)
        with subprocess.Popen(command) as service:
            feed.is_over.set()
            feeding.join()
            team.is_calm = True
            is_settled = settled(team, feed.runs)
            service.kill()
        figures = check(url, team, feed.runs)
    server.shutdown()
    print(f"MEASURED kills {kills}, {figures}, {time.monotonic() - began:.0f} s")
    wrong = {name: count for name, count in figures.items() if name.endswith(("lost", "doubled"))}
    wrong |= {name: figures[name] for name in ("second_keys", "ends_first", "dead")}
    assert is_settled
    assert not any(wrong.values()), wrong


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:3]))
