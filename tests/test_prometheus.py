"""Pulling from Prometheus: the same samples as from the exporters' pages, each once."""

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlparse

import pytest

from collectors.metrics.metric_files import read_exposition
from collectors.metrics.prometheus import (
    PrometheusServer,
    RefusedQueryError,
    UnreachablePrometheusError,
    fetch_answer,
    fetch_reading,
    selector,
)
from collectors.sniffing import ReadOptions

START = datetime(2026, 1, 5, 4, tzinfo=UTC)
START_MS = int(START.timestamp() * 1000)
HOUR = timedelta(hours=1)
TICK = timedelta(milliseconds=1)
Answering = Callable[[str, float], tuple[int, object]]


@contextmanager
def stub(answering: Answering) -> Iterator[str]:
    """Serve what `answering` returns for a query and its time; yields the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = parse_qs(urlparse(self.path).query)
            status, body = answering(asked["query"][0], float(asked["time"][0]))
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
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def history(*, is_closed: bool) -> Answering:
    """Answer a range with the samples of every 15 s in it, as 2.x (closed) or 3.x does."""

    def answer(query: str, time_seconds: float) -> tuple[int, object]:
        length = int(re.findall(r"\[(\d+)ms\]", query)[0])
        last = round(time_seconds * 1000)
        first = last - length if is_closed else last - length + 1
        stamps = [ms for ms in range(START_MS, START_MS + 7_200_000, 15_000) if first <= ms <= last]
        values = [[ms / 1000, str(ms)] for ms in stamps]
        result = [{"metric": {"__name__": "a"}, "values": values}] if values else []
        return 200, {"status": "success", "data": {"resultType": "matrix", "result": result}}

    return answer


@pytest.mark.parametrize("is_closed", [True, False], ids=["as 2.x answers", "as 3.x answers"])
@pytest.mark.parametrize("minutes", [7, 10, 60, 600], ids="chunks of {} minutes".format)
def test_chunks_meet(*, is_closed: bool, minutes: int) -> None:
    """Chunks neither double nor lose the sample at their seam, on either kind of server."""
    with stub(history(is_closed=is_closed)) as url:
        server = PrometheusServer(url=url, chunk=timedelta(minutes=minutes))
        points = fetch_answer(server, "a", START, START + HOUR + TICK).series().points

    expected = [START + timedelta(seconds=15 * number) for number in range(241)]
    assert points["time"].sort().to_list() == expected


def test_end_is_left_out() -> None:
    """The span asked for is half-open: its start is in, its end is not."""
    with stub(history(is_closed=True)) as url:
        answer = fetch_answer(
            PrometheusServer(url=url),
            "a",
            START + timedelta(seconds=15),
            START + timedelta(minutes=1),
        )

    seconds = [value - START_MS / 1000 for value in answer.points()["seconds"]]
    assert seconds == [15.0, 30.0, 45.0]


def page(scrapes: int = 5) -> list[str]:
    """Return the lines of some scrapes of GPUs and ports, with what goes wrong in them."""
    lines: list[str] = []
    for scrape in range(scrapes):
        ms = START_MS + 30_000 * scrape + 7
        for gpu in range(4):
            if (gpu, scrape) in {(2, 2), (2, 3), (2, 4)}:
                continue
            labels = f'gpu="{gpu}",UUID="GPU-{gpu}",Hostname="n1",note="a\\"b\\\\c\\nd"'
            lines += [
                f"DCGM_FI_DEV_GPU_UTIL{{{labels}}} {97 if scrape else 4294967295} {ms}",
                f"DCGM_FI_DEV_POWER_USAGE{{{labels}}} {600.25 + gpu} {ms}",
                f"DCGM_FI_DEV_XID_ERRORS{{{labels}}} {79 if gpu == 1 and scrape > 1 else 0} {ms}",
            ]
        port, errors = 'guid="0x1f",port="17"', min(65533 + scrape, 65535)
        lines += [
            f'infiniband_switch_info{{guid="0x1f",switch="leaf-01"}} 1 {ms}',
            f"infiniband_switch_port_symbol_error_total{{{port}}} {errors} {ms}",
        ]
    return lines


def openmetrics(lines: list[str]) -> str:
    """Return lines of an exposition page as OpenMetrics, family by family."""
    families: dict[str, list[str]] = {}
    for line in lines:
        sample, ms = line.rsplit(" ", 1)
        name = sample.split("{", 1)[0]
        families.setdefault(name, []).append(f"{sample} {int(ms) / 1000:.3f}\n")
    texts = [f"# TYPE {name} unknown\n{''.join(family)}" for name, family in families.items()]
    return "".join(texts) + "# EOF\n"


def test_pulled_is_what_the_page_says(
    tmp_path: Path, prometheus: Callable[[str], AbstractContextManager[PrometheusServer]]
) -> None:
    """Samples, events, links and coverage from a real server equal those from the page."""
    path = tmp_path / "page.prom"
    path.write_text("\n".join(page()), encoding="utf-8")
    filed = read_exposition(path, "page", ReadOptions())
    with prometheus(openmetrics(page())) as running:
        server = PrometheusServer(url=running.url, chunk=timedelta(seconds=37))
        pulled = fetch_reading(server, {}, START, START + timedelta(minutes=10))

    for name in ("samples", "events", "links", "coverage"):
        columns = [c for c in filed.frame(name).columns if c not in {"source", "position"}]
        sides = [reading.frame(name).select(columns).sort(columns) for reading in (filed, pulled)]
        assert sides[0].height > 0 or name == "links"
        assert sides[0].equals(sides[1]), name


def test_label_values_are_escaped(
    prometheus: Callable[[str], AbstractContextManager[PrometheusServer]],
) -> None:
    """A matcher with quotes, backslashes and line ends finds its series and nothing else."""
    with prometheus(openmetrics(page())) as running:
        server = PrometheusServer(url=running.url)
        found = [
            fetch_reading(server, {"note": note, "gpu": "1"}, START, START + HOUR).samples.height
            for note in ('a"b\\c\nd', 'a"} or vector(1) or {b="')
        ]

    assert found == [15, 0]


def test_warnings_are_kept() -> None:
    """What the server warns of beside partial data is a warning event."""
    body = {
        "status": "success",
        "data": {"resultType": "matrix", "result": []},
        "warnings": ["part"],
    }
    with stub(lambda _query, _time: (200, body)) as url:
        reading = fetch_reading(PrometheusServer(url=url), {}, START, START + HOUR)

    assert reading.events.select("kind", "message").rows() == [("warning", "part")]


def test_busy_server_is_asked_again() -> None:
    """A server that is busy twice is asked a third time."""
    asked: list[str] = []

    def answering(query: str, time_seconds: float) -> tuple[int, object]:
        asked.append(query)
        return history(is_closed=True)(query, time_seconds) if len(asked) > 2 else (503, {})

    with stub(answering) as url:
        server = PrometheusServer(url=url, backoff_seconds=0.01)
        answer = fetch_answer(server, "a", START, START + timedelta(minutes=1))

    assert (len(asked), len(answer.points()["seconds"])) == (3, 4)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        pytest.param(400, "bad_data", id="a query it cannot parse"),
        pytest.param(422, "too many samples", id="a query it cannot run"),
        pytest.param(503, "busy", id="busy to the end"),
    ],
)
def test_refused(status: int, words: str) -> None:
    """A refusal says which query, and why in the server's words."""
    with stub(lambda _query, _time: (status, {"status": "error", "error": words})) as url:
        server = PrometheusServer(url=url, max_retries=1, backoff_seconds=0.0)
        with pytest.raises(RefusedQueryError, match=words):
            fetch_answer(server, "a", START, START + HOUR)


def test_unreachable() -> None:
    """Nobody there is one error, after the retries."""
    with stub(history(is_closed=True)) as url:
        gone = url
    server = PrometheusServer(url=gone, max_retries=1, backoff_seconds=0.0)

    with pytest.raises(UnreachablePrometheusError, match="check the address"):
        fetch_answer(server, "a", START, START + HOUR)


def test_silent_server() -> None:
    """A server that does not answer in time is given up."""
    quiet = threading.Event()

    def answering(_query: str, _time: float) -> tuple[int, object]:
        quiet.wait(5)
        return 200, {}

    with stub(answering) as url:
        server = PrometheusServer(url=url, max_retries=0, timeout_seconds=0.2)
        try:
            with pytest.raises(UnreachablePrometheusError):
                fetch_answer(server, "a", START, START + HOUR)
        finally:
            quiet.set()


@pytest.mark.parametrize(
    ("matchers", "expected"),
    [
        pytest.param({}, '{__name__=~"a"}', id="names alone"),
        pytest.param({"b": "1", "a": "x"}, '{__name__=~"a",a="x",b="1"}', id="in order of labels"),
        pytest.param({"a": '"\\\n'}, '{__name__=~"a",a="\\"\\\\\\n"}', id="escaped"),
    ],
)
def test_selector(matchers: dict[str, str], expected: str) -> None:
    """A selector names its metrics and its labels, escaped."""
    assert selector(matchers, names="a") == expected


def test_bad_arguments() -> None:
    """What would ask for nonsense is refused at the door."""
    server = PrometheusServer(url="http://127.0.0.1:9")

    with pytest.raises(ValueError, match="no label name"):
        selector({"a-b": "1"})
    with pytest.raises(ValueError, match="zone"):
        fetch_answer(server, "a", START.replace(tzinfo=None), START)
    with pytest.raises(ValueError, match="after start"):
        fetch_answer(server, "a", START, START)
    with pytest.raises(ValueError, match="timeout_seconds"):
        PrometheusServer(url="x", timeout_seconds=0)
    with pytest.raises(ValueError, match="chunk"):
        PrometheusServer(url="x", chunk=timedelta(0))
