"""Tests that a kill in the middle of a write loses nothing and doubles nothing."""

import signal
import subprocess
import sys
from pathlib import Path

import orjson
from sqlalchemy import func, select

from alerts.incidents import Incident, incident_json
from alerts.policies.policy_files import parse_policy
from alerts.storing.databases import open_database, reading
from alerts.storing.incident_store import IncidentStore
from alerts.storing.notifying import Telling
from alerts.storing.tables import INCIDENT_HISTORY, INCIDENTS, OUTBOX, VERDICTS

POLICY = """
version: 1
receivers: [{name: chat}]
routes: [{receivers: [chat]}]
"""

CHILD = """
import sys, time
from datetime import datetime
import orjson
from alerts.incident_documents import read_incident
from alerts.policies.policy_files import parse_policy
from alerts.storing import incident_store, outgoing_rows
from alerts.storing.databases import open_database
from alerts.storing.notifying import Telling, notify

url, policy, incident, now, moment = sys.argv[1:]
store = incident_store.IncidentStore(
    open_database(url), telling=Telling(policy=parse_policy(policy, "p"))
)

def wait(*args, **kwargs):
    told = notify(*args, **kwargs)
    print("written", flush=True)
    time.sleep(60)
    return told

if moment == "before the commit":
    incident_store.notify = wait
store.refresh([read_incident(orjson.loads(incident))], now=datetime.fromisoformat(now))
print("kept", flush=True)
time.sleep(60)
"""


def test_kill_before_the_commit(database_url: str, slow_host_incident: Incident) -> None:
    """Nothing is left of a tick that was not committed, and taken again it is there once."""
    kill_in_tick(database_url, slow_host_incident, "before the commit")

    assert counts_around_a_tick(database_url, slow_host_incident) == ([0] * 4, [1] * 4)


def test_kill_after_the_commit(tmp_path: Path, slow_host_incident: Incident) -> None:
    """A tick that was committed is there as a whole, and taken again it is still there once."""
    url = f"sqlite:///{tmp_path / 'incidents.db'}"
    kill_in_tick(url, slow_host_incident, "after the commit")

    assert counts_around_a_tick(url, slow_host_incident) == ([1] * 4, [1] * 4)


def counts_around_a_tick(url: str, incident: Incident) -> tuple[list[int], list[int]]:
    """Return the rows of incidents, history, findings and messages before and after a tick."""
    engine = open_database(url)
    store = IncidentStore(engine, telling=Telling(policy=parse_policy(POLICY, "p")))

    def counts() -> list[int]:
        with reading(engine) as connection:
            return [
                connection.execute(select(func.count()).select_from(one)).scalar_one()
                for one in (INCIDENTS, INCIDENT_HISTORY, VERDICTS, OUTBOX)
            ]

    before = counts()
    assert incident.as_of is not None
    store.refresh([incident], now=incident.as_of)
    after = counts()
    engine.dispose()
    return before, after


def kill_in_tick(url: str, incident: Incident, moment: str) -> None:
    """Let a process take a tick, and kill it at a moment."""
    told = orjson.dumps(incident_json(incident)).decode()
    command = [sys.executable, "-c", CHILD, url, POLICY, told]
    with subprocess.Popen([*command, str(incident.as_of), moment], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        child.send_signal(signal.SIGKILL)
