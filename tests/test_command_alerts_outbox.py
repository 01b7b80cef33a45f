"""`paceline alerts outbox`: what receivers have not been told, and trying again."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import insert
from typer.testing import CliRunner

from alerts.storing.databases import open_database
from alerts.storing.tables import OUTBOX
from paceline.main import app

CREATED = datetime(2026, 1, 5, 2, tzinfo=UTC)


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A database with a letter that waits and one that was refused."""
    url = f"sqlite:///{tmp_path / 'paceline.db'}"
    engine = open_database(url)
    row = {"dedup_key": "d", "action": "trigger", "body": {}, "due": CREATED, "created": CREATED}
    states = {
        "a": {"state": "waiting", "attempts": 1, "last_error": "answered 503"},
        "b": {"state": "dead", "attempts": 1, "last_error": "answered 401: who are you?"},
    }
    with engine.begin() as connection:
        for key, columns in states.items():
            connection.execute(insert(OUTBOX).values(key=key, receiver=key, **row, **columns))
    engine.dispose()
    return url


def test_text(url: str) -> None:
    """A line says what waits and why, and a line what was refused and why."""
    answer = CliRunner().invoke(app, ["alerts", "outbox", "--database", url])

    assert answer.output.splitlines() == [
        "a: 1 waiting, the oldest of 2026-01-05 02:00:00 UTC (answered 503); 0 refused",
        "b: 0 waiting; 1 refused",
        "refused:",
        "  2026-01-05 02:00:00 UTC  trigger of incident not known: answered 401: who are you?",
    ]


def test_revived(url: str) -> None:
    """What a receiver refused is tried again when somebody says so."""
    command = ["alerts", "outbox", "--database", url, "--revive", "b", "--format", "json"]
    told = json.loads(CliRunner().invoke(app, command).output)

    assert told["dead"] == []
    assert [(one["receiver"], one["waiting_count"]) for one in told["receivers"]] == [
        ("a", 1),
        ("b", 1),
    ]


def test_nothing_waits(tmp_path: Path) -> None:
    """Where everything was taken, it says so."""
    url = f"sqlite:///{tmp_path / 'empty.db'}"

    assert CliRunner().invoke(app, ["alerts", "outbox", "--database", url]).output == (
        "every letter was taken\n"
    )
