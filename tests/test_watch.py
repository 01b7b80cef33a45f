"""INC-2291 replayed into the watch: from onset to page with culprit to its end, and through kills.

The cluster is SIMULATED: four nodes, one GPU that throttles. Step records grow in a folder, the
scrapes are in a real Prometheus, the page goes to a local receiver. Time is the test's.
"""

import json
import shutil
import subprocess
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Protocol

import pytest

from alerts.delivery.couriers import deliver_due
from alerts.delivery.telling import Places
from alerts.storing.records import IncidentFilters, IncidentRecord, PageRequest
from paceline.receiver_settings import receiver_of
from paceline.settings import Settings, load_settings
from paceline.simulation.openmetrics import write_openmetrics
from paceline.simulation.orion import OrionParams, simulate
from paceline.simulation.replays import Replay
from paceline.simulation.truth import Truth
from paceline.watching.commits import Committed
from paceline.watching.grid import Due
from paceline.watching.wiring import Wired, wired

START = datetime(2026, 1, 5, tzinfo=UTC)
PARAMS = OrionParams(
    nodes=4,
    minutes=100.0,
    onset_minutes=66.0,
    fault_minutes=18.0,
    gpu_scrape_seconds=60.0,
    fabric_scrape_seconds=300.0,
)
TICKS = (60, 77, 80, 88, 97)
"""Minutes of the ticks: each costs about a second."""

DRAWN = 80
"""The tick after which the incident is drawn."""

TITLE = "W-TRAIN runs slow: gpu 6 (rank 14) on hx8-002"


class Server(Protocol):
    """What a server of the fixture offers."""

    @property
    def url(self) -> str:
        """Where it answers."""
        ...


def at(minutes: float) -> datetime:
    """A time, in minutes after the start."""
    return START + timedelta(minutes=minutes)


@dataclass(slots=True, kw_only=True)
class Clock:
    """A clock that stands still until it is set."""

    now: datetime = START

    def __call__(self) -> datetime:
        """Say what time it is."""
        return self.now


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A simulated incident."""

    truth: Truth
    folder: Path


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """INC-2291 on four nodes."""
    folder = tmp_path_factory.mktemp("recording")
    return Recording(truth=simulate("throttled-gpu", folder, seed=7, params=PARAMS), folder=folder)


@contextmanager
def receiver() -> Generator[tuple[str, list[dict[str, Any]]]]:
    """A server that takes webhooks, and what it got."""
    got: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        """Takes every webhook."""

        def do_POST(self) -> None:
            """Keep the body."""
            got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            """Say nothing."""
            del code, size

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", got
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def settings_in(
    folder: Path, more: str = "", *, name: str = "one", db: Path | None = None
) -> Settings:
    """Settings of a watch whose files lie in `folder/live`."""
    path = folder / f"{name}.toml"
    database = f'database = "sqlite:///{db}"' if db else ""
    path.write_text(
        f"""
        cluster = "orion"
        instance = "{name}"
        state = "{folder / name}"
        {database}
        [[logs]]
        name = "ranks"
        paths = ["{folder / "live"}/*.jsonl"]
        {more}
        """,
        encoding="utf-8",
    )
    return load_settings(path)


def kept(parts: Wired) -> list[IncidentRecord]:
    """The incidents that are kept, oldest first."""
    page = parts.instance.store.find(IncidentFilters(merged=True), PageRequest())
    return list(reversed(page.records))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What a replay left."""

    truth: Truth
    records: Sequence[IncidentRecord]
    got: Sequence[dict[str, Any]]
    metrics: Sequence[str]
    nodes: dict[str, str]
    detected: datetime
    burned: datetime
    drawings: dict[str, Sequence[str]]


@pytest.fixture(scope="module")
def ran(
    recording: Recording,
    prometheus: Callable[[str], AbstractContextManager[Server]],
    tmp_path_factory: pytest.TempPathFactory,
) -> Ran:
    """The incident, replayed with a real Prometheus and a local receiver."""
    folder, clock = tmp_path_factory.mktemp("watch"), Clock()
    history = folder / "history.om"
    write_openmetrics(recording.folder / "sources", history)
    replay = Replay.of(recording.folder / "sources/progress", folder / "live")
    with prometheus(history.read_text(encoding="utf-8")) as server, receiver() as (hook, got):
        more = f"""
        [[prometheus]]
        name = "main"
        url = "{server.url}"
        [watch]
        patience = "60s"
        [[receivers]]
        name = "on-call"
        kind = "webhook"
        url = "{hook}"
        """
        settings = settings_in(folder, more)
        receivers = {one.name: receiver_of(one, Places(), {}) for one in settings.receivers}
        metrics, burns, nodes = list[str](), list[datetime](), dict[str, str]()
        with wired(settings, {}, clock) as parts:
            for minute in TICKS:
                clock.now = at(minute)
                replay.advance(clock.now)
                last = parts.instance.tick(Due(at=clock.now, skipped=0))
                firing = last.judgement.burning.firings
                burns += [one.fired_at for one in firing if one.severity == "page"]
                deliver_due(parts.instance.store.engine, receivers, now=clock, claim_as="test")
                metrics.append(parts.instance.board.metrics().decode())
                if minute == DRAWN:
                    open_ids = [one.id for one in kept(parts)]
                    parts.instance.artist.draw(last.judgement, open_ids)
                nodes |= {
                    one.host: one.state
                    for one in parts.instance.board.nodes()
                    if one.state == "suspect"
                }
            records = kept(parts)
    return Ran(
        truth=recording.truth,
        records=records,
        got=got,
        metrics=metrics,
        nodes=nodes,
        detected=min(one.detected for one in records if one.detected),
        burned=min(burns),
        drawings={
            name: sorted(plot.partition(":")[0] for plot in plots)
            for name, plots in parts.instance.artist.drawings.items()
        },
    )


def test_page(ran: Ran) -> None:
    """There is one incident: it pages, names the GPU by its cause, and ends with the fault."""
    (record,) = ran.records
    minute = timedelta(minutes=1)

    assert (record.title, record.severity, record.state) == (
        f"{TITLE} (thermal)",
        "page",
        "resolved",
    )
    assert record.onset is not None
    assert abs(record.onset - at(66)) <= 3 * minute
    assert record.resolved_at is not None
    assert abs(record.resolved_at - at(84)) <= 3 * minute


def test_times(ran: Ran) -> None:
    """The detector names it within 5 minutes of the onset, the burn pages within 15."""
    assert timedelta(0) < ran.detected - at(66) <= timedelta(minutes=5)
    assert timedelta(0) < ran.burned - at(66) <= timedelta(minutes=15)


def test_receiver(ran: Ran) -> None:
    """The receiver gets the page with the culprit, and in the end nothing is left open."""
    statuses = dict[str, list[str]]()
    for one in ran.got:
        statuses.setdefault(one["groupKey"], []).append(one["status"])
    (page,) = [one for one in ran.got if one["status"] == "firing" and severity_of(one) == "page"]

    assert page["alerts"][0]["annotations"]["summary"].startswith(TITLE)
    assert statuses[page["groupKey"]] == ["firing", "resolved"]
    assert {told[-1] for told in statuses.values()} == {"resolved"}


def severity_of(webhook: dict[str, Any]) -> str:
    """How urgent a webhook is."""
    return str(webhook["alerts"][0]["labels"]["severity"])


def test_suspect_node(ran: Ran) -> None:
    """While it lasts, the GPU's node is the suspect and no other is."""
    assert ran.nodes == {"hx8-002": "suspect"}


def test_drawings(ran: Ran) -> None:
    """The incident is drawn under the id by which it is kept."""
    assert ran.drawings == {ran.records[0].id: ["peers-1", "peers-2", "ranks", "steps"]}


def value_of(text: str, series: str) -> float | None:
    """The value of a series in a text of `/metrics`; null if it is not there."""
    for line in text.splitlines():
        if line.startswith(series):
            return float(line.rpartition(" ")[2])
    return None


def test_metrics(ran: Ran) -> None:
    """Counters only grow, the culprit and its rank are exposed, and few others are."""
    slow = 'paceline_training_slow_steps_total{cluster="orion",run="W-TRAIN"}'
    values = [value_of(text, slow) for text in ran.metrics]
    known = [value for value in values if value is not None]
    during = ran.metrics[TICKS.index(80)]
    assert ran.truth.culprit is not None
    gpu = f'device="{ran.truth.culprit.gpu_uuid}",node="hx8-002",signal="sm_clock_hertz"'
    rank = 'paceline_rank_slowdown_ratio{cluster="orion",gpu="6",node="hx8-002",rank="14"'
    ranks = [one for one in during.splitlines() if one.startswith("paceline_rank_slowdown_ratio{")]

    assert known == sorted(known)
    assert known[-1] > 30
    assert (value_of(during, f'paceline_device_peer_ratio{{cluster="orion",{gpu}') or 0) < 0.8
    assert value_of(during, rank) is not None
    assert len(ranks) <= 17
    assert value_of(during, 'paceline_node_state{cluster="orion",node="hx8-002"}') == 2
    assert (
        value_of(during, 'paceline_source_age_seconds{cluster="orion",source="main"}') or 99
    ) < 60
    assert value_of(during, "paceline_incident_open{") == 1
    assert (value_of(during, "paceline_incident_lost_gpu_seconds{") or 0) > 0
    assert value_of(ran.metrics[-1], "paceline_incident_open{") is None


def test_promtool(ran: Ran, promtool: str) -> None:
    """`promtool check metrics` accepts what is exposed, while the incident lasts and after."""
    for text in (ran.metrics[TICKS.index(80)], ran.metrics[-1]):
        checked = subprocess.run(
            [promtool, "check", "metrics"], input=text, capture_output=True, text=True, check=False
        )
        assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")


class KilledError(BaseException):
    """As if the process were killed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Killing:
    """Commits for another, until it kills."""

    other: Any
    is_after: bool

    def commit(self, incidents: Any, state: Any, now: datetime) -> Committed:
        """Kill before a commit, or when it is done."""
        if self.is_after:
            self.other.commit(incidents, state, now)
        raise KilledError


KILL_TICKS = (75, 90)


def ticked(folder: Path, recording: Recording, *, kills: dict[int, bool]) -> list[dict[Any, Any]]:
    """What is kept after ticks, some of which are killed and done again by another process."""
    clock = Clock()
    settings = settings_in(folder)
    left = list(KILL_TICKS)
    while left:
        try:
            with wired(settings, {}, clock) as parts:
                last = parts.instance.watch.last
                left = [minute for minute in KILL_TICKS if last is None or at(minute) > last]
                for minute in left:
                    clock.now = at(minute)
                    Replay.of(recording.folder / "sources/progress", folder / "live").advance(
                        clock.now
                    )
                    is_after = kills.pop(minute, None)
                    if is_after is not None:
                        other = parts.instance.watch.committer
                        parts.instance.watch.committer = Killing(other=other, is_after=is_after)  # type: ignore[assignment]  # it kills
                    parts.instance.tick(Due(at=clock.now, skipped=0))
                left = []
                return [told(one) for one in kept(parts)] + [
                    dict(parts.instance.watch.totals.values)
                ]
        except KilledError:
            continue
    raise AssertionError


def told(record: IncidentRecord) -> dict[str, Any]:
    """What must not depend on kills."""
    names = ("id", "number", "state", "severity", "title", "onset", "detected", "paged_at")
    return {name: getattr(record, name) for name in (*names, "resolved_at", "version")}


def test_kills(recording: Recording, tmp_path: Path) -> None:
    """Killed before a commit and after one, the watch goes on to the same incidents and totals."""
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
    whole = ticked(tmp_path / "whole", recording, kills={})
    killed = ticked(tmp_path / "killed", recording, kills={75: False, 90: True})

    assert any(one.get("severity") for one in whole)
    for one in (*whole, *killed):
        # Ticks that were killed after their commit are counted by the process that was killed.
        one.pop(("paceline_watch_ticks_total", ("orion",)), None)
    assert killed == whole
    shutil.rmtree(tmp_path)
