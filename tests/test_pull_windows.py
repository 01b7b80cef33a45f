"""Pulling window by window: each sample stored once, whatever comes late, breaks or repeats."""

import json
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlparse

import polars as pl
import pytest

from collectors.metrics.metric_files import read_exposition
from collectors.metrics.prometheus import (
    PrometheusServer,
    RefusedQueryError,
    UnreachablePrometheusError,
)
from collectors.metrics.spans import Span
from collectors.metrics.split_queries import fetch_all
from collectors.readings import Reading
from collectors.sniffing import ReadOptions
from collectors.storage.metric_presence import read_metric_states
from collectors.storage.pull_ledger import Look, PullParams, asked_span, due_windows
from collectors.storage.pull_windows import Puller, Source
from collectors.storage.store import Store

START = datetime(2026, 1, 5, 4, tzinfo=UTC)
START_MS = int(START.timestamp() * 1000)
MINUTE = timedelta(minutes=1)
NOW = datetime(2026, 2, 1, tzinfo=UTC)
Running = Callable[..., AbstractContextManager[PrometheusServer]]


@dataclass(kw_only=True)
class History:
    """What a stub of a Prometheus has.

    Attributes:
        points: Millisecond stamps after START by metric; values are the stamps.
        is_closed: Whether a range holds its start, as in 2.x, or not, as in 3.x.
        max_samples: More in one query are refused, in the words of the server.
        warnings: Sent with each answer.
        refusal: Words with which each query is refused; null for none.
    """

    points: dict[str, list[int]]
    is_closed: bool = True
    max_samples: int = 1_000_000
    warnings: list[str] = field(default_factory=list)
    refusal: str | None = None

    def answer(self, query: str, time_seconds: float) -> tuple[int, object]:
        """Answer one query."""
        found = re.fullmatch(r"\{(.*)\}\[(\d+)ms\]", query)
        assert found is not None
        last = round(time_seconds * 1000) - START_MS
        first = last - int(found[2]) + (0 if self.is_closed else 1)
        result = [
            {
                "metric": {"__name__": name, "gpu": "0", "Hostname": "n1", "UUID": "GPU-0"},
                "values": [[(START_MS + ms) / 1000, str(ms % 1000)] for ms in kept],
            }
            for name, stamps in self.points.items()
            if matches(found[1], name) and (kept := [ms for ms in stamps if first <= ms <= last])
        ]
        if sum(len(one["values"]) for one in result) > self.max_samples:
            words = "query processing would load too many samples into memory in query execution"
            return 422, {"status": "error", "errorType": "execution", "error": words}
        if self.refusal is not None:
            return 422, {"status": "error", "errorType": "execution", "error": self.refusal}
        data = {"resultType": "matrix", "result": result}
        return 200, {"status": "success", "data": data, "warnings": self.warnings}


def matches(matchers: str, name: str) -> bool:
    """Whether a metric fulfils the matchers; an instance is none."""
    labels = defaultdict(str, {"__name__": name})
    return all(
        bool(re.fullmatch(pattern, labels[label])) == (operator == "=~")
        for label, operator, pattern in re.findall(r'(\w+)(=~|!~)"([^"]*)"', matchers)
    )


@contextmanager
def stub(history: History) -> Iterator[PrometheusServer]:
    """Serve a history."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = parse_qs(urlparse(self.path).query)
            status, body = history.answer(asked["query"][0], float(asked["time"][0]))
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            url = f"http://127.0.0.1:{server.server_address[1]}"
            yield PrometheusServer(url=url, max_retries=0)
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty store."""
    return Store.open_at(str(tmp_path / "store"), create=True)


def puller(
    store: Store, server: PrometheusServer, now: datetime = NOW, **params: timedelta
) -> Puller:
    """A puller of all series; its clock stands still."""
    source = Source(server=server, matchers={})
    return Puller(store=store, source=source, params=PullParams(**params), clock=lambda: now)


def milliseconds(store: Store) -> list[int]:
    """The stamps of all stored samples after START, in order."""
    times = store.read("samples").collect()["time"].sort()
    return ((times - START).dt.total_milliseconds()).to_list()


POWER = "DCGM_FI_DEV_POWER_USAGE"
TEMPERATURE = "DCGM_FI_DEV_GPU_TEMP"
EVERY_15_S = list(range(0, 1_200_000, 15_000))


@pytest.mark.parametrize("is_closed", [True, False], ids=["as 2.x answers", "as 3.x answers"])
@pytest.mark.parametrize("minutes", [2, 7, 60], ids="windows of {} minutes".format)
def test_windows_meet(store: Store, *, is_closed: bool, minutes: int) -> None:
    """Samples at the seams of windows and of queries are stored once on either kind of server."""
    history = History(points={POWER: EVERY_15_S}, is_closed=is_closed, max_samples=100)
    with stub(history) as server:
        one = puller(store, server, window=minutes * MINUTE)
        pulled = list(one.pull(START, START + 20 * MINUTE))

    assert milliseconds(store) == EVERY_15_S
    assert sum(one.added.get("samples", 0) for one in pulled) == len(EVERY_15_S)
    assert (pulled[-1].done, pulled[-1].due) == (len(pulled), len(pulled))


def test_windows_of_another_length(store: Store) -> None:
    """A store that was filled by windows of one length is filled up by those of another."""
    with stub(History(points={POWER: EVERY_15_S})) as server:
        list(puller(store, server, window=7 * MINUTE).pull(START, START + 10 * MINUTE))
        rest = list(puller(store, server, window=9 * MINUTE).pull(START, START + 20 * MINUTE))

    assert milliseconds(store) == EVERY_15_S
    assert sum(one.added["samples"] for one in rest) == len(EVERY_15_S) - 40


def test_a_cut_window_is_taken_up(store: Store) -> None:
    """Rows that were stored before the ledger knew of them are not stored again."""
    with stub(History(points={POWER: EVERY_15_S})) as server:
        one = puller(store, server)
        list(one.pull(START, START + 10 * MINUTE))
        store.place.open("windows").delete()
        store.place.open("events").delete()
        again = list(one.pull(START, START + 15 * MINUTE))

    assert [dict(one.added).get("samples", 0) for one in again] == [0, 0, 20]
    assert milliseconds(store) == EVERY_15_S[:60]


def test_late_samples(store: Store) -> None:
    """A sample that arrives after its window was taken is stored at the next look, once."""
    history = History(points={POWER: [0, 600_000]})
    now = START + 12 * MINUTE
    with stub(history) as server:
        list(puller(store, server, now).pull(START, None))
        history.points[POWER] = [0, 240_000, 540_000, 600_000]
        pulled = list(puller(store, server, now).pull(None, None))
        later = list(puller(store, server, now + 60 * MINUTE).pull(None, None, is_first=False))
        settled = list(puller(store, server, NOW).pull(START, START + 10 * MINUTE))

    assert milliseconds(store) == [0, 240_000, 540_000, 600_000]
    assert [one.span.start for one in pulled] == [START, START + 5 * MINUTE]
    assert later[0].span.start == START
    assert settled == []


def test_too_many_samples(store: Store) -> None:
    """A query that the server finds too large is halved in time, and then by names."""
    names = [f"DCGM_FI_PROF_{name}_ACTIVE" for name in ("SM", "DRAM", "GR_ENGINE", "PIPE_TENSOR")]
    history = History(points={name: [0, 400, 900, 5000] for name in names}, max_samples=3)
    with stub(history) as server:
        list(puller(store, server).pull(START, START + 5 * MINUTE))

    assert milliseconds(store) == sorted([0, 400, 900, 5000] * 4)


def test_too_many_samples_at_once() -> None:
    """When no half is small enough, or the refusal has another reason, that is the error."""
    too_much = History(points={POWER: [0, 1, 2]}, max_samples=1)
    with stub(too_much) as server, pytest.raises(RefusedQueryError, match="too many samples"):
        fetch_all(server, '{__name__=~".+"}', Span(start=START, end=START + MINUTE))
    odd = History(points={POWER: [0]}, refusal="many-to-many")
    with stub(odd) as server, pytest.raises(RefusedQueryError, match="many-to-many"):
        fetch_all(server, '{__name__=~".+"}', Span(start=START, end=START + MINUTE))


def test_warnings_are_events(store: Store) -> None:
    """What a server warns of is one event a window, also when the window is looked at again."""
    history = History(points={POWER: EVERY_15_S}, warnings=["part is missing"])
    with stub(history) as server:
        list(puller(store, server).pull(START, START + 10 * MINUTE))
        store.place.open("windows").delete()
        list(puller(store, server).pull(START, START + 10 * MINUTE))

    events = store.read("events").filter(pl.col("code") == "partial_answer").collect().sort("time")
    assert events.select("time", "message").rows() == [
        (START, "part is missing"),
        (START + 5 * MINUTE, "part is missing"),
    ]


def test_metrics_are_remembered(store: Store) -> None:
    """A metric that vanished is told from one that is there, and from one that never was."""
    points = {POWER: [0, 60_000, 400_000], TEMPERATURE: [30_000, 60_000]}
    with stub(History(points=points)) as server:
        one = puller(store, server)
        for _ in range(2):
            list(one.pull(START, START + 10 * MINUTE))
            store.place.open("windows").delete()

    states = read_metric_states(store, one.source.name, START + 5 * MINUTE)
    half = timedelta(seconds=30)
    assert states.select("metric", "first_seen", "last_seen", "state").rows() == [
        (TEMPERATURE, START + half, START + 2 * half, "vanished"),
        (POWER, START, START + timedelta(seconds=400), "present"),
    ]


def test_the_server_goes_away(store: Store) -> None:
    """Windows that were stored before the server went stay, and the rest comes when it is back."""
    history = History(points={POWER: EVERY_15_S})
    with stub(history) as server:
        windows = puller(store, server).pull(START, START + 15 * MINUTE)
        next(windows)
    with pytest.raises(UnreachablePrometheusError):
        list(windows)
    assert milliseconds(store) == EVERY_15_S[:20]


def test_names_hide_passwords() -> None:
    """The name of a source is its address, without whoever asks there."""
    server = PrometheusServer(url="http://me:secret@host:9090/prom/")

    assert Source(server=server, matchers={}).name == "prometheus http://host:9090/prom"


def page(scrapes: int) -> list[str]:
    """Lines of scrapes of three GPUs: one is lost for a while, an Xid comes, a port counts."""
    lines: list[str] = []
    for scrape in range(scrapes):
        ms = START_MS + 30_000 * scrape + 125
        for gpu in range(3):
            if gpu == 2 and 19 <= scrape < 35:
                continue
            labels = f'gpu="{gpu}",UUID="GPU-{gpu}",Hostname="n1"'
            lines += [
                f"DCGM_FI_DEV_GPU_TEMP{{{labels}}} {50 + gpu} {ms}",
                f"DCGM_FI_DEV_POWER_USAGE{{{labels}}} {600.25 + scrape} {ms}",
                f"DCGM_FI_PROF_NVLINK_TX_BYTES{{{labels}}} {scrape * 1000} {ms}",
            ]
            xid = 79 if gpu == 1 and scrape >= 30 else 0
            lines.append(f"DCGM_FI_DEV_XID_ERRORS{{{labels}}} {xid} {ms}")
    return lines


def openmetrics(lines: list[str]) -> str:
    """Lines of an exposition page as OpenMetrics, family by family."""
    families: dict[str, list[str]] = {}
    for line in lines:
        sample, ms = line.rsplit(" ", 1)
        families.setdefault(sample.split("{", 1)[0], []).append(f"{sample} {int(ms) / 1000:.3f}\n")
    texts = [f"# TYPE {name} unknown\n{''.join(family)}" for name, family in families.items()]
    return "".join(texts) + "# EOF\n"


def facts(reading: Reading, name: str) -> list[tuple[object, ...]]:
    """The rows of a frame without what depends on the way they came."""
    columns = [c for c in reading.frame(name).columns if c not in {"source", "position", "count"}]
    return reading.frame(name).select(columns).sort(columns).rows()


def test_stored_is_what_the_page_says(store: Store, tmp_path: Path, prometheus: Running) -> None:
    """Windows of a real server, stored, hold the samples and the events of the whole page.

    Among them those that no window sees alone: a GPU that falls silent two scrapes before a
    window ends, its return after a silence longer than a window, an Xid at a window's start.
    """
    path = tmp_path / "page.prom"
    path.write_text("\n".join(page(60)), encoding="utf-8")
    filed = read_exposition(path, "page", ReadOptions())
    with prometheus(openmetrics(page(60)), "--query.max-samples=700") as running:
        one = puller(store, PrometheusServer(url=running.url), window=5 * MINUTE)
        list(one.pull(START, START + 30 * MINUTE))
        list(one.pull(START, START + 30 * MINUTE))

    kept = store.read_all()
    kinds = {"gpu_series_lost", "gpu_series_back", "xid"}
    assert facts(kept, "samples") == facts(filed, "samples")
    assert facts(kept, "events") == facts(filed, "events")
    assert set(kept.events["kind"]) == kinds


def test_what_sets_in_again(store: Store) -> None:
    """A throttle that ended before a window and sets in again in it is an event of the window."""
    minutes = {3, 4, 7, 8, 12, 13, 14, 15, 16, 17, 18, 19}
    stamps = [60_000 * minute + (64 if minute in minutes else 0) for minute in range(20)]
    history = History(points={"DCGM_FI_DEV_CLOCK_THROTTLE_REASONS": stamps})
    with stub(history) as server:
        one = puller(store, server)
        list(one.pull(START, START + 20 * MINUTE))
        store.place.open("windows").delete()
        list(one.pull(START, START + 20 * MINUTE))

    events = store.read("events").filter(pl.col("kind") == "clock_throttle").collect()
    assert [round((at - START) / MINUTE) for at in events["time"].sort()] == [3, 7, 12]


@pytest.mark.parametrize(
    ("bounds", "looked", "expected"),
    [
        pytest.param((None, None), [], (-60, 60), id="the first run goes back as far as told"),
        pytest.param((None, None), [(0, 50)], (40, 60), id="the next starts with what is late"),
        pytest.param((None, None), [(45, 50)], (45, 60), id="but not before its own start"),
        pytest.param((7, None), [(0, 50)], (7, 60), id="a start is taken as it is"),
        pytest.param((7, 33), [(0, 50)], (7, 33), id="an end too"),
        pytest.param((70, None), [], None, id="nothing has ended yet"),
    ],
)
def test_asked_span(
    bounds: tuple[int | None, int | None],
    looked: list[tuple[int, int]],
    expected: tuple[int, int] | None,
) -> None:
    """What to take, in minutes after START, an hour and two minutes after it."""
    start, end = (None if one is None else START + one * MINUTE for one in bounds)
    looks = [
        Look(span=Span(start=START + a * MINUTE, end=START + b * MINUTE), looked=START)
        for a, b in looked
    ]
    params = PullParams(first=120 * MINUTE)

    found = asked_span((start, end), looks, params, START + 62 * MINUTE)

    ends = None if found is None else (found.start - START, found.end - START)
    assert ends == (expected and tuple(one * MINUTE for one in expected))


def test_due_windows_of_a_later_round() -> None:
    """Only a first round looks at a window again before its late samples had their time."""
    params = PullParams()
    asked = Span(start=START, end=START + 15 * MINUTE)
    looks = [
        Look(span=Span(start=START, end=START + 5 * MINUTE), looked=START + 5 * MINUTE),
        Look(span=Span(start=START + 5 * MINUTE, end=asked.end), looked=START + 15 * MINUTE),
    ]

    def starts(minute: int, *, is_first: bool) -> list[int]:
        due = due_windows(asked, looks, params, START + minute * MINUTE, is_first=is_first)
        return [(one.start - START) // MINUTE for one in due]

    assert starts(16, is_first=True) == [0, 5, 10]
    assert starts(16, is_first=False) == [0]
    assert due_windows(asked, [], params, START, is_first=True) == []


@pytest.mark.parametrize(
    "params",
    [
        pytest.param({"window": timedelta(0)}, id="a window without a length"),
        pytest.param({"tail": 9 * MINUTE}, id="a tail longer than the context"),
        pytest.param({"late": -MINUTE}, id="late before the end"),
        pytest.param({"first": timedelta(0)}, id="a first run that takes nothing"),
    ],
)
def test_bad_params(params: dict[str, timedelta]) -> None:
    """Spans that would take nothing are refused."""
    with pytest.raises(ValueError, match=r"got|negative"):
        PullParams(**params)
