"""Tests of `paceline watch` and `paceline serve`: pages, metrics, signals, refusals."""

import re
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

import pytest
import requests
from typer.testing import CliRunner

from paceline.main import app
from paceline.setting_parts import SettingsError
from paceline.settings import Settings, load_settings
from paceline.watching.wiring import wired

PROGRAM = (sys.executable, "-m", "paceline")
SETTINGS = """
cluster = "here"
state = "state"
[[logs]]
name = "ranks"
paths = ["live/*.jsonl"]
[watch]
tick = "20s"
[service]
port = 0
"""


def moved(settings: Settings, folder: Path) -> Settings:
    """Settings as seen from elsewhere."""
    return settings.model_copy(update={"state": str(folder / settings.state)})


def _now() -> datetime:
    return datetime.now(UTC)


def address_in(log: IO[str]) -> str:
    """The address that a process says it serves."""
    for line in log:
        if found := re.search(r"msg=serving address=(\S+)", line):
            return found[1]
    pytest.fail("it served nothing")


def fetched(url: str, has: str) -> str:
    """What is at an address, once it has a text in it."""
    give_up, text = time.monotonic() + 30, ""
    while time.monotonic() < give_up:
        text = requests.get(url, timeout=10).text
        if has in text:
            return text
        time.sleep(0.2)
    pytest.fail(f"{has!r} never stood in {url}: {text[:500]}")


def test_serve(tmp_path: Path) -> None:
    """It serves pages and metrics of what it reads, and SIGTERM ends it with 0 after its tick."""
    (tmp_path / "live").mkdir()
    now = datetime.now(UTC).timestamp()
    record = f'{{"step":1,"rank":0,"t":{now},"compute_s":0.9,"step_s":1.0}}\n'
    (tmp_path / "live/rank-0.jsonl").write_text(record, encoding="utf-8")
    (tmp_path / "paceline.toml").write_text(SETTINGS, encoding="utf-8")
    command = [*PROGRAM, "watch", "--config", "paceline.toml"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        url = address_in(process.stderr)
        age = 'paceline_source_age_seconds{cluster="here",source="ranks"}'
        metrics = fetched(f"{url}/metrics", age)
        page = requests.get(url, timeout=10)
        settings = load_settings(tmp_path / "paceline.toml")
        with pytest.raises(SettingsError) as held, wired(moved(settings, tmp_path), {}, _now):
            pytest.fail("two processes may not share a state")
        process.send_signal(signal.SIGTERM)
        rest = process.stderr.read()
        status = process.wait(timeout=30)

    assert 'paceline_watch_ticks_total{cluster="here"}' in metrics
    assert (page.status_code, "Paceline" in page.text) == (200, True)
    assert str(held.value).endswith(
        "is held by another paceline; give this one a folder of its own"
    )
    assert (status, rest.strip().splitlines()[-1].partition(" ")[2]) == (
        0,
        "level=info msg=stopped cluster=here",
    )


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param(
            SETTINGS.replace("port = 0", "prt = 0"),
            "paceline: paceline.toml: service.prt: no such setting; see "
            "docs/guides/run-the-service.md\n",
            id="a word that is mistyped",
        ),
    ],
)
def test_refused(tmp_path: Path, settings: str, expected: str) -> None:
    """Settings that cannot be used are one line, and exit 2."""
    (tmp_path / "paceline.toml").write_text(settings, encoding="utf-8")
    done = CliRunner().invoke(app, ["serve", "--config", str(tmp_path / "paceline.toml")])

    assert (done.exit_code, done.stdout, done.stderr.replace(f"{tmp_path}/", "")) == (
        2,
        "",
        expected,
    )
