"""What the last tick left for those who ask: the service's pages, its API, and Prometheus."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

from alerts.service.live import NodeState, RawLine, SloState, SourceState

LINES_AROUND: Final = 5
"""Lines before and after the one that evidence quotes."""

MAX_LINE_CHARACTERS: Final = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What one tick left behind.

    Attributes:
        now: The tick's time.
        sources: Every source of the settings.
        nodes: Every host that any source named.
        slo: Every objective that is evaluated.
        metrics: The text of `/metrics`.
        shares: Groups that each member of a shared fleet holds; empty when nothing is shared.
    """

    now: datetime
    sources: Sequence[SourceState]
    nodes: Sequence[NodeState]
    slo: Sequence[SloState]
    metrics: bytes
    shares: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(slots=True, kw_only=True)
class Board:
    """The answers to whoever asks, from any thread; see `alerts.service.live.Live`.

    Attributes:
        unasked: What is known before the first tick: every source, and no age.
        path_of: Where the file is that evidence calls so; null when it is none of ours.
        kept_id: The id under which an incident is kept.
    """

    unasked: Sequence[SourceState]
    path_of: Callable[[str], Path | None]
    kept_id: Callable[[str], str]
    _left: Left | None = None
    _plots: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def leave(self, left: Left) -> None:
        """Take what a tick left behind."""
        with self._lock:
            self._left = left

    def hang(self, plots: Mapping[str, Mapping[str, str]]) -> None:
        """Take drawings, by the kept id of their incident."""
        with self._lock:
            self._plots = dict(plots)

    def sources(self) -> Sequence[SourceState]:
        """Return every source."""
        left = self._seen()
        return self.unasked if left is None else left.sources

    def nodes(self) -> Sequence[NodeState]:
        """Return every host."""
        left = self._seen()
        return () if left is None else left.nodes

    def slo_state(self) -> Sequence[SloState]:
        """Return every objective."""
        left = self._seen()
        return () if left is None else left.slo

    def plots(self, incident_id: str) -> Mapping[str, str]:
        """Return the drawings of an incident."""
        with self._lock:
            plots = self._plots
        return plots.get(incident_id) or plots.get(self.kept_id(incident_id)) or {}

    def raw_lines(self, source: str) -> Sequence[RawLine]:
        """Return the lines around a place of a file that is followed."""
        name, _, number = source.rpartition(":")
        path = self.path_of(name) if number.isdecimal() else None
        return () if path is None else _lines_around(path, int(number))

    def last_tick(self) -> datetime | None:
        """Return when the last tick was."""
        left = self._seen()
        return None if left is None else left.now

    def metrics(self) -> bytes:
        """Return the text of `/metrics`; nothing before the first tick."""
        left = self._seen()
        return b"" if left is None else left.metrics

    def shares(self) -> Mapping[str, int]:
        """Return how many groups each member of a shared fleet holds."""
        left = self._seen()
        return {} if left is None else left.shares

    def _seen(self) -> Left | None:
        with self._lock:
            return self._left


def _lines_around(path: Path, number: int) -> list[RawLine]:
    """Return the lines around one of a file; none when it cannot be read."""
    first, last = max(1, number - LINES_AROUND), number + LINES_AROUND
    found = list[RawLine]()
    try:
        with path.open("rb") as stream:
            for at, line in enumerate(stream, start=1):
                if at >= first:
                    text = line.rstrip(b"\r\n").decode("utf-8", "replace")[:MAX_LINE_CHARACTERS]
                    found.append(RawLine(number=at, text=text, is_meant=at == number))
                if at >= last:
                    break
    except OSError:
        return []
    return found
