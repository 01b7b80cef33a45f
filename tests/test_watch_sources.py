"""Tests of the watch's sources: ranks read together, a dead server, a slow one, two instances."""

import json
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from alerts.blast_radii import BlastRadius
from alerts.incidents import Incident
from alerts.storing.records import IncidentFilters, PageRequest
from collectors.dialects import read_file
from collectors.metrics.prometheus import PrometheusServer
from collectors.readings import Reading, join_readings
from collectors.sniffing import ReadOptions
from collectors.storage.pull_windows import Source
from paceline.settings import Settings, load_settings
from paceline.watching.file_source import FileSource
from paceline.watching.grid import Due, Pace
from paceline.watching.prometheus_source import PrometheusWatch, SeriesParams
from paceline.watching.vanishing import GRACE, Vanishing
from paceline.watching.wiring import Wired, wired

START = datetime(2026, 1, 5, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
LOG = """\
 [2026-01-05 12:00:00] iteration        1/     100 | consumed samples:           16 | elapsed time \
per iteration (ms): 1000.0 | learning rate: 1.0E-04 | global batch size:    16 | lm loss: 9.0E+00 |
"""


def record(rank: int, step: int) -> str:
    """A step of a rank."""
    t = START.timestamp() + step
    return f'{{"step":{step},"rank":{rank},"t":{t},"compute_s":0.9,"step_s":1.0}}\n'


def start(rank: int, run: str) -> str:
    """The first line of a rank."""
    t = START.timestamp()
    return f'{{"event":"start","run":"{run}","rank":{rank},"host":"n{rank}","world":2,"t":{t}}}\n'


def files_in(folder: Path) -> FileSource:
    """A source of all files below a folder."""
    return FileSource(
        name="files", patterns=[str(folder)], options=ReadOptions(), max_age=5 * MINUTE
    )


def poll(source: FileSource) -> Reading:
    """What is new."""
    return source.poll(START, 0.0).reading


def test_ranks(tmp_path: Path) -> None:
    """Ranks that are read together, and piece by piece, say what their whole files say."""
    texts = {f"a/rank-{rank}.jsonl": start(rank, "run-a") for rank in (0, 1, 2)}
    texts |= {f"b/rank-{rank}.jsonl": start(rank, "run-b") for rank in (0, 1)}
    source, parts = files_in(tmp_path / "live"), list[Reading]()
    for first in (1, 4, 7):
        for name in texts:
            path = tmp_path / "live" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            rank = int(path.stem[-1])
            with path.open("a", encoding="utf-8") as stream:
                stream.write(texts[name] if first == 1 else "")
                # The third of a job is a step behind, and its last line is not whole yet.
                stream.writelines(
                    record(rank, step) for step in range(first, first + 3 - rank // 2)
                )
        parts.append(poll(source))
    whole = join_readings(
        read_file(tmp_path / "live" / name, f"live/{name}", ReadOptions()) for name in texts
    )
    told = join_readings(parts)
    order = ["source", "position"]

    assert told.steps.sort(order).to_dicts() == whole.steps.sort(order).to_dicts()
    assert told.events.sort(order).to_dicts() == whole.events.sort(order).to_dicts()
    keys = ["run", "rank", "host"]
    assert set(told.placements.select(keys).rows()) == set(whole.placements.select(keys).rows())
    assert told.rejects.rows() == []


def test_log(tmp_path: Path) -> None:
    """New lines of a log count their positions from its first line; half a line waits."""
    path, source = tmp_path / "train.log", files_in(tmp_path)
    lines = [LOG.replace("        1/", f"{step:>9}/") for step in (1, 2, 3)]
    path.write_text(lines[0] + lines[1][:40], encoding="utf-8")
    first = poll(source)
    again = files_in(tmp_path)
    again.restore(source.state())
    with path.open("a", encoding="utf-8") as stream:
        stream.write(lines[1][40:] + lines[2])
    second = poll(again)

    columns = ("step", "position")
    assert first.steps.select(columns).rows() == [(1, 1)]
    assert second.steps.select(columns).rows() == [(2, 2), (3, 3)]


def test_document(tmp_path: Path) -> None:
    """A table is read as a whole when it stands still, and holds until it changes."""
    path, source = tmp_path / "node-1.prom", files_in(tmp_path)
    page = 'DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-1",Hostname="n1"} 55 1767614400000\n'
    path.write_text(page, encoding="utf-8")
    counts = [(poll(source).samples.height, source.standing().samples.height) for _ in range(3)]

    assert counts == [(0, 0), (0, 1), (0, 1)]
    assert source.path_of("nothing") is None


def test_unreadable(tmp_path: Path) -> None:
    """A file that cannot be read is a problem of its own, and keeps out no other."""
    (tmp_path / "b.jsonl").write_text(start(0, "r") + record(0, 1), encoding="utf-8")
    (tmp_path / "a.jsonl").symlink_to(tmp_path / "b.jsonl")
    source = files_in(tmp_path)
    polled = source.poll(START, 0.0)

    assert polled.reading.steps.height == 1


def answer_of(*seconds: float) -> bytes:
    """An answer with the temperature of one GPU, read some seconds after the start."""
    values = [[START.timestamp() + one, "55"] for one in seconds]
    labels = {"__name__": "DCGM_FI_DEV_GPU_TEMP", "gpu": "0", "UUID": "GPU-1", "Hostname": "n1"}
    result = [{"metric": labels, "values": values}] if values else []
    return json.dumps(
        {"status": "success", "data": {"resultType": "matrix", "result": result}}
    ).encode()


@contextmanager
def slow_server(answer: threading.Event, told: Sequence[bytes] = ()) -> Generator[str]:
    """A Prometheus that answers nothing until it is told to; it says what stands last in `told`."""

    class Handler(BaseHTTPRequestHandler):
        """Answers every query, late."""

        def do_GET(self) -> None:
            """Wait, and answer."""
            answer.wait(20.0)
            body = told[-1] if told else answer_of()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            """Say nothing."""
            del code, size

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        answer.set()
        server.shutdown()
        thread.join()
        server.server_close()


def server_watch(url: str) -> PrometheusWatch:
    """A watched server."""
    server = PrometheusServer(url=url, max_retries=0, timeout_seconds=10.0)
    return PrometheusWatch(
        name="main",
        source=Source(server=server, matchers={}),
        max_age=MINUTE,
        params=SeriesParams(),
    )


def test_slow_server() -> None:
    """A tick waits for a slow server only so long; its answer is taken when it comes."""
    answer = threading.Event()
    with slow_server(answer) as url:
        watch = server_watch(url)
        began = time.monotonic()
        pending = [watch.poll(START + tick * MINUTE, 0.05).is_pending for tick in range(3)]
        waited = time.monotonic() - began
        answer.set()
        last = watch.poll(START + 3 * MINUTE, 10.0)
        watch.close()

    assert (pending, last.is_pending, last.problems) == ([True, True, True], False, ())
    assert waited < 5.0
    # What was asked for is what the first tick asked: the next one goes on from there.
    assert watch.state() == {"pulled": START.isoformat()}


def test_late_samples() -> None:
    """A sample that comes late is taken by a later look, and none is told twice."""
    answer, told, seen = threading.Event(), list[bytes](), list[list[float]]()
    answer.set()
    with slow_server(answer, told) as url:
        watch = server_watch(url)
        for tick_seconds, samples in ((0, (-10,)), (15, (-20, -10, 5)), (30, (-20, -10, 5))):
            told.append(answer_of(*samples))
            polled = watch.poll(START + timedelta(seconds=tick_seconds), 10.0)
            times = polled.reading.samples["time"].unique().sort()
            seen.append([(one - START).total_seconds() for one in times])
        watch.close()

    assert seen == [[-10.0], [-20.0, 5.0], []]


def settings_in(folder: Path, name: str, url: str, database: str) -> Settings:
    """Settings of one of two instances over one database."""
    path = folder / f"{name}.toml"
    path.write_text(
        f"""
        instance = "{name}"
        state = "{folder / name}"
        database = "{database}"
        [[prometheus]]
        name = "main"
        url = "{url}"
        max_age = "1m"
        """,
        encoding="utf-8",
    )
    return load_settings(path)


@dataclass(slots=True, kw_only=True)
class Clock:
    """A clock that stands still until it is set."""

    now: datetime = START

    def __call__(self) -> datetime:
        """Say what time it is."""
        return self.now


def tick(parts: Wired, clock: Clock, seconds: float) -> bool | None:
    """Do a tick some time after the start, and return whether the instance leads."""
    clock.now = START + timedelta(seconds=seconds)
    committed = parts.instance.tick(Due(at=clock.now, skipped=0)).committed
    return None if committed is None else committed.is_leader


def test_dead_server(tmp_path: Path, database_url: str) -> None:
    """A dead server is a ticket about the age of data, and unknown: no page, and not healthy.

    Of two instances one leads; when it ticks no more, the other takes over within two ticks.
    """
    clock = Clock()
    with ExitStack() as stack:
        one, two = (
            stack.enter_context(wired(told, {}, clock))
            for name in ("one", "two")
            for told in [settings_in(tmp_path, name, "http://127.0.0.1:9", database_url)]
        )
        leads = [(tick(one, clock, at), tick(two, clock, at)) for at in (0, 75)]
        alone = [tick(two, clock, at) for at in (90, 105)]
        board = two.instance.board
        (record,) = two.instance.store.find(IncidentFilters(), PageRequest()).records
        ages = [line for line in board.metrics().decode().splitlines() if "source_age" in line]
        states = [(one.name, one.state) for one in board.sources()]

    assert (leads, alone) == ([(True, False), (True, False)], [False, True])
    assert (record.severity, record.state) == ("ticket", "open")
    assert record.title == "Cluster is partly unwatched: source main (source_silent)"
    assert states == [("main", "unknown")]
    assert ages[-1] == 'paceline_source_age_seconds{cluster="local",source="main"} +Inf'


def incident(minutes: float | None, run: str = "r") -> Incident:
    """An open incident that began some minutes after the start."""
    onset = None if minutes is None else START + minutes * MINUTE
    return Incident(
        id="i",
        title="t",
        run=run,
        severity="ticket",
        state="open",
        as_of=START,
        onset=onset,
        onset_before_data=False,
        detected=onset,
        paged_at=None,
        cleared=None,
        ttd_seconds=None,
        ttp_seconds=None,
        ttr_seconds=None,
        suspects=(),
        context=(),
        burns=(),
        blast_radius=BlastRadius(jobs=()),
        needed=None,
    )


@pytest.mark.parametrize(
    ("began", "is_blind", "expected"),
    [
        pytest.param(0.0, False, ["resolved"], id="it ends with its last finding"),
        pytest.param(0.0, True, [], id="nothing ends while a source is silent"),
        pytest.param(-300.0, False, [], id="what began before the window may go on unseen"),
        pytest.param(None, False, [], id="what has no onset is left to people"),
    ],
)
def test_vanished(began: float | None, is_blind: bool, expected: list[str]) -> None:
    """An incident that nothing finds any more ends, where that can be known."""
    known = Vanishing(window=timedelta(hours=4))
    first = known.ended([incident(began)], START, is_blind=False)
    again = Vanishing(window=timedelta(hours=4))
    again.restore(known.state())
    early = again.ended([], START + GRACE / 2, is_blind=is_blind)
    ended = again.ended([], START + GRACE, is_blind=is_blind)

    assert (first, early) == ([], [])
    assert [one.state for one in ended] == expected
    assert [one.cleared for one in ended] == [START for _ in expected]


def test_failed_tick() -> None:
    """A tick that fails is followed by the next; what is under way when it ends is finished."""
    stop, seen = threading.Event(), list[datetime]()
    clock = Clock()

    def fail(due: Due) -> None:
        seen.append(due.at)
        clock.now += 15 * timedelta(seconds=1)
        if len(seen) == 3:
            stop.set()
        raise OSError

    Pace(every=timedelta(seconds=15), clock=clock, stop=stop).run(fail)

    assert seen == [START + number * timedelta(seconds=15) for number in range(3)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Away:
    """A database that does not answer."""

    def commit(self, incidents: object, state: object, now: datetime) -> object:
        """Fail."""
        del incidents, state, now
        raise OSError


def test_database_away(tmp_path: Path) -> None:
    """While the database is away the watch goes on; the next tick commits what was taken."""
    clock, live = Clock(), tmp_path / "live"
    live.mkdir()
    path = tmp_path / "paceline.toml"
    path.write_text(
        f'state = "{tmp_path / "state"}"\n[[logs]]\nname = "ranks"\npaths = ["{live}"]\n',
        encoding="utf-8",
    )
    told = load_settings(path)
    with wired(told, {}, clock) as parts:
        (live / "rank-0.jsonl").write_text(start(0, "r") + record(0, 1), encoding="utf-8")
        committer, parts.instance.watch.committer = parts.instance.watch.committer, Away()  # type: ignore[assignment]  # it fails
        away = tick(parts, clock, 0)
        ages = [one.age_seconds for one in parts.instance.board.sources()]
        parts.instance.watch.committer = committer
        back = tick(parts, clock, 15)
    with wired(told, {}, clock) as parts:
        steps = parts.instance.watch.memory.spool.joined().steps["step"].to_list()
        again = tick(parts, clock, 30)

    assert (away, ages, back, again, steps) == (None, [0.0], True, True, [1])
