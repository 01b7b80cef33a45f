"""Kill a process that keeps incidents at random moments, again and again, and count what is there.

Run by hand: `python -m benchmarks.store_kills --kills 100 [--database URL]`. Each child takes the
same ticks as the one before it, from the first that was not told to be done; the parent kills it
without warning. At the end every fault must be one incident with one history and one message.
"""

import argparse
import random
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import func, select

from alerts.blast_radii import RunFacts
from alerts.faults import JoinParams
from alerts.incidents import Incident, join_incidents
from alerts.policies.policy_files import parse_policy
from alerts.storing.databases import open_database, reading
from alerts.storing.incident_store import IncidentStore
from alerts.storing.notifying import Telling
from alerts.storing.tables import INCIDENT_HISTORY, INCIDENTS, OUTBOX
from detectors.verdicts import Subject, Verdict

START = datetime(2026, 1, 5, 10, tzinfo=UTC)
POLICY = parse_policy(
    "{version: 1, receivers: [{name: chat}], routes: [{receivers: [chat]}]}", "policy"
)
FAULTS_A_TICK = 3


def tick(number: int) -> tuple[list[Incident], datetime]:
    """Return what a tick finds: some new faults, and the end of those of the tick before."""
    now = START + timedelta(minutes=number)
    begun = range(max(0, number - 1), number + 1)
    verdicts = [
        Verdict(
            kind="lemon",
            level="host",
            subject=Subject(host=f"h{at}-{each}"),
            confidence="high",
            onset=START + timedelta(minutes=at),
            detected=START + timedelta(minutes=at),
            cleared=None if at == number else now,
        )
        for at in begun
        for each in range(FAULTS_A_TICK)
    ]
    return join_incidents(verdicts, [], RunFacts.unknown(), JoinParams(), now=now), now


def work(url: str, first: int, last: int) -> None:
    """Take ticks, and tell of each when it is kept."""
    engine = open_database(url)
    store = IncidentStore(engine, telling=Telling(policy=POLICY))
    print("ready", flush=True)
    for number in range(first, last):
        incidents, now = tick(number)
        store.refresh(incidents, now=now)
        print(number, flush=True)
    engine.dispose()


def run_until_killed(url: str, first: int, last: int, seconds: float) -> tuple[int, bool]:
    """Return the first tick that was not told to be done, and whether the child was killed."""
    command = [sys.executable, "-m", "benchmarks.store_kills", "--work", str(first), str(last)]
    with subprocess.Popen([*command, "--database", url], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        try:
            child.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGKILL)
        told = child.stdout.read().split()
    return (int(told[-1]) + 1 if told else first), child.returncode == -signal.SIGKILL


def check(url: str, ticks: int) -> dict[str, int]:
    """Return the counts of what is kept, after holding each of them against what must be there."""
    faults = ticks * FAULTS_A_TICK
    engine = open_database(url)
    with reading(engine) as connection:
        incidents = connection.execute(select(func.count()).select_from(INCIDENTS)).scalar_one()
        happened = Counter(connection.execute(select(INCIDENT_HISTORY.c.kind)).scalars())
        sent = connection.execute(select(OUTBOX.c.dedup_key, OUTBOX.c.action)).all()
    engine.dispose()
    triggers = Counter(key for key, action in sent if action == "trigger")
    assert incidents == faults, (incidents, faults)
    assert happened["opened"] == faults, happened
    assert happened["resolved"] == faults - FAULTS_A_TICK, happened
    assert len(triggers) == faults, len(triggers)
    assert set(triggers.values()) == {1}, triggers
    assert len(sent) == 2 * faults - FAULTS_A_TICK, len(sent)
    return {"incidents": incidents, "messages": len(sent), "doubled": 0, "lost": 0}


def main() -> None:
    """Kill, start again, and check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", default="")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=1.0, help="longest work of a child")
    parser.add_argument("--work", nargs=2, type=int)
    asked = parser.parse_args()
    if asked.work:
        work(asked.database, *asked.work)
        return
    with tempfile.TemporaryDirectory() as folder:
        url = asked.database or f"sqlite:///{Path(folder) / 'incidents.db'}"
        draw = random.Random(7)  # noqa: S311 -- when to kill is no secret
        first = kills = 0
        while kills < asked.kills:
            # Far more ticks than a child has time for, so that each is killed at work.
            first, killed = run_until_killed(url, first, 10**6, draw.uniform(0.0, asked.seconds))
            kills += killed
        ticks = first + 3
        run_until_killed(url, first, ticks, 600)
        print(f"{kills} kills, {ticks} ticks: {check(url, ticks)}")


if __name__ == "__main__":
    main()
