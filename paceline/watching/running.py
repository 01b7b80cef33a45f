"""Run one instance: the watch, the couriers, the inbox and the service, until a signal comes."""

import fcntl
import logging
import socket
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from alerts.storing.incident_store import IncidentStore
from alerts.storing.records import IncidentFilters, IncidentRecord, PageRequest
from paceline.setting_parts import SettingsError
from paceline.settings import Settings
from paceline.watching.artist import Artist
from paceline.watching.board import Board
from paceline.watching.grid import Due
from paceline.watching.leaving import count_tick, left_behind
from paceline.watching.memory import Memory
from paceline.watching.parts import memory_params
from paceline.watching.spools import TornPieceError
from paceline.watching.telling import Teller
from paceline.watching.watch import VERSION, Tick, Watch

OPEN: Final = IncidentFilters(states=("open", "acknowledged", "mitigated"))
MAX_OPEN: Final = PageRequest(limit=500)

_LOG: Final = logging.getLogger("paceline")


@contextmanager
def only_one(folder: Path) -> Generator[None]:
    """Hold a folder of state for this process alone.

    Raises:
        SettingsError: It cannot be made, or another process holds it.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / "lock").open("w")
    except OSError as error:
        raise SettingsError(f"cannot write to state {folder}: {error.strerror}") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise SettingsError(
                f"state {folder} is held by another paceline; give this one a folder of its own"
            ) from None
        yield


def resume(watch: Watch, settings: Settings) -> bool:
    """Go on where this instance left off, and return whether there was anything."""
    state = watch.committer.read()
    if state is None or state.get("version") != VERSION:
        return False
    folder = Path(settings.state)
    try:
        memory = Memory.resume(folder, memory_params(settings), state["memory"])
    except TornPieceError as error:
        _LOG.warning("%s", error)
        return False
    watch.restore(state, memory)
    return True


@dataclass(slots=True, kw_only=True)
class Instance:
    """One running instance.

    Attributes:
        watch: What ticks.
        store: The incidents.
        board: Where ticks leave their answers.
        artist: Draws open incidents.
        teller: Says what happens.
        settings: The settings.
    """

    watch: Watch
    store: IncidentStore
    board: Board
    artist: Artist
    teller: Teller
    settings: Settings
    _open: list[IncidentRecord] = field(default_factory=list[IncidentRecord])

    def tick(self, due: Due) -> Tick:
        """Do a tick, leave its answers, say what it did, and draw if there is time."""
        began = time.perf_counter()
        count_tick(self.watch, due.skipped)
        done = self.watch.tick(due.at)
        incidents = self._open_incidents()
        open_ids = [one.id for one in incidents]
        top = self.settings.watch.top_ranks
        seconds = done.seconds["all"]
        self.board.leave(left_behind(self.watch, done.judgement, incidents, top, seconds))
        self._tell(done, len(open_ids), due)
        half = self.settings.watch.tick.total_seconds() / 2
        if self.settings.service is not None and time.perf_counter() - began < half:
            self._draw(done, open_ids)
        return done

    def _open_incidents(self) -> list[IncidentRecord]:
        """Return the open incidents, as they were known last."""
        try:
            self._open = list(self.store.find(OPEN, MAX_OPEN).records)
        except Exception:  # noqa: BLE001 -- a database that is away must not end the watch
            _LOG.exception("open incidents could not be read")
        return self._open

    def _draw(self, done: Tick, open_ids: list[str]) -> None:
        try:
            self.artist.draw(done.judgement, open_ids)
        except Exception:  # noqa: BLE001 -- a drawing must not keep out a tick
            _LOG.exception("an incident could not be drawn")
        self.board.hang(self.artist.drawings)

    def _tell(self, done: Tick, open_count: int, due: Due) -> None:
        committed = done.committed
        self.teller.problems(done.problems)
        if committed is not None:
            self.teller.changes(committed.changes)
        facts = {
            "rows": done.rows,
            "findings": len(done.judgement.verdicts),
            "incidents_open": open_count,
            "seconds": done.seconds["all"],
            "leads": "?" if committed is None else "yes" if committed.is_leader else "no",
        }
        if due.skipped:
            _LOG.warning("ticks were skipped", extra={"pairs": {"count": due.skipped}})
        self.teller.tick(due.at, facts)


def instance_name(settings: Settings) -> str:
    """Return what this instance is called."""
    return settings.instance or socket.gethostname()


@contextmanager
def in_background(name: str, work: Callable[[], None], stop: threading.Event) -> Generator[None]:
    """Do work in a thread for as long as the block lasts; the work ends when `stop` is set."""
    thread = threading.Thread(target=work, name=name)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def stderr_teller() -> Teller:
    """Return a teller for the terminal or the log of this process."""
    return Teller(stream=sys.stderr)
