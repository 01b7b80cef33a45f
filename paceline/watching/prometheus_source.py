"""A Prometheus of the settings as a source: each look takes what is new, and what came late.

The server is asked in a thread of its own, and the tick waits for it only so long: a slow server
makes its data late, never the tick. Samples are taken up to the tick's time; the last `late` before
is asked for again, and what was told before is dropped by its identity.
"""

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as WaitedTooLongError
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final

import polars as pl

from collectors.metrics.prometheus import RefusedQueryError, UnreachablePrometheusError
from collectors.metrics.spans import Span
from collectors.readings import FRAMES, Reading, with_own_memory
from collectors.storage.pull_ledger import PullParams
from collectors.storage.pull_windows import Source, fetch_window, read_window
from paceline.naming import Origin
from paceline.watching.sources import Polled, State

IDENTITY: Final[Mapping[str, tuple[str, ...]]] = {
    "samples": ("time", "host", "device_kind", "device", "index", "run", "signal", "source"),
    "events": ("time", "host", "device", "rank", "kind", "code", "source"),
}
"""By what a row is known again that is asked for twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesParams:
    """How a server is taken.

    Attributes:
        late: How long after its time a sample may come.
        first: How far back the first look goes, and how far a long outage is caught up.
        max_span: Asked for at once at most; what is more is taken by the next looks.
    """

    late: timedelta = timedelta(minutes=2)
    first: timedelta = timedelta(hours=1)
    max_span: timedelta = timedelta(hours=4)


@dataclass(slots=True, kw_only=True)
class PrometheusWatch:
    """One server, followed.

    Attributes:
        name: What people call the source.
        source: Where to ask, and for what.
        max_age: How old the newest sample may be.
        params: How it is taken.
    """

    name: str
    source: Source
    max_age: timedelta
    params: SeriesParams
    _pulled: datetime | None = None
    _recent: Reading = field(default_factory=Reading)
    _pool: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="pull")
    )
    _asked: "tuple[Span, Future[Reading]] | None" = None

    def poll(self, now: datetime, patience_seconds: float) -> Polled:
        """Return what is new; see `WatchedSource.poll`."""
        if self._asked is None:
            span = self._due(now)
            if span is None:
                return Polled()
            self._asked = (span, self._pool.submit(self._fetched, span))
        span, answer = self._asked
        try:
            whole = answer.result(timeout=patience_seconds)
        except WaitedTooLongError:
            return Polled(is_pending=True, problems=(f"{self.name}: no answer yet; it is slow",))
        except (UnreachablePrometheusError, RefusedQueryError, ValueError) as error:
            self._asked = None
            return Polled(problems=(f"{self.name}: {error}",))
        self._asked = None
        fresh = self._news(whole)
        self._pulled = span.end
        return Polled(reading=fresh)

    def standing(self) -> Reading:
        """Return nothing: a server's samples come one by one."""
        return Reading()

    def origins(self) -> Mapping[str, Origin]:
        """Return that its rows lie in no folder."""
        return {self.source.name: Origin(root=self.source.name, folder=".", stem="prometheus")}

    def path_of(self, source: str) -> None:
        """Return that no evidence of a server is a file."""
        del source

    def state(self) -> State:
        """Return up to when it was taken."""
        return {"pulled": None if self._pulled is None else self._pulled.isoformat()}

    def restore(self, state: State) -> None:
        """Go on from there; what may have come late is asked for again."""
        self._pulled = state["pulled"] and datetime.fromisoformat(state["pulled"])

    def remember(self, reading: Reading) -> None:
        """Know rows that were told before the start, so that they are not told again."""
        frames: dict[str, Any] = {
            name: reading.frame(name).filter(pl.col("source") == self.source.name)
            for name in IDENTITY
        }
        self._recent = self._still_asked(replace(Reading(), **frames))

    def close(self) -> None:
        """Wait for no answer any more."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _due(self, now: datetime) -> Span | None:
        """Return what to ask for: from where it left off, less what may be late."""
        params = self.params
        oldest = now - params.first
        begin = oldest if self._pulled is None else max(oldest, self._pulled - params.late)
        return Span.between(begin, min(now, begin + params.late + params.max_span))

    def _fetched(self, span: Span) -> Reading:
        params = PullParams(late=self.params.late)
        answer = fetch_window(self.source, span, params)
        return read_window(answer.series(), self.source.name, span, params)

    def _news(self, whole: Reading) -> Reading:
        """Return the rows that were not told before, and remember them for as long as need be."""
        frames: dict[str, Any] = {
            name: whole.frame(name).join(
                self._recent.frame(name), on=list(keys), how="anti", nulls_equal=True
            )
            for name, keys in IDENTITY.items()
        }
        fresh = with_own_memory(replace(whole, **frames))
        both: dict[str, Any] = {
            name: pl.concat([self._recent.frame(name), fresh.frame(name)]) for name in IDENTITY
        }
        self._recent = self._still_asked(replace(Reading(), **both))
        return fresh

    def _still_asked(self, reading: Reading) -> Reading:
        """Return the rows that the next look may ask for again."""
        newest = reading.samples["time"].max()
        if not isinstance(newest, datetime):
            return reading
        since = newest - self.params.late - PullParams().context
        frames: dict[str, Any] = {
            name: reading.frame(name).filter(pl.col("time") >= since) for name in IDENTITY
        }
        return replace(reading, **frames)


def unwindowed(reading: Reading) -> Reading:
    """Return a reading without its coverage: of spans that overlap, what was due counts twice."""
    return replace(reading, coverage=FRAMES["coverage"].to_frame())
