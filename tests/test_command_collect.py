"""`paceline collect`, as its users type it: once, following, killed, twice at a time, disk full."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner, Result

from collectors.storage.store import Store
from collectors.storage.store_commits import NoStoreError
from paceline.main import app

START = datetime(2026, 1, 5, 4, tzinfo=UTC)
SPAN = ("--since", "2026-01-05T04:00:00", "--until", "2026-01-05T05:00:00")
NOBODY = "http://127.0.0.1:9"
COLLECT = [sys.executable, "-m", "paceline", "collect"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """What the fixture of a Prometheus gives: its address."""

    url: str


Running = Callable[..., AbstractContextManager[Server]]


def call(*arguments: str | Path) -> Result:
    """Run the command line."""
    return CliRunner().invoke(app, ["collect", *(str(each) for each in arguments)])


def steps(first: int, last: int) -> str:
    """Lines of a trainer's log, one a step."""
    return "".join(
        f"[2026-01-05 04:{step // 60:02d}:{step % 60:02d}] iteration {step}/ 900 | "
        "elapsed time per iteration (ms): 1000.0 | lm loss: 2.0E+00\n"
        for step in range(first, last + 1)
    )


def stored_steps(root: Path) -> list[int]:
    """All steps in a store, in order."""
    return Store.open_at(str(root)).read("steps").collect()["step"].sort().to_list()


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A folder with a log of five steps."""
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "train.log").write_text(steps(1, 5))
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Where a store may be made."""
    return tmp_path / "store"


def test_files_are_taken_once(logs: Path, root: Path) -> None:
    """The first call stores all and says so by frame; the second has nothing new."""
    first = call(logs, "--store", root)
    second = call(logs, "--store", root)

    assert (first.exit_code, second.exit_code) == (0, 0)
    assert first.output.splitlines() == [
        f"Store {root}: 1 files and 0 windows were new.",
        "  steps                   5 rows",
    ]
    assert second.output.splitlines()[-1] == "  nothing new"
    assert stored_steps(root) == [1, 2, 3, 4, 5]


def test_json_summary(logs: Path, root: Path) -> None:
    """The summary for machines is one object; what could not be read is named in it."""
    locked = logs / "gone.log"
    locked.symlink_to("/proc/self/mem")
    result = call(logs, "--store", root, "--format", "json")

    assert json.loads(result.stdout) == {
        "store": str(root),
        "added": {"steps": 5},
        "files": 1,
        "windows": 0,
        "problems": [f"{logs.name}/gone.log: Input/output error"],
    }


def test_a_store_below_the_folder_is_left_out(logs: Path) -> None:
    """The store's own files are no sources, wherever it lies."""
    results = [call(logs, "--store", logs / "store", "--format", "json") for _ in range(2)]

    assert [json.loads(one.stdout)["files"] for one in results] == [1, 0]


@pytest.mark.parametrize(
    ("arguments", "words", "code"),
    [
        pytest.param([], "nothing to collect", 2, id="neither files nor a server"),
        pytest.param(["gone"], "no such file or folder", 1, id="a path that is not there"),
        pytest.param(["--prometheus", "host:9090"], "no address", 2, id="no address"),
        pytest.param([".", "--every", "soon"], "--every: 'soon' is no duration", 2, id="no span"),
        pytest.param([".", "--window", "0s"], "--window: '0s' is no duration", 2, id="a zero span"),
        pytest.param([".", "--match", "a=b"], "needs --prometheus", 2, id="a label of no series"),
        pytest.param(
            ["--prometheus", NOBODY, "--match", "gpu"], "no NAME=VALUE", 2, id="no label value"
        ),
        pytest.param(
            ["--prometheus", NOBODY, "--match", "a-b=c"], "no label name", 2, id="no label name"
        ),
        pytest.param([".", "--time-zone", "Mars"], "no time zone", 2, id="no time zone"),
        pytest.param([".", "--boot", "soon"], "--boot 'soon' is no time", 2, id="no start"),
        pytest.param([".", "--host", ""], "is no name of a host", 2, id="no host"),
        pytest.param([".", "--xid-table", "x"], "cannot be read", 2, id="no table of Xids"),
        pytest.param(
            [".", "--since", "2026-01-05", "--until", "2026-01-05"],
            "--until must be after",
            2,
            id="an empty span",
        ),
    ],
)
def test_bad_arguments(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    words: str,
    code: int,
) -> None:
    """What cannot be done is one line that says so."""
    monkeypatch.chdir(tmp_path)
    result = call(*arguments, "--store", "store")

    assert result.exit_code == code
    assert words in result.stderr
    assert result.stderr.count("\n") == 1


def test_nobody_there(root: Path) -> None:
    """A server that does not answer is one line and exit 1."""
    result = call("--prometheus", NOBODY, "--store", root, *SPAN)

    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert "check the address" in result.stderr


def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait until a condition holds."""
    give_up = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < give_up
        time.sleep(0.1)


@contextmanager
def started(command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """A process that does not outlive its test, whatever the test finds."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def has_steps(root: Path, expected: list[int]) -> Callable[[], bool]:
    """Whether a store is there and holds just these steps."""

    def check() -> bool:
        try:
            return stored_steps(root) == expected
        except NoStoreError:  # it is being made
            return False

    return check


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_following_files(logs: Path, root: Path, number: signal.Signals) -> None:
    """Following, new lines and new files are stored as they come; a signal ends it cleanly."""
    command = [*COLLECT, str(logs), "--store", str(root), "--follow", "--every", "0.2s"]
    with started([*command, "--format", "json"]) as process:
        until(has_steps(root, [1, 2, 3, 4, 5]))
        with (logs / "train.log").open("a") as stream:
            stream.write(steps(6, 7) + steps(8, 8)[:30])
        (logs / "other.log").write_text(steps(100, 101))
        until(has_steps(root, [1, 2, 3, 4, 5, 6, 7, 100, 101]))
        process.send_signal(number)
        said, errors = process.communicate(timeout=60)

    assert (process.returncode, errors) == (0, b"")
    assert json.loads(said)["added"] == {"steps": 9}


def test_following_a_server_that_is_not_there(logs: Path, root: Path) -> None:
    """Following, a server that does not answer is said and tried again; files go on."""
    command = [*COLLECT, str(logs), "--store", str(root), "--follow", "--every", "0.2s"]
    with started([*command, "--prometheus", NOBODY]) as process:
        until(has_steps(root, [1, 2, 3, 4, 5]))
        assert process.stderr is not None
        line = process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)

    assert process.returncode == 0
    assert line.startswith(b"no answer from")
    assert line.rstrip().endswith(b"trying again")


def history(minutes: int) -> str:
    """OpenMetrics of two GPUs, every 15 s for some minutes from START."""
    lines: list[str] = []
    for name in ("DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_POWER_USAGE"):
        lines.append(f"# TYPE {name} gauge")
        lines += [
            f'{name}{{gpu="{gpu}",UUID="GPU-{gpu}",Hostname="n1"}} {at % 97} '
            f"{START.timestamp() + 15 * at:.3f}"
            for gpu in range(2)
            for at in range(4 * minutes)
        ]
    return "\n".join([*lines, "# EOF", ""])


def samples_of(root: Path) -> pl.DataFrame:
    """How often each sample of the history is in a store."""
    kept = Store.open_at(str(root)).read("samples").collect()
    at = (pl.col("time") - START).dt.total_milliseconds() // 15_000
    return kept.group_by("device", "signal", at.alias("at")).len()


def assert_whole(root: Path, minutes: int) -> None:
    """Each sample of the history is in the store once."""
    found = samples_of(root)
    assert found.height == 2 * 2 * 4 * minutes
    assert found["len"].max() == 1


@pytest.mark.slow
def test_killed_at_any_moment(prometheus: Running, logs: Path, root: Path) -> None:
    """After kills at any moment, the next run completes the store: each row once."""
    (logs / "train.log").write_text(steps(1, 400))
    draw = random.Random(5)
    with prometheus(history(30)) as server:
        command = [*COLLECT, str(logs), "--prometheus", server.url, "--store", str(root), *SPAN]
        for _ in range(5):
            with subprocess.Popen([*command, "--window", "1m"], stdout=subprocess.DEVNULL) as one:
                time.sleep(draw.uniform(0.8, 2.4))
                one.kill()
        done = subprocess.run([*command, "--window", "1m"], check=True, capture_output=True)

    assert b"Store" in done.stdout
    assert_whole(root, 30)
    assert stored_steps(root) == list(range(1, 401))


@pytest.mark.slow
def test_two_at_once(prometheus: Running, logs: Path, root: Path) -> None:
    """Two collectors of the same sources, with windows of their own, store each row once."""
    with prometheus(history(20)) as server:
        command = [*COLLECT, str(logs), "--prometheus", server.url, "--store", str(root), *SPAN]
        both = [
            subprocess.Popen([*command, "--window", window], stdout=subprocess.DEVNULL)
            for window in ("2m", "3m")
        ]
        codes = [one.wait(timeout=120) for one in both]

    assert codes == [0, 0]
    assert_whole(root, 20)
    assert stored_steps(root) == [1, 2, 3, 4, 5]


def test_windows_of_a_server(prometheus: Running, root: Path) -> None:
    """A pull stores the span that was asked, with the labels that were asked."""
    with prometheus(history(10)) as server:
        arguments = ("--prometheus", server.url, "--store", root, *SPAN, "--format", "json")
        one = call(*arguments, "--match", "gpu=1")
        both = call(*arguments)

    added = [json.loads(result.stdout) for result in (one, both)]
    assert [each["added"]["samples"] for each in added] == [80, 80]
    assert [each["windows"] for each in added] == [12, 12]
    assert_whole(root, 10)


def test_old_days_are_forgotten(logs: Path, root: Path) -> None:
    """With --keep whole days that are older go, and are not taken again."""
    found = [call(logs, "--store", root, "--keep", "7d") for _ in range(2)]

    assert [one.exit_code for one in found] == [0, 0]
    assert stored_steps(root) == []


def analysis(*arguments: str | Path) -> dict[str, Any]:
    """The JSON object of an analysis."""
    result = CliRunner().invoke(
        app, ["analyze", *(str(one) for one in arguments), "--format", "json"]
    )
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_a_store_is_analysed_like_its_files(logs: Path, root: Path) -> None:
    """An analysis of a store says what one of the files says; of a span, what lies in it."""
    (logs / "rank1.log").write_text(steps(50, 90))
    call(logs, "--store", root)
    span = ("--start", "2026-01-05T04:00:02", "--end", "2026-01-05T04:00:04")

    assert analysis(root) == analysis(logs)
    assert analysis(root, *span)["coverage"]["rows"]["steps"] == 3


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a file system of a megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("only root may mount the small disk that this test fills")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk(logs: Path, small_disk: Path) -> None:
    """A full disk is one line and exit 1; with room again the same command takes the rest."""
    root = small_disk / "store"
    call(logs, "--store", root)
    (logs / "train.log").write_text(steps(1, 500))
    filler = small_disk / "filler"
    free = os.statvfs(small_disk)
    filler.write_bytes(b"0" * (free.f_bavail - 1) * free.f_frsize)
    full = call(logs, "--store", root)
    readable = stored_steps(root)
    filler.unlink()
    again = call(logs, "--store", root)

    assert (full.exit_code, again.exit_code) == (1, 0)
    assert "its disk is full" in full.stderr
    assert full.stderr.count("\n") == 1
    assert readable == [1, 2, 3, 4, 5]
    assert stored_steps(root) == list(range(1, 501))


def test_newer_store(logs: Path, root: Path) -> None:
    """A store of a newer Paceline is neither written nor read."""
    call(logs, "--store", root)
    table = Store.open_at(str(root)).place.open("steps")
    table.alter.set_table_description("schema 99")
    results = [
        call(logs, "--store", root),
        CliRunner().invoke(app, ["analyze", str(root)]),
    ]

    assert [(one.exit_code, "newer Paceline" in one.stderr) for one in results] == [(1, True)] * 2


def test_now_is_the_default_span(prometheus: Running, root: Path) -> None:
    """Without a span the last hour is taken, in windows that have ended."""
    with prometheus(history(1)) as server:
        result = call("--prometheus", server.url, "--store", root, "--format", "json")

    windows = Store.open_at(str(root)).read("windows").collect()
    length = windows["end"].max() - windows["start"].min()  # type: ignore[operator]  # times
    assert json.loads(result.stdout)["windows"] == 12
    assert length == timedelta(hours=1)
