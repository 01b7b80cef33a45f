"""Following and stopping: rounds go on until a signal, and a failed round waits longer."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from collectors.metrics.prometheus import PrometheusServer
from collectors.sniffing import ReadOptions
from collectors.storage.file_ledger import CollectedFile, Entry
from collectors.storage.file_parts import FileReader
from collectors.storage.file_turns import turn_for_files
from collectors.storage.pull_ledger import PullParams
from collectors.storage.pull_windows import Puller, Source
from collectors.storage.store import Store
from paceline.collecting import Collector
from paceline.following import MAX_BACKOFF, Pace, collect_once, follow_on
from paceline.stopping import Stop, StoppedError, stop_on_signals

NOW = datetime(2026, 2, 1, tzinfo=UTC)
LINE = (
    "[2026-01-05 04:00:00] iteration 1/ 900 | elapsed time per iteration (ms): 1000.0 "
    "| lm loss: 2.0E+00\n"
)


class Counted(Stop):
    """A stop after some waits, which are not waited for."""

    __slots__ = ("left", "waits")

    def __init__(self, left: int) -> None:
        """Stop in the wait after `left` ones."""
        super().__init__()
        self.left = left
        self.waits: list[float] = []

    def wait(self, seconds: float) -> None:
        """Note the wait."""
        self.waits.append(seconds)
        if len(self.waits) > self.left:
            raise StoppedError


def collector(folder: Path, stop: Stop, *, url: str | None = None) -> Collector:
    """A collector of a log, and of a server that is not there if a URL is given."""
    (folder / "logs").mkdir()
    (folder / "logs" / "train.log").write_text(LINE)
    store = Store.open_at(str(folder / "store"), create=True)
    server = PrometheusServer(url=url or "", max_retries=0, timeout_seconds=0.5)
    puller = Puller(
        store=store,
        source=Source(server=server, matchers={}),
        params=PullParams(),
        clock=lambda: NOW,
        asking=stop.idle,
    )
    return Collector(
        store=store,
        paths=[folder / "logs"],
        reader=FileReader(store=store, options=ReadOptions(), clock=lambda: NOW),
        puller=puller if url else None,
        bounds=(None, None),
        stop=stop,
    )


PACE = Pace(every=timedelta(seconds=3), keep=None)


def test_rounds_go_on(tmp_path: Path) -> None:
    """What comes between two rounds is stored by the next, in the same wait each time."""
    stop = Counted(2)
    one = collector(tmp_path, stop)
    follow_on(one, PACE)

    assert stop.waits == [3.0, 3.0, 3.0]
    assert (one.collected.files, dict(one.collected.added)) == (1, {"steps": 1})


def test_failed_rounds_wait_longer(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Each failure doubles the wait up to a limit, and says what failed; files go on."""
    stop = Counted(5)
    one = collector(tmp_path, stop, url="http://127.0.0.1:9")
    follow_on(one, PACE)

    assert stop.waits == [3.0 * factor for factor in (2, 4, 8, MAX_BACKOFF, 16, 16)]
    assert dict(one.collected.added) == {"steps": 1}
    assert all(line.endswith("trying again") for line in caplog.messages)
    assert len(caplog.messages) == 6


def test_a_reader_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A file that a reader fails on is a problem with its name; the other files are stored."""
    one = collector(tmp_path, Stop())
    (tmp_path / "logs" / "bad.log").write_text(LINE)
    read = FileReader.collect

    def collect(self: FileReader, file: CollectedFile, entries: list[Entry]) -> object:
        if file.stem == "bad":
            raise KeyError("step")
        return read(self, file, entries)

    monkeypatch.setattr(FileReader, "collect", collect)

    assert collect_once(one, PACE) is None
    assert list(one.collected.problems) == ["logs/bad.log: KeyError: 'step'"]
    assert dict(one.collected.added) == {"steps": 1}
    assert len(caplog.messages) == 1


def test_stopped_while_it_runs(tmp_path: Path) -> None:
    """A signal ends a single run after what is being stored, and says what is left to do."""
    one = collector(tmp_path, Stop(is_asked=True))

    assert "the same command takes the rest" in str(collect_once(one, PACE))
    assert dict(one.collected.added) == {"steps": 1}


def test_stopped_while_it_asks(tmp_path: Path) -> None:
    """A server is not asked any more once a signal came."""
    stop = Stop()
    one = collector(tmp_path, stop, url="http://127.0.0.1:9")
    assert one.puller is not None
    stop.is_asked = True

    with pytest.raises(StoppedError):
        list(one.puller.pull(NOW - timedelta(minutes=5), NOW))


@contextmanager
def signalled(number: int, seconds: float) -> Iterator[None]:
    """Send this process a signal after some seconds."""
    timer = threading.Timer(seconds, os.kill, (os.getpid(), number))
    timer.start()
    try:
        yield
    finally:
        timer.join()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_a_signal_cuts_a_wait(number: signal.Signals) -> None:
    """A wait ends with the signal; the handlers of before are back afterwards."""
    before = signal.getsignal(number)
    began = time.monotonic()
    with stop_on_signals() as stop, signalled(number, 0.2), pytest.raises(StoppedError):
        stop.wait(30)

    assert stop.is_asked
    assert time.monotonic() - began < 20
    assert signal.getsignal(number) is before


def test_a_signal_waits_for_work() -> None:
    """Work that is under way is not broken off; the next check ends it."""
    with stop_on_signals() as stop:
        signal.raise_signal(signal.SIGTERM)
        done = "work"
        with pytest.raises(StoppedError):
            stop.check()

    assert (done, stop.is_asked) == ("work", True)


def test_files_have_one_taker(tmp_path: Path) -> None:
    """While one takes files the other waits; an object storage has no such lock."""
    store = Store.open_at(str(tmp_path / "store"), create=True)
    again = Store.open_at((tmp_path / "store").as_uri())
    far = Store(place=type(store.place)(root="s3://bucket/store"))
    stop = Counted(2)
    with turn_for_files(store, stop.wait), turn_for_files(far, stop.wait):
        with pytest.raises(StoppedError), turn_for_files(again, stop.wait):
            pytest.fail("both have the turn")
        assert len(stop.waits) == 3
    with turn_for_files(again, stop.wait):
        assert len(stop.waits) == 3
