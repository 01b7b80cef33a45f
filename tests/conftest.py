"""What tests share: golden files, and real servers where they are installed."""

import itertools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import requests
import sqlalchemy
from hypothesis import settings

from collectors.dialects import read_file
from collectors.readings import Reading, join_readings
from collectors.sniffing import ReadOptions
from detectors.crashes import CrashParams, find_crashes
from detectors.hangs import HangParams, find_hangs
from detectors.network_faults import NetworkFaultParams, find_network_faults
from detectors.placing import rank_roles
from detectors.verdicts import Verdict, verdicts_of

# A busy machine must not fail a property, and CI must fail on the same examples as we do.
settings.register_profile("paceline", deadline=None, derandomize=True)
settings.load_profile("paceline")

GOLDEN_FOLDER = Path(__file__).parent / "golden"
START_SECONDS = 30.0
LOOPBACK = "127.0.0.1"
# Where Debian keeps PostgreSQL's programs, off the path.
_POSTGRES_FOLDERS = sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin")), reverse=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class PrometheusServer:
    """A running Prometheus.

    Attributes:
        url: Where it answers, without a slash at the end.
    """

    url: str


def installed(program: str, *folders: str) -> str:
    """Return the path of a program, or leave the test: a skip, or a failure where one is due."""
    path = shutil.which(program, path=os.pathsep.join([os.environ.get("PATH", ""), *folders]))
    if path is not None:
        return path
    reason = f"{program} is not installed (`make services` installs it)"
    if os.environ.get("PACELINE_REQUIRE_SERVICES") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def promtool() -> str:
    """The path of promtool."""
    return installed("promtool")


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of Chromium."""
    return installed("chromium")


@pytest.fixture(scope="session")
def prometheus(
    promtool: str, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., AbstractContextManager[PrometheusServer]]:
    """A factory of servers over backfilled history; each runs for one `with` block.

    The text must end in `# EOF`, stamp every sample, and lie at least 3 h in the past. Further
    arguments are flags of the server.
    """
    binary = installed("prometheus")

    @contextmanager
    def serve(openmetrics: str, *flags: str) -> Iterator[PrometheusServer]:
        folder = tmp_path_factory.mktemp("prometheus")
        backfill(promtool, openmetrics, folder)
        url = f"http://{LOOPBACK}:{free_port()}"
        with running([binary, *flags], folder, url):
            yield PrometheusServer(url=url)

    return serve


@pytest.fixture(scope="session")
def live_prometheus(
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[dict[str, str]], AbstractContextManager[PrometheusServer]]:
    """A factory of servers that start empty, scrape and evaluate; each runs for one `with` block.

    The files are `prometheus.yml` and what it names, by name.
    """
    binary = installed("prometheus")

    @contextmanager
    def serve(files: dict[str, str]) -> Iterator[PrometheusServer]:
        folder = tmp_path_factory.mktemp("live")
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        url = f"http://{LOOPBACK}:{free_port()}"
        with running([binary], folder, url):
            yield PrometheusServer(url=url)

    return serve


@pytest.fixture(scope="session")
def alertmanager(
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[str], AbstractContextManager[str]]:
    """A factory of Alertmanagers with a configuration each; a `with` block yields its address."""
    binary = installed("prometheus-alertmanager")

    @contextmanager
    def serve(config: str) -> Iterator[str]:
        folder = tmp_path_factory.mktemp("alertmanager")
        (folder / "alertmanager.yml").write_text(config, encoding="utf-8")
        url = f"http://{LOOPBACK}:{free_port()}"
        command = [
            binary,
            f"--config.file={folder / 'alertmanager.yml'}",
            f"--storage.path={folder / 'data'}",
            f"--web.listen-address={url.removeprefix('http://')}",
            "--cluster.listen-address=",
        ]
        with started(command, url, folder / "alertmanager.log"):
            yield url

    return serve


@pytest.fixture(scope="session")
def openmetrics() -> Callable[[pl.DataFrame], str]:
    """A writer: series (`metric`, labels, `time`, `value`) as text that can be backfilled.

    A null label is absent. Metrics are counters, so their names end in `_total`. Times should be
    multiples of 125 ms: promtool cuts others down by up to a millisecond.
    """
    return write_openmetrics


@pytest.fixture
def read_texts(tmp_path: Path) -> Callable[[dict[str, str]], Reading]:
    """A reader: `read_texts({name: text})` reads each text as the file of that name."""

    def read(files: dict[str, str]) -> Reading:
        for name, text in files.items():
            (tmp_path / name).write_text(text, encoding="utf-8")
        options = ReadOptions(year=2026)
        return join_readings(read_file(tmp_path / name, name, options) for name in sorted(files))

    return read


@pytest.fixture
def log_verdicts(
    read_texts: Callable[[dict[str, str]], Reading],
) -> Callable[[dict[str, str]], list[Verdict]]:
    """What the detectors of logs say of texts: crashes, hangs, network faults."""

    def judge(files: dict[str, str]) -> list[Verdict]:
        reading = read_texts(files)
        steps, events = reading.steps.lazy(), reading.events.lazy()
        roles = rank_roles(reading.placements.lazy(), reading.samples.lazy())
        collectives = reading.collectives.lazy()
        frames = (
            find_crashes(events, steps, roles, CrashParams()),
            find_hangs(steps, collectives, events, roles, HangParams()),
            find_network_faults(events, roles, NetworkFaultParams()),
        )
        return [one for frame in frames for one in verdicts_of(frame)]

    return judge


@pytest.fixture
def golden() -> Callable[[str, str], None]:
    """A check: `golden(name, text)` compares with `tests/golden/<name>`.

    With PACELINE_REWRITE_GOLDEN=1 the file is written first. An absolute path is taken as it is,
    for what we emit and commit elsewhere.
    """

    def check(name: str, text: str) -> None:
        path = GOLDEN_FOLDER / name
        if os.environ.get("PACELINE_REWRITE_GOLDEN") == "1":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8"), (
            f"{name} differs; see PACELINE_REWRITE_GOLDEN"
        )

    return check


def write_openmetrics(series: pl.DataFrame) -> str:
    """Return series of counters as OpenMetrics text, each family in one piece."""
    lines: list[str] = []
    for (metric,), family in series.sort("metric", "time").group_by("metric", maintain_order=True):
        lines.append(f"# TYPE {str(metric).removesuffix('_total')} counter")
        for row in family.iter_rows(named=True):
            labels = {k: v for k, v in row.items() if k not in {"metric", "time", "value"}}
            inside = ",".join(f'{k}="{v}"' for k, v in labels.items() if v is not None)
            stamp = row["time"].timestamp()
            lines.append(f"{metric}{{{inside}}} {row['value']!r} {stamp:.3f}")
    return "\n".join([*lines, "# EOF", ""])


def free_port() -> int:
    """Return a port of the loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def backfill(promtool: str, openmetrics: str, folder: Path) -> None:
    """Write OpenMetrics text as blocks into the data folder of a server that has not started."""
    source = folder / "history.om"
    source.write_text(openmetrics, encoding="utf-8")
    command = [promtool, "tsdb", "create-blocks-from", "openmetrics", "--max-block-duration=24h"]
    subprocess.run(
        [*command, str(source), str(folder / "data")], check=True, capture_output=True, timeout=120
    )


@contextmanager
def running(program: list[str], folder: Path, url: str) -> Iterator[None]:
    """Run a server, with its flags, over a data folder until the block ends."""
    config = folder / "prometheus.yml"
    if not config.is_file():
        config.write_text("global: {scrape_interval: 15s}\n", encoding="utf-8")
    command = [
        *program,
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'data'}",
        "--storage.tsdb.retention.time=10y",
        f"--web.listen-address={url.removeprefix('http://')}",
    ]
    with started(command, url, folder / "prometheus.log"):
        yield


@contextmanager
def started(command: list[str], url: str, log: Path) -> Iterator[None]:
    """Run a server until the block ends."""
    with (
        log.open("wb") as output,
        subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT) as process,
    ):
        try:
            wait_until_ready(url, process, log)
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=START_SECONDS)


def wait_until_ready(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until a server answers queries; blocks of its data folder are visible by then."""
    give_up = time.monotonic() + START_SECONDS
    while time.monotonic() < give_up:
        if process.poll() is not None:
            break
        with suppress(requests.ConnectionError, requests.Timeout):
            if requests.get(f"{url}/-/ready", timeout=5).ok:
                return
        time.sleep(0.1)
    pytest.fail(f"{log.stem} did not get ready: {log.read_text(encoding='utf-8')[-2000:]}")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Callable[[], str]]:
    """A factory of addresses, each of a new and empty database on one PostgreSQL for all tests."""
    binaries = [installed(name, *_POSTGRES_FOLDERS) for name in ("initdb", "postgres")]
    with tempfile.TemporaryDirectory(prefix="paceline-pg-") as folder:
        home, port = Path(folder), free_port()
        user = _unprivileged(home)
        subprocess.run(
            [binaries[0], "-D", home / "data", "-U", "paceline", "-A", "trust", "--no-sync"],
            **user,
            check=True,
            capture_output=True,
        )
        flags = ["-F", "-h", LOOPBACK, "-p", str(port), "-k", str(home)]
        command = [binaries[1], "-D", str(home / "data"), *flags]
        with (
            (home / "postgres.log").open("wb") as output,
            subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, **user) as process,
        ):
            try:
                yield _databases(f"paceline@{LOOPBACK}:{port}", process, home / "postgres.log")
            finally:
                # The quick way down: nothing of it is needed any more.
                process.send_signal(signal.SIGQUIT)
                process.wait(timeout=START_SECONDS)


def _unprivileged(home: Path) -> dict[str, Any]:
    """Return how to start what refuses to run as root, in a folder that is made its own."""
    if os.geteuid() != 0:
        return {}
    names = {entry.pw_name for entry in pwd.getpwall()}
    name = "postgres" if "postgres" in names else "nobody"
    shutil.chown(home, name)
    return {"user": name, "cwd": home}


def _databases(server: str, process: subprocess.Popen[bytes], log: Path) -> Callable[[], str]:
    """Return a maker of databases on a server, once it answers."""
    numbers = itertools.count(1)
    engine = sqlalchemy.create_engine(
        f"postgresql+pg8000://{server}/postgres",
        isolation_level="AUTOCOMMIT",
        poolclass=sqlalchemy.NullPool,
    )
    give_up = time.monotonic() + START_SECONDS
    while True:
        try:
            engine.connect().close()
            break
        except sqlalchemy.exc.DBAPIError:
            if process.poll() is not None or time.monotonic() > give_up:
                pytest.fail(f"no PostgreSQL: {log.read_text(encoding='utf-8')[-2000:]}")
            time.sleep(0.05)

    def make() -> str:
        name = f"t{next(numbers)}"
        with engine.connect() as connection:
            connection.exec_driver_sql(f"CREATE DATABASE {name}")
        return f"postgresql+pg8000://{server}/{name}"

    return make


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty incident database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'incidents.db'}"
    make: Callable[[], str] = request.getfixturevalue("postgres")
    return make()
