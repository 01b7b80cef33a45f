"""The doctor's command line, with a real Prometheus."""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from paceline.main import app

RUN = CliRunner()
NOW = datetime(2026, 1, 5, 4, tzinfo=UTC)
SPAN = ["--since", "2026-01-05T03:50:00", "--until", "2026-01-05T04:00:00"]
Serve = Callable[[str], AbstractContextManager[Any]]


def asked(*arguments: str) -> tuple[int, str]:
    """The exit and everything that was printed."""
    result = RUN.invoke(app, ["doctor", *arguments])
    return result.exit_code, result.output


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        pytest.param([], 2, "nothing to examine", id="nothing to examine"),
        pytest.param(["no/such/path"], 1, "no such file or folder", id="a missing path"),
        pytest.param(["--store", "no/such/store"], 1, "no store at", id="a missing store"),
        pytest.param(["--prometheus", "localhost"], 2, "no address of a server", id="no address"),
        pytest.param(["--time-zone", "Mars", "."], 2, "no time zone", id="no zone"),
    ],
)
def test_refusals(arguments: list[str], code: int, words: str) -> None:
    """Bad arguments get one line that says the way out."""
    exit_code, output = asked(*arguments)

    assert (exit_code, words in output, output.count("\n")) == (code, True, 1)


def test_a_server_that_does_not_answer() -> None:
    """A dead server is a source that does not answer, and nothing else answers: exit 1."""
    exit_code, output = asked("--prometheus", "http://127.0.0.1:9", "--minutes", "1")

    assert (exit_code, "MISSING prometheus http://127.0.0.1:9" in output) == (1, True)


def history() -> str:
    """A target that is up and one that is down; clocks of a GPU; a host whose clock is ahead."""
    lines = ["# TYPE up gauge"]
    stamps = [(NOW - timedelta(seconds=15 * at)).timestamp() for at in range(20, 0, -1)]
    lines += [f'up{{job="dcgm",instance="n1:9400"}} 1 {stamp:.0f}' for stamp in stamps]
    lines += [f'up{{job="dcgm",instance="n2:9400"}} 0 {stamp:.0f}' for stamp in stamps]
    lines += ["# TYPE DCGM_FI_DEV_SM_CLOCK gauge"]
    lines += [
        f'DCGM_FI_DEV_SM_CLOCK{{gpu="0",UUID="GPU-a",Hostname="n1"}} 1755 {stamp:.0f}'
        for stamp in stamps
    ]
    lines += ["# TYPE node_time_seconds gauge"]
    for host, ahead in (("n1", 0), ("n2", 0), ("n3", 90)):
        lines += [
            f'node_time_seconds{{instance="{host}:9100"}} {stamp + ahead:.0f} {stamp:.0f}'
            for stamp in stamps
        ]
    return "\n".join([*lines, "# EOF", ""])


def test_a_live_server(prometheus: Serve) -> None:
    """Targets, signals and clocks of a real server are told as of the time asked for."""
    with prometheus(history()) as server:
        exit_code, output = asked(
            "--prometheus", server.url, "--now", "2026-01-05T04:00:00", "--format", "json"
        )
    told = json.loads(output)
    needs = {one["what"]: one["state"] for one in told["needs"]}

    assert exit_code == 0
    assert {one["name"]: one["state"] for one in told["sources"]} == {
        "job dcgm": "part",
        f"prometheus {server.url}": "ok",
    }
    assert (needs["SM clocks of GPUs"], needs["power of GPUs"]) == ("ok", "missing")
    assert [(one["host"], one["is_off"]) for one in told["clocks"]] == [
        ("n3", True),
        ("n1", False),
        ("n2", False),
    ]


def test_files(tmp_path: Path) -> None:
    """Files are examined as they are: nothing in them is old."""
    path = tmp_path / "hx8-017.prom"
    path.write_text(
        'DCGM_FI_DEV_SM_CLOCK{gpu="0",UUID="GPU-a",Hostname="n1"} 1755 1000000000000\n',
        encoding="utf-8",
    )
    exit_code, output = asked(str(tmp_path))

    assert (exit_code, "ok      " + tmp_path.name in output, "OLD" in output) == (0, True, False)


def test_a_store_remembers(tmp_path: Path) -> None:
    """A signal that was stored earlier is old, not missing; one in the future is ahead."""
    page = tmp_path / "hx8-017.prom"
    stamp = int((NOW - timedelta(hours=3)).timestamp() * 1000)
    page.write_text(
        f'DCGM_FI_DEV_SM_CLOCK{{gpu="0",UUID="GPU-a",Hostname="n1"}} 1755 {stamp}\n',
        encoding="utf-8",
    )
    store = str(tmp_path / "store")
    RUN.invoke(app, ["collect", str(page), "--store", store])
    _, output = asked("--store", store, "--now", "2026-01-05T04:00:00")
    _, early = asked("--store", store, "--now", "2026-01-05T00:00:00")

    assert "OLD     SM clocks of GPUs" in output
    assert "newest 3 h old" in output
    assert "newest 60 min ahead of now" in early


def test_a_metric_that_vanished(prometheus: Serve, tmp_path: Path) -> None:
    """A metric that a server had while it was collected, and has no more, is named with its end."""
    store = str(tmp_path / "store")
    with prometheus(history()) as server:
        RUN.invoke(
            app,
            ["collect", "--prometheus", server.url, "--store", store, *SPAN],
        )
    _, fresh = asked("--store", store, "--now", "2026-01-05T04:00:00")
    _, later = asked("--store", store, "--now", "2026-01-05T09:00:00", "--format", "json")
    _, text = asked("--store", store, "--now", "2026-01-05T09:00:00")

    assert "GONE" not in fresh
    assert "GONE    DCGM_FI_DEV_SM_CLOCK of prometheus" in text
    assert {one["metric"] for one in json.loads(later)["gone"]} >= {"DCGM_FI_DEV_SM_CLOCK"}
