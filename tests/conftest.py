"""What tests share: golden files, and real servers where they are installed."""

import itertools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import requests
import sqlalchemy
from hypothesis import settings

from alerts.blast_radii import RunFacts
from alerts.faults import JoinParams
from alerts.firings import Firing
from alerts.incidents import Incident, join_incidents
from alerts.service.live import NodeState, PairState, RawLine, SloState, SourceState
from alerts.storing.databases import open_database
from alerts.storing.incident_store import IncidentStore
from collectors.dialects import read_file
from collectors.readings import Reading, join_readings
from collectors.sniffing import ReadOptions
from detectors.crashes import CrashParams, find_crashes
from detectors.hangs import HangParams, find_hangs
from detectors.network_faults import NetworkFaultParams, find_network_faults
from detectors.placing import rank_roles
from detectors.verdicts import Evidence, Subject, Verdict, verdicts_of
from paceline.engines.engines import Engine, EngineChoice, opened_engine
from paceline.engines.local import LocalEngine

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


Answering = tuple[int | None, bytes, dict[str, str], float]
"""How a receiver answers: status (null closes without a word), body, headers, after how long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """One request as a receiver got it.

    Attributes:
        path: Path with its query.
        headers: Headers, names in small letters.
        body: Body.
    """

    path: str
    headers: dict[str, str]
    body: bytes


class HttpReceiver:
    """A server that keeps what it gets and answers as it is told, `ok` when told nothing."""

    def __init__(self) -> None:
        """Listen on a free port of the loopback."""
        self.received: list[Received] = []
        self.plan: deque[Answering] = deque()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            """Takes any request."""

            def do_POST(self) -> None:
                """Keep a request and answer as planned."""
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                headers = {name.lower(): value for name, value in self.headers.items()}
                receiver.received.append(Received(path=self.path, headers=headers, body=body))
                status, text, extra, seconds = (
                    receiver.plan.popleft() if receiver.plan else (200, b"ok", {}, 0.0)
                )
                time.sleep(seconds)
                if status is not None:
                    self.reply(status, text, extra)

            do_GET = do_POST  # noqa: N815 - the server's own name

            def reply(self, status: int, text: bytes, extra: dict[str, str]) -> None:
                """Send an answer to whoever still waits for it."""
                with suppress(OSError):
                    self.send_response(status)
                    for name, value in extra.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(text)

            def log_message(self, format: str, *_: object) -> None:  # noqa: A002 - its own name
                """Say nothing."""

        self.server = ThreadingHTTPServer((LOOPBACK, 0), Handler)
        self.url = f"http://{LOOPBACK}:{self.server.server_port}"

    def answers(
        self,
        status: int | None,
        body: bytes = b"",
        headers: dict[str, str] | None = None,
        after_seconds: float = 0.0,
    ) -> None:
        """Plan the answer to the next request that has none; a null status closes without one."""
        self.plan.append((status, body, headers or {}, after_seconds))


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


@pytest.fixture
def http_receiver() -> Iterator[HttpReceiver]:
    """A server that a test tells how to answer, and asks what it got."""
    receiver = HttpReceiver()
    thread = threading.Thread(target=receiver.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield receiver
    receiver.server.shutdown()
    thread.join()
    receiver.server.server_close()


@pytest.fixture(scope="session")
def slow_host_incident() -> Incident:
    """An incident of run `orion`: a slow host with evidence, and a burn of the page tier."""
    onset = datetime(2026, 1, 5, 1, 20, tzinfo=UTC)
    verdict = Verdict(
        kind="slow",
        level="host",
        subject=Subject(run="orion", host="hx8-015"),
        confidence="high",
        onset=onset,
        detected=onset + timedelta(minutes=3),
        slowdown=1.4,
        cause="thermal",
        evidence=(Evidence(source="steps", time=onset, what="rank 116 takes <1.4> s & more"),),
        action="drain the host",
    )
    firing = Firing(
        objective="training-steps",
        title="Training steps keep their pace",
        promise="99 % over 30d",
        run="orion",
        severity="page",
        long_seconds=3600,
        short_seconds=300,
        factor=14.4,
        active_at=onset + timedelta(minutes=2),
        fired_at=onset + timedelta(minutes=6),
        runbook_url="https://runbooks.example/steps",
        dashboard_url="https://grafana.example/d/job?var-run=orion",
    )
    now = onset + timedelta(minutes=10)
    (incident,) = join_incidents([verdict], [firing], RunFacts.unknown(), JoinParams(), now=now)
    return incident


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
    # A driver that is refused leaves its socket open, so the log is asked.
    while "ready to accept connections" not in (told := log.read_text(encoding="utf-8")):
        if process.poll() is not None or time.monotonic() > give_up:
            pytest.fail(f"no PostgreSQL: {told[-2000:]}")
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


SERVICE_NOW = datetime(2026, 1, 5, 1, 40, 2, tzinfo=UTC)
HOSTILE_TEXT = "</td><script>alert(1)</script><img src=x onerror=alert(1)>\u202e&\"'"


@dataclass(frozen=True, slots=True, kw_only=True)
class StillLive:
    """A watch that stands still at `SERVICE_NOW`.

    Attributes:
        tick: When the last tick was done.
        source_states: One source of each state.
        node_states: One host of each state.
        slo_states: One objective that burns.
        drawings: Drawings of any incident.
        lines: Lines by source.
    """

    tick: datetime | None = SERVICE_NOW - timedelta(seconds=12)
    source_states: Sequence[SourceState] = (
        SourceState(name="prometheus", age_seconds=15.0, state="current", last_seen=SERVICE_NOW),
        SourceState(
            name="rack-7 logs",
            age_seconds=4200.0,
            state="silent",
            last_seen=SERVICE_NOW - timedelta(seconds=4200),
        ),
        SourceState(name="switch telemetry", age_seconds=None, state="unknown"),
    )
    node_states: Sequence[NodeState] = (
        NodeState(host="hx8-015", state="suspect", run="W-TRAIN", kinds=("slow",)),
        NodeState(host="hx8-016", state="watched", run="W-TRAIN"),
        NodeState(host="hx8-017", state="silent", since=SERVICE_NOW - timedelta(hours=1)),
        NodeState(host="hx8-018", state="unknown"),
    )
    slo_states: Sequence[SloState] = (
        SloState(
            objective="training-steps",
            title="Training steps keep their pace",
            promise="99 % over 30d",
            run="W-TRAIN",
            pairs=(
                PairState(
                    severity="page",
                    long_seconds=3600,
                    short_seconds=300,
                    factor=14.4,
                    long_burn_rate=38.5,
                    short_burn_rate=100.0,
                    is_firing=True,
                ),
                PairState(
                    severity="ticket",
                    long_seconds=86400,
                    short_seconds=7200,
                    factor=3.0,
                    long_burn_rate=None,
                    short_burn_rate=None,
                    is_firing=False,
                ),
            ),
            budget_left_ratio=0.81,
            age_seconds=20.0,
        ),
    )
    drawings: Mapping[str, str] = field(default_factory=dict[str, str])
    lines: Mapping[str, Sequence[RawLine]] = field(
        default_factory=lambda: {
            "rank-116.log:120": (
                RawLine(number=119, text="step 119 took 17.4 s"),
                RawLine(number=120, text=f"step 120 took 21.9 s {HOSTILE_TEXT}", is_meant=True),
            )
        }
    )

    def sources(self) -> Sequence[SourceState]:
        """Return the sources."""
        return self.source_states

    def nodes(self) -> Sequence[NodeState]:
        """Return the hosts."""
        return self.node_states

    def slo_state(self) -> Sequence[SloState]:
        """Return the objectives."""
        return self.slo_states

    def plots(self, incident_id: str) -> Mapping[str, str]:  # noqa: ARG002 - all have the same
        """Return the drawings."""
        return self.drawings

    def raw_lines(self, source: str) -> Sequence[RawLine]:
        """Return the lines of one file."""
        return self.lines.get(source, ())

    def last_tick(self) -> datetime | None:
        """Return when the last tick was done."""
        return self.tick

    def metrics(self) -> bytes:
        """Return one metric."""
        return b"# TYPE training_steps_total counter\ntraining_steps_total 1\n"

    def shares(self) -> Mapping[str, int]:
        """Return that nothing is shared."""
        return {}


@pytest.fixture(scope="session")
def thermal_incident() -> Incident:
    """A GPU that throttles and holds up a run, with hostile words and a hostile link in it."""
    suspect = Verdict(
        kind="slow",
        level="gpu",
        subject=Subject(run="W-TRAIN", host="hx8-015", rank=116, gpu=4),
        onset=SERVICE_NOW - timedelta(minutes=25, seconds=2),
        detected=SERVICE_NOW - timedelta(minutes=21, seconds=2),
        slowdown=1.31,
        cause="thermal",
        confidence="high",
        peer_count=255,
        evidence=(
            Evidence(source="gpu samples", what="SM clock 1.485 GHz where 255 peers have 1.95 GHz"),
            Evidence(
                source="rank-116.log:120",
                time=SERVICE_NOW - timedelta(minutes=20),
                what=f"step 120 took 21.9 s {HOSTILE_TEXT}",
            ),
        ),
        victims=("rank 8", "rank 10"),
        action="drain the node after the next checkpoint; check fans, inlet and thermal paste",
    )
    burn = Firing(
        objective="training-steps",
        title="Training steps keep their pace",
        promise="99 % over 30d",
        run="W-TRAIN",
        severity="page",
        long_seconds=3600,
        short_seconds=300,
        factor=14.4,
        active_at=SERVICE_NOW - timedelta(minutes=14),
        fired_at=SERVICE_NOW - timedelta(minutes=13),
        long_bad=31.0,
        long_total=206.0,
        short_bad=15.0,
        short_total=15.0,
        long_burn_rate=15.1,
        short_burn_rate=100.0,
        budget_left_ratio=0.81,
        runbook_url="javascript:alert(1)",
        dashboard_url="https://grafana.example/d/aif-job",
    )
    facts = RunFacts.unknown()
    (incident,) = join_incidents([suspect], [burn], facts, JoinParams(), now=SERVICE_NOW)
    return incident


@pytest.fixture(scope="session")
def service_now() -> datetime:
    """The moment at which the service of the tests stands still."""
    return SERVICE_NOW


@pytest.fixture(scope="session")
def still_live() -> StillLive:
    """A watch that stands still; `dataclasses.replace` gives it other things to tell."""
    return StillLive()


@pytest.fixture(scope="session")
def open_thermal_store(
    tmp_path_factory: pytest.TempPathFactory, thermal_incident: Incident
) -> Callable[[], AbstractContextManager[IncidentStore]]:
    """A factory of stores that hold `thermal_incident`, each in a file of its own."""
    folder = tmp_path_factory.mktemp("thermal")
    first = open_database(f"sqlite:///{folder / 'first.db'}")
    IncidentStore(first).refresh([thermal_incident], now=SERVICE_NOW)
    first.dispose()

    @contextmanager
    def open_store() -> Iterator[IncidentStore]:
        copy = tmp_path_factory.mktemp("copy") / "incidents.db"
        shutil.copyfile(folder / "first.db", copy)
        engine = open_database(f"sqlite:///{copy}")
        yield IncidentStore(engine)
        engine.dispose()

    return open_store


@pytest.fixture
def thermal_store(
    open_thermal_store: Callable[[], AbstractContextManager[IncidentStore]],
) -> Iterator[IncidentStore]:
    """A store that holds `thermal_incident`."""
    with open_thermal_store() as store:
        yield store


@pytest.fixture(scope="session")
def ray() -> Iterator[Engine]:
    """Ray with two workers, started once: that takes seconds."""
    with opened_engine(EngineChoice(name="ray", workers=2)) as engine:
        yield engine


@pytest.fixture(params=["local", "ray"])
def engine(request: pytest.FixtureRequest) -> Engine:
    """Each of the engines."""
    one: Engine = LocalEngine() if request.param == "local" else request.getfixturevalue("ray")
    return one
