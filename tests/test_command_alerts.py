"""Tests of `paceline alerts`."""

from pathlib import Path

import orjson
import pytest
from typer.testing import CliRunner

from alerts.incidents import Incident, incident_json
from alerts.storing.databases import open_database
from alerts.storing.incident_store import IncidentStore
from paceline.main import app

POLICY = """\
version: 1
receivers: [{name: oncall}]
routes: [{receivers: [oncall]}]
"""
WHAT = "#1 orion runs slow: host hx8-015 (thermal)"
TEXT = f"""\
2026-01-05 01:23:00 UTC  trigger     oncall       ticket  {WHAT}  (it is new)
2026-01-05 01:26:00 UTC  resolve     oncall       page    {WHAT}  (it is a page now)
2026-01-05 01:26:00 UTC  trigger     oncall       page    {WHAT}  (it is new)
3 messages, 1 page among them, about 1 of 1 incident
"""


def ran(*arguments: str) -> tuple[int, str]:
    """Return the exit code and what was printed on both outputs."""
    done = CliRunner().invoke(app, ["alerts", *arguments])
    return done.exit_code, done.output


@pytest.fixture
def policy(tmp_path: Path) -> str:
    """The path of a policy."""
    path = tmp_path / "policy.yml"
    path.write_text(POLICY, encoding="utf-8")
    return str(path)


@pytest.fixture
def analysis(tmp_path: Path, slow_host_incident: Incident) -> str:
    """The path of an analysis with one incident."""
    path = tmp_path / "analysis.json"
    path.write_bytes(orjson.dumps({"incidents": [incident_json(slow_host_incident)]}))
    return str(path)


@pytest.fixture
def database(tmp_path: Path, slow_host_incident: Incident) -> str:
    """The address of a database with the same incident."""
    url = f"sqlite:///{tmp_path / 'incidents.db'}"
    engine = open_database(url)
    assert slow_host_incident.as_of is not None
    IncidentStore(engine).refresh([slow_host_incident], now=slow_host_incident.as_of)
    engine.dispose()
    return url


def test_check(policy: str) -> None:
    """A policy that is one is summed up in a line."""
    assert ran("check-policy", policy) == (
        0,
        f"{policy}: 1 routes to 1 receivers, 3 rules of inhibition, 0 planned works\n",
    )


def test_no_policy(tmp_path: Path) -> None:
    """What is none is refused with the line."""
    path = tmp_path / "policy.yml"
    path.write_text("version: 1\nreceiver: []\n", encoding="utf-8")

    code, printed = ran("check-policy", str(path))

    assert code == 2
    assert printed.startswith(f"paceline: {path}:2: receiver: ")


def test_text(policy: str, analysis: str) -> None:
    """Each message is a line: when, what, to whom, about what, and why."""
    assert ran("dry-run", policy, "--analysis", analysis) == (0, TEXT)


def test_database(policy: str, database: str) -> None:
    """The incidents of the service say the same."""
    assert ran("dry-run", policy, "--database", database) == (0, TEXT)


def test_json(policy: str, analysis: str, slow_host_incident: Incident) -> None:
    """Machines get the same."""
    code, printed = ran("dry-run", policy, "--analysis", analysis, "--format", "json")

    assert code == 0
    assert orjson.loads(printed)["messages"][-1] == {
        "due": "2026-01-05T01:26:00Z",
        "decided": "2026-01-05T01:26:00Z",
        "action": "trigger",
        "receiver": "oncall",
        "severity": "page",
        "incident": slow_host_incident.id,
        "number": 1,
        "title": "orion runs slow: host hx8-015 (thermal)",
        "why": "it is new",
    }


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        pytest.param([], 2, "give one history", id="no history"),
        pytest.param(["--analysis", "gone.json"], 2, "No such file", id="no file"),
        pytest.param(["--analysis", "POLICY"], 2, "analyze --format json", id="no analysis"),
        pytest.param(["--analysis", "EMPTY"], 1, "no incident there", id="no incident"),
        pytest.param(["--database", "mysql://a"], 2, "kind 'mysql'", id="another database"),
        pytest.param(["--database", "FRESH"], 1, "no incident there", id="an empty database"),
    ],
)
def test_refusals(
    policy: str, tmp_path: Path, arguments: list[str], code: int, message: str
) -> None:
    """What cannot be tried is refused in a line with the way out."""
    empty = tmp_path / "empty.json"
    empty.write_text('{"incidents": []}', encoding="utf-8")
    fresh = f"sqlite:///{tmp_path / 'fresh.db'}"
    words = {"POLICY": policy, "EMPTY": str(empty), "FRESH": fresh}

    done, printed = ran("dry-run", policy, *(words.get(one, one) for one in arguments))

    assert done == code
    assert message in printed
