"""A service that is killed at any moment loses no alert, doubles none, and keeps its incidents."""

import json
import multiprocessing
import os
import random
import signal
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from alerts.intake.queueing import queue_notification
from alerts.storing.databases import open_database
from alerts.storing.tables import INCIDENTS, OUTBOX
from benchmarks.service_worker import work

KILLS = 6
RUNS = 12
PATIENCE_SECONDS = 60.0


def now() -> datetime:
    """The time."""
    return datetime.now(UTC)


def notification(run: int, status: str) -> bytes:
    """What Alertmanager tells of a burn of one run."""
    labels = {"alertname": "Steps", "objective": "steps", "severity": "page", "run": f"run-{run}"}
    start, end = "2026-01-05T01:00:00Z", "2026-01-05T02:00:00Z"
    alert = {"status": status, "labels": labels, "startsAt": start, "fingerprint": f"f{run}"}
    alert |= {"endsAt": end} if status == "resolved" else {}
    told = {"version": "4", "groupKey": f"{run}", "status": status, "receiver": "paceline"}
    return json.dumps(told | {"alerts": [alert]}).encode()


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """A database in a file."""
    return f"sqlite:///{tmp_path / 'paceline.db'}"


@pytest.fixture
def killing(database_url: str, http_receiver: Any) -> Iterator[Any]:
    """A service, and how to kill it and start the next."""
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload([work.__module__])
    running: list[Any] = []

    def kill_and_start() -> None:
        for process in running:
            os.kill(process.pid, signal.SIGKILL)
            process.join()
        process = server.Process(target=work, args=(database_url, http_receiver.url))
        process.start()
        running[:] = [process]

    yield kill_and_start
    os.kill(running[0].pid, signal.SIGKILL)
    running[0].join()


def test_kills(database_url: str, http_receiver: Any, killing: Any) -> None:
    """Every alert reaches the receiver by one key, its end after it, one incident each."""
    draw = random.Random(7)
    engine = open_database(database_url)
    killing()
    for run in range(RUNS):
        queue_notification(engine, notification(run, "firing"), now=now())
        if run % (RUNS // KILLS) == 0:
            time.sleep(draw.uniform(0.0, 0.3))
            killing()
    wait_for(http_receiver, "trigger")
    for run in range(RUNS):
        queue_notification(engine, notification(run, "resolved"), now=now())
    killing()
    got = wait_for(http_receiver, "resolve")
    with engine.begin() as connection:
        runs = list(connection.execute(select(INCIDENTS.c.run)).scalars())
        dead = connection.execute(select(OUTBOX.c.id).where(OUTBOX.c.state == "dead")).all()
    engine.dispose()

    assert sorted(runs) == sorted(f"run-{run}" for run in range(RUNS))
    assert dead == []
    keys = {run: {key for other, key, _ in got if other == run} for run in runs}
    assert {run: len(found) for run, found in keys.items()} == dict.fromkeys(runs, 1)
    orders = {run: [action for other, _, action in got if other == run] for run in runs}
    assert [order for order in orders.values() if order != sorted(order, reverse=True)] == []


def wait_for(receiver: Any, action: str) -> list[tuple[str, str, str]]:
    """What the receiver got, as run, key and action, once it was told so of each run."""
    give_up = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < give_up:
        told = [json.loads(one.body) for one in list(receiver.received)]
        got = [(one["commonLabels"]["run"], one["episode_id"], one["action"]) for one in told]
        if len({run for run, _, done in got if done == action}) == RUNS:
            return got
        time.sleep(0.1)
    pytest.fail(f"{action} reached the receiver for some runs only: {got}")
